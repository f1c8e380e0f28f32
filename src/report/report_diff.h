/*
 * report_diff.h - what the reports of a comparison share: totals of both sides, and lists folded where they repeat.
 *
 * Layer: report.  Internal.
 */
#ifndef SR_REPORT_DIFF_H
#define SR_REPORT_DIFF_H

#include "report/report_facts.h"
#include "sched_run/diff.h"

/* ---- totals: text, JSON and DOT take their numbers from here ---------------------------------------------------- */

/* A backend as both sides have it, in the order of diff->memory. */
typedef struct sr__diff_backend {
    const char *name;
    sr__backend_total a, b;  /* zero where the side does not have it */
    uint64_t live_a, live_b;
} sr__diff_backend;

/* Copies from one backend to another. */
typedef struct sr__diff_flow {
    const char *from, *to;
    int32_t copies_a, copies_b;
    uint64_t bytes_a, bytes_b;
} sr__diff_flow;

typedef struct sr__diff_facts {
    sr__facts a, b;
    sr__diff_backend *backends;
    int n_backends;
    sr__diff_flow *flows;
    int n_flows;
    uint64_t compute_a, compute_b; /* bytes of all compute buffers */
    uint64_t live_a, live_b;       /* sums of what is alive at each buffer's peak */
} sr__diff_facts;

/* Of a diff that compared. */
sr_status sr__diff_facts_init(sr__diff_facts *facts, const sr_diff *diff, sr_error *err);
void sr__diff_facts_free(sr__diff_facts *facts);

/* "same layout", "48 nodes moved, 2 splits cut, ...": what differs, in one line. */
void sr__put_diff_summary(sr__str *s, const sr_diff *diff);
/* "+2.0 KiB", "-1.0 MiB". */
void sr__put_bytes_change(sr__str *s, uint64_t a, uint64_t b);
/* "2.sup: follows node 12 norm-0" of a tensor on one side. */
void sr__put_diff_cause(sr__str *s, const sr_layout *layout, const sr__facts *facts, int32_t tensor);

/* ---- folding ---------------------------------------------------------------------------------------------------- */

/* Neighbours that went the same way. */
typedef struct sr__diff_range {
    int32_t begin, n;        /* in the list */
    uint64_t like;           /* equal for ranges that are alike: of equal layers */
    int32_t next;            /* the next range that is alike, -1 */
    int32_t n_alike;         /* with itself; 0: stands in the list of an earlier one */
    int32_t last;            /* the last that is alike */
} sr__diff_range;

typedef struct sr__diff_ranges { sr__diff_range *ranges; int32_t n; } sr__diff_ranges;

/* One item of a list as folding sees it. */
typedef struct sr__diff_item {
    int32_t position;        /* neighbours are at consecutive ones; -1: it has none */
    uint64_t way;            /* neighbours with the same are one range */
    uint64_t like;           /* what items of equal layers have in common, the way included */
} sr__diff_item;

/* Takes n items in order.  SR_MEMORY. */
sr_status sr__diff_fold(const sr__diff_item *items, int32_t n, sr__diff_ranges *out_ranges, sr_error *err);
void sr__diff_ranges_free(sr__diff_ranges *ranges);

/* Hash of a name whose numbers do not count. */
uint64_t sr__name_pattern(uint64_t seed, const char *name);
/*
 * The pattern of n names that differ in numbers only, as name(user, i) gives them: "blk.*.ffn_up.weight" where the
 * number is not the same in all of them.
 */
typedef const char *(*sr__name_at)(void *user, int32_t i);
void sr__put_pattern(sr__str *s, sr__name_at name, void *user, int32_t n);
/* One name with a star for each of its numbers. */
void sr__put_starred(sr__str *s, const char *name);

#endif
