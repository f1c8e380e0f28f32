"$SCHED_RUN" --check -n -f ggml -d 1 values.json
