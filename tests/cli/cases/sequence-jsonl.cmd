"$SCHED_RUN" -n -q -f jsonl sequence.json | tail -n 1
