/*
 * quant_search.h - the searches for the scale of a sub-block that the super-block quantizers share.
 *
 * Layer: graph.  Internal to the quant files.
 */
#ifndef SR_QUANT_SEARCH_H
#define SR_QUANT_SEARCH_H

#include "graph/quant_rows.h"

typedef struct sr__min_search {
    int nmax;          /* codes are 0 .. nmax */
    float first, step; /* what is added to nmax in the trials */
    int steps;
    bool square;       /* error: squares instead of magnitudes */
} sr__min_search;

static inline int sr__clamp_int(int v, int low, int high) { return v < low ? low : v > high ? high : v; }

/* Values as scale * code - min, min >= 0, n <= 32. Returns the scale. */
float sr__search_scale_min(const sr__min_search *how, int n, const float *x, const float *w, uint8_t *codes,
                           float *out_min);
/* 16 values as scale * (code - 32), weighted by their squares (q6_K). */
float sr__search_q6(const float *x, int8_t *codes);
/* 16 values as scale * (code - 4), refined one code at a time (q3_K). */
float sr__search_q3(const float *x, int8_t *codes);

#endif
