"$SCHED_RUN" -n -q -d 0 -m kept-plan.json
