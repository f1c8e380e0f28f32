"$SCHED_RUN" -n -q --steps -f json -p n_tokens=4 small.json | sed -n "/\"steps\"/,/^      \]/p" | head -40
