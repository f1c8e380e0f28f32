/*
 * cuda_kernels.cu - the kernels that all devices share, compiled for CUDA, and their addresses by number.
 *
 * Layer: backends.
 */
#include "backends/gpu/kernels/cuda_language.h"

#include "backends/gpu/kernels/all_kernels.h"
#include "backends/gpu/kernels/kernel_list.h"

extern "C" {
extern const void *const sr__cuda_kernels[];
#define KERNEL_ADDRESS(name) (const void *)name,
__attribute__((visibility("hidden"))) const void *const sr__cuda_kernels[] = {SR_GPU_KERNELS(KERNEL_ADDRESS)};
#undef KERNEL_ADDRESS
}
