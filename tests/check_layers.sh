#!/bin/sh
# Fails on an include that runs up the layers, on cJSON outside describe, on printing, exiting or reading the
# environment outside cli, and on two files with one base name.  docs/architecture.md draws the layers.
set -eu
cd "$(dirname "$0")/.."
bad=0
complain() { echo "check-layers: $*"; bad=1; }

# What each room may include, by folder of the included header (public headers count as their room).
allowed() {
    case $1 in
    base) echo "base status" ;;
    graph) echo "base status graph" ;;
    backend) echo "base status graph backend" ;;
    kernels) echo "base status graph backend kernels custom" ;;
    backends) echo "base status graph backend kernels custom backends" ;;
    alloc) echo "base status graph backend alloc" ;;
    sched) echo "base status graph backend alloc sched" ;;
    describe) echo "base status graph backend describe" ;;
    analyze) echo "base status graph backend alloc sched describe analyze" ;;
    report) echo "base status graph backend alloc sched describe analyze report" ;;
    cli) echo "base status graph backend alloc sched describe analyze report cli kernels custom" ;;
    esac
}

# The recorder is loaded into other programs: it sees its own headers and libc, and does as they do.
for f in $(find src/record -name '*.[ch]' | sort); do
    for inc in $(sed -n 's/^#include "\([^"]*\)".*/\1/p' "$f"); do
        case $inc in
        record/tool/*) case $f in src/record/tool/*) ;; *) complain "$f includes the command's $inc" ;; esac ;;
        record/*) ;;
        *) complain "$f (record) includes $inc" ;;
        esac
    done
done

for f in $(find src -name '*.[ch]' -not -path 'src/record/*' | sort); do
    room=${f#src/}
    own=${room%/*}
    room=${room%%/*}
    ok=" $(allowed "$room") "
    for inc in $(sed -n 's/^#include "\([^"]*\)".*/\1/p' "$f"); do
        case $inc in
        sched_run.h) [ "$room" = cli ] || complain "$f includes the umbrella header"; continue ;;
        sched_run/trace.h) target=backend ;;
        sched_run/import.h) target=describe ;;
        sched_run/diff.h | sched_run/estimate.h | sched_run/explain.h | sched_run/lint.h | sched_run/memory_plan.h | \
            sched_run/reallocation.h | sched_run/sweep.h) target=analyze ;;
        sched_run/*) target=${inc#sched_run/}; target=${target%.h} ;;
        backends/drivers.h) target=backends ;;
        backends/gpu/*) # what devices with kernels of their own share
            target=backends
            case $own in backends/gpu* | backends/opencl | backends/cuda) ;; *) complain "$f includes $inc" ;; esac
            ;;
        backends/*)
            target=backends
            [ "${inc%/*}" = "$own" ] || complain "$f includes another backend's $inc"
            ;;
        */*) target=${inc%%/*} ;;
        *) target=$room ;;
        esac
        case $ok in *" $target "*) ;; *) complain "$f ($room) includes $inc ($target)" ;; esac
    done
    if [ "$room" != describe ] && grep -q 'cJSON' "$f"; then complain "$f uses cJSON"; fi
    if [ "$room" != cli ]; then
        if grep -nE '\b(exit|abort|_exit|getenv|secure_getenv|printf|puts|putchar|perror)[[:space:]]*\(' "$f" |
            grep -vE '^[0-9]+:[[:space:]]*(/?\*|//)' | grep -qE '(^|[^_a-z])(exit|abort|_exit|getenv|secure_getenv|printf|puts|putchar|perror)[[:space:]]*\('; then
            complain "$f exits, prints or reads the environment"
        fi
        if [ "$room" != base ] && grep -nE '(^|[^_a-z>.])(malloc|calloc|realloc|strdup|strndup|free)[[:space:]]*\(' "$f" |
            grep -qvE '^[0-9]+:[[:space:]]*(/?\*|//)'; then
            complain "$f allocates past sr__malloc"
        fi
    fi
done
twice=$(find src include -name '*.[ch]' | sed 's|.*/||; s|\.[ch]$||' | sort | uniq -c | awk '$1 > 2 {print $2}')
[ -z "$twice" ] || complain "base names used more than once: $twice"
exit $bad
