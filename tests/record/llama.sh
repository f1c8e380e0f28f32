#!/bin/sh
# Records a real llama.cpp and compares every replay with the splits, inputs and backends that it printed: llama.sh BUILD.
# Ends with `N passed, N failed`.
#
# The llama.cpp is that of node-llama-cpp's packages for Linux, with shared libraries for CPU and Vulkan, fetched with
# npm into the build folder.  A software Vulkan device (lavapipe) stands for a GPU; what it computes is passed over,
# because it takes minutes to compile its shaders, and no decision of the scheduler depends on values.  What is missing
# is said in lines that begin with `skipped: `.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=$(cd "$1" && pwd)
record=$build/sched-record
run=$build/sched-run
driver=$build/tests/record/llama_driver
version=3.22.1
passed=0
failed=0
LC_ALL=C
export LC_ALL
unset GGML_SCHED_DEBUG LD_PRELOAD LD_LIBRARY_PATH

end() {
    [ $# -eq 0 ] || echo "skipped: recording a real llama.cpp: $*"
    echo "$passed passed, $failed failed"
    [ $failed -eq 0 ]
    exit
}

case $(uname -sm) in "Linux x86_64") ;; *) end "its packages are for Linux on x86-64" ;; esac
if nm -D "$build/libsched_record.so" | grep -q __asan_init; then end "not under a sanitizer"; fi
command -v npm >/dev/null 2>&1 || end "there is no npm to fetch it with"
packages=$PWD/build/record-packages/node_modules/@node-llama-cpp
for package in linux-x64 linux-x64-vulkan; do
    grep -qs "\"version\": \"$version\"" "$packages/$package/package.json" && continue
    timeout 120 npm install --ignore-scripts --no-save --no-audit --no-fund --prefix build/record-packages \
        "@node-llama-cpp/linux-x64@$version" "@node-llama-cpp/linux-x64-vulkan@$version" >/dev/null 2>&1
    [ -f "$packages/$package/package.json" ] || end "npm cannot fetch @node-llama-cpp/$package@$version"
done
cpu=$packages/linux-x64/bins/linux-x64
vulkan=$packages/linux-x64-vulkan/bins/linux-x64-vulkan
models=$PWD/tests/models
[ -d ../shared/models ] && models=$(cd ../shared/models && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

bad() {
    failed=$((failed + 1))
    echo "--- $name: $*"
    tail -n 12 "$work/err"
}

# records NAME COMMAND...: the replay must be what was printed, and say where the reference's rules give another
records() {
    name=$1
    shift
    file=$work/$name.json
    if ! "$record" --verify -o "$file" -- "$@" >"$work/out" 2>"$work/err" </dev/null; then
        bad "status $?"
    elif ! grep -q "$name.json: verified" "$work/err"; then
        bad "not verified"
    else
        passed=$((passed + 1))
        sed -n "s|^sched-record: $work/\(.*\): give --rules.*|\1|p" "$work/err"
    fi
    if "$run" -n -q "$file" >/dev/null 2>"$work/err"; then passed=$((passed + 1)); else bad "no replay"; fi
}

# has WORDS: the recording made last
has() { if grep -qF -- "$1" "$file"; then passed=$((passed + 1)); else bad "the recording lacks '$1'"; fi; }

# ---- the CPU alone, computed ----------------------------------------------------------------------------------------------

records cpu "$driver" "$cpu" "$models/tiny-dense.gguf"
has '"name":"cache_k_l0 (view)"'
records cpu-flash "$driver" "$cpu" "$models/tiny-q4_0.gguf" -fa 1 -p 40
has '"op":"FLASH_ATTN_EXT"'
records cpu-experts "$driver" "$cpu" "$models/qwen3moe.gguf"
has '"op":"MUL_MAT_ID"'
records cpu-state "$driver" "$cpu" "$models/mamba.gguf"
records cpu-global "$driver" "$cpu" "$models/gpt2.gguf" -global

name=data
file=$work/data.json
"$record" -q --data --only alloc -o "$file" -- "$driver" "$cpu" "$models/tiny-dense.gguf" -p 3 >/dev/null 2>"$work/err"
has '"name":"inp_tokens","type":"i32","ne":[3],"flags":["input"],"data":{"base64":"AwAAAAoAAAARAAAA"}'
has '"name":"inp_pos","type":"i32","ne":[3],"flags":["input"],"data":{"base64":"AAAAAAEAAAACAAAA"}'

name=anonymise
file=$work/anonymise.json
"$record" -q --anonymise -o "$file" -- "$driver" "$cpu" "$models/tiny-dense.gguf" >/dev/null 2>"$work/err"
has '"name":"blk.0.attn_norm.weight"'
if grep -q '"tensor_0' "$file"; then bad "a name of llama.cpp is not known"; else passed=$((passed + 1)); fi

if command -v node >/dev/null 2>&1; then
    records node node tests/record/llama_node.js "$cpu/llama-addon.node" "$models/tiny-dense.gguf"
else
    echo "skipped: recording the Node binding: there is no node"
fi

# ---- with a device --------------------------------------------------------------------------------------------------------

lavapipe=$(ls /usr/share/vulkan/icd.d/lvp_icd*.json 2>/dev/null | head -n 1)
[ -n "$lavapipe" ] || end "with a device: there is no lavapipe (mesa-vulkan-drivers)"
VK_DRIVER_FILES=$lavapipe
VK_ICD_FILENAMES=$lavapipe
GGML_VK_VISIBLE_DEVICES=0
export VK_DRIVER_FILES VK_ICD_FILENAMES GGML_VK_VISIBLE_DEVICES

records vulkan-none "$driver" "$vulkan" "$models/tiny-dense.gguf" -dry
has '"device":"sim","type":"gpu"'
records vulkan-some "$driver" "$vulkan" "$models/deep-dense.gguf" -ngl 5 -dry -p 64
has '"offloaded_by":["Vulkan0"]'
records vulkan-all "$driver" "$vulkan" "$models/tiny-dense.gguf" -ngl 99 -dry
has '"buffer":"Vulkan0.weights"'
records vulkan-flash "$driver" "$vulkan" "$models/gpt-oss.gguf" -ngl 99 -fa 1 -dry
records vulkan-sinks "$driver" "$vulkan" "$models/gpt-oss.gguf" -ngl 99 -fa 1 -cpu 'attn_sinks' -dry -p 64
records vulkan-norms "$driver" "$vulkan" "$models/gemma3.gguf" -ngl 99 -cpu '_norm' -dry
records vulkan-experts "$driver" "$vulkan" "$models/tiny-moe.gguf" -ngl 99 -cpu 'ffn_(up|down|gate)_exps' -dry
records vulkan-hybrid "$driver" "$vulkan" "$models/jamba.gguf" -ngl 2 -dry
GGML_VK_VISIBLE_DEVICES=0,0
records vulkan-two "$driver" "$vulkan" "$models/tiny-dense.gguf" -ngl 99 -dry
has '"parallel":true'
records vulkan-two-some "$driver" "$vulkan" "$models/qwen3moe.gguf" -ngl 2 -dry
has '"name":"Vulkan1"'
end
