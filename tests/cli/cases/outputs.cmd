"$SCHED_RUN" -q -d 0 printed.json
"$SCHED_RUN" -q -f jsonl printed.json | sed -n 's/.*\("outputs":{[^}]*}}\).*/\1/p'
echo "where the time went"
"$SCHED_RUN" -d 0 values.json | sed -n '/where the time/,$p' | awk '{ print $1, $(NF - 1), $NF }'
"$SCHED_RUN" -f json values.json | sed -n 's/.*"trace_summary"/"trace_summary"/p' | sed 's/\("[a-z]*ing\|"seconds\)": [0-9.e-]*/\1": T/g'
