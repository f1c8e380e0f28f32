"$SCHED_RUN" --check-outputs wrong-values.json
echo "status $?"
"$SCHED_RUN" --check-outputs -b ../../../graphs/machines/cpu.json values.json
"$SCHED_RUN" --check -q -b ../../../graphs/machines/cpu.json values.json
echo "status $?"
