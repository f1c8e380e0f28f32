"$SCHED_RUN" -n failing.json
