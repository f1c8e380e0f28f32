#!/bin/sh
# Runs the fuzzers' seed corpora as plain tests: tests/fuzz/run.sh BUILD
set -u
cd "$(dirname "$0")/../.."
build=$1
passed=0
failed=0
for t in "$build"/tests/fuzz/fuzz_*; do
    case $t in *.o | *.d) continue ;; esac
    [ -x "$t" ] || continue
    name=${t##*/fuzz_}
    if "$t" tests/fuzz/corpus/"$name"/*; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "failed: $t"; fi
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
