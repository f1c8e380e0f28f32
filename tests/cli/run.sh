#!/bin/sh
# Runs the command-line cases: tests/cli/run.sh [--bless] SCHED_RUN [CASE...].  Ends with `N passed, N failed`.
#
# cases/NAME.cmd is a shell script, run in tests/cli/cases with $SCHED_RUN set; what it writes must equal NAME.out and
# NAME.err to the byte (a missing file stands for nothing), its exit status NAME.status (missing: 0).  NAME.needs names
# programs without which a case is passed over; `opencl` there stands for such a device.  Cases see OpenCL's devices only
# where they set OCL_ICD_VENDORS to $VENDORS.  --bless writes the expected files anew.
set -u
bless=no
if [ "${1-}" = --bless ]; then bless=yes; shift; fi
SCHED_RUN=$(CDPATH='' cd -- "$(dirname -- "$1")" && pwd)/$(basename -- "$1")
export SCHED_RUN
shift
cd "$(dirname "$0")/cases" || exit 1
LC_ALL=C
export LC_ALL
build=$(dirname "$SCHED_RUN")
root=$(CDPATH='' cd -- ../../.. && pwd)
. "$root/tests/opencl_env.sh"
vendors=${OCL_ICD_VENDORS-/etc/OpenCL/vendors}
OCL_ICD_VENDORS=/nonexistent
export OCL_ICD_VENDORS
unset GGML_SCHED_DEBUG GGML_SCHED_DEBUG_REALLOC GGML_OP_OFFLOAD_MIN_BATCH NO_COLOR
passed=0
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# differs EXPECTED GOT: shows how, a missing expected file being an empty one
differs() {
    expected=$1
    [ -f "$expected" ] || expected=/dev/null
    cmp -s "$expected" "$2" && return 1
    diff -u "$expected" "$2" | head -n 40
    return 0
}

# keep GOT EXPECTED: an empty one is not kept
keep() {
    if [ -s "$1" ]; then cp "$1" "$2"; else rm -f "$2"; fi
}

run_case() {
    name=$1
    asan_options=${ASAN_OPTIONS-}
    if [ -f "$name.needs" ]; then
        for program in $(cat "$name.needs"); do
            if [ "$program" = opencl ]; then
                asan_options=$asan_options:$no_leak_check
                OCL_ICD_VENDORS=$vendors "$SCHED_RUN" devices | grep -q '^    opencl' && continue
                echo "$name: skipped, there is no OpenCL device"
                return
            fi
            command -v "$program" >/dev/null 2>&1 || { echo "$name: skipped, there is no $program"; return; }
        done
    fi
    WORK=$work VENDORS=$vendors ASAN_OPTIONS=$asan_options sh "$name.cmd" >"$work/out" 2>"$work/err" </dev/null
    status=$?
    : >"$work/status"
    [ $status -eq 0 ] || echo $status >"$work/status"
    if [ $bless = yes ]; then
        for part in out err status; do keep "$work/$part" "$name.$part"; done
        passed=$((passed + 1))
        return
    fi
    bad=no
    for part in status out err; do
        if differs "$name.$part" "$work/$part" >"$work/diff"; then
            bad=yes
            echo "--- $name.$part"
            cat "$work/diff"
        fi
    done
    if [ $bad = yes ]; then failed=$((failed + 1)); else passed=$((passed + 1)); fi
}

if [ $# -gt 0 ]; then
    for name in "$@"; do run_case "$name"; done
else
    for file in *.cmd; do run_case "${file%.cmd}"; done
fi
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
