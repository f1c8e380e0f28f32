"$SCHED_RUN" -n -q -d 0 sequence.json
