"$SCHED_RUN" devices | sed -n "s/^\(cpu\|sim\|null\) .*/\1/p"
