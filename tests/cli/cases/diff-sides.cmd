cd ../../../graphs/teaching
# the scope ends with --both; report options are for both wherever they stand; options may follow the file
"$SCHED_RUN" diff 3-best.json --only-b -A probs=GPU0 -q; echo "exit $?"
"$SCHED_RUN" diff --only-b -A probs=CPU --both -A probs=CPU 3-best.json -q; echo "exit $?"
"$SCHED_RUN" diff --only-a --copies 2 --only-b --parallel 3-best.json; echo "exit $?"
"$SCHED_RUN" diff 3-best.json 1-wgt.json; echo "exit $?"
"$SCHED_RUN" diff --color always -P "^w=CPU" --only-a -A y=CPU 3-best.json; echo "exit $?"
