"$SCHED_RUN" -n -f ggml layers.json
