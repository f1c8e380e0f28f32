#!/bin/sh
# Compares the tool with recorded results: parity.sh SCHED_RUN FOLDER.  Below FOLDER every NAME.json is checked against
# its `expect`; where NAME.log stands beside it, `--format ggml` must equal it to the byte.  Then the logs are imported
# and scheduled again (import.sh).  Ends with `N passed, N failed`.
set -u
PARITY_FLAGS=${PARITY_FLAGS--n}
tool=$1
folder=$2
passed=0
failed=0
out=$(mktemp)
trap 'rm -f "$out" "$out.err"' EXIT
if [ ! -d "$folder" ]; then
    echo "no folder '$folder'"
    exit 1
fi
for f in $(find "$folder" -name '*.json' -not -path '*/models/*' | sort); do
    if "$tool" --check $PARITY_FLAGS -q "$f" >"$out" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "--check $f:"
        head -n 5 "$out"
    fi
    log=${f%.json}.log
    [ -f "$log" ] || continue
    "$tool" -n --format ggml "$f" >"$out" 2>"$out.err"
    if cmp -s "$out" "$log"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "--format ggml $f:"
        diff "$out" "$log" | head -n 4
        head -n 2 "$out.err"
    fi
done
"$(dirname "$0")/import.sh" "$tool" "$folder" >"$out"
sed '$d' "$out"
line=$(tail -n 1 "$out")
rest=${line#* passed, }
passed=$((passed + ${line%% *}))
failed=$((failed + ${rest%% *}))
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
