#!/bin/sh
# Every graph under graphs/ must load, schedule and hold what it expects, and every machine run a graph in an estimate:
# graphs.sh SCHED_RUN
set -u
cd "$(dirname "$0")/.."
tool=$1
passed=0
failed=0
for f in $(find graphs -name '*.json' -not -path 'graphs/machines/*' | sort); do
    if out=$("$tool" --check -n -q "$f" 2>&1); then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$f: $out"
    fi
done
for f in graphs/machines/*.json; do
    if out=$("$tool" -q --simulate-missing --sweep n_tokens=1,64 -b "$f" graphs/models/llama.json 2>&1); then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$f: $out"
    fi
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
