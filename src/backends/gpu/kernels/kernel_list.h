/*
 * kernel_list.h - every kernel by name: the only place that lists them.
 *
 * Layer: backends.
 */
#ifndef SR_GPU_KERNEL_LIST_H
#define SR_GPU_KERNEL_LIST_H

/* One a line, so that a change touches its own line. */
#define SR_GPU_KERNELS(X) \
    X(gpu_binary)

#endif
