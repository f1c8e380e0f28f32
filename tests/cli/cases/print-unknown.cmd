"$SCHED_RUN" --print totals printed.json
echo "status $?"
"$SCHED_RUN" -f dot --print total printed.json
echo "status $?"
"$SCHED_RUN" -n --print total printed.json
echo "status $?"
