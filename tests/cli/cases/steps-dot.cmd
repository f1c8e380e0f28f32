"$SCHED_RUN" -n -q --steps -f dot -p n_tokens=4 small.json | grep -E "digraph|penwidth=3" | head -40
