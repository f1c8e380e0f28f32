# a finding of a kind or a severity is exit status 1; several are separated by commas
"$SCHED_RUN" -n -d 0 -o /dev/null --fail-on fallback small.json
echo $?
"$SCHED_RUN" -n -d 0 -o /dev/null --fail-on assignment,weight-copy small.json
echo $?
"$SCHED_RUN" -n -d 0 -o /dev/null --fail-on warning small.json
echo $?
"$SCHED_RUN" -n -d 0 -o /dev/null --fail-on error,assignment small.json
echo $?
