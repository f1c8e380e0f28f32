"$SCHED_RUN" -d 1 opaque.json
echo "status $?"
"$SCHED_RUN" -q -d 1 opaque.json
"$SCHED_RUN" -d 1 --compute opaque.json
