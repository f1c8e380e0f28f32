"$SCHED_RUN" diff ../../../graphs/models/llama-2gpu.json ../../../graphs/models/llama.json
