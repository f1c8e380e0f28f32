cd ../../../graphs/teaching
"$SCHED_RUN" diff -f dot 3-best.json --only-b -P "^w.1=CPU"
