"$SCHED_RUN" --rules atention layers.json
