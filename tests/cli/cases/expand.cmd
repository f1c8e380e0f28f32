"$SCHED_RUN" expand layers.json >"$WORK/once.json" && "$SCHED_RUN" expand "$WORK/once.json" | cmp - "$WORK/once.json"
"$SCHED_RUN" expand -p n_tokens=2 small.json
