/*
 * explain_why.c - for every backend but a tensor's own: why not that one.
 *
 * Layer: analyze.  What a backend cannot do comes first (refusal, buffer type), then what decided for another one.
 */
#include "analyze/explain_impl.h"

/* The tensor at hand and the backend being told about. */
typedef struct why {
    sr_explainer *e;
    int32_t tensor;
    const sr_tensor *t;
    int backend;
    size_t cap;
} why;

static const char *own(const why *w) { return sr__backend_label(w->e, w->e->out->backend); }
static const char *other(const why *w) { return sr__backend_label(w->e, w->backend); }

/* Takes over the text. */
static sr_status add(why *w, sr_why_kind kind, int32_t tensor, sr__str *text) {
    sr_explanation *x = w->e->out;
    char *copy = text->failed ? NULL : sr__strdup(sr__str_text(text));
    sr__str_free(text);
    if (copy == NULL || !sr__grow(&x->why_not, &w->cap, (size_t)x->n_why_not + 1, sizeof(*x->why_not))) {
        sr__free(copy);
        return sr__fail_memory(w->e->err);
    }
    x->why_not[x->n_why_not++] = (sr_why_not){.backend = w->backend, .kind = kind, .tensor = tensor, .text = copy};
    return SR_OK;
}

static sr_status add_text(why *w, sr_why_kind kind, int32_t tensor, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
static sr_status add_text(why *w, sr_why_kind kind, int32_t tensor, const char *fmt, ...) {
    sr__str s = {0};
    va_list args;
    va_start(args, fmt);
    sr__str_vprintf(&s, fmt, args);
    va_end(args);
    return add(w, kind, tensor, &s);
}

/* ---- what a backend cannot do ---------------------------------------------------------------------------------- */

static sr_status tell_refusal(why *w) {
    sr__str s = {0};
    sr__explain_refusal(&s, w->e, w->backend, w->tensor);
    return add(w, SR_WHY_REFUSES, -1, &s);
}

/* Of the memory that the tensor has already; out_told: it does not accept it. */
static sr_status tell_memory(why *w, bool *out_told) {
    const sr_buffer *memory = sr__memory_of(w->e, w->tensor);
    if (memory == NULL || sr__takes_type(w->e, w->backend, memory->type)) {
        return SR_OK;
    }
    *out_told = true;
    const int32_t root = w->t->view_src;
    return add_text(w, SR_WHY_BUFFER, root, "%s does not accept buffer type %s, in which %s%s lies", other(w),
                    memory->type->name, root >= 0 ? "what it views, " : "it", root >= 0 ? sr__label(w->e, root) : "");
}

/* ---- weights --------------------------------------------------------------------------------------------------- */

static sr_status tell_weights(why *w) {
    const sr_explainer *e = w->e;
    int place = 0;
    const int32_t weight = sr__deciding_weight(e, w->tensor, &place);
    if (weight < 0) {
        return SR_OK;
    }
    const sr_buffer_type *type = sr__memory_of(e, weight)->type;
    const int home = sr__home_of(e, type, w->tensor);
    if (e->out->cause == SR_CAUSE_OFFLOAD) {
        if (w->backend == home) {
            return add_text(w, SR_WHY_OFFLOADED, weight, "the weights %s are in %s, but %s asks to run the op first",
                            sr__label(e, weight), type->name, own(w));
        }
        if (w->backend > e->out->backend && w->backend < home) {
            return add_text(w, SR_WHY_PRIORITY, weight, "%s stands before it, and asks to run the op", own(w));
        }
    }
    if (w->backend > home && home >= 0 && sr__takes_type(e, w->backend, type)) {
        return add_text(w, SR_WHY_PRIORITY, weight, "it accepts %s too, but %s stands before it", type->name,
                        sr__backend_label(e, home));
    }
    sr__str s = {0};
    if (!sr__takes_type(e, w->backend, type)) {
        sr__str_printf(&s, "%s does not accept %s, in which the weights %s (source %d) are", other(w), type->name,
                       sr__label(e, weight), place);
        const sr_status status = add(w, SR_WHY_BUFFER, weight, &s);
        if (status != SR_OK || w->backend == sr__last_backend(e)) {
            return status;
        }
    }
    s = (sr__str){0};
    if (w->backend == sr__last_backend(e) || !sr__put_no_offload(&s, e, w->backend, w->tensor, weight)) {
        sr__str_free(&s);
        return SR_OK;
    }
    return add(w, SR_WHY_OFFLOAD, weight, &s);
}

/* ---- neighbours ------------------------------------------------------------------------------------------------ */

/*
 * Which neighbours stood between the node and the backend: for each direction the last assigned one, in the last sweep
 * in which the backend may spread and the node was still free.
 */
static sr_status tell_neighbours(why *w) {
    const sr_explainer *e = w->e;
    const bool is_last = w->backend == sr__last_backend(e);
    sr__str s = {0};
    sr__str_printf(&s, "%s was not the neighbour of the node while it was free", other(w));
    const char *lead = ": ";
    int32_t because = -1;
    for (int direction = 0; direction < 2; direction++) {
        int pass = direction == 0 ? SR_PASS_2_REST_DOWN : SR_PASS_2_REST_UP;
        if (sr__backend_before(e, pass, w->tensor) >= 0) {
            pass -= 2;
        }
        if (sr__backend_before(e, pass, w->tensor) >= 0 || (is_last && sr__sweep_skips_last(pass))) {
            continue;
        }
        const int32_t neighbour = e->neighbour[pass - SR_PASS_2_GPU_DOWN][w->t->node];
        const char *where = direction == 0 ? "above" : "below";
        if (neighbour < 0) {
            sr__str_printf(&s, "%snothing %s it was assigned", lead, where);
        } else {
            sr__str_printf(&s, "%s%s it stood ", lead, where);
            sr__put_place(&s, e, neighbour);
            sr__str_printf(&s, " on %s", sr__backend_label(e, sr__backend_before(e, pass, neighbour)));
            because = because < 0 ? neighbour : because;
        }
        lead = ", ";
    }
    if (is_last && sr__backend_after(e, SR_PASS_2_GPU_UP, w->tensor) >= 0) {
        sr__str_printf(&s, "%sthe last backend spreads in the last two sweeps only, when %s had it", lead, own(w));
    }
    return add(w, SR_WHY_NEIGHBOUR, because, &s);
}

/* Of a node that joined a neighbour: another one may have come too late. */
static sr_status tell_follower(why *w) {
    const sr_explainer *e = w->e;
    for (int pass = SR_PASS_2_GPU_DOWN; pass <= SR_PASS_2_REST_UP; pass++) {
        const int32_t neighbour = e->neighbour[pass - SR_PASS_2_GPU_DOWN][w->t->node];
        const bool free = sr__backend_before(e, pass, w->tensor) < 0;
        const bool spreads = !sr__sweep_skips_last(pass) || w->backend != sr__last_backend(e);
        if (neighbour >= 0 && spreads && !free && sr__backend_before(e, pass, neighbour) == w->backend) {
            sr__str s = {0};
            sr__str_printf(&s, "%s comes from ", other(w));
            sr__put_place(&s, e, neighbour);
            sr__str_printf(&s, " only in %s, when %s had the node", sr_pass_name(pass), own(w));
            return add(w, SR_WHY_NEIGHBOUR, neighbour, &s);
        }
    }
    return tell_neighbours(w);
}

static sr_status tell_fewer_sources(why *w) {
    const sr_explainer *e = w->e;
    int n = 0;
    const sr_status status = tell_neighbours(w);
    if (status != SR_OK) {
        return status;
    }
    const int mine = sr__count_readable(e, w->backend, w->tensor, &n);
    const int its = sr__count_readable(e, e->out->backend, w->tensor, &n);
    if (mine == its && w->backend > e->out->backend) {
        return add_text(w, SR_WHY_PRIORITY, -1, "it can read as many sources as %s, which stands before it", own(w));
    }
    return add_text(w, SR_WHY_SOURCES, -1, "it can read %d of %d sources where they are, %s %d", mine, n, own(w), its);
}

/* ---- by cause -------------------------------------------------------------------------------------------------- */

static int32_t because_of_pass_4(const why *w) {
    const sr_decision *d = sr_explainer_decision(w->e, SR_PASS_4, w->tensor);
    return d != NULL ? d->because : -1;
}

static sr_status tell_cause(why *w) {
    const int cause = w->e->out->cause;
    switch (cause) {
    case SR_CAUSE_USER:
        return add_text(w, SR_WHY_USER, -1, "a user assignment put it on %s", own(w));
    case SR_CAUSE_DST:
    case SR_CAUSE_VSRC:
        return add_text(w, SR_WHY_PRIORITY, -1, "it accepts the memory too, but %s stands before it", own(w));
    case SR_CAUSE_INPUT:
    case SR_CAUSE_COPY:
        return add_text(w, SR_WHY_INPUT, -1, "user inputs without memory of their own go to the last backend");
    case SR_CAUSE_VSRC4:
        return add_text(w, SR_WHY_FOLLOWS, w->t->view_src, "a view follows what it views: %s is on %s",
                        w->t->view_src >= 0 ? sr__label(w->e, w->t->view_src) : "that", own(w));
    case SR_CAUSE_CUR: {
        sr__str s = {0};
        const int32_t user = because_of_pass_4(w);
        sr__str_puts(&s, "a source without a place of its own follows its first user");
        if (user >= 0) {
            sr__str_puts(&s, ", ");
            sr__put_place(&s, w->e, user);
        }
        sr__str_printf(&s, " on %s", own(w));
        return add(w, SR_WHY_FOLLOWS, user, &s);
    }
    case SR_CAUSE_UPG:
        return add_text(w, SR_WHY_PRIORITY, -1, "%s, which stands %s, has the same buffer type as where it was", own(w),
                        w->e->out->backend < w->backend ? "before it" : "behind it");
    case SR_CAUSE_SUP:
        return sr_explainer_decision(w->e, SR_PASS_4, w->tensor) != NULL
                   ? add_text(w, SR_WHY_PRIORITY, -1, "%s is the first backend that supports it", own(w))
                   : tell_follower(w);
    case SR_CAUSE_BEST:
        return tell_fewer_sources(w);
    default:
        return SR_OK;
    }
}

static sr_status tell_backend(why *w) {
    const sr_explanation *x = w->e->out;
    bool cannot = false;
    sr_status status;
    if (!sr__takes_op(w->e, w->backend, w->tensor)) {
        cannot = true;
        SR_TRY(tell_refusal(w));
    }
    SR_TRY(tell_memory(w, &cannot));
    if (x->backend < 0 && !cannot) {
        SR_TRY(add_text(w, SR_WHY_FAILED, -1, "the schedule failed before it could be assigned"));
    } else if (x->cause == SR_CAUSE_OFFLOAD || x->cause >= SR_CAUSE_WGT0) {
        SR_TRY(cannot ? SR_OK : tell_weights(w));
    } else if (!cannot || x->cause == SR_CAUSE_USER || x->cause == SR_CAUSE_INPUT || x->cause == SR_CAUSE_COPY) {
        SR_TRY(tell_cause(w));
    }
done:
    return status;
}

sr_status sr__explain_why_not(sr_explainer *e, int32_t tensor) {
    why w = {.e = e, .tensor = tensor, .t = sr__tensor_of(e, tensor)};
    for (w.backend = 0; w.backend < e->layout->n_backends; w.backend++) {
        const sr_status status = w.backend == e->out->backend ? SR_OK : tell_backend(&w);
        if (status != SR_OK) {
            return status;
        }
    }
    return SR_OK;
}
