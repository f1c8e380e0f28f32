/*
 * quant_nearest.h - the nearest entry of the table of iq4_nl and iq4_xs.
 *
 * Layer: graph.  Internal to the quant files.
 */
#ifndef SR_QUANT_NEAREST_H
#define SR_QUANT_NEAREST_H

#include "graph/quant_rows.h"

/* Index of the entry nearest to v; a tie goes to the larger entry, NaN to the last. */
static inline int sr__quant_nearest_k4(float v) {
    if (v <= (float)sr__quant_k4[0]) {
        return 0;
    }
    if (!(v < (float)sr__quant_k4[15])) {
        return 15;
    }
    int u = 1;
    while (v >= (float)sr__quant_k4[u]) {
        u++;
    }
    return v - (float)sr__quant_k4[u - 1] < (float)sr__quant_k4[u] - v ? u - 1 : u;
}

#endif
