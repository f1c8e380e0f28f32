/*
 * item_language.h - the words in which device kernels are written, for C++: each work-item a fiber of gpu_items.c.
 *
 * Layer: tests.  src/backends/gpu/kernels/cuda_language.h says the same in CUDA C++.
 */
#ifndef TESTS_ITEM_LANGUAGE_H
#define TESTS_ITEM_LANGUAGE_H

#include <cmath>
#include <cstring>

#include "backends/gpu/kernels/gpu_types.h"
#include "items/gpu_items.h"

extern "C" {
#include "graph/quant.h"
}

using std::cos;
using std::exp;
using std::fabs;
using std::fma;
using std::fmax;
using std::fmin;
using std::log;
using std::log1p;
using std::pow;
using std::rint;
using std::sin;
using std::sqrt;
using std::tanh;

#define KERNEL(name) static void name
#define DEVICE static inline
#define DEVICE_LARGE static
#define DEVICE_CALLED static
#define GLOBAL
#define LOCAL_POINTER
#define CONSTANT static const
#define CONSTANT_POINTER const
#define UNROLL
#define UNROLL_LARGE
/* ThreadSanitizer knows nothing of groups: there each has a thread, and its local memory is the thread's. */
#ifdef __SANITIZE_THREAD__
#define LOCAL_ARRAY static __thread
#else
#define LOCAL_ARRAY static __attribute__((section("group_memory")))
#endif

#define BARRIER() items_barrier(__LINE__)
#define BARRIER_GLOBAL() items_barrier(__LINE__)
#define LOCAL_ID(d) ((gpu_int)items_local_id(d))
#define LOCAL_SIZE(d) ((gpu_int)items_local_size(d))
#define GROUP_ID(d) ((gpu_long)items_group_id(d))
#define GROUP_COUNT(d) ((gpu_long)items_group_count(d))
#define GLOBAL_ID(d) (GROUP_ID(d) * LOCAL_SIZE(d) + LOCAL_ID(d))
#define GLOBAL_SIZE(d) (GROUP_COUNT(d) * LOCAL_SIZE(d))

typedef unsigned char gpu_byte;
typedef unsigned short gpu_ushort;
typedef unsigned int gpu_uint;
typedef struct float4 {
    float x, y, z, w;
} float4;

static inline gpu_ushort item_half_at(const void *p) {
    gpu_ushort h;
    memcpy(&h, p, sizeof(h));
    return h;
}

static inline gpu_int item_first(gpu_int *p, gpu_int value) {
    gpu_int expected = 0;
    __atomic_compare_exchange_n(p, &expected, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return expected;
}

#define FLOAT_BITS(x) sr__bits_of_f32(x)
#define BITS_FLOAT(x) sr__f32_of_bits(x)
#define LOAD_HALF(p) sr__f16_to_f32(item_half_at(p))
#define STORE_HALF(p, x) (*(gpu_ushort *)(p) = sr__f32_to_f16(x))
#define ATOMIC_ADD(p, value) __atomic_fetch_add((gpu_int *)(p), (value), __ATOMIC_RELAXED)
#define ATOMIC_FIRST(p, value) item_first((gpu_int *)(p), (value))
#define MARK(p) __atomic_store_n((p), 1, __ATOMIC_RELAXED)
#define ROUND_HALF(x) sr__f16_to_f32(sr__f32_to_f16(x))

/* Rounded by itself: the build contracts nothing. */
static inline float PRODUCT(float a, float b) { return a * b; }

#endif
