"$SCHED_RUN" --compare gpu0 values.json 2>&1 | sed 's/devices: .*/devices: .../'
"$SCHED_RUN" --compare GPU0 --check values.json
echo "status $?"
"$SCHED_RUN" --nmse 1 values.json
"$SCHED_RUN" --compare GPU0 --nmse 0 values.json
"$SCHED_RUN" --compare GPU0 -f dot values.json
