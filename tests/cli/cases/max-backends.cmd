"$SCHED_RUN" -n -d 1 --max-backends 2 layers.json
