"$SCHED_RUN" -n -q -m -p n_tokens=4 small.json
