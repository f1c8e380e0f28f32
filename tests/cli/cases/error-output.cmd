"$SCHED_RUN" -n small.json >/dev/full
echo "status $?"
"$SCHED_RUN" -n -o /nowhere/x small.json
echo "status $?"
"$SCHED_RUN" -n -o /dev/full small.json
echo "status $?"
"$SCHED_RUN" --help >/dev/full
