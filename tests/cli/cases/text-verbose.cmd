"$SCHED_RUN" -n -v small.json | grep -v "^    seconds "
