"$SCHED_RUN" -n -d 0 -p n_tokens=1 small.json
