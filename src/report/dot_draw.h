/*
 * dot_draw.h - what the parts of the DOT report share: the drawing, its labels, its nodes and its edges.
 *
 * Layer: report.  Internal.
 */
#ifndef SR_DOT_DRAW_H
#define SR_DOT_DRAW_H

#include "report/dot_fold.h"
#include "report/report_facts.h"

/*
 * What a comparison draws on top: each function appends to a label, and says in which colour the frame is drawn, NULL:
 * as usual.
 */
typedef struct sr__dot_marks {
    void *user;
    const uint8_t *like; /* by tensor: nodes of equal layers with other marks are not folded */
    const char *(*node)(void *user, sr__str *label, int32_t tensor);
    const char *(*split)(void *user, sr__str *label, int32_t split);
    const char *(*input)(void *user, sr__str *label, int32_t input); /* position in layout->inputs */
    void (*title)(void *user, sr__str *label);
    void (*legend)(void *user, sr__str *label);
    void (*rest)(void *user, sr__str *s); /* what B's graph does not have */
} sr__dot_marks;

typedef struct sr__dot {
    sr__out *out;
    const sr_layout *layout;
    const sr__facts *facts;
    sr__folds folds;
    int32_t *split_of_input; /* by position in layout->inputs */
    int32_t *input_of_extra; /* by extra: position in layout->inputs, -1 */
    uint8_t *input_linked;   /* by position in layout->inputs: an edge leaves its copy */
    uint8_t *leaf_drawn;     /* by tensor */
    sr__map finding_of;      /* by name: its gravest finding, beginning with 1, of those that are no mere information */
    const sr_findings *findings; /* or NULL */
    const sr__dot_marks *marks;  /* or NULL */
} sr__dot;

/* A colour to fill with and one to draw with. */
typedef struct sr__dot_color { const char *fill, *line; } sr__dot_color;

sr__dot_color sr__dot_backend_color(const sr_layout *layout, int backend);

/* Text within a quoted label: escaped for DOT, control characters shown. */
void sr__dot_text(sr__str *s, const char *text);
void sr__dot_bytes(sr__str *s, uint64_t bytes);

/* What stands for a source in the drawing: a view's source is what it views. */
typedef enum sr__dot_kind { SR__DOT_NOTHING, SR__DOT_NODE, SR__DOT_LEAF, SR__DOT_COPY } sr__dot_kind;
typedef struct sr__dot_end {
    sr__dot_kind kind;
    int32_t at; /* NODE: drawn position; LEAF: tensor; COPY: position in layout->inputs */
    int32_t position; /* NODE: its true position */
} sr__dot_end;

sr__dot_end sr__dot_source(const sr__dot *dot, int32_t id);
/* The drawn like of an input of a split that is drawn elsewhere. */
int32_t sr__dot_drawn_input(const sr__dot *dot, int32_t input);
bool sr__dot_split_is_drawn(const sr__dot *dot, int32_t split);

/* The gravest finding that names a tensor, or NULL. */
const sr_finding *sr__dot_finding(const sr__dot *dot, const sr_tensor *tensor);

/* Finds which leafs are drawn: user inputs, what the scheduler allocates, and what is copied. */
void sr__dot_mark_leafs(sr__dot *dot);
void sr__dot_leafs(sr__dot *dot);
void sr__dot_clusters(sr__dot *dot);
void sr__dot_edges(sr__dot *dot);

/* A run that has splits as a digraph; marks may be NULL. */
sr_status sr__dot_write(const sr_run_result *result, const sr_report_options *options, const sr__dot_marks *marks,
                        sr__out *out, sr_error *err);

#endif
