# every finding of every run, what it costs and what to try
"$SCHED_RUN" -n -d 0 --lint small.json
"$SCHED_RUN" -n -d 0 -l ../../../graphs/teaching/2-sup.json
"$SCHED_RUN" -n -d 0 -l failing.json
