# one schedule as every generation prints it and as every front-end spoils it: the same splits come back
cd ../../import
$SCHED_RUN import -q 2026-05.log >"$WORK/now.json"
$SCHED_RUN -n -f ggml -d 1 "$WORK/now.json" | tee "$WORK/now"
for form in 2023-10 2024-01 2024-03 2024-06 2024-12 2025-07 2026-01 2026-05 logger colours bare windows quoted docker \
    journal pieces wrapped squeezed fenced json utf16; do
    $SCHED_RUN import $form.log 2>&1 >"$WORK/it.json" | grep -e 'the log is' -e missing
    $SCHED_RUN -n --check "$WORK/it.json"
    $SCHED_RUN -n -f ggml -d 1 "$WORK/it.json" | cmp "$WORK/now" -
done
