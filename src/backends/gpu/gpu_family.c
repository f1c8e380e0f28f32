/*
 * gpu_family.c - sizes of launches, folding of operands, checks that all families make.
 *
 * Layer: backends.
 */
#include "backends/gpu/gpu_family.h"

#include "kernels/kernels.h"

/* Enough to fill any device many times over, and below every limit of a grid. */
enum { MAX_GROUPS = 1 << 20 };

/* Few sizes, because OpenCL on a CPU compiles a kernel anew for each. */
enum { SHORT_GROUP = 32, SHORT_ROW = 128 };

static sr__gpu_launch launch_of(const sr__gpu_node *node, sr__gpu_kernel kernel, gpu_long n, size_t size) {
    sr__gpu_launch launch = sr__gpu_launch_of(kernel, size);
    while (launch.group[0] > 1 && launch.group[0] > node->stream->device->max_group) {
        launch.group[0] /= 2;
    }
    launch.groups[0] = n < MAX_GROUPS ? (size_t)n : MAX_GROUPS;
    return launch;
}

sr__gpu_launch sr__gpu_launch_rows(const sr__gpu_node *node, sr__gpu_kernel kernel, gpu_long n, gpu_long length) {
    return launch_of(node, kernel, n, length <= SHORT_ROW ? SHORT_GROUP : GPU_GROUP);
}

sr__gpu_launch sr__gpu_launch_items(const sr__gpu_node *node, sr__gpu_kernel kernel, gpu_long n) {
    sr__gpu_launch launch = launch_of(node, kernel, 1, GPU_GROUP);
    const gpu_long size = (gpu_long)launch.group[0], groups = n / size + (n % size != 0);
    launch.groups[0] = groups < MAX_GROUPS ? (size_t)groups : MAX_GROUPS;
    return launch;
}

gpu_long sr__gpu_rows(const gpu_tensor *place) { return place->ne[1] * place->ne[2] * place->ne[3]; }
gpu_long sr__gpu_elements(const gpu_tensor *place) { return place->ne[0] * sr__gpu_rows(place); }

/* Does dimension d of every place go on where its dimension `last` ends? */
static bool goes_on(gpu_tensor *const *places, int n, int last, int d) {
    for (int i = 0; i < n; i++) {
        if (places[i]->nb[d] != places[i]->nb[last] * places[i]->ne[last]) {
            return false;
        }
    }
    return true;
}

void sr__gpu_fold(gpu_tensor *const *places, int n) {
    int last = -1;
    for (int d = 0; d < SR_MAX_DIMS; d++) {
        if (places[0]->ne[d] == 1) {
            continue;
        }
        if (last >= 0 && goes_on(places, n, last, d)) {
            for (int i = 0; i < n; i++) {
                places[i]->ne[last] *= places[i]->ne[d];
            }
            continue;
        }
        last++;
        for (int i = 0; i < n; i++) {
            places[i]->ne[last] = places[i]->ne[d];
            places[i]->nb[last] = places[i]->nb[d];
        }
    }
    for (int d = last + 1; d < SR_MAX_DIMS; d++) {
        for (int i = 0; i < n; i++) {
            places[i]->ne[d] = 1;
            places[i]->nb[d] = 0;
        }
    }
}

const sr_tensor *sr__gpu_source(const sr_graph_view *view, const sr_tensor *node, int j) {
    const int32_t id = sr_view_src(view, node, j);
    return id >= 0 ? sr_view_tensor(view, id) : NULL;
}

/* Blocks are read by two bytes where their size is even.  Strides of extents of 1 are never followed. */
static bool is_aligned(const sr_tensor *t) {
    const sr_type_info *type = sr_type_get(t->type);
    const size_t unit = type->block == 1 ? (size_t)type->bytes : type->bytes % 2 == 0 ? 2 : 1;
    if (unit == 0 || t->view_offs % unit != 0 || t->buffer_offset % unit != 0) {
        return false;
    }
    for (int d = 0; d < SR_MAX_DIMS; d++) {
        if (t->ne[d] > 1 && t->nb[d] % unit != 0) {
            return false;
        }
    }
    return true;
}

const char *sr__gpu_refuse_as_cpu(const sr__gpu_device *device, const sr_graph_view *view, const sr_tensor *node) {
    (void)device;
    const char *why = sr__kernel_refuse(view, (int32_t)(node - view->graph->tensors));
    if (why) {
        return why;
    }
    bool aligned = is_aligned(node);
    for (int j = 0; j < node->n_src && aligned; j++) {
        const sr_tensor *src = sr__gpu_source(view, node, j);
        aligned = !src || is_aligned(src);
    }
    return aligned ? NULL : "an operand has strides or an offset that split its elements";
}

bool sr__gpu_can_write(int type) {
    switch (type) {
    case SR_TYPE_Q4_0:
    case SR_TYPE_Q4_1:
    case SR_TYPE_Q5_0:
    case SR_TYPE_Q5_1:
    case SR_TYPE_Q8_0:
    case SR_TYPE_IQ4_NL: return true;
    default: return sr_type_get(type)->block == 1;
    }
}

static bool overlaps(const sr__gpu_node *node, int j) {
    const gpu_long dst = node->dst_place.offset, src = node->src_place[j].offset;
    return node->src_memory[j] == node->dst_memory && dst < src + (gpu_long)node->src[j]->nbytes &&
           src < dst + (gpu_long)node->tensor->nbytes;
}

sr_status sr__gpu_source_apart(const sr__gpu_node *node, int j, gpu_tensor *out_place, sr__gpu_memory **out_memory,
                               sr_error *err) {
    const sr__gpu_runtime *runtime = node->stream->device->runtime;
    sr_status status;
    *out_place = node->src_place[j];
    *out_memory = node->src_memory[j];
    if (!node->src[j] || !node->src_memory[j] || !overlaps(node, j)) {
        return SR_OK;
    }
    bool done = false;
    SR_TRY(sr__gpu_scratch(node->stream, node->src[j]->nbytes, out_memory, err));
    SR_TRY(runtime->copy(node->stream, *out_memory, 0, node->src_memory[j], (size_t)out_place->offset,
                         node->src[j]->nbytes, &done, err));
    if (!done) {
        SR_TRY(sr__fail(err, SR_COMPUTE, "the device cannot copy within its memory"));
    }
    out_place->offset = 0;
done:
    return status;
}

sr_status sr__gpu_add_fault(sr__gpu_launch *launch, const sr__gpu_node *node, gpu_int *number, sr_error *err) {
    sr__gpu_memory *memory = NULL;
    const sr_status status = sr__gpu_fault_place(node->stream, node->tensor, &memory, number, err);
    if (status == SR_OK) {
        sr__gpu_add_memory(launch, memory);
        sr__gpu_add_value(launch, number, sizeof(*number));
    }
    return status;
}
