"$SCHED_RUN" --version; "$SCHED_RUN" expand -V
