cd ../../../graphs/models
"$SCHED_RUN" diff moe.json -p "n_tokens=1,min(512,1024)"
