"$SCHED_RUN" -n -q -e probs -e inp_tokens -p n_tokens=4 small.json
