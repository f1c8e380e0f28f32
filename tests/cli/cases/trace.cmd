"$SCHED_RUN" -q -d 0 --trace "$WORK/trace.json" values.json printed.json >/dev/null
echo "status $?"
grep '"ph": "M"' "$WORK/trace.json" | grep '_name'
echo "copies and computes"
grep -E '"cat": "(copy|compute|run)"' "$WORK/trace.json" | sed 's/"ts": [0-9.]*, "dur": [0-9.]*/TIMES/'
tail -n 2 "$WORK/trace.json"
"$SCHED_RUN" -q -d 0 --trace /dev/full values.json >/dev/null
echo "status $?"
"$SCHED_RUN" --trace none/trace.json values.json
echo "status $?"
