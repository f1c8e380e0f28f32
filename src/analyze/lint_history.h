/*
 * lint_history.h - what lints over a sequence of runs remember: topologies, and the graph that the plan was made of.
 *
 * Layer: analyze.  Internal.
 */
#ifndef SR_LINT_HISTORY_H
#define SR_LINT_HISTORY_H

#include "analyze/finding.h"

/* What a plan was made from, as hashes: where two differ, the plan need not hold although it fits. */
typedef struct sr__plan_print {
    uint64_t leafs;     /* sizes of leafs */
    uint64_t lifetimes; /* who reads what when */
    uint64_t flags;     /* inputs and outputs */
    uint64_t shapes;    /* ops, types and extents: what may be done in place */
} sr__plan_print;

/* A run that went by. */
typedef struct sr__run_mark {
    uint64_t topology;  /* ops and sources, whatever the extents */
    bool replanned;
    bool reserve;
} sr__run_mark;

enum { SR__MARKS = 2 };

struct sr_lint_history {
    sr__run_mark marks[SR__MARKS]; /* the latest first */
    int n_marks;
    bool has_plan;
    sr__plan_print plan;
};

sr__plan_print sr__plan_print_of(const sr_layout *layout);
uint64_t sr__topology_of(const sr_layout *layout);
/* Notes a run whose memory was planned or whose plan fitted. */
void sr__lint_history_advance(sr_lint_history *history, const sr_layout *layout);

/* Two tensors whose memory overlaps while both are in use. */
typedef struct sr__clobber {
    int32_t lost, writer; /* ids in the view; -1: none */
} sr__clobber;

/* Looks whether a layout's addresses hold for its graph, whoever planned them (plan_holds.c). */
sr_status sr__find_clobber(const sr_layout *layout, sr__clobber *out, sr_error *err);

#endif
