"$SCHED_RUN" --check wrong-values.json
echo "status $?"
"$SCHED_RUN" --check -n wrong-values.json
