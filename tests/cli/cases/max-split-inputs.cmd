"$SCHED_RUN" -n -d 1 -f ggml --max-split-inputs 1 layers.json
