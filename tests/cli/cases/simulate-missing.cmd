sed "s/\"sim\"/\"quantum\"/" values.json >"$WORK/missing.json"
"$SCHED_RUN" -n -d 1 -f ggml "$WORK/missing.json" 2>&1 | sed "s|$WORK|WORK|; s/devices: .*/devices: .../"
"$SCHED_RUN" -n -d 1 -f ggml --simulate-missing "$WORK/missing.json" 2>&1 | sed "s|$WORK|WORK|"
