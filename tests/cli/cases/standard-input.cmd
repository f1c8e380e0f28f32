"$SCHED_RUN" -n -d 0 - <wild.json
"$SCHED_RUN" -n - <misspelt.json
