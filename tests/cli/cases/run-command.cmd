"$SCHED_RUN" run -n -d 0 small.json
