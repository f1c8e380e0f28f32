"$SCHED_RUN" -n -f dot wild.json
