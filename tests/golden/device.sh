#!/bin/sh
# Executes recorded graphs on a real device and compares the outputs: device.sh BUILD FOLDER DEVICE (as opencl).
#
#   FOLDER/ops/*.json        with everything placed on DEVICE:0.  What the device does not support is counted and no
#                            failure; it is one if nothing was executed there.
#   FOLDER/captures/*.json   recorded with one device and part of the layers there: on DEVICE:0 and the CPU;
#                            recorded with two devices: on DEVICE:0, DEVICE:1 and the CPU.
#
# Ends with `N passed, N failed`; without such a device nothing is run, and it says why.
set -u
cd "$(dirname "$0")/../.."
build=$1
tool=$build/sched-run
folder=$2
device=$3
. tests/opencl_env.sh
export ASAN_OPTIONS="${ASAN_OPTIONS-}:$no_leak_check"
passed=0
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

ok() { passed=$((passed + 1)); }
bad() {
    failed=$((failed + 1))
    echo "--- $*"
}
machine() {
    printf '{"sched_run": 1, "backends": ['
    for number in "$@"; do printf '{"name": "DEV%s", "device": "%s:%s"}, ' "$number" "$device" "$number"; done
    printf '{"name": "CPU", "device": "cpu"}]}\n'
}
machine 0 >"$work/one.json"
machine 0 1 >"$work/two.json"
n_devices=$("$tool" devices | grep -c "^    $device[: ]")
if [ "$n_devices" -eq 0 ]; then
    "$tool" devices | sed -n "/^$device /,/^    /p" | tail -n 1
    echo "0 passed, 0 failed"
    exit 0
fi

# ---- ops: all in one process, so that the kernels are built once -----------------------------------------------------

# Reads the reports and then the messages, says `NAME pass|over|fail` for each file.
sort_ops() {
    awk '
        function name_of(text) { sub(/.*\//, "", text); sub(/\.json:.*/, "", text); return text }
        FNR == 1 { file++ }
        file == 1 && /^[^ ].*\.json: [0-9]+ runs?, backends/ { name = name_of($0); seen[name] = 1 }
        file == 1 && /^    DEV0 / && $2 > 0 { there[name] = 1 }
        file == 2 && /\.json: ok \(/ { good[name_of($0)] = 1 }
        file == 2 && /no backend takes both|cannot execute node/ { refused[name_of($0)] = 1 }
        function outcome(name) { return refused[name] ? "over" : !good[name] ? "fail" : there[name] ? "pass" : "over" }
        END { for (name in seen) print name, outcome(name) }
    ' "$work/out" "$work/err"
}

set -- "$folder"/ops/*.json
if [ -f "$1" ]; then
    "$tool" --check-outputs -d 0 -f text -b "$work/one.json" -P '.*=DEV0' "$@" >"$work/out" 2>"$work/err"
    status=$?
    sort_ops | sort >"$work/sorted"
    executed=$(grep -c ' pass$' "$work/sorted")
    over=$(grep -c ' over$' "$work/sorted")
    passed=$((passed + executed))
    for name in $(sed -n 's/ fail$//p' "$work/sorted"); do
        bad "$name on $device:0"
        grep -F "$name.json" "$work/err" | head -n 3
    done
    if [ $status -ge 70 ]; then bad "the process ended with status $status"; fi
    if [ "$(wc -l <"$work/sorted")" -ne $# ]; then bad "$# op goldens, but $(wc -l <"$work/sorted") reports"; fi
    if [ "$executed" -eq 0 ]; then bad "no op golden was executed on $device:0"; fi
    echo "$executed of $# op goldens executed on $device:0; not supported there ($over):"
    sed -n 's/-[0-9]* over$//p' "$work/sorted" | uniq -c | awk '{printf "%s%s %d", sep, $2, $1; sep = ", "} END {print ""}'
fi

# ---- captures --------------------------------------------------------------------------------------------------------

# run_capture FILE MACHINE DEVICES: each of them must have nodes in a run that is executed
run_capture() {
    if ! "$tool" --check-outputs -d 0 -f text -b "$2" "$1" >"$work/out" 2>"$work/err"; then
        bad "${1##*/} on $3 of $device"
        grep -v warning "$work/err" | head -n 4
        return
    fi
    for number in $(seq 0 $(($3 - 1))); do
        if ! grep -q "^    DEV$number  *[1-9]" "$work/out"; then
            bad "${1##*/}: nothing ran on $device:$number"
            return
        fi
    done
    ok
    n_captures=$((n_captures + 1))
}

n_captures=0
for f in "$folder"/captures/*.json; do
    [ -f "$f" ] || continue
    if grep -q '"name": *"Vulkan1"' "$f"; then
        if [ "$n_devices" -ge 2 ]; then run_capture "$f" "$work/two.json" 2; fi
    elif grep -q '"name": *"Vulkan0"' "$f"; then
        case $f in *partial*) run_capture "$f" "$work/one.json" 1 ;; esac
    fi
done
if [ -d "$folder/captures" ] && [ "$n_captures" -eq 0 ]; then bad "no capture was executed on $device"; fi
echo "$n_captures captures executed on $device"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
