"$SCHED_RUN" -n wild.json
