GGML_OP_OFFLOAD_MIN_BATCH=4 "$SCHED_RUN" -n -d 1 -f ggml small.json
GGML_OP_OFFLOAD_MIN_BATCH=-1 "$SCHED_RUN" -n -d 1 -f ggml small.json
