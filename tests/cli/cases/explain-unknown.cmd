"$SCHED_RUN" -n -q -e prob small.json
echo "unknown: $?"
"$SCHED_RUN" -n -q -e probs -f dot small.json
echo "format: $?"
"$SCHED_RUN" -n -q -m -f ggml small.json
echo "memory: $?"
"$SCHED_RUN" -n -q --copies 1,2 small.json
echo "copies: $?"
"$SCHED_RUN" -n -q --copies 1,x -m small.json
echo "no number: $?"
"$SCHED_RUN" -n -q --steps -f ggml small.json
echo "steps: $?"
"$SCHED_RUN" -n -q --steps -m -f svg small.json
echo "drawings: $?"
