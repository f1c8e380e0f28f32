"$SCHED_RUN" -n -f svg wild.json layers.json -o "$WORK/out.svg" && grep -c "^<svg" "$WORK/out.svg" && grep -c "^</svg>" "$WORK/out.svg"
