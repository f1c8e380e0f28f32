/*
 * gpu_types.h - what the host hands to a kernel by value; read by C, OpenCL C and CUDA C++ alike.
 *
 * Layer: backends.  Only 4-byte and 8-byte members, each at a multiple of its size, so that the three languages lay the
 * structs out alike.
 */
#ifndef SR_GPU_TYPES_H
#define SR_GPU_TYPES_H

#if defined(__OPENCL_VERSION__)
typedef int gpu_int;
typedef long gpu_long;
typedef float gpu_float;
#else
#include <stdint.h>
typedef int32_t gpu_int;
typedef int64_t gpu_long;
typedef float gpu_float;
#endif

/*
 * One operand: extents in elements, strides and offset in bytes, as an sr_tensor has them.  offset counts from the
 * first byte of the memory that is handed over beside it (cl_mem has no pointer arithmetic, so every language counts).
 */
typedef struct gpu_tensor {
    gpu_long offset;
    gpu_long ne[4];
    gpu_long nb[4];
    gpu_int type;  /* sr_type */
    gpu_int given; /* 0: an empty place; its memory is NULL then and must not be touched */
} gpu_tensor;

#endif
