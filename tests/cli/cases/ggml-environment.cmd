GGML_SCHED_DEBUG=1 "$SCHED_RUN" -n -f ggml small.json
echo "-d overrules:"
GGML_SCHED_DEBUG=2 "$SCHED_RUN" -n -f ggml -d 1 small.json
echo "wrong:"
GGML_SCHED_DEBUG=much "$SCHED_RUN" -n small.json
