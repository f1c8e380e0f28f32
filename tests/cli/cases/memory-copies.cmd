"$SCHED_RUN" -n -q -m --copies 1,2,4 -d 1 -p n_tokens=4 small.json
