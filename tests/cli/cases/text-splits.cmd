"$SCHED_RUN" -n -d 1 layers.json
