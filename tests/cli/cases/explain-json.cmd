"$SCHED_RUN" -n -q -d 0 -e probs -f json small.json | sed -n "/explanations/,/^      \]/p"
