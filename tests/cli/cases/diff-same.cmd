"$SCHED_RUN" diff ../../../graphs/models/moe.json ../../../graphs/models/moe.json
