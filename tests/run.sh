#!/bin/sh
# Runs every test of a build folder and ends with `N passed, N failed`.  tests/run.sh [--unit] BUILD
set -u
cd "$(dirname "$0")/.."
only_unit=no
if [ "$1" = --unit ]; then only_unit=yes; shift; fi
build=$1
. tests/opencl_env.sh
passed=0
failed=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

SCHED_RUN=$build/sched-run
export SCHED_RUN
page_tests=
[ $only_unit = yes ] || page_tests="$build/tests/html/test_*"

# A cmocka program: its own counts; one that dies counts as a failure more.
for t in "$build"/tests/unit/test_* "$build"/tests/conformance/test_* "$build"/tests/property/test_* $page_tests; do
    case $t in *.o | *.d) continue ;; esac
    [ -x "$t" ] || continue
    "$t" >"$log" 2>&1
    status=$?
    grep "^skipped: " "$log"
    p=$(sed -n 's/.*\[  PASSED  \] \([0-9]*\) test.*/\1/p' "$log" | tail -n 1)
    f=$(grep '^\[  FAILED  \] [A-Za-z_]' "$log" | sort -u | wc -l)
    p=${p:-0}
    if [ $status -ne 0 ] && [ "$f" -eq 0 ]; then f=1; fi
    passed=$((passed + p))
    failed=$((failed + f))
    if [ $status -ne 0 ]; then
        echo "--- $t"
        grep -vE '^\[( RUN|       OK)' "$log" | tail -n 40
    fi
done

# A script that ends with `N passed, N failed`.
count() {
    "$@" >"$log" 2>&1
    status=$?
    grep "^skipped: " "$log"
    line=$(grep -E '^[0-9]+ passed, [0-9]+ failed' "$log" | tail -n 1)
    if [ -z "$line" ]; then
        failed=$((failed + 1))
        echo "--- $* ended with status $status"
        tail -n 40 "$log"
        return
    fi
    passed=$((passed + ${line%% *}))
    f=${line#*, }
    f=${f%% *}
    failed=$((failed + f))
    if [ "$f" -ne 0 ]; then echo "--- $*"; tail -n 60 "$log"; fi
}

if [ $only_unit = no ]; then
    count tests/fuzz/run.sh "$build"
    count tests/cli/run.sh "$build/sched-run"
    count tests/golden/parity.sh "$build/sched-run" tests/golden
    count tests/golden/device.sh "$build" tests/golden opencl
    count tests/graphs.sh "$build/sched-run"
    count tests/record/run.sh "$build"
    count tests/record/llama.sh "$build"
    count tests/docs/run.sh "$build/sched-run" docs/teaching.md docs/estimating.md
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
