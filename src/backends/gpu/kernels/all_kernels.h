/*
 * all_kernels.h - the kernel files in the order in which they need each other.
 *
 * Layer: backends.  CUDA compiles this file; the OpenCL program is these files one after the other, in this order.
 */
#include "backends/gpu/kernels/operand.h"
#include "backends/gpu/kernels/dequantize.h"
#include "backends/gpu/kernels/index.h"
#include "backends/gpu/kernels/binary.h"
#include "backends/gpu/kernels/activations.h"
#include "backends/gpu/kernels/norm.h"
#include "backends/gpu/kernels/softmax.h"
#include "backends/gpu/kernels/triangle.h"
#include "backends/gpu/kernels/product_types.h"
#include "backends/gpu/kernels/round_columns.h"
#include "backends/gpu/kernels/mul_mat.h"
#include "backends/gpu/kernels/mul_mat_tiles.h"
#include "backends/gpu/kernels/flash_attn.h"
#include "backends/gpu/kernels/rope.h"
#include "backends/gpu/kernels/copy.h"
#include "backends/gpu/kernels/quantize.h"
#include "backends/gpu/kernels/row_access.h"
#include "backends/gpu/kernels/reduce.h"
#include "backends/gpu/kernels/sort.h"
#include "backends/gpu/kernels/images.h"
#include "backends/gpu/kernels/resample.h"
#include "backends/gpu/kernels/recurrent.h"
#include "backends/gpu/kernels/training.h"
#include "backends/gpu/kernels/windows.h"
