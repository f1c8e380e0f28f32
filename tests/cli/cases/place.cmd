"$SCHED_RUN" -n -d 1 -P "^output=GPU0" small.json
