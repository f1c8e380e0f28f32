# A summary fits 120 columns, whatever the graph is.
for file in ../../../graphs/reports/*.json ../../../graphs/models/*.json; do
    "$SCHED_RUN" -q -n -d 0 "$file" 2>/dev/null | awk -v file="${file##*/}" 'length > 120 { print file ": " $0 }'
done
"$SCHED_RUN" -q -n -d 0 ../../../graphs/reports/llama.cpp-13684-kv-copy-q8.json 2>/dev/null
"$SCHED_RUN" -q -n -d 0 ../../../graphs/reports/llama.cpp-13386-op-offload-moe.json | sed -n '/^memory/,$p'
