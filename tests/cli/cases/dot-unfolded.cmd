"$SCHED_RUN" -n -f dot --unfold layers.json | grep -c "^        n[0-9]* \\["
