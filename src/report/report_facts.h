/*
 * report_facts.h - totals of a schedule and its reasons in words, which the text, JSON and DOT reports share.
 *
 * Layer: report.  Internal.
 */
#ifndef SR_REPORT_FACTS_H
#define SR_REPORT_FACTS_H

#include "report/report_out.h"

typedef struct sr__backend_total {
    int32_t nodes;       /* that compute something: views are not counted */
    int32_t splits;
    uint64_t weights;    /* bytes of leafs in buffers of usage weights */
    uint64_t compute;    /* bytes of its compute buffer */
    uint64_t copied_in;  /* bytes of its splits' inputs */
} sr__backend_total;

/* What is copied from one backend to another in an evaluation. */
typedef struct sr__pair_total {
    int from, to;
    int32_t copies;
    uint64_t bytes;
    int32_t largest;       /* tensor */
    int32_t largest_split;
} sr__pair_total;

typedef struct sr__facts {
    sr__backend_total *backends; /* layout->n_backends */
    sr__pair_total *pairs;       /* those with copies, by from, then to */
    int n_pairs;
    uint64_t copied;             /* bytes of all inputs */
    int32_t n_views;             /* nodes that are views */
    int32_t *decision_of;        /* by tensor: the decision that gave it its cause, -1: none */
} sr__facts;

sr_status sr__facts_init(sr__facts *facts, const sr_layout *layout, sr_error *err);
void sr__facts_free(sr__facts *facts);

/* Why a tensor is on its backend: "weights blk.0.attn_q.weight are in CPU". */
void sr__put_cause_words(sr__str *s, const sr_layout *layout, const sr__facts *facts, int32_t tensor);
/* Why a split starts although the backend stays: "   (new split for blk.1.ffn_up.weight)", or nothing. */
void sr__put_split_words(sr__str *s, const sr_layout *layout, const sr_split *split);
/* Why memory was planned again: "first allocation", "node n4 needs 4.0 KiB, 1.0 KiB were planned". */
void sr__put_misfit_words(sr__str *s, const sr_layout *layout);

#endif
