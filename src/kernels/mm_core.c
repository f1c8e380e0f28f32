/*
 * mm_core.c - matrix products of whole tensors: columns are prepared, then members take pieces until none is left.
 *
 * Layer: kernels.  Answers to ggml_compute_forward_mul_mat and _mul_mat_id of ggml-cpu.c of the reference.  The columns
 * of all planes that share a plane of the first source form one group, so that its rows are read once for them; with
 * experts a group is what was routed to one expert.  Columns are prepared in rounds, so that scratch stays bounded.
 */
#include "kernels/mm_core.h"

#include <stdatomic.h>

/* Bytes of prepared columns in one round, and columns in one round; rows of a packed piece. */
static const size_t ROUND_BYTES = (size_t)48 << 20;
enum { ROUND_COLUMNS = 16384, LEAST_ROUND = 192, MOST_ROWS = 256, STREAM_ROWS = 16 };

/* At the start of the scratch. */
typedef struct shared {
    atomic_int_least64_t next; /* the next piece to take */
    bool bad_id;               /* an expert's number was out of range */
} shared;

typedef struct plan {
    const sr__kernel_args *args;
    sr__mm_shape shape;
    bool by_id;
    bool convert;            /* columns are not multiplied as they lie */
    size_t column_size;      /* bytes of a converted one */
    int64_t n_groups;
    int64_t n_columns;       /* of results, over all groups */
    int64_t per_group;       /* without experts: columns of a group */
    int64_t n_prepared;      /* columns to convert: with experts several results share one */
    int64_t round;           /* columns a round */
    int64_t r2, r3;          /* planes of b that share a plane of a */
    int64_t piece_rows;
    int nth;
    size_t columns_at, starts_at, data_at, work_at, work_size, total; /* in scratch */
} plan;

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t divide_up(int64_t n, int64_t by) { return (n + by - 1) / by; }

/* ---- the plan ---------------------------------------------------------------------------------------------------- */

/* The next place in scratch; sticks at SIZE_MAX. */
static size_t place(size_t *total, size_t count, size_t size) {
    size_t bytes, end;
    const size_t at = *total;
    if (at == SIZE_MAX || !sr__mul_size(count, size, &bytes) || !sr__add_size(at, bytes, &end) ||
        !sr__align_up(end, 64, total)) {
        *total = SIZE_MAX;
        return 0;
    }
    return at;
}

static void plan_columns(plan *p) {
    const sr_tensor *a = p->args->src[0].tensor, *b = p->args->src[1].tensor, *y = p->args->dst.tensor;
    p->by_id = p->args->op == SR_OP_MUL_MAT_ID;
    p->n_columns = y->ne[1] * y->ne[2] * y->ne[3];
    if (p->by_id) {
        p->n_groups = a->ne[2];
        p->n_prepared = b->ne[1] * b->ne[2];
        p->round = p->n_columns;
        return;
    }
    p->r2 = b->ne[2] / a->ne[2];
    p->r3 = b->ne[3] / a->ne[3];
    p->n_groups = a->ne[2] * a->ne[3];
    p->per_group = p->n_columns / p->n_groups;
    p->round = p->n_prepared = p->n_columns;
    int64_t most = ROUND_COLUMNS;
    if (p->convert && (int64_t)(ROUND_BYTES / p->column_size) < most) {
        most = (int64_t)(ROUND_BYTES / p->column_size);
    }
    most = most > LEAST_ROUND ? most / 12 * 12 : LEAST_ROUND;
    p->round = p->round < most ? p->round : most;
}

/* Rows of a piece: enough pieces for everybody, but not so few rows that packing the columns shows. */
static int64_t choose_rows(const plan *p) {
    const int64_t unit = p->shape.isa->mr > SR__CODES_ROWS ? p->shape.isa->mr : SR__CODES_ROWS;
    const int64_t share = divide_up(p->shape.m * p->n_groups, 4 * p->nth);
    const int64_t rows = divide_up(share < 2 * unit ? 2 * unit : share, unit) * unit;
    return least(rows, MOST_ROWS);
}

static plan make_plan(const sr__kernel_args *args, int n_threads) {
    const sr_tensor *a = args->src[0].tensor, *b = args->src[1].tensor;
    plan p = {.args = args, .nth = n_threads};
    p.shape.isa = sr__mm_isa_get();
    p.shape.a_type = a->type;
    p.shape.codes = sr__mm_isa_codes(p.shape.isa, a->type);
    p.shape.k = a->ne[0];
    p.shape.m = a->ne[1];
    p.shape.a_nb1 = a->nb[1];
    p.convert = sr__mm_column_converts(&p.shape, b->type);
    p.column_size = sr__mm_column_size(&p.shape);
    plan_columns(&p);
    p.piece_rows = choose_rows(&p);
    p.work_size = sr__mm_work_size(&p.shape, p.piece_rows);
    p.total = 64;
    p.columns_at = place(&p.total, (size_t)p.round, sizeof(sr__mm_column));
    p.starts_at = place(&p.total, p.by_id ? (size_t)p.n_groups + 1 : 0, sizeof(int64_t));
    const int64_t kept = p.by_id ? p.n_prepared : p.round;
    p.data_at = place(&p.total, p.convert ? (size_t)kept : 0, p.column_size);
    p.work_at = place(&p.total, (size_t)n_threads, p.work_size);
    return p;
}

size_t sr__mm_scratch(const sr__kernel_args *args, int n_threads) { return make_plan(args, n_threads).total; }

int sr__mm_threads(const sr__kernel_args *args) {
    const sr_tensor *a = args->src[0].tensor, *y = args->dst.tensor;
    const int64_t columns = sr__times(y->ne[1], sr__times(y->ne[2], y->ne[3]));
    return sr__threads_for(sr__times(sr__times(a->ne[0], a->ne[1]), columns) / 65536);
}

static shared *shared_of(const plan *p) { return p->args->scratch; }
static char *at(const plan *p, size_t offset) { return (char *)p->args->scratch + offset; }
static sr__mm_column *columns_of(const plan *p) { return (sr__mm_column *)(void *)at(p, p->columns_at); }
static int64_t *starts_of(const plan *p) { return (int64_t *)(void *)at(p, p->starts_at); }

/* ---- columns ----------------------------------------------------------------------------------------------------- */

/* Where column c of a MUL_MAT lies: the columns of a group are those of all planes that share it, one after another. */
static void column_index(const plan *p, int64_t c, int64_t i[SR_MAX_DIMS]) {
    const sr_tensor *a = p->args->src[0].tensor, *b = p->args->src[1].tensor;
    const int64_t group = c / p->per_group, plane = c % p->per_group / b->ne[1];
    i[1] = c % p->per_group % b->ne[1];
    i[2] = group % a->ne[2] * p->r2 + plane % p->r2;
    i[3] = group / a->ne[2] * p->r3 + plane / p->r2;
}

/* This member's share of the columns first .. first + n of a MUL_MAT. */
static void prepare_columns(const plan *p, const sr__task *task, int64_t first, int64_t n) {
    int64_t begin, end, i[SR_MAX_DIMS];
    sr__task_range(task, n, &begin, &end);
    for (int64_t c = begin; c < end; c++) {
        column_index(p, first + c, i);
        sr__mm_column *column = &columns_of(p)[c];
        column->data = sr__row(&p->args->src[1], i[1], i[2], i[3]);
        column->y = sr__row_f32(&p->args->dst, i[1], i[2], i[3]);
        if (p->convert) {
            char *to = at(p, p->data_at) + (size_t)c * p->column_size;
            sr__mm_column_convert(&p->shape, p->args->src[1].tensor->type, column->data, to);
            column->data = to;
        }
    }
}

/* ---- experts ----------------------------------------------------------------------------------------------------- */

static int32_t expert_of(const plan *p, int64_t u, int64_t t) {
    const sr__operand *ids = &p->args->src[2];
    int32_t id;
    memcpy(&id, sr__row(ids, t, 0, 0) + (size_t)u * ids->tensor->nb[0], sizeof(id));
    return id;
}

/* Sorts the columns by expert: starts[e] is where those of expert e begin. */
static void sort_by_expert(const plan *p, const sr__task *task) {
    const sr_tensor *b = p->args->src[1].tensor, *ids = p->args->src[2].tensor;
    int64_t *starts = starts_of(p);
    memset(starts, 0, (size_t)(p->n_groups + 1) * sizeof(*starts));
    for (int64_t i = 0; i < p->n_columns; i++) {
        const int32_t id = expert_of(p, i % ids->ne[0], i / ids->ne[0]);
        if (id < 0 || id >= p->n_groups) {
            sr__task_fail(task, "expert %d of token %lld is outside 0..%lld", (int)id, (long long)(i / ids->ne[0]),
                          (long long)(p->n_groups - 1));
            shared_of(p)->bad_id = true;
            return;
        }
        starts[id + 1]++;
    }
    for (int64_t e = 0; e < p->n_groups; e++) {
        starts[e + 1] += starts[e];
    }
    for (int64_t i = 0; i < p->n_columns; i++) { /* starts[e] walks to where expert e ends */
        const int64_t u = i % ids->ne[0], t = i / ids->ne[0];
        sr__mm_column *column = &columns_of(p)[starts[expert_of(p, u, t)]++];
        const int64_t slot = u % b->ne[1];
        column->data = p->convert ? at(p, p->data_at) + (size_t)(t * b->ne[1] + slot) * p->column_size
                                  : sr__row(&p->args->src[1], slot, t, 0);
        column->y = sr__row_f32(&p->args->dst, u, t, 0);
    }
    memmove(starts + 1, starts, (size_t)p->n_groups * sizeof(*starts));
    starts[0] = 0;
}

static void prepare_experts(const plan *p, const sr__task *task) {
    const int64_t slots = p->args->src[1].tensor->ne[1];
    int64_t begin, end;
    if (task->ith == 0) {
        shared_of(p)->bad_id = false;
        sort_by_expert(p, task);
    }
    sr__task_range(task, p->convert ? p->n_prepared : 0, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        const char *row = sr__row(&p->args->src[1], i % slots, i / slots, 0);
        sr__mm_column_convert(&p->shape, p->args->src[1].tensor->type, row,
                              at(p, p->data_at) + (size_t)i * p->column_size);
    }
}

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

/* How a round is cut up: group by group, its rows by `rows`, its columns by `cols`. */
typedef struct cut {
    int64_t first_group, n_groups;
    int64_t n_rows, rows;
    int64_t n_cols, cols;
} cut;

static cut make_cut(const plan *p, int64_t first, int64_t n) {
    cut c = {.n_groups = p->n_groups, .rows = p->piece_rows, .n_cols = 1, .cols = INT64_MAX};
    if (!p->by_id) {
        c.first_group = first / p->per_group;
        c.n_groups = (first + n - 1) / p->per_group - c.first_group + 1;
        if (sr__mm_streams(&p->shape, p->per_group)) {
            const int64_t share = divide_up(p->shape.m * c.n_groups, 8 * p->nth);
            c.rows = least(divide_up(share < STREAM_ROWS ? STREAM_ROWS : share, 4) * 4, MOST_ROWS);
        }
    }
    c.n_rows = divide_up(p->shape.m, c.rows);
    const int64_t pieces = c.n_rows * c.n_groups;
    if (!p->by_id && pieces < 3 * p->nth && p->nth > 1) { /* too few: cut the columns too */
        const int64_t columns = least(p->per_group, n), want = divide_up(3 * p->nth, pieces);
        c.cols = divide_up(divide_up(columns, want), 48) * 48;
        c.n_cols = divide_up(columns, c.cols);
    }
    return c;
}

/* The plane of the first source that a group multiplies. */
static const char *group_rows(const plan *p, int64_t group) {
    const int64_t n2 = p->args->src[0].tensor->ne[2];
    return sr__row(&p->args->src[0], 0, group % n2, group / n2);
}

static void run_piece(const plan *p, const cut *c, int64_t piece, int64_t first, int64_t n, char *work) {
    const int64_t m0 = piece % c->n_rows * c->rows, group = c->first_group + piece / c->n_rows / c->n_cols;
    int64_t begin, end, whole;
    if (p->by_id) {
        begin = starts_of(p)[group];
        end = starts_of(p)[group + 1];
        whole = end - begin;
    } else { /* the group's columns that are in this round */
        whole = p->per_group;
        begin = group * whole > first ? group * whole - first : 0;
        end = least((group + 1) * whole - first, n);
    }
    if (c->n_cols > 1) {
        begin += piece / c->n_rows % c->n_cols * c->cols;
        end = least(end, begin + c->cols);
    }
    const int64_t rows = least(c->rows, p->shape.m - m0);
    if (begin >= end) {
        return;
    }
    const sr__mm_column *columns = columns_of(p) + begin;
    const char *a = group_rows(p, group);
    (sr__mm_streams(&p->shape, whole) ? sr__mm_stream : sr__mm_piece)(&p->shape, a, m0, rows, columns, end - begin,
                                                                      work);
}

static void run_pieces(const plan *p, const sr__task *task, int64_t first, int64_t n) {
    const cut c = make_cut(p, first, n);
    const int64_t pieces = c.n_groups * c.n_rows * c.n_cols;
    char *work = at(p, p->work_at) + (size_t)task->ith * p->work_size;
    for (;;) {
        const int64_t piece = atomic_fetch_add_explicit(&shared_of(p)->next, 1, memory_order_relaxed);
        if (piece >= pieces) {
            return;
        }
        run_piece(p, &c, piece, first, n, work);
    }
}

void sr__mm_run(const sr__kernel_args *args, const sr__task *task) {
    const plan p = make_plan(args, task->nth);
    for (int64_t first = 0; first < p.n_columns; first += p.round) {
        const int64_t n = least(p.round, p.n_columns - first);
        if (task->ith == 0) {
            atomic_store_explicit(&shared_of(&p)->next, 0, memory_order_relaxed);
        }
        if (p.by_id) {
            prepare_experts(&p, task);
        } else {
            prepare_columns(&p, task, first, n);
        }
        sr__task_barrier(task);
        if (p.by_id && shared_of(&p)->bad_id) {
            return;
        }
        run_pieces(&p, task, first, n);
        sr__task_barrier(task);
    }
}
