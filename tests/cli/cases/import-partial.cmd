# logs that lack something give what they have, and say what is missing
cd ../../import
for log in cut middle headless twice wide; do
    echo "== $log"
    $SCHED_RUN import $log.log 2>&1 >"$WORK/it.json" | grep -v inferred
    $SCHED_RUN -n -f ggml -d 1 "$WORK/it.json"
    $SCHED_RUN -n --check "$WORK/it.json"
done
