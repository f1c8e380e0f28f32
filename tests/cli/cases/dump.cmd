"$SCHED_RUN" -q -d 0 --dump "$WORK/dump" printed.json >/dev/null
ls "$WORK/dump"
head -c 128 "$WORK/dump/run0_0000_sum.npy" | tail -c 118
rm -r "$WORK/dump"
echo "only those asked for, with --check too"
"$SCHED_RUN" --check --dump "$WORK/dump" --print a --print b values.json
ls "$WORK/dump"
od -A n -t f4 -j 128 "$WORK/dump/run0_0000_b.npy"
rm -r "$WORK/dump"
"$SCHED_RUN" --dump "$WORK/missing/dump" values.json 2>&1 | sed "s|$WORK|WORK|"
