/*
 * opencl_language.h - the words in which kernels are written, for OpenCL C 1.2.
 *
 * Layer: backends.  It opens the program that the OpenCL runtime builds; cuda_language.h says the same in CUDA C++.
 * Neither cl_khr_fp16 nor cl_khr_fp64 is needed: halves are loaded and stored by functions that the core language has.
 */
#define KERNEL(name) __kernel void name
#define DEVICE static inline __attribute__((always_inline))
/* PoCL loses what a function that is not inlined does with local memory and structs; long code is called only where it
 * has neither, because kernels are built while the user waits. */
#define DEVICE_LARGE DEVICE
#define DEVICE_CALLED static __attribute__((noinline))
#define GLOBAL __global
#define LOCAL_POINTER __local             /* of a pointer to local memory */
#define LOCAL_ARRAY __local               /* of an array in local memory; at the outermost level of a kernel */
#define CONSTANT __constant               /* of a table at file level */
#define CONSTANT_POINTER __constant const /* of a pointer to one */
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#define BARRIER_GLOBAL() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE) /* within a group */
#define UNROLL _Pragma("unroll")          /* before a loop whose arrays belong in registers */
#define UNROLL_LARGE                      /* before one of large bodies, whose copies a compiler may choke on */

#define LOCAL_ID(d) ((gpu_int)get_local_id(d))
#define LOCAL_SIZE(d) ((gpu_int)get_local_size(d))
#define GROUP_ID(d) ((gpu_long)get_group_id(d))
#define GROUP_COUNT(d) ((gpu_long)get_num_groups(d))
#define GLOBAL_ID(d) ((gpu_long)get_global_id(d))
#define GLOBAL_SIZE(d) ((gpu_long)get_global_size(d))

typedef uchar gpu_byte;
typedef ushort gpu_ushort;
typedef uint gpu_uint;

/* Bits of a float and back; the pointer must be aligned to the type. */
#define FLOAT_BITS(x) as_uint(x)
#define BITS_FLOAT(x) as_float(x)
#define LOAD_HALF(p) vload_half(0, (GLOBAL const half *)(p))
#define STORE_HALF(p, x) vstore_half_rte((x), 0, (GLOBAL half *)(p))
#define ATOMIC_ADD(p, value) atomic_add((volatile GLOBAL gpu_int *)(p), (value)) /* returns what stood there */
#define ATOMIC_FIRST(p, value) atomic_cmpxchg((volatile GLOBAL gpu_int *)(p), 0, (value)) /* writes where 0 stands */
#define MARK(p) (*(volatile LOCAL_POINTER gpu_int *)(p) = 1) /* by several items at once, of local memory */

/* The product rounded by itself: never part of a fused multiply-add. */
static inline float PRODUCT(float a, float b) {
#pragma OPENCL FP_CONTRACT OFF
    return a * b;
}

/* To f16 and back. */
static inline float ROUND_HALF(float x) {
    ushort bits;
    vstore_half_rte(x, 0, (half *)&bits);
    return vload_half(0, (const half *)&bits);
}
