#!/bin/sh
# Everything that needs an NVIDIA GPU, in one short run: device_check.sh BUILD [GOLDENS].  Nothing is installed.
#
# Builds with CUDA where compilers and libraries are there; else takes what `make device-bundle` left in BUILD, which may
# have been carried here.  Then the conformance suite, the op goldens and captures on cuda:0, models computed on cuda:0
# and on the CPU node by node, and how fast products are.  Ends with `N passed, N failed`; fails where there is no GPU.
set -u
cd "$(dirname "$0")/.."
build=$1
goldens=${2:-../shared/goldens}
[ -d "$goldens" ] || goldens=shared/goldens
[ -d "$goldens" ] || goldens=tests/golden
tests="test_backends test_gpu_ops test_gpu_ops_shapes test_gpu_products"
passed=0
failed=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

left_out() { echo "left out: $*"; }
give_up() {
    echo "$*"
    echo "$passed passed, $((failed + 1)) failed"
    exit 1
}
# part NAME COMMAND...: counts `N passed, N failed`, or a cmocka program's own words, or the exit status.
part() {
    name=$1
    shift
    start=$(date +%s)
    "$@" >"$log" 2>&1
    status=$?
    p=$(sed -n -e 's/^\([0-9]*\) passed, [0-9]* failed$/\1/p' \
        -e 's/.*\[  PASSED  \] \([0-9]*\) test.*/\1/p' "$log" | tail -n 1)
    f=$(sed -n 's/^[0-9]* passed, \([0-9]*\) failed$/\1/p' "$log" | tail -n 1)
    [ -n "$f" ] || f=$(grep '^\[  FAILED  \] [A-Za-z_]' "$log" | sort -u | wc -l)
    if [ -z "$p" ]; then p=$((status == 0)); fi
    if [ $status -ne 0 ] && [ "$f" -eq 0 ]; then f=1; fi
    passed=$((passed + p))
    failed=$((failed + f))
    echo "$name: $p passed, $f failed, $(($(date +%s) - start)) s"
    if [ "$f" -ne 0 ]; then tail -n 25 "$log"; fi
}

# ---- building ---------------------------------------------------------------------------------------------------------

has_headers() {
    printf '#include <%s>\n' cjson/cJSON.h setjmp.h stdarg.h stddef.h stdint.h cmocka.h |
        ${CC:-gcc} -E -x c - >/dev/null 2>&1
}
if has_headers; then
    make -j"$(nproc)" --no-print-directory device-bundle BUILD="$build" >"$log" 2>&1 || {
        tail -n 30 "$log"
        give_up "it does not build with CUDA"
    }
elif [ -x "$build/sched-run" ]; then
    left_out "building: cJSON or cmocka is missing here; $build is taken as it is"
else
    give_up "cJSON or cmocka is missing here, and $build holds nothing: run make device-bundle where they are"
fi
LD_LIBRARY_PATH=$(cd "$build" && pwd)/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

# ---- checks -----------------------------------------------------------------------------------------------------------

"$build/sched-run" devices >"$log" 2>&1 || { cat "$log"; give_up "sched-run does not start"; }
sed -n '/^cuda /,/^    /p' "$log"
grep -q '^    cuda' "$log" || give_up "there is no CUDA device to check"
grep -q '^    opencl' "$log" || left_out "OpenCL: no device"

for t in $tests; do
    if [ -x "$build/tests/conformance/$t" ]; then part "$t" "$build/tests/conformance/$t"; else left_out "$t"; fi
done
part "goldens on cuda:0" tests/golden/device.sh "$build" "$goldens" cuda
for f in graphs/models/llama.json graphs/models/moe.json graphs/models/flash-attention.json; do
    part "$f on cuda:0 and the CPU" "$build/sched-run" --compare cuda:0,cpu "$f"
done
if [ -x "$build/bench/bench_gpu" ]; then timeout 60 "$build/bench/bench_gpu" 512 4096 4096; fi
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
