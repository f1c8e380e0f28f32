# More than the device gives at once, and more than it has.
OCL_ICD_VENDORS=$VENDORS
POCL_MEMORY_LIMIT=1
export POCL_MEMORY_LIMIT
for n in 300000000 900000000; do
    printf '{"sched_run": 1, "name": "large", "backends": [{"name": "G", "device": "opencl"},
        {"name": "CPU", "device": "cpu"}], "buffers": {"w": {"type": "G"}},
        "tensors": [{"name": "x", "ne": [%d], "buffer": "w"}, {"name": "y", "ne": [1000], "buffer": "w"}],
        "nodes": [{"name": "s", "op": "SQR", "src": ["y"]}]}' $n >"$WORK/large.json"
    "$SCHED_RUN" "$WORK/large.json" 2>&1
    echo "status $?"
done | sed 's|^sched-run: .*/|sched-run: |'
