/*
 * k_flash_attn.c - FLASH_ATTN_EXT: attention without the matrix of weights.
 *
 * Layer: kernels.  Answers to ggml_compute_forward_flash_attn_ext of the reference.  Keys come in tiles of 64; a tile
 * of keys and values is turned into floats once and meets a block of columns, the (query, head) pairs of the heads that
 * share it.  Maximum and sum of the exponentials run along; everything is f32.  A key whose mask is -infinity takes no
 * part, whatever its values hold: unused places of a cache may hold anything.
 */
#include "kernels/k_operand.h"
#include "kernels/mm_isa.h"

#include <math.h>

enum { KEYS = 64, MOST_COLUMNS = 192, FEW = 8, SINKS = 4, MASK = 3 };

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t divide_up(int64_t n, int64_t by) { return (n + by - 1) / by; }

/* ---- the plan ---------------------------------------------------------------------------------------------------- */

typedef struct plan {
    const sr__kernel_args *args;
    const sr__mm_isa *isa;
    int64_t dk, dv, dv_padded, n, heads, keys;
    int64_t group;       /* heads that share keys and values */
    int64_t columns;     /* of a group: n * group, the heads of one query side by side */
    int64_t block;       /* columns of an item */
    int64_t blocks;      /* items of a group */
    int64_t items;
    float scale, max_bias, softcap;
    bool has_mask;
} plan;

static int64_t common_divisor(int64_t a, int64_t b) {
    while (b != 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static plan make_plan(const sr__kernel_args *args, int n_threads) {
    const sr_tensor *q = args->src[0].tensor, *k = args->src[1].tensor, *v = args->src[2].tensor;
    plan p = {.args = args, .isa = sr__mm_isa_get(), .dk = q->ne[0], .dv = v->ne[0], .n = q->ne[1], .heads = q->ne[2]};
    p.keys = k->ne[1];
    p.dv_padded = divide_up(p.dv, p.isa->mr) * p.isa->mr;
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
    return p;
}

/* How strongly the mask weighs on a head. */
static float slope_of(const plan *p, int64_t head) {
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

typedef struct work {
    float *q;       /* [block][q_ld] */
    float *z;       /* [block][z_ld]: products of a tile, then their exponentials */
    float *out;     /* [block][dv_padded] */
    float *max, *sum, *slope;
    float *rows;    /* mr keys as they lie */
    float *panels;  /* [KEYS / mr][dk][mr] */
    float *values;  /* [KEYS][dv_padded] */
    float *mask;    /* [KEYS] */
    size_t q_ld, z_ld;
} work;

static float *take(char **at, size_t *total, size_t floats) {
    const size_t bytes = (floats * sizeof(float) + 63) / 64 * 64;
    float *here = (float *)(void *)*at;
    *total += bytes;
    *at = *at != NULL ? *at + bytes : NULL;
    return here;
}

static size_t layout(const plan *p, char *at, work *w) {
    const size_t block = (size_t)p->block, dk = (size_t)p->dk, dv = (size_t)p->dv_padded;
    size_t total = 0;
    w->q_ld = dk + 16;
    w->z_ld = KEYS + 16;
    w->q = take(&at, &total, block * w->q_ld);
    w->z = take(&at, &total, block * w->z_ld);
    w->out = take(&at, &total, block * dv);
    w->max = take(&at, &total, block);
    w->sum = take(&at, &total, block);
    w->slope = take(&at, &total, block);
    w->rows = take(&at, &total, (size_t)p->isa->mr * dk);
    w->panels = take(&at, &total, KEYS * dk);
    w->values = take(&at, &total, KEYS * dv);
    w->mask = take(&at, &total, KEYS);
    return total;
}

/* Steps of eight, whose loops compilers turn into vectors; n is a multiple of eight. */
enum { LANES = 8 };

static void shrink_floats(float *x, int64_t n, float by) {
    for (int64_t i = 0; i < n; i += LANES) {
        for (int l = 0; l < LANES; l++) {
            x[i + l] *= by;
        }
    }
}

static bool all_finite(const float *x, int64_t n) {
    uint32_t odd[LANES] = {0};
    for (int64_t i = 0; i < n; i += LANES) {
        uint32_t bits[LANES];
        memcpy(bits, x + i, sizeof(bits));
        for (int l = 0; l < LANES; l++) { /* an exponent of ones carries into the sign's place */
            odd[l] |= (bits[l] & 0x7FFFFFFFu) + 0x00800000u;
        }
    }
    for (int l = 1; l < LANES; l++) {
        odd[0] |= odd[l];
    }
    return (odd[0] & 0x80000000u) == 0;
}

/* ---- one item ---------------------------------------------------------------------------------------------------- */

typedef struct item {
    int64_t first, columns; /* of the group */
    int64_t head0, i3;      /* first head of the group */
} item;

static int64_t query_of(const plan *p, const item *it, int64_t c) { return (it->first + c) / p->group; }
static int64_t head_of(const plan *p, const item *it, int64_t c) { return it->head0 + (it->first + c) % p->group; }

static void load_queries(const plan *p, const item *it, const work *w) {
    for (int64_t c = 0; c < it->columns; c++) {
        const int64_t head = head_of(p, it, c);
        memcpy(w->q + (size_t)c * w->q_ld, sr__row(&p->args->src[0], query_of(p, it, c), head, it->i3),
               (size_t)p->dk * sizeof(float));
        memset(w->out + c * p->dv_padded, 0, (size_t)p->dv_padded * sizeof(float));
        memset(w->z + (size_t)c * w->z_ld, 0, KEYS * sizeof(float));
        w->max[c] = -INFINITY;
        w->sum[c] = 0.0f;
        w->slope[c] = slope_of(p, head);
    }
}

/* The mask of a column over a tile's keys, as f16. */
static const char *mask_row(const plan *p, const item *it, int64_t c, int64_t j0) {
    const sr__operand *m = &p->args->src[MASK];
    return sr__row(m, query_of(p, it, c), head_of(p, it, c) % m->tensor->ne[2], it->i3 % m->tensor->ne[3]) + 2 * j0;
}

/* Is any key of the tile open to any column?  A tile that is not costs nothing: half of a causal mask. */
static bool tile_is_open(const plan *p, const item *it, int64_t j0, int64_t keys) {
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

static void load_keys(const plan *p, const item *it, int64_t j0, int64_t keys, const work *w) {
    const sr__operand *k = &p->args->src[1];
    const int64_t head = it->head0 / (p->heads / k->tensor->ne[2]);
    for (int64_t first = 0; first < KEYS; first += p->isa->mr) {
        for (int64_t r = 0; r < p->isa->mr; r++) {
            float *to = w->rows + r * p->dk;
            if (first + r < keys) {
                sr__row_to_f32(k->tensor->type, sr__row(k, j0 + first + r, head, it->i3), to, p->dk);
            } else {
                memset(to, 0, (size_t)p->dk * sizeof(float));
            }
        }
        p->isa->transpose(w->rows, (size_t)p->dk, p->dk, w->panels + first * p->dk);
    }
}

static void load_values(const plan *p, const item *it, int64_t j0, int64_t keys, const work *w) {
    const sr__operand *v = &p->args->src[2];
    const int64_t head = it->head0 / (p->heads / v->tensor->ne[2]);
    for (int64_t j = 0; j < KEYS; j++) {
        float *to = w->values + j * p->dv_padded;
        const int64_t have = j < keys ? p->dv : 0;
        if (have > 0) {
            sr__row_to_f32(v->tensor->type, sr__row(v, j0 + j, head, it->i3), to, have);
        }
        memset(to + have, 0, (size_t)(p->dv_padded - have) * sizeof(float));
    }
}

/* Products of all columns with all keys of the tile, to z. */
static void score(const plan *p, const item *it, const work *w) {
    for (int64_t c0 = 0; c0 < it->columns; c0 += p->isa->nr) {
        const int columns = (int)least(p->isa->nr, it->columns - c0);
        for (int64_t first = 0; first < KEYS; first += p->isa->mr) {
            float *y[SR__MM_MAX_NR];
            for (int c = 0; c < columns; c++) {
                y[c] = w->z + (size_t)(c0 + c) * w->z_ld + first;
            }
            const sr__mm_tile tile = {p->dk, w->panels + first * p->dk, (size_t)p->isa->mr, w->q + (size_t)c0 * w->q_ld,
                                      w->q_ld, y, (int)least(p->isa->mr, KEYS), columns, false};
            p->isa->tile(&tile);
        }
    }
}

/* The same for few columns: keys are read as they lie, four at a time. */
static void score_few(const plan *p, const item *it, int64_t j0, int64_t keys, const work *w) {
    const sr__operand *k = &p->args->src[1];
    const int64_t head = it->head0 / (p->heads / k->tensor->ne[2]);
    const bool direct = !sr_type_get(k->tensor->type)->quantized;
    float out[SR__MM_DOT_ROWS * SR__MM_DOT_COLS];
    sr__mm_dots d = {.k = p->dk, .type = direct ? k->tensor->type : SR_TYPE_F32, .out = out};
    for (int64_t j = 0; j < keys; j += SR__MM_DOT_ROWS) {
        d.n_rows = (int)least(SR__MM_DOT_ROWS, keys - j);
        for (int r = 0; r < d.n_rows; r++) {
            d.rows[r] = sr__row(k, j0 + j + r, head, it->i3);
            if (!direct) {
                sr__row_to_f32(k->tensor->type, d.rows[r], w->rows + r * p->dk, p->dk);
                d.rows[r] = (const char *)(w->rows + r * p->dk);
            }
        }
        for (int64_t c0 = 0; c0 < it->columns; c0 += SR__MM_DOT_COLS) {
            d.n_cols = (int)least(SR__MM_DOT_COLS, it->columns - c0);
            for (int c = 0; c < d.n_cols; c++) {
                d.cols[c] = w->q + (size_t)(c0 + c) * w->q_ld;
            }
            p->isa->dots(&d);
            for (int i = 0; i < d.n_cols * d.n_rows; i++) {
                const int c = i / d.n_rows, r = i % d.n_rows;
                w->z[(size_t)(c0 + c) * w->z_ld + (size_t)(j + r)] = out[r * SR__MM_DOT_COLS + c];
            }
        }
    }
}

/* z of a column: scaled, capped, masked; -infinity for keys that take no part. */
static void adjust(const plan *p, const item *it, int64_t c, int64_t j0, int64_t keys, const work *w) {
    float *z = w->z + (size_t)c * w->z_ld;
    for (int j = 0; j < KEYS; j++) {
        z[j] *= p->scale;
    }
    for (int j = 0; p->softcap != 0.0f && j < KEYS; j++) {
        z[j] = p->softcap * tanhf(z[j]);
    }
    if (p->has_mask) {
        const float slope = w->slope[c];
        sr__row_to_f32(SR_TYPE_F16, mask_row(p, it, c, j0), w->mask, keys);
        for (int j = 0; j < KEYS; j++) {
            z[j] = w->mask[j] == -INFINITY ? -INFINITY : z[j] + slope * w->mask[j];
        }
    }
    for (int64_t j = keys; j < KEYS; j++) {
        z[j] = -INFINITY;
    }
}

/* Exponentials of a column against the new maximum; what was summed before shrinks to it. */
static void weigh(const plan *p, int64_t c, const work *w) {
    const float before = w->max[c];
    const float sum = p->isa->exps(w->z + (size_t)c * w->z_ld, KEYS, &w->max[c]);
    if (w->max[c] > before && before > -INFINITY) {
        const float shrink = expf(before - w->max[c]);
        w->sum[c] *= shrink;
        shrink_floats(w->out + c * p->dv_padded, p->dv_padded, shrink);
    }
    w->sum[c] += sum;
}

/* Values that are not finite must not meet the weight of 0 of a masked key: they are added here, and zeroed. */
static void add_odd_values(const plan *p, const item *it, const work *w) {
    for (int64_t j = 0; j < KEYS; j++) {
        float *value = w->values + j * p->dv_padded;
        if (all_finite(value, p->dv_padded)) {
            continue;
        }
        for (int64_t c = 0; c < it->columns; c++) {
            const float weight = w->z[(size_t)c * w->z_ld + (size_t)j];
            for (int64_t d = 0; weight != 0.0f && d < p->dv; d++) {
                w->out[c * p->dv_padded + d] += weight * value[d];
            }
        }
        memset(value, 0, (size_t)p->dv * sizeof(float));
    }
}

static void add_values(const plan *p, const item *it, const work *w) {
    if (p->has_mask) {
        add_odd_values(p, it, w);
    }
    for (int64_t c0 = 0; c0 < it->columns; c0 += p->isa->nr) {
        const int columns = (int)least(p->isa->nr, it->columns - c0);
        for (int64_t d = 0; d < p->dv_padded; d += p->isa->mr) {
            float *y[SR__MM_MAX_NR];
            for (int c = 0; c < columns; c++) {
                y[c] = w->out + (c0 + c) * p->dv_padded + d;
            }
            const sr__mm_tile tile = {KEYS, w->values + d, (size_t)p->dv_padded, w->z + (size_t)c0 * w->z_ld, w->z_ld,
                                      y,
                                      p->isa->mr, columns, true};
            p->isa->tile(&tile);
        }
    }
}

static void store(const plan *p, const item *it, const work *w) {
    const sr__operand *sinks = &p->args->src[SINKS];
    for (int64_t c = 0; c < it->columns; c++) {
        const int64_t head = head_of(p, it, c);
        float factor = 1.0f, sum = w->sum[c];
        if (sinks->tensor != NULL) {
            float sink;
            memcpy(&sink, sinks->data + (size_t)head * sinks->tensor->nb[0], sizeof(sink));
            const float max = sink > w->max[c] ? sink : w->max[c];
            factor = w->max[c] > -INFINITY ? expf(w->max[c] - max) : 0.0f;
            sum = sum * factor + (sink > -INFINITY ? expf(sink - max) : 0.0f);
        }
        factor = sum == 0.0f ? 0.0f : factor / sum;
        float *y = sr__row_f32(&p->args->dst, head, query_of(p, it, c), it->i3);
        for (int64_t d = 0; d < p->dv; d++) {
            y[d] = sum == 0.0f ? 0.0f : w->out[c * p->dv_padded + d] * factor;
        }
    }
}

static void run_item(const plan *p, const item *it, const work *w) {
    load_queries(p, it, w);
    for (int64_t j0 = 0; j0 < p->keys; j0 += KEYS) {
        const int64_t keys = least(KEYS, p->keys - j0);
        if (!tile_is_open(p, it, j0, keys)) {
            continue;
        }
        if (p->columns <= FEW) { /* of the group, so that the way does not depend on the team */
            score_few(p, it, j0, keys, w);
        } else {
            load_keys(p, it, j0, keys, w);
            score(p, it, w);
        }
        load_values(p, it, j0, keys, w);
        for (int64_t c = 0; c < it->columns; c++) {
            adjust(p, it, c, j0, keys, w);
            weigh(p, c, w);
        }
        add_values(p, it, w);
    }
    store(p, it, w);
}

static void run_flash_attn(const sr__kernel_args *args, const sr__task *task) {
    const plan p = make_plan(args, task->nth);
    work w = {0};
    const size_t size = layout(&p, NULL, &w);
    (void)layout(&p, (char *)args->scratch + (size_t)task->ith * size, &w);
    memset(w.mask, 0, KEYS * sizeof(float));
    int64_t begin, end;
    sr__task_range(task, p.items, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        const int64_t group = i / p.blocks, groups = p.heads / p.group;
        item it = {.first = i % p.blocks * p.block, .head0 = group % groups * p.group, .i3 = group / groups};
        it.columns = least(p.block, p.columns - it.first);
        run_item(&p, &it, &w);
    }
}

static size_t flash_attn_scratch(const sr__kernel_args *args, int n_threads) {
    const plan p = make_plan(args, n_threads);
    work w = {0};
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
