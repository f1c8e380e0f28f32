"$SCHED_RUN" misspelt.json
