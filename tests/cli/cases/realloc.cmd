"$SCHED_RUN" -n -f ggml -d 0 --realloc 1 small.json
echo "level 1: $?"
"$SCHED_RUN" -n -f ggml -d 0 --realloc 2 small.json
echo "level 2: $?"
GGML_SCHED_DEBUG_REALLOC=2 "$SCHED_RUN" -n -f ggml -d 0 small.json
echo "environment: $?"
"$SCHED_RUN" -n -f ggml -d 0 --realloc 2 --check small.json
echo "with --check: $?"
