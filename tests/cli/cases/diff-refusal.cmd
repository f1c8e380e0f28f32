cd ../../../graphs/models
"$SCHED_RUN" diff flash-attention.json -p q8_cache=1,0
