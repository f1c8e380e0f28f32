"$SCHED_RUN" -q -d 0 --print a --print c --print b values.json
echo; echo "--print in json"
"$SCHED_RUN" -q -f json --print b values.json | sed -n '/^      "outputs"/p; /^      "values"/,/}/p'
echo; echo "every run has its own"
"$SCHED_RUN" -q -d 0 --print idx --print row --print head printed.json
echo; echo "-v cuts nothing"
"$SCHED_RUN" -q -v -d 0 --print head printed.json | grep -A 2 '^    head' | head -n 3
