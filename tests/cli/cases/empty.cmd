# a graph without anything, in every report
printf '{"sched_run": 1, "name": "empty", "params": {"n": 1}, "backends": [{"device": "cpu"}], "tensors": [], "nodes": []}' >"$WORK/empty.json"
"$SCHED_RUN" -q -l -m "$WORK/empty.json"
"$SCHED_RUN" -q --estimate "$WORK/empty.json"
"$SCHED_RUN" --sweep n=1,2 "$WORK/empty.json"
"$SCHED_RUN" -q -f json --steps -e all -m "$WORK/empty.json" >/dev/null || echo "json: $?"
"$SCHED_RUN" -q -f html "$WORK/empty.json" >/dev/null || echo "html: $?"
"$SCHED_RUN" -q --rules all "$WORK/empty.json" | head -n 2
"$SCHED_RUN" -q --copies 2 -f dot "$WORK/empty.json" >/dev/null || echo "dot: $?"
