/*
 * gpu_ops_flash_attn.c - FLASH_ATTN_EXT.
 *
 * Layer: backends.  kernels/flash_attn.h computes it.  Where few queries meet many keys, the keys are split into parts
 * that are computed side by side and put together.  Answers to the op of that name in the reference's GPU backends.
 */
#include "backends/gpu/gpu_columns.h"
#include "kernels/k_operand.h"

enum { Q = 0, K = 1, V = 2, MASK = 3, SINKS = 4 };

/* As the reference, queries of this many rows over f32 or f16 are not rounded, if rows of values are whole vectors. */
enum { MANY_QUERIES = 64, VECTOR = 16 };

/* Groups that keep a device busy, and the fewest keys that are worth a part. */
enum { WANTED_GROUPS = 256, LEAST_PART = 128, COMBINE_ITEMS = 64 };

static const char *flash_refuse(const sr__gpu_device *device, const sr_graph_view *view, const sr_tensor *node) {
    const char *why = sr__kernel_refuse_node(view, node);
    if (why != NULL) {
        return why;
    }
    if (device->max_group < GPU_FLASH_ITEMS || device->local_memory < 30 * 1024) {
        return "the device's groups are too small for attention";
    }
    if (sr_view_tensor(view, sr_view_src(view, node, K))->ne[0] > GPU_FLASH_MOST_KEY) {
        return "keys of more than 640 elements have no kernel";
    }
    if (node->ne[0] > GPU_FLASH_MOST_VALUE) {
        return "values of more than 512 elements have no kernel";
    }
    for (int j = 0; j < node->n_src; j++) {
        const int32_t src = sr_view_src(view, node, j);
        if (src >= 0 && !sr__gpu_is_aligned(sr_view_tensor(view, src))) {
            return "rows of a source are not aligned";
        }
    }
    return NULL;
}

static gpu_long common_divisor(gpu_long a, gpu_long b) {
    while (b != 0) {
        const gpu_long rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static gpu_flash plan_of(const sr__gpu_node *node) {
    const gpu_long *q = node->src_place[Q].ne, *k = node->src_place[K].ne, *v = node->src_place[V].ne;
    gpu_flash p = {.scale = sr__param_f32(node->params, 0), .max_bias = sr__param_f32(node->params, 1),
                   .softcap = sr__param_f32(node->params, 2)};
    if (p.softcap != 0.0f) {
        p.scale /= p.softcap;
    }
    p.group = common_divisor(q[2] / k[2], q[2] / v[2]);
    p.columns = q[1] * p.group;
    p.blocks = sr__gpu_divide_up(p.columns, GPU_FLASH_COLUMNS);
    const gpu_long groups = p.blocks * (q[2] / p.group) * q[3], keys = k[1];
    gpu_long parts = groups >= WANTED_GROUPS / 2 ? 1 : sr__gpu_divide_up(WANTED_GROUPS, groups);
    parts = parts < keys / LEAST_PART ? parts : keys / LEAST_PART;
    parts = parts > 1 ? parts : 1;
    p.part = sr__gpu_divide_up(sr__gpu_divide_up(keys, parts), GPU_FLASH_KEYS) * GPU_FLASH_KEYS;
    p.parts = keys > 0 ? (gpu_int)sr__gpu_divide_up(keys, p.part) : 1;
    return p;
}

static gpu_int rounding_of(const sr__gpu_node *node) {
    const int k = node->src_place[K].type, v = node->src_place[V].type;
    const bool floats = k == v && (k == SR_TYPE_F32 || k == SR_TYPE_F16) &&
                        node->src_place[Q].ne[1] >= MANY_QUERIES && node->src_place[V].ne[0] % VECTOR == 0;
    return floats ? GPU_ROUND_NONE : sr__gpu_rounding(k, SR_TYPE_F32);
}

static sr_status combine(const sr__gpu_node *node, const gpu_flash *p, sr__gpu_memory *partials, sr_error *err) {
    const gpu_long *ne = node->dst_place.ne;
    sr__gpu_launch launch = sr__gpu_launch_of(SR_GPU_KERNEL_gpu_flash_combine, COMBINE_ITEMS);
    launch.groups[0] = (size_t)(ne[1] * ne[2] * ne[3]);
    sr__gpu_add_dst(&launch, node);
    sr__gpu_add_src(&launch, node, SINKS);
    sr__gpu_add_memory(&launch, partials);
    sr__gpu_add_value(&launch, &p->parts, sizeof(p->parts));
    return sr__gpu_launch_run(node, &launch, err);
}

static sr_status flash_compute(const sr__gpu_node *node, sr_error *err) {
    const gpu_flash p = plan_of(node);
    const gpu_int rounding = rounding_of(node);
    const gpu_long *ne = node->dst_place.ne;
    sr__gpu_operand q = sr__gpu_src(node, Q);
    sr__gpu_memory *scratch = NULL;
    size_t size = 0; /* partial results, then rounded queries */
    sr_status status;
    if (p.parts > 1) {
        const gpu_long floats = p.parts * ne[1] * ne[2] * ne[3] * (ne[0] + 2);
        (void)sr__align_up((size_t)floats * sizeof(float), 256, &size);
    }
    if (rounding != GPU_ROUND_NONE) {
        sr__gpu_operand rounded = {.place = sr__gpu_dense(&q.place, SR_TYPE_F32, size)};
        SR_TRY(sr__gpu_scratch(node->stream, size + sr__gpu_dense_size(&rounded.place), &rounded.memory, err));
        SR_TRY(sr__gpu_round_columns(node, &rounded, &q, rounding, err));
        q = rounded;
    }
    if (size > 0) {
        SR_TRY(sr__gpu_scratch(node->stream, size, &scratch, err)); /* the same memory, if it has grown before */
    }
    sr__gpu_launch launch = sr__gpu_launch_of(SR_GPU_KERNEL_gpu_flash_attn, GPU_FLASH_ITEMS);
    launch.groups[0] = (size_t)(p.blocks * (q.place.ne[2] / p.group) * q.place.ne[3]);
    launch.groups[1] = (size_t)p.parts;
    sr__gpu_add_dst(&launch, node);
    sr__gpu_add(&launch, &q);
    for (int j = K; j <= SINKS; j++) {
        sr__gpu_add_src(&launch, node, j);
    }
    sr__gpu_add_memory(&launch, scratch);
    sr__gpu_add_value(&launch, &p, sizeof(p));
    SR_TRY(sr__gpu_launch_run(node, &launch, err));
    if (p.parts > 1) {
        status = combine(node, &p, scratch, err);
    }
done:
    return status;
}

const sr__gpu_op sr__gpu_op_flash_attn = {.refuse = flash_refuse, .compute = flash_compute};
