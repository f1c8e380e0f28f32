cd ../../../graphs/models
"$SCHED_RUN" diff llama.json --copies 1,4
