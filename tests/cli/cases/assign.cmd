"$SCHED_RUN" -n -d 1 -A act=CPU small.json | head -n 30
