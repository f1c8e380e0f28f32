# raw contents lie as in memory, where the rows of a transposed tensor are columns
"$SCHED_RUN" --check strided.json
"$SCHED_RUN" -q -d 0 --print z strided.json | tail -n 3
