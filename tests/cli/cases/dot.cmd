"$SCHED_RUN" -n -f dot small.json
