"$SCHED_RUN" -n -q -m -f svg -p n_tokens=4 small.json
