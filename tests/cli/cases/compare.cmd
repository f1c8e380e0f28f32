"$SCHED_RUN" --compare GPU0 small.json
echo "status $?"
echo; echo "by name and by device, errors adding up"
"$SCHED_RUN" --compare cpu,GPU0 --drift --nmse 1e-9 -f json values.json
echo "status $?"
