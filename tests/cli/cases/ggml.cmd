"$SCHED_RUN" -n -f ggml small.json
