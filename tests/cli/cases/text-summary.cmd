"$SCHED_RUN" -n -d 0 small.json
