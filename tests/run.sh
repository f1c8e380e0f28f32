#!/bin/sh
# Runs every test of a build folder and ends with `N passed, N failed`.  tests/run.sh [--unit | --code] BUILD
#
# --code leaves out what needs no other build of the C code: the page in a browser, the documentation, a real llama.cpp.
set -u
cd "$(dirname "$0")/.."
which=all
case $1 in --unit | --code) which=${1#--}; shift ;; esac
build=$1
. tests/opencl_env.sh
passed=0
failed=0

SCHED_RUN=$build/sched-run
export SCHED_RUN
page_tests=
[ $which != all ] || page_tests="$build/tests/html/test_*"

# Programs that use a device of OpenCL run one after the other, for they share what its driver compiles; beside them all
# others do, which are to see none.
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
programs() {
    for t in "$build"/tests/unit/test_* "$build"/tests/conformance/test_* "$build"/tests/property/test_* $page_tests; do
        case $t in *.o | *.d) continue ;; esac
        [ ! -x "$t" ] || echo "$t"
    done
}
log_of() { echo "$logs/$(echo "$1" | tr / _)"; }
run_programs() {
    while read -r t; do
        "$t" </dev/null >"$(log_of "$t")" 2>&1
        echo $? >"$(log_of "$t").status"
    done
}
on_devices='/conformance/|/test_device|/test_opencl'
programs | grep -E "$on_devices" | {
    export ASAN_OPTIONS="${ASAN_OPTIONS-}:$no_leak_check"
    run_programs
} &
programs | grep -vE "$on_devices" | {
    export OCL_ICD_VENDORS=/nonexistent
    run_programs
}
wait

# A cmocka program: its own counts; one that dies counts as a failure more.
for t in $(programs); do
    log=$(log_of "$t")
    status=$(cat "$log.status" 2>/dev/null || echo 1)
    grep "^skipped: " "$log"
    p=$(sed -n 's/.*\[  PASSED  \] \([0-9]*\) test.*/\1/p' "$log" | tail -n 1)
    f=$(grep '^\[  FAILED  \] [A-Za-z_]' "$log" | sort -u | wc -l)
    p=${p:-0}
    if [ "$status" -ne 0 ] && [ "$f" -eq 0 ]; then f=1; fi
    passed=$((passed + p))
    failed=$((failed + f))
    if [ "$status" -ne 0 ]; then
        echo "--- $t"
        grep -vE '^\[( RUN|       OK)' "$log" | tail -n 40
    fi
done
log=$logs/script

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

if [ $which != unit ]; then
    count tests/fuzz/run.sh "$build"
    count tests/cli/run.sh "$build/sched-run"
    count tests/golden/parity.sh "$build/sched-run" tests/golden
    count tests/golden/device.sh "$build" tests/golden opencl
    count tests/graphs.sh "$build/sched-run"
    count tests/record/run.sh "$build"
fi
if [ $which = all ]; then
    count tests/record/llama.sh "$build"
    count tests/docs/run.sh "$build/sched-run" docs/teaching.md docs/estimating.md
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
