"$SCHED_RUN" -n -q --steps -p n_tokens=4 small.json
