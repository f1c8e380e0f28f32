#!/bin/sh
# Unit tests and a few runs of the tool under Valgrind: valgrind.sh BUILD.  Ends with `N passed, N failed`.
set -u
cd "$(dirname "$0")/.."
build=$1
# Drivers and their compilers are not looked at.
OCL_ICD_VENDORS=/nonexistent
export OCL_ICD_VENDORS
passed=0
failed=0
run() {
    if out=$(valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite "$@" 2>&1 >/dev/null); then
        passed=$((passed + 1))
    elif [ $? -eq 99 ]; then
        failed=$((failed + 1))
        echo "--- $*"
        echo "$out" | head -n 30
    else
        passed=$((passed + 1))
    fi
}
for t in "$build"/tests/unit/test_* "$build"/tests/conformance/test_*; do
    case $t in *.o | *.d) continue ;; esac
    [ -x "$t" ] && run "$t"
done
for f in graphs/teaching/*.json graphs/models/*.json; do
    for format in text ggml json dot; do run "$build/sched-run" -n -f $format "$f"; done
    run "$build/sched-run" expand "$f"
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
