/*
 * explain.h - why a tensor is where it is: its way through the passes, and for every other backend why not.
 *
 * Layer: analyze (above sched).  Answers to no function of the reference, whose debug output has the last cause alone.
 * An explanation is worked out from the record of a schedule (sr_layout), so that it cannot tell anything else than
 * the reports do.  Texts hold names as they are: who shows them makes them safe.
 * Thread rule: an explainer belongs to one thread at a time; it is valid as long as the layout is.
 */
#ifndef SCHED_RUN_EXPLAIN_H
#define SCHED_RUN_EXPLAIN_H

#include "sched.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a pass did with a tensor. */
typedef enum sr_step_kind {
    SR_STEP_SET,         /* gave it a backend, or another one */
    SR_STEP_NOTED,       /* noted a cause, but the rule found no backend */
    SR_STEP_KEPT,        /* looked at it: it had a backend and kept it */
    SR_STEP_LEFT,        /* looked at it and left it without one */
    SR_STEP_PASSED,      /* does not look at tensors of its kind */
    SR_STEP_NOT_REACHED, /* the schedule failed before */
    SR_STEP_KIND_COUNT
} sr_step_kind;

SR_API const char *sr_step_kind_name(int kind); /* "set", "noted", "kept", "left", "passed", "not_reached" */

typedef struct sr_explain_step {
    int pass;            /* sr_pass */
    sr_step_kind kind;
    int from, to;        /* backends before and after the pass, -1 none */
    int cause;           /* sr_cause after the pass */
    int32_t because;     /* the tensor that decided, or that stood in the way; -1 none */
    char *text;          /* what was looked at, and why this came of it; owned */
} sr_explain_step;

/* Why a backend did not get a tensor. */
typedef enum sr_why_kind {
    SR_WHY_REFUSES,      /* it does not support the op: a rule, the device or a recording says so */
    SR_WHY_BUFFER,       /* it does not accept the buffer type of the tensor's own memory, or of weights */
    SR_WHY_PRIORITY,     /* it could, but a backend before it could as well */
    SR_WHY_NEIGHBOUR,    /* no neighbour was assigned to it when the node was still free */
    SR_WHY_SOURCES,      /* it can read fewer of the sources where they are */
    SR_WHY_USER,         /* a user assignment says otherwise */
    SR_WHY_INPUT,        /* user inputs go to the last backend */
    SR_WHY_OFFLOAD,      /* weights are elsewhere, and it did not ask for the op */
    SR_WHY_OFFLOADED,    /* weights are there, but a backend before it asked for the op */
    SR_WHY_FOLLOWS,      /* a view follows what it views, a source its first user */
    SR_WHY_FAILED,       /* the schedule failed before */
    SR_WHY_KIND_COUNT
} sr_why_kind;

SR_API const char *sr_why_kind_name(int kind); /* "refuses", "buffer", ... */

typedef struct sr_why_not {
    int backend;
    sr_why_kind kind;
    int32_t tensor;      /* the weight, root or neighbour that it is about; -1 none */
    char *text;          /* owned */
} sr_why_not;

typedef struct sr_explanation {
    int32_t tensor;
    int backend;              /* -1: none */
    int cause;
    int32_t split;            /* that computes it; -1: a leaf, a view that no split computes, or nothing was split */
    sr_explain_step *steps;   /* one a pass, in order */
    int n_steps;
    sr_why_not *why_not;      /* by backend in order, one or more each; none of its own */
    int n_why_not;
    char **hints;             /* what to try, the most promising first; owned */
    int n_hints;
} sr_explanation;

typedef struct sr_explainer sr_explainer;

/*
 * Replays the decisions of a layout once.  SR_UNAVAILABLE where there is nothing to explain: decisions were not
 * recorded, or the schedule failed before pass 1.  SR_MEMORY.
 */
SR_API sr_status sr_explainer_new(const sr_layout *layout, sr_explainer **out_explainer, sr_error *err);
SR_API void sr_explainer_free(sr_explainer *explainer);
/* Zero-initialise the explanation, or clear it before it is used again.  SR_INVALID for a tensor that is none. */
SR_API sr_status sr_explain(sr_explainer *explainer, int32_t tensor, sr_explanation *out_explanation, sr_error *err);
SR_API void sr_explanation_clear(sr_explanation *explanation);

/* ---- pass by pass: what --steps walks through ------------------------------------------------------------------ */

/* Backend and cause of a tensor after a pass. */
SR_API int sr_explainer_backend_after(const sr_explainer *explainer, int pass, int32_t tensor);
SR_API int sr_explainer_cause_after(const sr_explainer *explainer, int pass, int32_t tensor);
/* The last decision that a pass made about a tensor, NULL: none. */
SR_API const sr_decision *sr_explainer_decision(const sr_explainer *explainer, int pass, int32_t tensor);
/* The last pass that was begun: SR_PASS_4 unless the schedule failed. */
SR_API int sr_explainer_last_pass(const sr_explainer *explainer);
/* What a pass does, for people: two sentences. */
SR_API const char *sr_pass_text(int pass);

#ifdef __cplusplus
}
#endif
#endif
