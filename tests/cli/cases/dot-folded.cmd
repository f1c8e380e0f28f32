"$SCHED_RUN" -n -f dot layers.json
