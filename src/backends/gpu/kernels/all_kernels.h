/*
 * all_kernels.h - the kernel files in the order in which they need each other.
 *
 * Layer: backends.  CUDA compiles this file; the OpenCL program is these files one after the other, in this order.
 */
#include "backends/gpu/kernels/operand.h"
#include "backends/gpu/kernels/dequantize.h"
#include "backends/gpu/kernels/binary.h"
