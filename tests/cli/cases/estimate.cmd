"$SCHED_RUN" --estimate -p n_tokens=64 ../../../graphs/models/llama.json | sed -n "/^run 1/,/^run 2/p"
"$SCHED_RUN" --estimate --batches 3 --trace "$WORK/trace.json" layers.json | sed -n "/^run 0/,/^run 1/p"
grep '"ph": "X"' "$WORK/trace.json"
"$SCHED_RUN" --estimate --trace "$WORK/again.json" --batches 3 layers.json >/dev/null
cmp "$WORK/trace.json" "$WORK/again.json"
"$SCHED_RUN" --estimate --compute layers.json
"$SCHED_RUN" --batches 2 layers.json
"$SCHED_RUN" --estimate --batches 0 layers.json
"$SCHED_RUN" --estimate -f dot layers.json
