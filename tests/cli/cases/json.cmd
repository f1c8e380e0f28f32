"$SCHED_RUN" -n -f json small.json | sed "s/\"seconds\": {.*}/\"seconds\": {}/"
