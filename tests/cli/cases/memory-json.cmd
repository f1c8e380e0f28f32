"$SCHED_RUN" -n -q -m --copies 1,2 -f json -p n_tokens=4 small.json | sed -n "/\"memory\"/,/^      }/p" | head -60
