"$SCHED_RUN" -n small.json
