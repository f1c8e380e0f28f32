"$SCHED_RUN" -n -d 1 --color always small.json
