"$SCHED_RUN" --rules help
