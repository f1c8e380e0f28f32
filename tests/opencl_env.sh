# Sourced by test scripts with the build folder in $build, and the repository in $root if it is not the working folder:
# OpenCL by PoCL, on this machine's processors, as two devices.  What is compiled is kept with the build, so that only the
# first run compiles it.
POCL_DEVICES=${POCL_DEVICES-pthread pthread}
POCL_CACHE_DIR=$(mkdir -p "$build/pocl" && CDPATH='' cd -- "$build/pocl" && pwd)
SCHED_RUN_CACHE=$POCL_CACHE_DIR
# What PoCL and LLVM leave behind at the end of a process is theirs.
LSAN_OPTIONS=suppressions=${root-$PWD}/tests/lsan.supp:print_suppressions=0${LSAN_OPTIONS:+:$LSAN_OPTIONS}
# The search for leaks stops a driver's threads wherever they are, and dies now and then: it is not for what opens one.
no_leak_check=detect_leaks=0
export POCL_DEVICES POCL_CACHE_DIR SCHED_RUN_CACHE LSAN_OPTIONS
