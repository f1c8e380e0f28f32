#!/bin/sh
# Tests of sched-record with a small ggml of the tests' own: run.sh BUILD.  Ends with `N passed, N failed`.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=$(cd "$1" && pwd)
fake=$build/tests/record
record=$build/sched-record
run=$build/sched-run
LC_ALL=C
# the recorder comes before a sanitizer's runtime, and what it was given is not freed when a program is killed
ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0
LD_LIBRARY_PATH=$fake/ggml0
export LC_ALL ASAN_OPTIONS LD_LIBRARY_PATH
unset GGML_SCHED_DEBUG LD_PRELOAD
passed=0
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

good() { passed=$((passed + 1)); }
bad() {
    failed=$((failed + 1))
    echo "--- $*"
    head -n 12 "$work/out" "$work/err" 2>/dev/null
}

# record NAME STATUS [COMMAND...]: runs a command in an empty folder of that name; its status must be as given
record() {
    name=$1
    expected=$2
    shift 2
    mkdir -p "$work/$name"
    (cd "$work/$name" && "$@") >"$work/out" 2>"$work/err" </dev/null
    status=$?
    if [ $status -eq "$expected" ]; then good; else bad "$name: status $status, expected $expected"; fi
}

# says WORDS: they are in what was said on standard error
says() { if grep -qF -- "$1" "$work/err"; then good; else bad "$name: '$1' was not said"; fi; }
# has FILE WORDS, lacks FILE WORDS
has() { if grep -qF -- "$2" "$work/$name/$1"; then good; else bad "$name: $1 lacks '$2'"; fi; }
lacks() { if grep -qF -- "$2" "$work/$name/$1"; then bad "$name: $1 has '$2'"; else good; fi; }
# files LIST: exactly these are in the folder
files() {
    found=$(cd "$work/$name" && echo *)
    if [ "$found" = "$1" ]; then good; else bad "$name: files '$found', expected '$1'"; fi
}
# replays FILE...: sched-run reads and schedules them
replays() {
    for file in "$@"; do
        if "$run" -n -q "$work/$name/$file" >"$work/out" 2>"$work/err"; then good; else bad "$name: $file"; fi
    done
}
count() { grep -c "$2" "$work/$name/$1"; }
# counts FILE PATTERN N
counts() {
    n=$(count "$1" "$2")
    if [ "$n" = "$3" ]; then good; else bad "$name: $n lines of $1 with '$2', expected $3"; fi
}

# ---- what is written -------------------------------------------------------------------------------------------------

record plain 0 "$record" -o bug.json -- "$fake/fake_program" build 5 reserve size split chain 6 same chain 9
says "bug.json: 3 graphs, 6 runs (3 reserves)"
files bug.json
replays bug.json
counts bug.json '{"graph":' 6
counts bug.json '"reserve":true' 3
has bug.json '"op":"GET_ROWS","name":"node_0","ne":[16,8],"src":["l0","l1"]'
has bug.json '"name":"/home/me/secret.wav"'
has bug.json '{"name":"FAKE0[host:1]","device":"sim","type":"gpu","alignment":256,"max_buffer_size":1073741824'
lacks bug.json '"data"'

record options 0 "$record" --only alloc --max 2 --data -o bug.json "$fake/fake_program" \
    build 5 reserve chain 6 same chain 9
says "1 graph, 2 runs (0 reserves); there were more runs, see --max"
counts bug.json '{"graph":' 2
has bug.json '"data":{"base64":"AwAAAAEAAAAEAAAAAQAAAAUAAAAJAAAAAgAAAAYAAAA="}'
replays bug.json

record only 0 "$record" -q --only reserve -o bug.json "$fake/fake_program" build 5 reserve chain 6
counts bug.json '{"graph":' 1
[ -s "$work/err" ] && bad "only: --quiet says something"

record anonymise 0 "$record" --anonymise -o bug.json -- "$fake/fake_program" chain 6
lacks bug.json secret
lacks bug.json fake_program
lacks bug.json host:1
has bug.json '"name":"tensor_0"'
has bug.json '"name":"token_embd.weight"'
replays bug.json

FAKE_OFFLOAD=1 record offload 0 "$record" -o bug.json -- "$fake/fake_program" chain 4
has bug.json '"offloaded_by":["FAKE0[host:1]"]'

# ---- compared with what the program prints ---------------------------------------------------------------------------

record verify 0 "$record" --verify -o bug.json -- "$fake/fake_program" build 5 reserve chain 6
says "verified, 2 runs with 2 splits as the program printed them"
files bug.json
record log 0 "$record" --verify --log -o bug.json -- "$fake/fake_program" build 5 reserve chain 6
files "bug.json bug.log"
counts bug.log 'SPLIT #0: CPU # 0 inputs' 2
FAKE_OFFLOAD=1 record differs 1 "$record" --verify -o bug.json -- "$fake/fake_program" chain 6
says "by the rules 'reference' run 0 differs in split 0:"
GGML_SCHED_DEBUG=1 record printed 0 "$record" --log -o bug.json -- "$fake/fake_program" chain 6
says "## SPLIT #0: CPU # 0 inputs"

# ---- several schedulers, threads, folders, bindings ------------------------------------------------------------------

record several 0 "$record" -o bug.json -- "$fake/fake_program" build 5 reserve free new chain 6 free new build 7 reserve
files "bug-2.json bug-3.json bug.json"
counts bug.json '"reserve":true' 0
counts bug-2.json '"reserve":true' 1
has bug-3.json '"id":"n6"'
replays bug.json bug-2.json bug-3.json

record threads 0 "$record" -o bug.json -- "$fake/fake_program" threads
says "bug-12.json: 3 graphs, 20 runs"
replays bug.json bug-12.json

record folders 0 "$record" -o bug.json -- "$fake/fake_program" cd / chain 5
files bug.json
record link 0 sh -c "mkdir there && ln -s there/real.json bug.json && : >there/real.json &&
    '$record' -o bug.json -- '$fake/fake_program' chain 5"
has there/real.json '"sched_run":1'
record binding 0 "$record" -o bug.json -- "$fake/fake_host" "$fake/libfake_binding.so" build 5 reserve chain 6
says "2 graphs, 2 runs"
record shell 0 "$record" -o bug.json -- sh -c "'$fake/fake_program' chain 6; '$fake/fake_program' chain 7"
files "bug-2.json bug.json"

# ---- ends ------------------------------------------------------------------------------------------------------------

record status 7 "$record" -o bug.json -- "$fake/fake_program" chain 5 exit 7
replays bug.json
record quit 3 "$record" -o bug.json -- "$fake/fake_program" chain 5 same _exit
counts bug.json '{"graph":' 2
record abort 134 "$record" -o bug.json -- "$fake/fake_program" chain 5 same same abort
says "was ended by signal 6 (Aborted); the recording holds what it did until then"
counts bug.json '{"graph":' 3
FAKE_ABORT=1 record assertion 134 "$record" -o bug.json -- "$fake/fake_program" chain 5
counts bug.json '{"graph":' 1
replays bug.json
record killed 137 "$record" -o bug.json -- "$fake/fake_program" chain 5 same kill
says "was ended by signal 9 (Killed); the recording holds what it did until then"
files bug.json
has bug.json '{"graph":"g0"}'
replays bug.json
record early 137 "$record" -o bug.json -- "$fake/fake_program" kill
says "nothing had been recorded"
files "*"

# ---- what cannot be recorded -----------------------------------------------------------------------------------------

record none 4 "$record" -o bug.json -- ls
says "nothing was recorded: no ggml scheduler was made"
record unused 4 "$record" -o bug.json -- "$fake/fake_program"
says "a ggml scheduler was made, but given no graph"
record static 4 "$record" -o bug.json -- "$fake/fake_static" chain 5
says "this program contains ggml itself; build with BUILD_SHARED_LIBS=ON"
strip -o "$work/fake_stripped" "$fake/fake_static"
record stripped 4 "$record" -o bug.json -- "$work/fake_stripped" chain 5
says "this program contains ggml itself; build with BUILD_SHARED_LIBS=ON"
for layout in 1:tensor 2:graph 3:ggml_backend_sched_get_tensor_backend; do
    LD_LIBRARY_PATH=$fake/ggml${layout%:*}
    record "layout${layout%:*}" 4 "$record" -o bug.json -- "$fake/fake_program" threads chain 5
    says "this program's ggml cannot be read, nothing is recorded"
    says "${layout#*:}"
    [ "$(grep -c 'cannot be read' "$work/err")" = 1 ] || bad "layout ${layout%:*} is said several times"
    files "*"
done
LD_LIBRARY_PATH=$fake/ggml0
cp "$fake/fake_program" "$work/fake_other"
printf '\267\000' | dd of="$work/fake_other" bs=1 seek=18 conv=notrunc 2>/dev/null
record machine 4 "$record" -o bug.json -- "$work/fake_other"
says "is for another kind of machine"

# ---- disks -----------------------------------------------------------------------------------------------------------

record full 2 "$record" -o /dev/full -- "$fake/fake_program" chain 5
says "cannot write '/dev/full': No space left on device"
record quota 2 sh -c "echo before >bug.json; ulimit -f 4; '$record' -o bug.json -- '$fake/fake_program' chain 300 same"
says "File too large"
files bug.json
has bug.json before
record folder 2 "$record" -o /nowhere/bug.json -- "$fake/fake_program" chain 5
says "cannot write '/nowhere/bug.json': No such file or directory"
record missing 2 "$record" -o bug.json -- no-such-program
says "cannot find the program 'no-such-program'"

# ---- words -----------------------------------------------------------------------------------------------------------

record usage 2 "$record"
says "a program to run is missing"
record which 2 "$record" --only both -- ls
says "--only takes 'reserve' or 'alloc', not 'both'"
record number 2 "$record" --max 0 -- ls
record help 0 "$record" --help
record version 0 "$record" --version
exported=$(nm -D --defined-only "$build/libsched_record.so" | awk '{print $3}' |
    grep -vE '^(ggml_backend_sched_[a-z_]*|ggml_log_internal|abort|_exit)$')
name=exported
: >"$work/out"
: >"$work/err"
if [ -z "$exported" ]; then good; else bad "the recorder exports $exported"; fi

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
