/*
 * host_language.h - the words in which device kernels are written, for C: what they compute can be tested on the host.
 *
 * Layer: tests.  src/backends/gpu/kernels/opencl_language.h says the same in OpenCL C.  Only functions, no kernels.
 */
#ifndef SR_HOST_LANGUAGE_H
#define SR_HOST_LANGUAGE_H

#include <math.h>
#include <string.h>

#include "backends/gpu/kernels/gpu_types.h"
#include "graph/quant.h"

/* kernels are compiled without these warnings by the compilers they are written for */
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wunused-function"

#define DEVICE static inline
#define DEVICE_CALLED DEVICE
#define GLOBAL
#define CONSTANT static const
#define CONSTANT_POINTER const

typedef unsigned char gpu_byte;
typedef unsigned short gpu_ushort;
typedef unsigned int gpu_uint;

static inline gpu_ushort sr__host_half_at(const void *p) {
    gpu_ushort h;
    memcpy(&h, p, sizeof(h));
    return h;
}

#define FLOAT_BITS(x) sr__bits_of_f32(x)
#define BITS_FLOAT(x) sr__f32_of_bits(x)
#define LOAD_HALF(p) sr__f16_to_f32(sr__host_half_at(p))
#define STORE_HALF(p, x) (*(gpu_ushort *)(p) = sr__f32_to_f16(x))

#endif
