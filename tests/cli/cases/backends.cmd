"$SCHED_RUN" -n -d 1 -b machine.json small.json | head -n 16
