"$SCHED_RUN" -n -d 1 -f ggml --no-op-offload small.json
