"$SCHED_RUN" -n -f dot -q failing.json
