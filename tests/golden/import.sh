#!/bin/sh
# Imports recorded logs and schedules them again: import.sh SCHED_RUN FOLDER.  For every NAME.log below FOLDER, as it is,
# with its causes blanked (as a program prints that was built without them), and in one of the forms of
# tests/import/form.awk, each log in the next one: `import`, then `--check` against the splits of the log, and
# `--format ggml` against the log itself.  Ends with `N passed, N failed`.
#
# What a log does not say is left out of that comparison, and nothing else:
# * causes: an import assigns nodes by hand;
# * use counts: what the views that the log leaves out are views of is guessed;
# * in the forms before 2026-05, the kind of UNARY and GLU.
set -u
tool=$1
folder=$2
here=$(dirname "$0")
forms="2023-10 2024-01 2024-03 2024-06 2024-12 2025-07 2026-01 2026-05 logger colours bare windows quoted docker journal
    pieces wrapped squeezed fenced json"
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
# the ops of today as older logs call them
kinds() { awk -v form=2026-01 -f "$here/../import/form.awk" "$1" | sed -E '/^node #/ s/ use=[0-9]+,/ use=,/' | blank /dev/stdin; }

# try LOG WHAT FILE: imports FILE, a form of LOG, and compares with $work/want
try() {
    bad=
    "$tool" import -q -o "$work/it.json" "$3" 2>"$work/err" || bad="cannot be imported"
    if [ -z "$bad" ]; then
        "$tool" -n --check --format ggml "$work/it.json" >"$work/out" 2>"$work/err" || bad="the splits differ"
        "$normal" "$work/out" >"$work/got"
        cmp -s "$work/want" "$work/got" || bad="the text differs"
    fi
    if [ -z "$bad" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$1 ($2): $bad"
        head -n 3 "$work/err"
        [ -f "$work/got" ] && diff "$work/want" "$work/got" | head -n 4
    fi
    rm -f "$work/got" "$work/it.json"
}

set --
for log in $(find "$folder" -name '*.log' | sort); do
    normal=known
    known "$log" >"$work/want"
    try "$log" "with causes" "$log"
    blank "$log" >"$work/blank.log"
    try "$log" "without causes" "$work/blank.log"
    [ $# -gt 0 ] || set -- $forms
    form=$1
    case $form in 2023-10 | 2024-01) # there were no pipeline copies then
        grep -q '#[1-9] (' "$log" && form=2024-03 ;;
    esac
    awk -v form="$form" -f "$here/../import/form.awk" "$log" >"$work/form.log"
    case $form in 20*)
        normal=kinds
        kinds "$log" >"$work/want"
        ;;
    esac
    try "$log" "$form" "$work/form.log"
    shift
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
