echo "{ \"sched_run\": 1," >"$WORK/bad.json"; "$SCHED_RUN" "$WORK/bad.json" 2>&1 | sed "s|$WORK|WORK|"
