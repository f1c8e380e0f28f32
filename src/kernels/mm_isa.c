/*
 * mm_isa.c - which set of inner loops this machine runs.
 *
 * Layer: kernels.
 */
#include "kernels/mm_isa.h"

#include <stdatomic.h>

static atomic_int limit = SR__MM_AVX512;

static sr__mm_level machine_level(void) {
#if defined(__x86_64__)
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && sr__cpu_has_f16c();
    if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512vnni")) {
        return SR__MM_AVX512;
    }
    return avx2 ? SR__MM_AVX2 : SR__MM_PLAIN;
#else
    return SR__MM_PLAIN;
#endif
}

const sr__mm_isa *sr__mm_isa_get(void) {
#if defined(__x86_64__)
    const int most = atomic_load_explicit(&limit, memory_order_relaxed);
    const int level = (int)machine_level() < most ? (int)machine_level() : most;
    if (level == SR__MM_AVX512) {
        return &sr__mm_avx512;
    }
    if (level == SR__MM_AVX2) {
        return &sr__mm_avx2;
    }
#endif
    return &sr__mm_plain;
}

bool sr__mm_isa_limit(sr__mm_level level) {
    atomic_store_explicit(&limit, (int)level, memory_order_relaxed);
    return machine_level() >= level;
}
