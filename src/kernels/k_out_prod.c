/*
 * k_out_prod.c - OUT_PROD: y[m, n] = sum over k of a[m, k] * b[n, k].
 *
 * Layer: kernels.  Answers to ggml_compute_forward_out_prod of the reference.  The first source already has the layout
 * that tiles want, its rows dense along m; the second may lie in any way and is gathered, column by column.
 */
#include "kernels/k_operand.h"
#include "kernels/mm_isa.h"

/* Rows and columns of an item, inner values of a slice; rows are a multiple of every block and of every tile. */
enum { ROWS = 256, COLUMNS = 96, SLICE = 256 };

/* What a member works with: [ROWS / mr][SLICE][mr], nr columns of a slice, one row of values. */
typedef struct work {
    float panels[ROWS * SLICE];
    float columns[SR__MM_MAX_NR * SLICE];
    float row[ROWS];
} work;

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t divide_up(int64_t n, int64_t by) { return (n + by - 1) / by; }

typedef struct item {
    int64_t m0, rows, n0, columns, i2, i3;
} item;

static int64_t count_items(const sr_tensor *y) {
    return sr__times(sr__times(divide_up(y->ne[0], ROWS), divide_up(y->ne[1], COLUMNS)), sr__times(y->ne[2], y->ne[3]));
}

static item get_item(const sr_tensor *y, int64_t i) {
    const int64_t n_rows = divide_up(y->ne[0], ROWS), n_columns = divide_up(y->ne[1], COLUMNS);
    const int64_t plane = i / n_rows / n_columns;
    item it = {.m0 = i % n_rows * ROWS, .n0 = i / n_rows % n_columns * COLUMNS, .i2 = plane % y->ne[2],
               .i3 = plane / y->ne[2]};
    it.rows = least(ROWS, y->ne[0] - it.m0);
    it.columns = least(COLUMNS, y->ne[1] - it.n0);
    return it;
}

static void pack_rows(const sr__kernel_args *args, const item *it, int mr, int64_t k0, int64_t n, work *w) {
    const sr__operand *a = &args->src[0], *b = &args->src[1];
    const int64_t i2 = it->i2 / (b->tensor->ne[2] / a->tensor->ne[2]);
    const int64_t i3 = it->i3 / (b->tensor->ne[3] / a->tensor->ne[3]);
    const size_t offset = sr_row_size(a->tensor->type, it->m0);
    memset(w->row, 0, sizeof(w->row));
    for (int64_t k = 0; k < n; k++) {
        sr__row_to_f32(a->tensor->type, sr__row(a, k0 + k, i2, i3) + offset, w->row, it->rows);
        for (int64_t p = 0; p < it->rows; p += mr) {
            memcpy(w->panels + p * n + k * mr, w->row + p, (size_t)mr * sizeof(float));
        }
    }
}

static void gather_column(const sr__operand *b, const item *it, int64_t column, int64_t k0, int64_t n, float *to) {
    const char *p = sr__row(b, k0, it->i2, it->i3) + (size_t)column * b->tensor->nb[0];
    for (int64_t k = 0; k < n; k++) {
        memcpy(to + k, p + (size_t)k * b->tensor->nb[1], sizeof(float));
    }
}

static void multiply(const sr__kernel_args *args, const item *it, const sr__mm_isa *isa, int64_t k0, int64_t n,
                     work *w) {
    for (int64_t c0 = 0; c0 < it->columns; c0 += isa->nr) {
        const int columns = (int)least(isa->nr, it->columns - c0);
        float *y[SR__MM_MAX_NR];
        for (int c = 0; c < columns; c++) {
            const int64_t column = it->n0 + c0 + c;
            if (n > 0) {
                gather_column(&args->src[1], it, column, k0, n, w->columns + c * SLICE);
            }
            y[c] = sr__row_f32(&args->dst, column, it->i2, it->i3) + it->m0;
        }
        for (int64_t p = 0; p < it->rows; p += isa->mr) {
            const sr__mm_tile tile = {n, w->panels + p * n, (size_t)isa->mr, w->columns, SLICE, y,
                                      (int)least(isa->mr, it->rows - p), columns, k0 > 0};
            isa->tile(&tile);
            for (int c = 0; c < columns; c++) {
                y[c] += isa->mr;
            }
        }
    }
}

static void run_out_prod(const sr__kernel_args *args, const sr__task *task) {
    const sr__mm_isa *isa = sr__mm_isa_get();
    const int64_t k = args->src[0].tensor->ne[1];
    work *w = (work *)args->scratch + task->ith;
    int64_t begin, end;
    sr__task_range(task, count_items(args->dst.tensor), &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        const item it = get_item(args->dst.tensor, i);
        int64_t k0 = 0;
        do { /* once even for empty sums: the results are then zero */
            const int64_t n = least(SLICE, k - k0);
            if (n > 0) {
                pack_rows(args, &it, isa->mr, k0, n, w);
            }
            multiply(args, &it, isa, k0, n, w);
            k0 += SLICE;
        } while (k0 < k);
    }
}

static const char *refuse_out_prod(const sr__kernel_args *args) {
    static const sr__want WANTS[] = {{1, SR__TYPE(F32), SR__STRIDED}, {SR__DST, SR__TYPE(F32), SR__ROWS}};
    const char *why = sr__operands_refuse(args, WANTS, SR_COUNT(WANTS));
    if (why != NULL) {
        return why;
    }
    const sr_tensor *a = args->src[0].tensor, *b = args->src[1].tensor, *y = args->dst.tensor;
    if (a == NULL || (a->type != SR_TYPE_F32 && !(sr_type_get(a->type)->quantized && sr__type_can_read(a->type)))) {
        return "the first source must be f32 or a quantized type that can be read";
    }
    if (a->nb[0] != (size_t)sr_type_get(a->type)->bytes && a->ne[0] > sr_type_get(a->type)->block) {
        return "the first source must have dense rows";
    }
    if (a->ne[2] == 0 || a->ne[3] == 0 || b->ne[2] % a->ne[2] != 0 || b->ne[3] % a->ne[3] != 0 ||
        a->ne[1] != b->ne[1] ||
        !sr__has_extents(y, a->ne[0], b->ne[0], b->ne[2], b->ne[3])) {
        return "the extents of sources and result do not fit together";
    }
    return NULL;
}

static size_t out_prod_scratch(const sr__kernel_args *args, int n_threads) {
    (void)args;
    return (size_t)n_threads * sizeof(work);
}

static int out_prod_threads(const sr__kernel_args *args) { return sr__threads_for(count_items(args->dst.tensor)); }

const sr__kernel_info sr__kernel_OUT_PROD = {run_out_prod, refuse_out_prod, out_prod_scratch, out_prod_threads};
