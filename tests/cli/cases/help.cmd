"$SCHED_RUN" --help; "$SCHED_RUN" help expand; "$SCHED_RUN" devices -h
