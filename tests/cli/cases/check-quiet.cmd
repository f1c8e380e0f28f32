"$SCHED_RUN" --check -q values.json wrong-values.json
