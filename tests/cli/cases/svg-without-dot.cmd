PATH=/nowhere "$SCHED_RUN" -n -f svg small.json
