/*
 * gpu_launch.h - building launches, and the families of ops that build them.
 *
 * Layer: backends.  Internal to the folder gpu.
 */
#ifndef SR_GPU_LAUNCH_H
#define SR_GPU_LAUNCH_H

#include "backends/gpu/gpu.h"

/* A launch of groups of n work-items in dimension 0, one group so far. */
static inline sr__gpu_launch sr__gpu_launch_of(sr__gpu_kernel kernel, size_t n) {
    return (sr__gpu_launch){.kernel = kernel, .groups = {1, 1, 1}, .group = {n, 1, 1}};
}
/* One GLOBAL pointer; memory may be NULL. */
void sr__gpu_add_memory(sr__gpu_launch *launch, sr__gpu_memory *memory);
/* What OPERAND(name) declares in the kernel. */
void sr__gpu_add_operand(sr__gpu_launch *launch, const gpu_tensor *place, sr__gpu_memory *memory);
void sr__gpu_add_dst(sr__gpu_launch *launch, const sr__gpu_node *node);
/* Source j; an empty place hands over NULL and given = 0. */
void sr__gpu_add_src(sr__gpu_launch *launch, const sr__gpu_node *node, int j);
/* A parameter by value: an int, a long, a float or a struct of gpu_types.h; it must live until the launch. */
void sr__gpu_add_value(sr__gpu_launch *launch, const void *value, size_t size);
sr_status sr__gpu_launch_run(const sr__gpu_node *node, const sr__gpu_launch *launch, sr_error *err);

/* What a family offers for an op: why it cannot compute a node, and what it launches. */
typedef struct sr__gpu_op {
    const char *(*refuse)(const sr__gpu_device *device, const sr_graph_view *view, const sr_tensor *node);
    sr_status (*compute)(const sr__gpu_node *node, sr_error *err);
} sr__gpu_op;

/* By sr_op; compute is NULL for an op that no kernel computes.  gpu_ops.c lists them. */
const sr__gpu_op *sr__gpu_op_get(int op);

#endif
