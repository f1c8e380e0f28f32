/*
 * gpu_family.h - what the families of ops share: launches sized for their work, operands folded, checks.
 *
 * Layer: backends.  Internal to the folder gpu.
 */
#ifndef SR_GPU_FAMILY_H
#define SR_GPU_FAMILY_H

#include "backends/gpu/gpu_launch.h"

/*
 * A launch with a work-item for each of n elements, or a group of work-items for each of n rows of a length.  Above a
 * limit there are fewer, and each goes on with further ones: kernels/index.h.  Groups are of a power of two, at most
 * GPU_GROUP, work-items: for long rows as many as a launch of items has, for short rows fewer.
 */
sr__gpu_launch sr__gpu_launch_items(const sr__gpu_node *node, sr__gpu_kernel kernel, gpu_long n);
sr__gpu_launch sr__gpu_launch_rows(const sr__gpu_node *node, sr__gpu_kernel kernel, gpu_long n, gpu_long length);

/*
 * Places of equal extents, walked element by element: dimensions that lie behind each other in all of them become one,
 * so that a kernel divides less.  Only extents and strides change.
 */
void sr__gpu_fold(gpu_tensor *const *places, int n);
gpu_long sr__gpu_elements(const gpu_tensor *place);
gpu_long sr__gpu_rows(const gpu_tensor *place);

/*
 * Why a node cannot be computed: what the CPU's kernel refuses is refused here, in its words, and elements must lie
 * where a device can load them.
 */
const char *sr__gpu_refuse_as_cpu(const sr__gpu_device *device, const sr_graph_view *view, const sr_tensor *node);
/* The tensor of source j, or NULL for an empty place. */
const sr_tensor *sr__gpu_source(const sr_graph_view *view, const sr_tensor *node, int j);

/* Can kernels turn f32 into the type (kernels/quantize.h and the plain types)? */
bool sr__gpu_can_write(int type);

/*
 * A source that the kernel reads out of order must not lie where the result does: if it does, *place and *memory become
 * a copy in the stream's scratch.
 */
sr_status sr__gpu_source_apart(const sr__gpu_node *node, int j, gpu_tensor *out_place, sr__gpu_memory **out_memory,
                               sr_error *err);

/* The FAULT parameters of a kernel. */
sr_status sr__gpu_add_fault(sr__gpu_launch *launch, const sr__gpu_node *node, gpu_int *number, sr_error *err);

static inline gpu_params sr__gpu_params_of(const sr__gpu_node *node) {
    gpu_params params;
    memcpy(params.word, node->params, sizeof(params.word));
    return params;
}

static inline float sr__gpu_param_f32(const sr__gpu_node *node, int word) {
    float value;
    memcpy(&value, &node->params[word], sizeof(value));
    return value;
}

/* A value parameter that is a variable: its size follows. */
#define SR_GPU_ADD(launch, variable) sr__gpu_add_value((launch), &(variable), sizeof(variable))

#endif
