/*
 * k_flash_attn.c - FLASH_ATTN_EXT: attention without the matrix of weights.
 *
 * Layer: kernels.  Answers to ggml_compute_forward_flash_attn_ext of the reference.  Many queries over f32 or f16 are
 * computed in f32 throughout.  Otherwise the reference goes key by key, with queries rounded to the companion type of
 * the keys and, for f16 values, sums rounded to f16 at every key; so it is here.  A key whose mask is -infinity takes
 * no part, whatever its values hold: unused places of a cache may hold anything.
 */
#include "kernels/k_flash.h"

#include <math.h>

/* MANY: queries from which on the reference works in f32, if rows of values are whole vectors of VECTOR floats. */
enum { KEYS = SR__FLASH_KEYS, MOST_COLUMNS = 192, FEW = 16, MANY = 64, VECTOR = 16, SINKS = 4, MASK = 3 };

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t divide_up(int64_t n, int64_t by) { return (n + by - 1) / by; }

/* ---- the plan ---------------------------------------------------------------------------------------------------- */

static int64_t common_divisor(int64_t a, int64_t b) {
    while (b != 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static void plan_rounding(sr__flash_plan *p) {
    const int k = p->args->src[1].tensor->type, v = p->args->src[2].tensor->type;
    const bool floats = k == v && (k == SR_TYPE_F32 || k == SR_TYPE_F16) && p->n >= MANY && p->dv % VECTOR == 0;
    p->convert = !floats && sr__mm_column_converts(&p->shape, SR_TYPE_F32);
    p->half = !floats && v == SR_TYPE_F16;
    p->by_key = p->half || p->columns <= FEW;
}

static sr__flash_plan make_plan(const sr__kernel_args *args, int n_threads) {
    const sr_tensor *q = args->src[0].tensor, *k = args->src[1].tensor, *v = args->src[2].tensor;
    const sr__mm_isa *isa = sr__mm_isa_get();
    sr__flash_plan p = {.args = args, .dv = v->ne[0], .n = q->ne[1], .heads = q->ne[2], .keys = k->ne[1]};
    p.shape = (sr__mm_shape){isa, sr__mm_isa_codes(isa, k->type), k->type, k->ne[0], KEYS, k->nb[1]};
    p.dv_padded = divide_up(p.dv, isa->mr) * isa->mr;
    p.group = common_divisor(p.heads / k->ne[2], p.heads / v->ne[2]);
    p.columns = p.n * p.group;
    const int64_t groups = p.heads / p.group * q->ne[3];
    const int64_t want = divide_up(3 * n_threads, groups); /* blocks of a group, so that all members are busy */
    const int64_t share = divide_up(p.columns, n_threads > 1 ? want : 1);
    p.block = share < MOST_COLUMNS ? share : MOST_COLUMNS;
    p.blocks = divide_up(p.columns, p.block);
    p.items = groups * p.blocks;
    p.scale = sr__param_f32(args->params, 0);
    p.max_bias = sr__param_f32(args->params, 1);
    p.softcap = sr__param_f32(args->params, 2);
    if (p.softcap != 0.0f) {
        p.scale /= p.softcap;
    }
    p.has_mask = args->src[MASK].tensor != NULL;
    plan_rounding(&p);
    return p;
}

/* How strongly the mask weighs on a head. */
static float slope_of(const sr__flash_plan *p, int64_t head) {
    if (p->max_bias <= 0.0f) {
        return 1.0f;
    }
    int64_t n = 1;
    while (2 * n <= p->heads) {
        n *= 2;
    }
    const float m0 = powf(2.0f, -p->max_bias / (float)n), m1 = powf(2.0f, -p->max_bias / 2.0f / (float)n);
    return head < n ? powf(m0, (float)(head + 1)) : powf(m1, (float)(2 * (head - n) + 1));
}

/* ---- work space -------------------------------------------------------------------------------------------------- */

/* The next part of the work space, or only its size while there is none. */
static void *take(char *work, size_t *total, size_t bytes) {
    char *here = work != NULL ? work + *total : NULL;
    *total += (bytes + 63) / 64 * 64;
    return here;
}

static size_t layout(const sr__flash_plan *p, char *work, sr__flash_work *w) {
    const size_t block = (size_t)p->block, dv = (size_t)p->dv_padded, f = sizeof(float);
    size_t total = 0;
    w->z_ld = KEYS + 16;
    w->q = take(work, &total, p->convert ? block * sr__mm_column_size(&p->shape) : 0);
    w->columns = take(work, &total, block * sizeof(*w->columns));
    w->z = take(work, &total, block * w->z_ld * f);
    w->out = take(work, &total, block * dv * f);
    w->max = take(work, &total, block * f);
    w->sum = take(work, &total, block * f);
    w->slope = take(work, &total, block * f);
    w->mask = take(work, &total, KEYS * f);
    w->values = take(work, &total, KEYS * dv * f);
    w->rows = take(work, &total, KEYS * sizeof(*w->rows));
    w->shrink = take(work, &total, KEYS * f);
    w->weight = take(work, &total, KEYS * f);
    w->piece = take(work, &total, sr__mm_work_size(&p->shape, KEYS));
    return total;
}

/* ---- one item ---------------------------------------------------------------------------------------------------- */

static int64_t query_of(const sr__flash_plan *p, const sr__flash_item *it, int64_t c) {
    return (it->first + c) / p->group;
}
static int64_t head_of(const sr__flash_plan *p, const sr__flash_item *it, int64_t c) {
    return it->head0 + (it->first + c) % p->group;
}

static void load_queries(const sr__flash_plan *p, const sr__flash_item *it, const sr__flash_work *w) {
    const size_t size = sr__mm_column_size(&p->shape);
    for (int64_t c = 0; c < it->columns; c++) {
        const int64_t head = head_of(p, it, c);
        const char *row = sr__row(&p->args->src[0], query_of(p, it, c), head, it->i3);
        if (p->convert) {
            sr__mm_column_convert(&p->shape, SR_TYPE_F32, row, w->q + (size_t)c * size);
            row = w->q + (size_t)c * size;
        }
        w->columns[c] = (sr__mm_column){row, w->z + (size_t)c * w->z_ld};
        memset(w->out + c * p->dv_padded, 0, (size_t)p->dv_padded * sizeof(float));
        w->max[c] = -INFINITY;
        w->sum[c] = 0.0f;
        w->slope[c] = slope_of(p, head);
    }
}

/* The mask of a column over a tile's keys, as f16. */
static const char *mask_row(const sr__flash_plan *p, const sr__flash_item *it, int64_t c, int64_t j0) {
    const sr__operand *m = &p->args->src[MASK];
    return sr__row(m, query_of(p, it, c), head_of(p, it, c) % m->tensor->ne[2], it->i3 % m->tensor->ne[3]) + 2 * j0;
}

/* Is any key of the tile open to any column?  A tile that is not costs nothing: half of a causal mask. */
static bool tile_is_open(const sr__flash_plan *p, const sr__flash_item *it, int64_t j0, int64_t keys) {
    if (!p->has_mask) {
        return true;
    }
    for (int64_t c = 0; c < it->columns; c++) {
        const char *row = mask_row(p, it, c, j0);
        for (int64_t j = 0; j < keys; j++) {
            if ((uint8_t)row[2 * j] != 0x00 || (uint8_t)row[2 * j + 1] != 0xFC) {
                return true;
            }
        }
    }
    return false;
}

/* Products of a column with the tile's keys: scaled, capped, masked; -infinity for keys that take no part. */
static void adjust(const sr__flash_plan *p, const sr__flash_item *it, int64_t c, int64_t j0, int64_t keys,
                   const sr__flash_work *w) {
    float *z = w->z + (size_t)c * w->z_ld;
    for (int64_t j = 0; j < keys; j++) {
        z[j] *= p->scale;
    }
    for (int64_t j = 0; p->softcap != 0.0f && j < keys; j++) {
        z[j] = p->softcap * tanhf(z[j]);
    }
    if (p->has_mask) {
        const float slope = w->slope[c];
        sr__row_to_f32(SR_TYPE_F16, mask_row(p, it, c, j0), w->mask, keys);
        for (int64_t j = 0; j < keys; j++) {
            z[j] = w->mask[j] == -INFINITY ? -INFINITY : z[j] + slope * w->mask[j];
        }
    }
    for (int64_t j = keys; j < KEYS; j++) {
        z[j] = -INFINITY;
    }
}

/* The sums of a column over the sum of its weights, in which a sink takes part. */
static void store(const sr__flash_plan *p, const sr__flash_item *it, int64_t c, const sr__flash_work *w) {
    const sr__operand *sinks = &p->args->src[SINKS];
    const int64_t head = head_of(p, it, c);
    float shrink = 1.0f, sum = w->sum[c];
    if (sinks->tensor != NULL) {
        float sink;
        memcpy(&sink, sinks->data + (size_t)head * sinks->tensor->nb[0], sizeof(sink));
        if (sink > w->max[c]) {
            shrink = expf(w->max[c] - sink);
            sum = sum * shrink + 1.0f;
        } else if (sink > -INFINITY) {
            sum += expf(sink - w->max[c]);
        }
    }
    const float inverse = sum == 0.0f ? 0.0f : 1.0f / sum;
    float *y = sr__row_f32(&p->args->dst, head, query_of(p, it, c), it->i3);
    for (int64_t d = 0; d < p->dv; d++) {
        y[d] = w->out[c * p->dv_padded + d] * shrink * inverse;
    }
}

static void run_item(const sr__flash_plan *p, const sr__flash_item *it, const sr__flash_work *w) {
    load_queries(p, it, w);
    for (int64_t j0 = 0; j0 < p->keys; j0 += KEYS) {
        const int64_t keys = least(KEYS, p->keys - j0);
        if (!tile_is_open(p, it, j0, keys)) {
            continue;
        }
        /* by the columns of the group, so that the way does not depend on the team */
        const char *rows = sr__flash_row(p, it, 1, j0);
        (sr__mm_streams(&p->shape, p->columns) ? sr__mm_stream : sr__mm_piece)(&p->shape, rows, 0, keys, w->columns,
                                                                               it->columns, w->piece);
        for (int64_t c = 0; c < it->columns; c++) {
            adjust(p, it, c, j0, keys, w);
        }
        sr__flash_add_values(p, it, j0, keys, w);
    }
    for (int64_t c = 0; c < it->columns; c++) {
        store(p, it, c, w);
    }
}

static void run_flash_attn(const sr__kernel_args *args, const sr__task *task) {
    const sr__flash_plan p = make_plan(args, task->nth);
    sr__flash_work w = {0};
    const size_t size = layout(&p, NULL, &w);
    (void)layout(&p, (char *)args->scratch + (size_t)task->ith * size, &w);
    int64_t begin, end;
    sr__task_range(task, p.items, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        const int64_t group = i / p.blocks, groups = p.heads / p.group;
        sr__flash_item it = {.first = i % p.blocks * p.block, .head0 = group % groups * p.group, .i3 = group / groups};
        it.columns = least(p.block, p.columns - it.first);
        run_item(&p, &it, &w);
    }
}

static size_t flash_attn_scratch(const sr__kernel_args *args, int n_threads) {
    const sr__flash_plan p = make_plan(args, n_threads);
    sr__flash_work w = {0};
    return (size_t)n_threads * layout(&p, NULL, &w);
}

static int flash_attn_threads(const sr__kernel_args *args) {
    const int64_t *ne = args->src[0].tensor->ne;
    return sr__threads_for(sr__times(ne[1], sr__times(ne[2], ne[3])));
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

static const char *refuse_cache(const sr_tensor *t) {
    if (t == NULL || !sr__type_can_read(t->type)) {
        return "keys or values of this type have no kernel";
    }
    if (t->nb[0] != (size_t)sr_type_get(t->type)->bytes && t->ne[0] > sr_type_get(t->type)->block) {
        return "keys and values must have dense rows";
    }
    return NULL;
}

static const char *refuse_mask(const sr__kernel_args *args) {
    static const sr__want WANTS[] = {{MASK, SR__TYPE(F16), SR__ROWS}};
    const sr_tensor *q = args->src[0].tensor, *k = args->src[1].tensor, *m = args->src[MASK].tensor;
    if (m == NULL) {
        return sr__param_f32(args->params, 1) > 0.0f ? "max_bias needs a mask" : NULL;
    }
    const char *why = sr__operands_refuse(args, WANTS, SR_COUNT(WANTS));
    if (why != NULL) {
        return why;
    }
    if (m->ne[0] < k->ne[1] || m->ne[1] < q->ne[1] || m->ne[2] < 1 || m->ne[3] < 1 || q->ne[2] % m->ne[2] != 0 ||
        q->ne[3] % m->ne[3] != 0) {
        return "the mask does not fit queries and keys";
    }
    return NULL;
}

static const char *refuse_flash_attn(const sr__kernel_args *args) {
    static const sr__want WANTS[] = {{0, SR__TYPE(F32), SR__ROWS}, {SR__DST, SR__TYPE(F32), SR__ROWS}};
    static const sr__want SINK_WANTS[] = {{SINKS, SR__TYPE(F32), SR__STRIDED}};
    const char *why = sr__operands_refuse(args, WANTS, SR_COUNT(WANTS));
    const sr_tensor *q = args->src[0].tensor, *k = args->src[1].tensor, *v = args->src[2].tensor, *y = args->dst.tensor;
    why = why != NULL ? why : refuse_cache(k);
    why = why != NULL ? why : refuse_cache(v);
    if (why != NULL) {
        return why;
    }
    if (k->ne[0] != q->ne[0] || k->ne[1] != v->ne[1] || k->ne[2] < 1 || v->ne[2] < 1 || q->ne[2] % k->ne[2] != 0 ||
        q->ne[2] % v->ne[2] != 0 || k->ne[3] != q->ne[3] || v->ne[3] != q->ne[3] ||
        !sr__has_extents(y, v->ne[0], q->ne[2], q->ne[1], q->ne[3])) {
        return "the extents of queries, keys, values and result do not fit together";
    }
    if (args->src[SINKS].tensor != NULL) {
        why = sr__operands_refuse(args, SINK_WANTS, SR_COUNT(SINK_WANTS));
        why = why != NULL || args->src[SINKS].tensor->ne[0] == q->ne[2] ? why : "there must be one sink for each head";
    }
    return why != NULL ? why : refuse_mask(args);
}

const sr__kernel_info sr__kernel_FLASH_ATTN_EXT = {run_flash_attn, refuse_flash_attn, flash_attn_scratch,
                                                   flash_attn_threads};
