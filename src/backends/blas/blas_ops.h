/*
 * blas_ops.h - which ops the blas device takes, and how it computes them.
 *
 * Layer: backends.  Internal.
 */
#ifndef SR_BLAS_OPS_H
#define SR_BLAS_OPS_H

#include "base/base.h"
#include "sched_run/backend.h"

/* NULL: supported; else why not, a string literal. */
const char *sr__blas_refuses(const sr_graph_view *view, int32_t tensor);
/* NULL: it can also be executed. */
const char *sr__blas_cannot(const sr_graph_view *view, int32_t tensor);

/* Memory for converted operands, kept from node to node. */
typedef struct sr__blas_scratch { float *data; size_t cap; } sr__blas_scratch;

/* One product: MUL_MAT or OUT_PROD.  Data lies in host memory. */
typedef struct sr__blas_product {
    const sr_tensor *a, *b, *y;
    const char *a_data, *b_data;
    char *y_data;
} sr__blas_product;

/* Whether the library was built in; the two below need it. */
bool sr__blas_present(void);
void sr__blas_set_threads(int n_threads);
sr_status sr__blas_multiply(int op, const sr__blas_product *product, sr__blas_scratch *scratch, sr_error *err);

#endif
