/*
 * mm_isa.h - the inner loops of matrix products, one set for each instruction set, chosen when the program runs.
 *
 * Layer: kernels.  Internal.  Results are columns: y[c][r] is row r of the first matrix times column c of the second.
 * Two kinds of loops: `tile` multiplies packed pieces (many columns), `dots` streams rows as they lie (few columns).
 * A set with `codes` also multiplies quantized rows as small integers, without turning them into floats.
 */
#ifndef SR_MM_ISA_H
#define SR_MM_ISA_H

#include "kernels/mm_codes.h"

enum { SR__MM_MAX_NR = 16, SR__MM_DOT_ROWS = 4, SR__MM_DOT_COLS = 4 };

/* y[c][r] = (add ? y[c][r] : 0) + sum over k of a[k * lda + r] * b[c * ldb + k], in ascending k. */
typedef struct sr__mm_tile {
    int64_t k;
    const float *a; /* the set's mr floats can be read at each k, whatever `rows` is */
    size_t lda;
    const float *b;
    size_t ldb;
    float *const *y;
    int rows, cols; /* 1 .. mr, 1 .. nr */
    bool add;
} sr__mm_tile;

/* out[r * SR__MM_DOT_COLS + c] = row r times column c over k values. */
typedef struct sr__mm_dots {
    int64_t k;
    int type; /* of the rows: f32, f16 or bf16 */
    const char *rows[SR__MM_DOT_ROWS];
    const float *cols[SR__MM_DOT_COLS];
    int n_rows, n_cols;
    float *out;
} sr__mm_dots;

/* For each row in order: acc = shrink * acc, acc = acc + weight * row, where shrink and weight are the row's own.  Each
 * step is a fused multiply-add. */
typedef struct sr__mm_blend {
    int64_t n, n_rows;
    bool half; /* rows are f16, and acc is rounded to f16 after each step; else rows are f32 */
    const char *const *rows;
    const float *shrink, *weight;
    float *acc; /* of n values */
} sr__mm_blend;

/* A tile of quantized rows: SR__CODES_ROWS rows, packed in groups of four codes of one row. */
typedef struct sr__codes_tile {
    const sr__codes_type *type;
    int64_t k;                /* a multiple of 32 */
    const uint8_t *a;         /* [k / 4][SR__CODES_ROWS][4] */
    const float *a_scale;     /* [k / type->sub][SR__CODES_ROWS] */
    const float *a_min;       /* alike; NULL without minima */
    const int8_t *b;          /* b[c * ldb + k] */
    size_t ldb;
    const float *b_scale;     /* [k / 32][SR__CODES_COLS] */
    const int32_t *b_init;    /* [k / type->sub][SR__CODES_COLS] */
    const float *b_sum;       /* alike */
    float *const *y;
    int rows, cols;
    bool add;
} sr__codes_tile;

enum { SR__CODES_ROWS = 32, SR__CODES_COLS = 6 };

/* Rows of blocks as they lie, `ld` bytes apart, of k values, times columns: out[r * SR__MM_DOT_COLS + c].  At most
 * SR__MM_DOT_ROWS and SR__MM_DOT_COLS of them. */
typedef void sr__codes_direct(const uint8_t *rows, size_t ld, int n_rows, int64_t k, const sr__codes_column *cols,
                              int n_cols, float *out);

/* A set without tiles has no way to unpack, pack or dot either: it multiplies only types with a direct product as
 * codes, and streams them whatever the number of columns. */
typedef struct sr__codes_isa {
    void (*tile)(const sr__codes_tile *t);
    /* One unpacked row times n_cols columns; k is a multiple of 256. */
    void (*dots)(const sr__codes_type *type, int64_t k, const sr__codes_row *row, const sr__codes_column *cols,
                 int n_cols,
                 float *out);
    /* For types whose rows need not be unpacked for few columns; else NULL. */
    sr__codes_direct *(*direct)(int type);
    sr__codes_unpack *(*unpack)(int type);
    /* Half of a panel: 16 rows of n codes, a multiple of 32, `ld` apart, to rows 0 .. 15 from `panel` on. */
    void (*pack)(const uint8_t *rows, size_t ld, int64_t n, uint8_t *panel);
    /* f32 values to a column; k is padded with zeros to 256. */
    void (*quantize)(const float *x, int64_t k, int8_t *codes, float *scale);
} sr__codes_isa;

typedef struct sr__mm_isa {
    const char *name;
    int mr, nr; /* a tile's rows and columns */
    void (*tile)(const sr__mm_tile *t);
    /* mr rows of k floats, `ld` floats apart, to dst[k][mr] */
    void (*transpose)(const float *src, size_t ld, int64_t k, float *dst);
    void (*dots)(const sr__mm_dots *d);
    /* z[i] = e^(z[i] - max) for n values, a multiple of 16; -infinity gives 0. Returns their sum. *max, which may be
     * -infinity, first rises to the largest of z; while it is -infinity all are 0. */
    float (*exps)(float *z, int64_t n, float *max);
    void (*blend)(const sr__mm_blend *b);
    const sr__codes_isa *codes; /* NULL: quantized rows go through floats */
} sr__mm_isa;

extern const sr__mm_isa sr__mm_plain;
#if defined(__x86_64__)
extern const sr__mm_isa sr__mm_avx2;
extern const sr__mm_isa sr__mm_avx512;
extern const sr__codes_isa sr__codes_avx2;
extern const sr__codes_isa sr__codes_avx512;
#endif

typedef enum sr__mm_level { SR__MM_PLAIN, SR__MM_AVX2, SR__MM_AVX512 } sr__mm_level;

/* The best set that this machine has. */
const sr__mm_isa *sr__mm_isa_get(void);
/* How a set multiplies rows of a type as codes; NULL: as floats. */
static inline const sr__codes_type *sr__mm_isa_codes(const sr__mm_isa *isa, int type) {
    const bool can = isa->codes != NULL && (isa->codes->tile != NULL || isa->codes->direct(type) != NULL);
    return can ? sr__codes_get(type) : NULL;
}
/* Tests: no set above this level from now on; false if the machine has not even that. Not while products run. */
bool sr__mm_isa_limit(sr__mm_level level);

#endif
