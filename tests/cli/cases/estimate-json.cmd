"$SCHED_RUN" -q --estimate -f json small.json | sed -n '/"estimate"/,/^      }/p'
