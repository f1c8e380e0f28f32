"$SCHED_RUN" --rules all ../../../graphs/teaching/1-off.json
