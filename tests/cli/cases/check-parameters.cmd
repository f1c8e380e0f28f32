"$SCHED_RUN" --check -n -A probs=GPU0 -p n_tokens=3 small.json
