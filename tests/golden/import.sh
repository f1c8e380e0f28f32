#!/bin/sh
# Imports recorded logs and schedules them again: import.sh SCHED_RUN FOLDER.  For every NAME.log below FOLDER, as it is
# and with its causes blanked (as a program prints that was built without them): `import`, then `--check` against the
# splits of the log, and `--format ggml` against the log itself.  Ends with `N passed, N failed`.
#
# What a log does not say is left out of that comparison, and nothing else:
# * causes: an import assigns nodes by hand;
# * use counts: what the views that the log leaves out are views of is guessed.
set -u
tool=$1
folder=$2
passed=0
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ ! -d "$folder" ]; then
    echo "no folder '$folder'"
    exit 1
fi

blank() { sed -E '/^node #/ s/\[(.{5}) .{8}\]/[\1         ]/g' "$1"; }
known() { blank "$1" | sed -E '/^node #/ s/ use=[0-9]+,/ use=,/'; }

for log in $(find "$folder" -name '*.log' | sort); do
    known "$log" >"$work/want"
    blank "$log" >"$work/blank.log"
    for source in "$log" "$work/blank.log"; do
        bad=
        "$tool" import -q -o "$work/it.json" "$source" 2>"$work/err" || bad="cannot be imported"
        if [ -z "$bad" ]; then
            "$tool" -n --check --format ggml "$work/it.json" >"$work/out" 2>"$work/err" || bad="the splits differ"
            known "$work/out" >"$work/got"
            cmp -s "$work/want" "$work/got" || bad="the text differs"
        fi
        if [ -z "$bad" ]; then
            passed=$((passed + 1))
        else
            failed=$((failed + 1))
            echo "$log ($([ "$source" = "$log" ] && echo with causes || echo without)): $bad"
            head -n 3 "$work/err"
            [ -f "$work/got" ] && diff "$work/want" "$work/got" | head -n 4
        fi
        rm -f "$work/got" "$work/it.json"
    done
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
