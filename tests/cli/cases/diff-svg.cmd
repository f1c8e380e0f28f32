cd ../../../graphs/teaching
"$SCHED_RUN" diff -f svg 3-best.json --only-b -P "^w.1=CPU" -o "$WORK/d.svg"; echo "exit $?"
grep -c "was on GPU0" "$WORK/d.svg"
