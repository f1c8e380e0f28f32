"$SCHED_RUN" -n nowhere.json values.json -d 1 -f ggml
