/*
 * gpu_ops_mul_mat.c - MUL_MAT, MUL_MAT_ID and OUT_PROD.
 *
 * Layer: backends.  kernels/mul_mat.h and kernels/mul_mat_tiles.h compute them, or the vendor's library where the
 * language brings one.  Answers to the ops of those names in the reference's GPU backends; which operands there can be
 * is what the host's kernels say.
 */
#include "backends/gpu/gpu_columns.h"
#include "kernels/kernels.h"

enum { PREC_WORD = 0, PREC_F32 = 10, HINT_WORD = 1, HINT_HADAMARD = 1 };

/* Columns up to which a group a row is better than tiles; experts' columns likewise. */
enum { FEW_COLUMNS = 8, FEW_EXPERT_COLUMNS = 32 };

/* Rounded columns take so many bytes of scratch at a time. */
static const gpu_long MOST_SCRATCH = (gpu_long)64 << 20;

/* ---- refusals -------------------------------------------------------------------------------------------------- */

static const char *refuse_any(const sr__gpu_device *device, const sr_graph_view *view, const sr_tensor *node) {
    const char *why = sr__kernel_refuse_node(view, node);
    if (why != NULL) {
        return why;
    }
    if (device->max_group < GPU_TILE_ITEMS || device->local_memory < 18 * 1024) {
        return "the device's groups are too small for tiles";
    }
    for (int j = 0; j < node->n_src; j++) {
        const int32_t src = sr_view_src(view, node, j);
        if (src >= 0 && !sr__gpu_is_aligned(sr_view_tensor(view, src))) {
            return "rows of a source are not aligned";
        }
    }
    return sr__gpu_is_aligned(node) ? NULL : "rows of the result are not aligned";
}

static bool is_hadamard(const sr_tensor *node) {
    return node->op == SR_OP_MUL_MAT && node->op_params[HINT_WORD] == HINT_HADAMARD;
}

static const char *mul_mat_refuse(const sr__gpu_device *device, const sr_graph_view *view, const sr_tensor *node) {
    if (is_hadamard(node) && node->ne[0] > GPU_HADAMARD_MOST) {
        return "Hadamard products of more than 4096 elements have no kernel";
    }
    return refuse_any(device, view, node);
}

static const char *mul_mat_id_refuse(const sr__gpu_device *device, const sr_graph_view *view, const sr_tensor *node) {
    const char *why = refuse_any(device, view, node);
    if (why != NULL) {
        return why;
    }
    /* columns and experts are counted in gpu_int */
    return node->ne[1] < INT32_MAX / 4 / (node->ne[2] > 0 ? node->ne[2] : 1) ? NULL : "there are too many columns";
}

/* ---- products of plain sources --------------------------------------------------------------------------------- */

/* One product, or a part of one: as the node's operands, or pieces of them. */
typedef struct product {
    sr__gpu_operand y, a, b;
} product;

/* Do the kernels multiply other columns than the node's? */
static bool is_rounded(const product *p) { return p->a.place.type != SR_TYPE_F32 || p->b.place.type != SR_TYPE_F32; }

static sr_status run_vec(const sr__gpu_node *node, const product *p, const sr__gpu_operand *ids, sr_error *err) {
    sr__gpu_memory *fault = NULL;
    gpu_int number = 0;
    const gpu_long *ne = p->y.place.ne;
    const gpu_long per_block = ids->place.given ? 1 : GPU_VEC_COLUMNS;
    if (ids->place.given) {
        const sr_status status = sr__gpu_fault_place(node->stream, node->tensor, &fault, &number, err);
        if (status != SR_OK) {
            return status;
        }
    }
    sr__gpu_launch launch = sr__gpu_launch_of(SR_GPU_KERNEL_gpu_mul_mat_vec, GPU_VEC_ITEMS);
    launch.groups[0] = (size_t)(sr__gpu_divide_up(ne[0], GPU_VEC_ROWS) * sr__gpu_divide_up(ne[1], per_block) * ne[2] *
                                ne[3]);
    sr__gpu_add(&launch, &p->y);
    sr__gpu_add(&launch, &p->a);
    sr__gpu_add(&launch, &p->b);
    sr__gpu_add(&launch, ids);
    sr__gpu_add_memory(&launch, fault);
    sr__gpu_add_value(&launch, &number, sizeof(number));
    return sr__gpu_launch_run(node, &launch, err);
}

/* n_tiles: of columns; lists: of experts, or NULL. */
static sr_status run_tiles(const sr__gpu_node *node, const product *p, gpu_long n_tiles, sr__gpu_memory *lists,
                           gpu_int experts, sr_error *err) {
    const gpu_int most_tiles = (gpu_int)(lists != NULL ? n_tiles : 0);
    sr__gpu_launch launch = sr__gpu_launch_of(SR_GPU_KERNEL_gpu_mul_mat_tiles, GPU_TILE_ITEMS);
    launch.groups[0] = (size_t)(sr__gpu_divide_up(p->y.place.ne[0], GPU_TILE) * n_tiles);
    sr__gpu_add(&launch, &p->y);
    sr__gpu_add(&launch, &p->a);
    sr__gpu_add(&launch, &p->b);
    sr__gpu_add_memory(&launch, lists);
    sr__gpu_add_value(&launch, &experts, sizeof(experts));
    sr__gpu_add_value(&launch, &most_tiles, sizeof(most_tiles));
    return sr__gpu_launch_run(node, &launch, err);
}

/* Columns in scratch, of the given type, offset bytes into it. */
static sr_status round_into_scratch(const sr__gpu_node *node, const product *p, int type, size_t offset,
                                    sr__gpu_operand *out, sr_error *err) {
    sr_status status;
    out->place = sr__gpu_dense(&p->b.place, type, offset);
    SR_TRY(sr__gpu_scratch(node->stream, offset + sr__gpu_dense_size(&out->place), &out->memory, err));
    SR_TRY(sr__gpu_round_columns(node, out, &p->b, sr__gpu_rounding(p->a.place.type, p->b.place.type), err));
done:
    return status;
}

/* The vendor's library multiplies plain rows with columns of their type. */
static sr_status try_vendor(const sr__gpu_node *node, const product *p, bool *done, sr_error *err) {
    const sr__gpu_runtime *runtime = node->stream->device->runtime;
    const int type = p->a.place.type;
    product q = *p;
    sr_status status;
    *done = false;
    if (runtime->multiply == NULL || p->y.place.ne[1] <= FEW_COLUMNS || sr_type_get(type)->quantized) {
        return SR_OK;
    }
    if (p->b.place.type != type) {
        SR_TRY(round_into_scratch(node, p, type, 0, &q.b, err));
    }
    const sr__gpu_product work = {
        .a = q.a.place, .b = q.b.place, .y = q.y.place, .a_memory = q.a.memory, .b_memory = q.b.memory,
        .y_memory = q.y.memory, .precise = node->params[PREC_WORD] == PREC_F32,
    };
    status = runtime->multiply(node->stream, &work, done, err);
done:
    return status;
}

static sr_status multiply(const sr__gpu_node *node, const product *p, sr_error *err) {
    const gpu_long *ne = p->y.place.ne;
    const sr__gpu_operand nothing = {0};
    product q = *p;
    bool done = false;
    sr_status status;
    SR_TRY(try_vendor(node, p, &done, err));
    if (done) {
        return SR_OK;
    }
    if (is_rounded(p)) {
        SR_TRY(round_into_scratch(node, p, SR_TYPE_F32, 0, &q.b, err));
    }
    if (ne[1] <= FEW_COLUMNS) {
        return run_vec(node, &q, &nothing, err);
    }
    return run_tiles(node, &q, sr__gpu_divide_up(ne[1], GPU_TILE) * ne[2] * ne[3], NULL, 0, err);
done:
    return status;
}

/* One plane of an operand, columns first to first + n of it (n = 0: all). */
static sr__gpu_operand piece_of(const sr__gpu_operand *o, gpu_long i2, gpu_long i3, gpu_long first, gpu_long n) {
    sr__gpu_operand piece = *o;
    piece.place.offset += first * o->place.nb[1] + i2 * o->place.nb[2] + i3 * o->place.nb[3];
    piece.place.ne[1] = n > 0 ? n : o->place.ne[1];
    piece.place.ne[2] = piece.place.ne[3] = 1;
    return piece;
}

/* Piece by piece, so that the columns of one fit into scratch. */
static sr_status multiply_pieces(const sr__gpu_node *node, const product *p, gpu_long most, sr_error *err) {
    const gpu_tensor *a = &p->a.place, *b = &p->b.place;
    for (gpu_long plane = 0; plane < b->ne[2] * b->ne[3]; plane++) {
        const gpu_long i2 = plane % b->ne[2], i3 = plane / b->ne[2];
        for (gpu_long first = 0; first < b->ne[1]; first += most) {
            const gpu_long n = b->ne[1] - first < most ? b->ne[1] - first : most;
            const product piece = {
                piece_of(&p->y, i2, i3, first, n),
                piece_of(&p->a, i2 / (b->ne[2] / a->ne[2]), i3 / (b->ne[3] / a->ne[3]), 0, 0),
                piece_of(&p->b, i2, i3, first, n),
            };
            const sr_status status = multiply(node, &piece, err);
            if (status != SR_OK) {
                return status;
            }
        }
    }
    return SR_OK;
}

static sr_status run_hadamard(const sr__gpu_node *node, sr_error *err) {
    const gpu_long *ne = node->dst_place.ne;
    sr__gpu_launch launch = sr__gpu_launch_of(SR_GPU_KERNEL_gpu_hadamard, GPU_HADAMARD_ITEMS);
    launch.groups[0] = (size_t)(ne[1] * ne[2] * ne[3]);
    sr__gpu_add_dst(&launch, node);
    sr__gpu_add_src(&launch, node, 1);
    return sr__gpu_launch_run(node, &launch, err);
}

static sr_status mul_mat_compute(const sr__gpu_node *node, sr_error *err) {
    const product p = {sr__gpu_dst(node), sr__gpu_src(node, 0), sr__gpu_src(node, 1)};
    const gpu_long *ne = p.b.place.ne;
    if (is_hadamard(node->tensor)) {
        return run_hadamard(node, err);
    }
    const gpu_long most = MOST_SCRATCH / ((gpu_long)sizeof(float) * (ne[0] > 0 ? ne[0] : 1));
    if (is_rounded(&p) && ne[1] * ne[2] * ne[3] > (most > 0 ? most : 1)) {
        return multiply_pieces(node, &p, most > 0 ? most : 1, err);
    }
    return multiply(node, &p, err);
}

const sr__gpu_op sr__gpu_op_mul_mat = {.refuse = mul_mat_refuse, .compute = mul_mat_compute};

/* ---- products with experts ------------------------------------------------------------------------------------- */

static sr_status sort_experts(const sr__gpu_node *node, sr__gpu_memory *lists, gpu_int experts, gpu_int most_tiles,
                              sr_error *err) {
    sr__gpu_memory *fault = NULL;
    gpu_int number = 0;
    const sr_status status = sr__gpu_fault_place(node->stream, node->tensor, &fault, &number, err);
    if (status != SR_OK) {
        return status;
    }
    sr__gpu_launch launch = sr__gpu_launch_of(SR_GPU_KERNEL_gpu_sort_experts, GPU_EXPERTS_ITEMS);
    sr__gpu_add_memory(&launch, lists);
    sr__gpu_add_src(&launch, node, 2);
    sr__gpu_add_value(&launch, &experts, sizeof(experts));
    sr__gpu_add_value(&launch, &most_tiles, sizeof(most_tiles));
    sr__gpu_add_memory(&launch, fault);
    sr__gpu_add_value(&launch, &number, sizeof(number));
    return sr__gpu_launch_run(node, &launch, err);
}

static sr_status mul_mat_id_compute(const sr__gpu_node *node, sr_error *err) {
    product p = {sr__gpu_dst(node), sr__gpu_src(node, 0), sr__gpu_src(node, 1)};
    const sr__gpu_operand ids = sr__gpu_src(node, 2);
    const gpu_long columns = p.y.place.ne[1] * p.y.place.ne[2], experts = p.a.place.ne[2];
    const bool few = columns <= FEW_EXPERT_COLUMNS || columns <= 2 * experts;
    const gpu_long most_tiles = few ? 0 : columns / GPU_TILE + (experts < columns ? experts : columns);
    size_t lists_size = 0;
    sr__gpu_memory *lists = NULL;
    sr_status status;
    if (!few) {
        const gpu_long ints = GPU_EXPERT_COLUMNS_AT(experts, most_tiles) + columns;
        (void)sr__align_up((size_t)ints * sizeof(gpu_int), 256, &lists_size);
    }
    if (is_rounded(&p)) {
        sr__gpu_operand rounded;
        SR_TRY(round_into_scratch(node, &p, SR_TYPE_F32, lists_size, &rounded, err));
        p.b = rounded;
    }
    if (few) {
        return run_vec(node, &p, &ids, err);
    }
    SR_TRY(sr__gpu_scratch(node->stream, lists_size, &lists, err)); /* the same memory: it has grown before */
    SR_TRY(sort_experts(node, lists, (gpu_int)experts, (gpu_int)most_tiles, err));
    SR_TRY(run_tiles(node, &p, most_tiles, lists, (gpu_int)experts, err));
done:
    return status;
}

const sr__gpu_op sr__gpu_op_mul_mat_id = {.refuse = mul_mat_id_refuse, .compute = mul_mat_id_compute};

/* ---- outer products -------------------------------------------------------------------------------------------- */

static sr_status out_prod_compute(const sr__gpu_node *node, sr_error *err) {
    const gpu_long *ne = node->dst_place.ne;
    sr__gpu_launch launch = sr__gpu_launch_of(SR_GPU_KERNEL_gpu_out_prod, GPU_TILE_ITEMS);
    launch.groups[0] = (size_t)(sr__gpu_divide_up(ne[0], GPU_TILE) * sr__gpu_divide_up(ne[1], GPU_TILE) * ne[2] *
                                ne[3]);
    sr__gpu_add_dst(&launch, node);
    sr__gpu_add_src(&launch, node, 0);
    sr__gpu_add_src(&launch, node, 1);
    return sr__gpu_launch_run(node, &launch, err);
}

const sr__gpu_op sr__gpu_op_out_prod = {.refuse = refuse_any, .compute = out_prod_compute};
