"$SCHED_RUN" -n -d 1 -f ggml --copies 2 small.json && "$SCHED_RUN" -n -d 0 --parallel small.json | grep copy
