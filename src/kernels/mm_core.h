/*
 * mm_core.h - matrix products of many planes or experts: which columns meet which rows, and the loops over pieces.
 *
 * Layer: kernels.  Internal.  A group is one plane of the first source (or one expert) with the columns that it is
 * multiplied with; MUL_MAT and MUL_MAT_ID differ in nothing else.
 */
#ifndef SR_MM_CORE_H
#define SR_MM_CORE_H

#include "kernels/k_operand.h"
#include "kernels/mm_isa.h"

/* Bytes of scratch for a product; SIZE_MAX when it has no size. */
size_t sr__mm_scratch(const sr__kernel_args *args, int n_threads);
void sr__mm_run(const sr__kernel_args *args, const sr__task *task);
/* More threads than this have nothing to do. */
int sr__mm_threads(const sr__kernel_args *args);

/* ---- pieces, for those who bring their own columns --------------------------------------------------------------- */

/* A column ready to multiply (floats, or a codes column) and where its result goes: y[m] is that of row m. */
typedef struct sr__mm_column {
    const char *data;
    float *y;
} sr__mm_column;

/* What all pieces of a product share. */
typedef struct sr__mm_shape {
    const sr__mm_isa *isa;
    const sr__codes_type *codes; /* rows are multiplied as codes; NULL: as floats */
    int a_type;
    int64_t k, m;
    size_t a_nb1;
} sr__mm_shape;

/* Is a column of b_type converted before rows of the shape meet it?  Into sr__mm_column_size bytes, 64-byte aligned. */
bool sr__mm_column_converts(const sr__mm_shape *shape, int b_type);
size_t sr__mm_column_size(const sr__mm_shape *shape);
void sr__mm_column_convert(const sr__mm_shape *shape, int b_type, const char *row, char *out);

/* Do so many columns meet rows as they lie (sr__mm_stream) instead of packed ones (sr__mm_piece)?  Few columns do,
 * because packing would not pay, and small products, because the sums are then those of the reference to the bit. */
bool sr__mm_streams(const sr__mm_shape *shape, int64_t columns);

/* Bytes that one member needs for pieces of up to `rows` rows. */
size_t sr__mm_work_size(const sr__mm_shape *shape, int64_t rows);
/* Rows m0 .. m0 + rows of the plane at `a` times n columns. work: sr__mm_work_size bytes, 64-byte aligned. */
void sr__mm_piece(const sr__mm_shape *shape, const char *a, int64_t m0, int64_t rows, const sr__mm_column *columns,
                  int64_t n, char *work);
/* The same, streaming. */
void sr__mm_stream(const sr__mm_shape *shape, const char *a, int64_t m0, int64_t rows, const sr__mm_column *columns,
                   int64_t n, char *work);

#endif
