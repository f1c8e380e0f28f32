/*
 * mm_piece.c - one piece of a matrix product: some rows times some columns.
 *
 * Layer: kernels.  Many columns: a slice of the rows is packed once (dequantized, or unpacked to codes) into a block
 * that stays in the second-level cache, and meets all columns, whose slices stay in the first level.  Few columns: the
 * rows are read once, as they lie.  Which way is taken, and the order of every sum, depends on the shapes alone.
 */
#include "kernels/mm_core.h"

/* Columns that always stream: of codes no more than one pass takes. SMALL: values of columns up to which more do. */
enum { FEW = 16, FEW_CODES = SR__MM_DOT_COLS, SMALL = 65536, STRIP = 16 };
/* HALF: rows of a panel that are packed at once. */
enum { FLOAT_SLICE = 512, CODES_SLICE = 2048, PAD = 16, HALF = 16 };

static size_t round_64(size_t n) { return (n + 63) / 64 * 64; }

static int64_t round_up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t slice_of(const sr__mm_shape *s) {
    return s->codes != NULL ? least(CODES_SLICE, sr__codes_padded(s->k)) : least(FLOAT_SLICE, s->k);
}

/* ---- work space -------------------------------------------------------------------------------------------------- */

/* The next part of the work space, or only its size while there is none. */
static char *part(char *work, size_t *total, size_t bytes) {
    char *here = work != NULL ? work + *total : NULL;
    *total += round_64(bytes);
    return here;
}

typedef struct float_work {
    float *panels; /* [rows / mr][slice][mr] */
    float *rows;   /* mr rows of a slice, before they are transposed */
    float *cols;   /* nr columns of a slice */
    size_t ld;     /* floats from one row or column to the next */
} float_work;

static size_t float_layout(const sr__mm_shape *s, int64_t rows, char *work, float_work *w) {
    const size_t slice = (size_t)slice_of(s), mr = (size_t)s->isa->mr, nr = (size_t)s->isa->nr;
    size_t total = 0;
    w->ld = (size_t)round_up((int64_t)slice, PAD) + PAD;
    w->panels = (float *)(void *)part(work, &total, (size_t)round_up(rows, s->isa->mr) * slice * sizeof(float));
    w->rows = (float *)(void *)part(work, &total, mr * w->ld * sizeof(float));
    w->cols = (float *)(void *)part(work, &total, nr * w->ld * sizeof(float));
    return total;
}

typedef struct codes_work {
    uint8_t *panels;      /* [rows / 32][slice / 4][32][4] */
    float *scales, *mins; /* [rows / 32][slice / sub][32] */
    uint8_t *rows;        /* 16 unpacked rows of a slice */
    size_t row_ld;
    float *row_scale, *row_min;
    int8_t *cols;
    size_t ld;
    float *b_scale, *b_sum;
    int32_t *b_init;
} codes_work;

static size_t codes_layout(const sr__mm_shape *s, int64_t rows, char *work, codes_work *w) {
    const size_t slice = (size_t)slice_of(s), n_rows = (size_t)round_up(rows, SR__CODES_ROWS);
    const size_t n_sub = slice / (size_t)s->codes->sub, per_row = n_sub * sizeof(float);
    size_t total = 0;
    w->row_ld = w->ld = slice + 64;
    w->panels = (uint8_t *)part(work, &total, n_rows * slice);
    w->scales = (float *)(void *)part(work, &total, n_rows * per_row);
    w->mins = (float *)(void *)part(work, &total, n_rows * per_row);
    w->rows = (uint8_t *)part(work, &total, HALF * w->row_ld);
    w->row_scale = (float *)(void *)part(work, &total, per_row);
    w->row_min = (float *)(void *)part(work, &total, per_row);
    w->cols = (int8_t *)part(work, &total, SR__CODES_COLS * w->ld);
    w->b_scale = (float *)(void *)part(work, &total, slice / 32 * SR__CODES_COLS * sizeof(float));
    w->b_sum = (float *)(void *)part(work, &total, n_sub * SR__CODES_COLS * sizeof(float));
    w->b_init = (int32_t *)(void *)part(work, &total, n_sub * SR__CODES_COLS * sizeof(int32_t));
    return total;
}

/* Streaming: whole rows, as floats or as codes. */
static size_t stream_size(const sr__mm_shape *s) {
    if (s->codes != NULL) {
        return round_64(sr__codes_row_size(s->codes, s->k));
    }
    return round_64((size_t)s->k * SR__MM_DOT_ROWS * sizeof(float));
}

size_t sr__mm_work_size(const sr__mm_shape *shape, int64_t rows) {
    float_work floats;
    codes_work codes;
    const size_t piece = shape->codes != NULL ? codes_layout(shape, rows, NULL, &codes) : float_layout(shape, rows,
                                                                                                       NULL, &floats);
    return piece > stream_size(shape) ? piece : stream_size(shape);
}

/* ---- many columns, floats ---------------------------------------------------------------------------------------- */

/* Bytes from the start of a row to its value k, a multiple of the block. */
static size_t offset_of(int type, int64_t k) { return sr_row_size(type, k); }

static void pack_floats(const sr__mm_shape *s, const char *a, int64_t m0, int64_t rows, int64_t k0, int64_t n,
                        const float_work *w) {
    const int mr = s->isa->mr;
    const size_t offset = offset_of(s->a_type, k0);
    for (int64_t p = 0; p < rows; p += mr) {
        const int64_t here = least(mr, rows - p);
        for (int64_t r = 0; r < here; r++) {
            sr__row_to_f32(s->a_type, a + (size_t)(m0 + p + r) * s->a_nb1 + offset, w->rows + (size_t)r * w->ld, n);
        }
        for (int64_t r = here; r < mr; r++) {
            memset(w->rows + (size_t)r * w->ld, 0, (size_t)n * sizeof(float));
        }
        s->isa->transpose(w->rows, w->ld, n, w->panels + (size_t)(p * n));
    }
}

static void float_slice(const sr__mm_shape *s, int64_t m0, int64_t rows, const sr__mm_column *columns,
                        int64_t n_columns,
                        int64_t k0, int64_t n, const float_work *w) {
    const int mr = s->isa->mr, nr = s->isa->nr;
    for (int64_t c0 = 0; c0 < n_columns; c0 += nr) {
        const int cols = (int)least(nr, n_columns - c0);
        float *y[SR__MM_MAX_NR];
        for (int c = 0; c < cols; c++) {
            memcpy(w->cols + (size_t)c * w->ld, columns[c0 + c].data + (size_t)k0 * sizeof(float),
                   (size_t)n * sizeof(float));
            y[c] = columns[c0 + c].y + m0;
        }
        for (int64_t p = 0; p < rows; p += mr) {
            const sr__mm_tile tile = {n, w->panels + (size_t)(p * n), (size_t)mr, w->cols, w->ld, y,
                                      (int)least(mr, rows - p), cols, k0 > 0};
            s->isa->tile(&tile);
            for (int c = 0; c < cols; c++) {
                y[c] += mr;
            }
        }
    }
}

static void float_piece(const sr__mm_shape *s, const char *a, int64_t m0, int64_t rows, const sr__mm_column *columns,
                        int64_t n, char *work) {
    float_work w;
    (void)float_layout(s, rows, work, &w);
    int64_t k0 = 0;
    do { /* once even for empty sums: the results are then zero */
        const int64_t slice = least(FLOAT_SLICE, s->k - k0);
        pack_floats(s, a, m0, rows, k0, slice, &w);
        float_slice(s, m0, rows, columns, n, k0, slice, &w);
        k0 += FLOAT_SLICE;
    } while (k0 < s->k);
}

/* ---- many columns, codes ----------------------------------------------------------------------------------------- */

/* Scales, or minima, of row r of a panel: one for each sub-block, beside those of the other rows. */
static void scatter(const float *from, int64_t n, float *to, int64_t r) {
    for (int64_t b = 0; b < n; b++) {
        to[b * SR__CODES_ROWS + r] = from[b];
    }
}

/* Sixteen rows are unpacked and then transposed, four codes at a time; rows that do not exist are zeros. */
static void pack_codes(const sr__mm_shape *s, const char *a, int64_t m0, int64_t rows, int64_t k0, int64_t n,
                       const codes_work *w) {
    sr__codes_unpack *unpack = s->isa->codes->unpack(s->a_type);
    const size_t offset = offset_of(s->a_type, k0);
    const int64_t n_sub = n / s->codes->sub;
    for (int64_t r = 0; r < round_up(rows, SR__CODES_ROWS); r++) {
        const int64_t panel = r / SR__CODES_ROWS * SR__CODES_ROWS; /* rows before it */
        uint8_t *codes = w->rows + (size_t)(r % HALF) * w->row_ld;
        if (r < rows) {
            unpack((const uint8_t *)a + (size_t)(m0 + r) * s->a_nb1 + offset, n, codes, w->row_scale, w->row_min);
        } else {
            memset(codes, 0, (size_t)n);
            memset(w->row_scale, 0, (size_t)n_sub * sizeof(float));
            memset(w->row_min, 0, (size_t)n_sub * sizeof(float));
        }
        scatter(w->row_scale, n_sub, w->scales + panel * n_sub, r - panel);
        if (s->codes->has_min) {
            scatter(w->row_min, n_sub, w->mins + panel * n_sub, r - panel);
        }
        if (r % HALF == HALF - 1) {
            s->isa->codes->pack(w->rows, w->row_ld, n, w->panels + panel * n + (r - panel - (HALF - 1)) * 4);
        }
    }
}

/* Column c of a tile: its slice of codes, and what belongs to each sub-block beside that of the other columns. */
static void take_column(const sr__mm_shape *s, const char *data, int64_t k0, int64_t n, int c, const codes_work *w) {
    const int sub = s->codes->sub;
    const sr__codes_column column = sr__codes_column_at(s->codes, s->k, (char *)(uintptr_t)data);
    memcpy(w->cols + (size_t)c * w->ld, column.codes + k0, (size_t)n);
    for (int64_t b = 0; b < n / 32; b++) {
        w->b_scale[b * SR__CODES_COLS + c] = column.scale[k0 / 32 + b];
    }
    for (int64_t b = 0; b < n / sub; b++) {
        w->b_init[b * SR__CODES_COLS + c] = column.init[k0 / sub + b];
    }
    for (int64_t b = 0; s->codes->has_min && b < n / sub; b++) {
        w->b_sum[b * SR__CODES_COLS + c] = column.sum[k0 / sub + b];
    }
}

static void codes_slice(const sr__mm_shape *s, int64_t m0, int64_t rows, const sr__mm_column *columns,
                        int64_t n_columns,
                        int64_t k0, int64_t n, const codes_work *w) {
    const int64_t n_sub = n / s->codes->sub;
    for (int64_t c0 = 0; c0 < n_columns; c0 += SR__CODES_COLS) {
        const int cols = (int)least(SR__CODES_COLS, n_columns - c0);
        float *y[SR__CODES_COLS];
        for (int c = 0; c < cols; c++) {
            take_column(s, columns[c0 + c].data, k0, n, c, w);
            y[c] = columns[c0 + c].y + m0;
        }
        for (int64_t p = 0; p < rows; p += SR__CODES_ROWS) {
            const sr__codes_tile tile = {s->codes, n, w->panels + p * n, w->scales + p * n_sub,
                                         s->codes->has_min ? w->mins + p * n_sub : NULL, w->cols, w->ld, w->b_scale,
                                         w->b_init, w->b_sum, y, (int)least(SR__CODES_ROWS, rows - p), cols, k0 > 0};
            s->isa->codes->tile(&tile);
            for (int c = 0; c < cols; c++) {
                y[c] += SR__CODES_ROWS;
            }
        }
    }
}

static void codes_piece(const sr__mm_shape *s, const char *a, int64_t m0, int64_t rows, const sr__mm_column *columns,
                        int64_t n, char *work) {
    codes_work w;
    (void)codes_layout(s, rows, work, &w);
    int64_t k0 = 0;
    do {
        const int64_t slice = least(CODES_SLICE, s->k - k0);
        pack_codes(s, a, m0, rows, k0, slice, &w);
        codes_slice(s, m0, rows, columns, n, k0, slice, &w);
        k0 += CODES_SLICE;
    } while (k0 < s->k);
}

void sr__mm_piece(const sr__mm_shape *shape, const char *a, int64_t m0, int64_t rows, const sr__mm_column *columns,
                  int64_t n, char *work) {
    (shape->codes != NULL ? codes_piece : float_piece)(shape, a, m0, rows, columns, n, work);
}

/* ---- few columns, or small products ------------------------------------------------------------------------------ */

bool sr__mm_streams(const sr__mm_shape *shape, int64_t columns) {
    if (shape->codes != NULL && shape->isa->codes->tile == NULL) {
        return true;
    }
    return columns <= (shape->codes != NULL ? FEW_CODES : FEW) || sr__times(shape->k, columns) <= SMALL;
}

/* Rows are unpacked one by one, for FEW columns at a time. */
static void stream_unpacked(const sr__mm_shape *s, const char *a, int64_t m0, int64_t rows,
                            const sr__mm_column *columns, int64_t n, char *work) {
    sr__codes_unpack *unpack = s->isa->codes->unpack(s->a_type);
    const int64_t padded = sr__codes_padded(s->k), n_sub = s->k / s->codes->sub, all_sub = padded / s->codes->sub;
    const sr__codes_row row = sr__codes_row_at(s->codes, s->k, work);
    sr__codes_column cols[FEW];
    for (int64_t c = 0; c < n; c++) {
        cols[c] = sr__codes_column_at(s->codes, s->k, (char *)(uintptr_t)columns[c].data);
    }
    memset(row.codes + s->k, 0, (size_t)(padded - s->k));
    memset(row.scale + n_sub, 0, (size_t)(all_sub - n_sub) * sizeof(float));
    memset(row.min + n_sub, 0, (size_t)(all_sub - n_sub) * sizeof(float));
    for (int64_t r = 0; r < rows; r++) {
        unpack((const uint8_t *)a + (size_t)(m0 + r) * s->a_nb1, s->k, row.codes, row.scale, row.min);
        for (int64_t c = 0; c < n; c += SR__MM_DOT_COLS) {
            const int here = (int)least(SR__MM_DOT_COLS, n - c);
            float out[SR__MM_DOT_COLS];
            s->isa->codes->dots(s->codes, padded, &row, cols + c, here, out);
            for (int i = 0; i < here; i++) {
                columns[c + i].y[m0 + r] = out[i];
            }
        }
    }
}

/* Times up to SR__MM_DOT_COLS columns. */
static void stream_direct(const sr__mm_shape *s, sr__codes_direct *direct, const char *a, int64_t m0, int64_t rows,
                          const sr__mm_column *columns, int n) {
    sr__codes_column cols[SR__MM_DOT_COLS];
    float out[SR__MM_DOT_ROWS * SR__MM_DOT_COLS];
    for (int c = 0; c < n; c++) {
        cols[c] = sr__codes_column_at(s->codes, s->k, (char *)(uintptr_t)columns[c].data);
    }
    for (int64_t m = m0; m < m0 + rows; m += SR__MM_DOT_ROWS) {
        const int here = (int)least(SR__MM_DOT_ROWS, m0 + rows - m);
        direct((const uint8_t *)a + (size_t)m * s->a_nb1, s->a_nb1, here, s->k, cols, n, out);
        for (int c = 0; c < n; c++) {
            for (int r = 0; r < here; r++) {
                columns[c].y[m + r] = out[r * SR__MM_DOT_COLS + c];
            }
        }
    }
}

static void stream_codes(const sr__mm_shape *s, const char *a, int64_t m0, int64_t rows, const sr__mm_column *columns,
                         int64_t n, char *work) {
    sr__codes_direct *direct = s->isa->codes->direct(s->a_type);
    const int64_t strip = n > SR__MM_DOT_COLS ? STRIP : rows; /* rows that stay near while all columns pass */
    for (int64_t r = 0; direct != NULL && r < rows; r += strip) {
        for (int64_t c = 0; c < n; c += SR__MM_DOT_COLS) {
            stream_direct(s, direct, a, m0 + r, least(strip, rows - r), columns + c,
                          (int)least(SR__MM_DOT_COLS, n - c));
        }
    }
    for (int64_t c = 0; direct == NULL && c < n; c += FEW) {
        stream_unpacked(s, a, m0, rows, columns + c, least(FEW, n - c), work);
    }
}

/* The rows of a group of up to four: where they lie, or turned into floats. */
static void stream_rows(const sr__mm_shape *s, const char *a, int64_t m, int n_rows, float *buffer, sr__mm_dots *d) {
    const bool direct = s->a_type == SR_TYPE_F32 || s->a_type == SR_TYPE_F16 || s->a_type == SR_TYPE_BF16;
    d->type = direct ? s->a_type : SR_TYPE_F32;
    d->n_rows = n_rows;
    for (int r = 0; r < n_rows; r++) {
        d->rows[r] = a + (size_t)(m + r) * s->a_nb1;
        if (!direct) {
            sr__row_to_f32(s->a_type, d->rows[r], buffer + r * s->k, s->k);
            d->rows[r] = (const char *)(buffer + r * s->k);
        }
    }
}

static void stream_floats(const sr__mm_shape *s, const char *a, int64_t m0, int64_t rows, const sr__mm_column *columns,
                          int64_t n, char *work) {
    float out[SR__MM_DOT_ROWS * SR__MM_DOT_COLS];
    sr__mm_dots d = {.k = s->k, .out = out};
    for (int64_t r0 = 0; r0 < rows; r0 += SR__MM_DOT_ROWS) {
        stream_rows(s, a, m0 + r0, (int)least(SR__MM_DOT_ROWS, rows - r0), (float *)(void *)work, &d);
        for (int64_t c0 = 0; c0 < n; c0 += SR__MM_DOT_COLS) {
            d.n_cols = (int)least(SR__MM_DOT_COLS, n - c0);
            for (int c = 0; c < d.n_cols; c++) {
                d.cols[c] = (const float *)(const void *)columns[c0 + c].data;
            }
            s->isa->dots(&d);
            for (int c = 0; c < d.n_cols; c++) {
                for (int r = 0; r < d.n_rows; r++) {
                    columns[c0 + c].y[m0 + r0 + r] = out[r * SR__MM_DOT_COLS + c];
                }
            }
        }
    }
}

void sr__mm_stream(const sr__mm_shape *shape, const char *a, int64_t m0, int64_t rows, const sr__mm_column *columns,
                   int64_t n, char *work) {
    (shape->codes != NULL ? stream_codes : stream_floats)(shape, a, m0, rows, columns, n, work);
}
