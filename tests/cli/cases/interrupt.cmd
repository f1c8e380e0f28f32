# thousands of runs; as soon as one has written something, they are told to end
{
    echo '{ "sched_run": 1, "name": "long", "backends": [ { "name": "CPU", "device": "cpu" } ],'
    echo '  "tensors": [ { "name": "x", "ne": [4], "flags": ["input"] } ],'
    echo '  "nodes": [ { "name": "n-0", "op": "SQR", "src": ["x"] }, { "repeat": 200, "as": "i", "items": ['
    echo '    { "name": "n-{i+1}", "op": "SQR", "src": ["n-{i}"] } ] } ], "runs": ['
    yes '{},' | head -n 5000
    echo '{} ] }'
} >"$WORK/long.json"
"$SCHED_RUN" -f json -o "$WORK/report.json" --dump "$WORK/dump" "$WORK/long.json" 2>"$WORK/messages" &
pid=$!
until [ -n "$(ls "$WORK/dump" 2>/dev/null)" ]; do sleep 0.02; done
kill -TERM $pid
wait $pid
echo "status $?"
sed -n 's/.*: interrupted: run [0-9]* and/interrupted: run N and/p' "$WORK/messages"
tail -n 1 "$WORK/report.json"
rm -r "$WORK/dump"
