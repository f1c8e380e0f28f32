"$SCHED_RUN" small.json -n -d 0
