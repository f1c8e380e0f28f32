# A row that is not there: the kernel finds it, the end of the execution tells it.
OCL_ICD_VENDORS=$VENDORS
cat >"$WORK/rows.json" <<'END'
{"sched_run": 1, "name": "rows", "backends": [{"name": "G", "device": "opencl"}, {"name": "CPU", "device": "cpu"}],
 "tensors": [{"name": "table", "ne": [4, 3], "flags": ["input"], "data": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]},
             {"name": "ids", "type": "i32", "ne": [2], "flags": ["input"], "data": [1, 7]}],
 "nodes": [{"name": "picked", "op": "GET_ROWS", "src": ["table", "ids"], "backend": "G"},
           {"name": "doubled", "op": "ADD", "src": ["picked", "picked"], "flags": ["output"]}]}
END
"$SCHED_RUN" -q "$WORK/rows.json" 2>&1 >/dev/null | sed 's|^sched-run: .*/|sched-run: |'
"$SCHED_RUN" -q "$WORK/rows.json" >/dev/null 2>&1
echo "status $?"
