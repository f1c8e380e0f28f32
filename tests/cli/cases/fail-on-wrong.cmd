# kinds that there are none of
"$SCHED_RUN" --fail-on fallbck layers.json
"$SCHED_RUN" --fail-on offload, layers.json
"$SCHED_RUN" --rules all --fail-on offload layers.json
"$SCHED_RUN" --fail-on help
