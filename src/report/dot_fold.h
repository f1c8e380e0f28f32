/*
 * dot_fold.h - equal layers of a graph, found so that a drawing shows them once.
 *
 * Layer: report.  Internal.
 */
#ifndef SR_DOT_FOLD_H
#define SR_DOT_FOLD_H

#include "report/report_out.h"

/* Nodes begin .. begin + period * repeats stand `repeats` times for the same; the first period is drawn. */
typedef struct sr__fold {
    int32_t begin, period, repeats;
    int32_t slack; /* nodes behind it that are still alike: it could begin so much later */
    bool splits;   /* made of whole splits; else it lies within one */
} sr__fold;

typedef struct sr__folds {
    sr__fold *folds;
    int32_t n;
    size_t cap;
    int32_t *fold_of; /* by node position: fold, -1: none */
} sr__folds;

/* fold = false finds none; marks, by tensor, keep nodes apart that are alike otherwise, or NULL.  SR_MEMORY. */
sr_status sr__folds_init(sr__folds *folds, const sr_layout *layout, const uint8_t *marks, bool fold, sr_error *err);
void sr__folds_free(sr__folds *folds);
/* The position that is drawn for a node position: its own, or its like in the first period. */
int32_t sr__fold_drawn(const sr__folds *folds, int32_t position);
/* Which period of its fold a position is in, 0 outside of folds. */
int32_t sr__fold_period(const sr__folds *folds, int32_t position);

#endif
