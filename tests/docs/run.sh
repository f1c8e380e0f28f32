#!/bin/sh
# Runs the commands that pages show: tests/docs/run.sh [--bless | --pictures] SCHED_RUN PAGE...  Ends with
# `N passed, N failed`.
#
# In a page's fenced blocks a line `$ COMMAND` is run in the root of the repository, with sched-run as the tool; what it
# writes must equal the lines up to the next command or the end of the block.  --bless writes them anew.  A comment
# `<!-- picture: COMMAND -->` makes a picture; --pictures runs those, with $WORK as a folder for what is between.
set -u
mode=check
case $1 in --bless | --pictures) mode=${1#--}; shift ;; esac
tool=$(CDPATH='' cd -- "$(dirname -- "$1")" && pwd)/$(basename -- "$1")
shift
cd "$(dirname "$0")/../.." || exit 1
LC_ALL=C
export LC_ALL
unset GGML_SCHED_DEBUG GGML_SCHED_DEBUG_REALLOC GGML_OP_OFFLOAD_MIN_BATCH NO_COLOR
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ln -s "$tool" "$work/sched-run"
PATH=$work:$PATH
WORK=$work
export WORK
passed=0
failed=0

# The page as it ought to be, on standard output.
fresh() {
    awk -v out="$work/out" '
        /^```/ { fenced = !fenced; inside = 0; print; next }
        fenced && /^\$ / {
            print
            inside = 1
            system("{ " substr($0, 3) "\n} >" out " 2>&1 </dev/null")
            while ((getline line < out) > 0) print line
            close(out)
            next
        }
        !fenced || !inside { print }' "$1"
}

for page in "$@"; do
    if [ $mode = pictures ]; then
        sed -n 's/^<!-- picture: \(.*\) -->$/\1/p' "$page" >"$work/pictures"
        while IFS= read -r command; do
            if sh -c "$command"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "$command"; fi
        done <"$work/pictures"
        continue
    fi
    fresh "$page" >"$work/page"
    if [ $mode = bless ]; then
        cmp -s "$page" "$work/page" || cat "$work/page" >"$page"
        passed=$((passed + 1))
    elif cmp -s "$page" "$work/page"; then
        passed=$((passed + $(grep -c '^\$ ' "$page")))
    else
        failed=$((failed + 1))
        diff -u "$page" "$work/page" | head -n 60
    fi
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
