/*
 * cuda_language.h - the words in which kernels are written, for CUDA C++.
 *
 * Layer: backends.  opencl_language.h says the same in OpenCL C.
 */
#ifndef SR_CUDA_LANGUAGE_H
#define SR_CUDA_LANGUAGE_H

#include <cuda_fp16.h>

#include "backends/gpu/kernels/gpu_types.h"

#define KERNEL(name) extern "C" __global__ void name
#define DEVICE static __device__ __forceinline__
/* called rather than copied for the time nvcc takes; the hot decoders are copied */
#define DEVICE_LARGE static __device__ __noinline__
#define DEVICE_CALLED DEVICE
#define GLOBAL
#define LOCAL_POINTER
#define LOCAL_ARRAY __shared__
#define CONSTANT static __device__ const
#define CONSTANT_POINTER const
#define BARRIER() __syncthreads()
#define BARRIER_GLOBAL() __syncthreads()
#define UNROLL _Pragma("unroll")
#define UNROLL_LARGE _Pragma("unroll")

#define GPU_AXIS(v, d) ((d) == 0 ? (v).x : (d) == 1 ? (v).y : (v).z)
#define LOCAL_ID(d) ((gpu_int)GPU_AXIS(threadIdx, d))
#define LOCAL_SIZE(d) ((gpu_int)GPU_AXIS(blockDim, d))
#define GROUP_ID(d) ((gpu_long)GPU_AXIS(blockIdx, d))
#define GROUP_COUNT(d) ((gpu_long)GPU_AXIS(gridDim, d))
#define GLOBAL_ID(d) (GROUP_ID(d) * LOCAL_SIZE(d) + LOCAL_ID(d))
#define GLOBAL_SIZE(d) (GROUP_COUNT(d) * LOCAL_SIZE(d))

typedef unsigned char gpu_byte;
typedef unsigned short gpu_ushort;
typedef unsigned int gpu_uint;

#define FLOAT_BITS(x) __float_as_uint(x)
#define BITS_FLOAT(x) __uint_as_float(x)
#define LOAD_HALF(p) __half2float(*(const __half *)(p))
#define STORE_HALF(p, x) (*(__half *)(p) = __float2half_rn(x))
#define ATOMIC_ADD(p, value) atomicAdd((p), (value))
#define ATOMIC_FIRST(p, value) atomicCAS((int *)(p), 0, (value))
#define MARK(p) (*(volatile gpu_int *)(p) = 1)
#define PRODUCT(a, b) __fmul_rn((a), (b))
#define ROUND_HALF(x) __half2float(__float2half_rn(x))

#endif
