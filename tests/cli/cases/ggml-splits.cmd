"$SCHED_RUN" -n -f ggml -d 1 small.json
