"$SCHED_RUN" -n -f json failing.json | sed "s/\"seconds\": {.*}/\"seconds\": {}/"
