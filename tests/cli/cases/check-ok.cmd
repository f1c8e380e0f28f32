"$SCHED_RUN" --check small.json values.json opaque.json failing.json
