"$SCHED_RUN" -n -f ggml -d 1 -o "$WORK/out.txt" values.json small.json && cat "$WORK/out.txt"
"$SCHED_RUN" -n -o "$WORK/untouched" misspelt.json; ls "$WORK/untouched" 2>/dev/null
