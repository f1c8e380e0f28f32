/*
 * explain_steps.c - a tensor's way through the passes: what each looked at, what it did, and why.
 *
 * Layer: analyze.  What was set comes from the recorded decisions; why nothing was set, from the same questions that
 * the passes ask (sched/assign.c).
 */
#include <inttypes.h>

#include "analyze/explain_impl.h"

/* The step being told. */
typedef struct step {
    const sr_explainer *e;
    int32_t tensor;
    const sr_tensor *t;
    int pass;
    int before;                /* backend */
    const sr_decision *decided; /* in this pass, or NULL */
    sr_step_kind kind;
    int32_t because;
    sr__str text;
} step;

static const char *desc(const step *s) { return sr_tensor_op_desc(s->t); }
static const char *name_of(const step *s, int32_t tensor) { return sr__label(s->e, tensor); }
static const char *backend_of(const step *s, int backend) { return sr__backend_label(s->e, backend); }

static void say(step *s, sr_step_kind kind, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void say(step *s, sr_step_kind kind, const char *fmt, ...) {
    va_list args;
    s->kind = kind;
    va_start(args, fmt);
    sr__str_vprintf(&s->text, fmt, args);
    va_end(args);
}

/* ": GPU0 refuses X; CPU does not accept T": why no backend takes an op, with a buffer type or (NULL) without. */
static void put_all_refusals(step *s, const sr_buffer_type *type) {
    for (int b = 0; b < s->e->layout->n_backends; b++) {
        sr__str_puts(&s->text, b == 0 ? ": " : "; ");
        if (!sr__takes_op(s->e, b, s->tensor)) {
            sr__explain_refusal(&s->text, s->e, b, s->tensor);
        } else if (type != NULL) {
            sr__str_printf(&s->text, "%s does not accept %s", backend_of(s, b), type->name);
        } else {
            sr__str_printf(&s->text, "%s would take it", backend_of(s, b));
        }
    }
}

/* ---- pass 1 ---------------------------------------------------------------------------------------------------- */

static void tell_memory(step *s) {
    const sr_buffer *memory = sr__memory_of(s->e, s->tensor);
    if (s->t->view_src >= 0) {
        s->because = s->t->view_src;
        sr__str_printf(&s->text, "views %s, which lies in buffer ", name_of(s, s->t->view_src));
    } else {
        sr__str_puts(&s->text, "lies in buffer ");
    }
    sr__put_buffer(&s->text, memory);
    if (s->decided == NULL) {
        say(s, SR_STEP_LEFT, ", but no backend takes both that buffer type and %s", sr_tensor_op_name(s->t));
        put_all_refusals(s, memory->type);
        sr__str_puts(&s->text, "; the schedule fails here");
    } else if (s->t->op == SR_OP_NONE) {
        say(s, SR_STEP_SET, ": %s is the first backend that accepts buffer type %s", backend_of(s, s->decided->to),
            memory->type->name);
    } else {
        say(s, SR_STEP_SET, ": %s is the first backend that accepts buffer type %s and supports %s",
            backend_of(s, s->decided->to), memory->type->name, desc(s));
    }
}

static void tell_weight(step *s) {
    const sr_explainer *e = s->e;
    int place = 0;
    const int32_t weight = sr__deciding_weight(e, s->tensor, &place);
    if (weight < 0) {
        say(s, SR_STEP_SET, "decided by weights"); /* a record of other rules than those asked here */
        return;
    }
    const sr_buffer_type *type = sr__memory_of(e, weight)->type;
    s->because = weight;
    sr__str_printf(&s->text, "weights %s (source %d) are in buffer type %s", name_of(s, weight), place,
                   type->name);
    if (s->decided->cause == SR_CAUSE_OFFLOAD) {
        say(s, SR_STEP_SET, ", which belongs to the last backend, but %s asks to run the op (batch %" PRId64 ")",
            backend_of(s, s->decided->to), sr_tensor_batch(s->t));
    } else if (s->decided->to >= 0) {
        say(s, SR_STEP_SET, ": %s is the first backend that accepts it and supports %s",
            backend_of(s, s->decided->to), desc(s));
    } else {
        say(s, SR_STEP_NOTED, ", but no backend both accepts it and supports %s", desc(s));
        put_all_refusals(s, type);
        sr__str_printf(&s->text, "; a later pass has to find a backend, and %s will be copied", name_of(s, weight));
    }
}

/* What looks like weights and is none: a view of some, or memory of another usage. */
static void put_near_weights(step *s) {
    for (int j = 0; j < s->t->n_src; j++) {
        const int32_t source = s->e->graph->srcs[s->t->src_begin + j];
        if (source < 0) {
            continue;
        }
        const int32_t root = s->e->graph->tensors[source].view_src;
        const sr_buffer *memory = sr__memory_of(s->e, source);
        if (root >= 0 && sr__is_weight(s->e, root)) {
            sr__str_printf(&s->text, "; source %d, %s, is a view of the weights %s in %s, and views do not count", j,
                           name_of(s, source), name_of(s, root), memory->type->name);
        } else if (memory != NULL && root < 0) {
            sr__str_printf(&s->text, "; source %d, %s, lies in ", j, name_of(s, source));
            sr__put_buffer(&s->text, memory);
            sr__str_printf(&s->text, ", whose usage is '%s', not 'weights'", sr_usage_name(memory->usage));
        }
    }
}

static void tell_nothing_fixed(step *s) {
    if (s->t->node < 0) {
        say(s, SR_STEP_LEFT, "no memory of its own, and no user input: it will follow the first node that reads it");
    } else if (!sr__placed_by_weights(s->e, s->tensor)) {
        say(s, SR_STEP_LEFT, "no memory of its own, no user input; %s is not placed by its weights", desc(s));
    } else {
        say(s, SR_STEP_LEFT, "no memory of its own, no user input, and none of its sources is a weight");
        put_near_weights(s);
    }
}

static void tell_pass_1(step *s) {
    if (s->before >= 0) {
        say(s, SR_STEP_KEPT, "assigned by hand: it is not looked at");
    } else if (sr_op_is_view(s->t->op) && s->decided == NULL && !s->e->layout->params->rules.views_in_pass_1) {
        say(s, SR_STEP_PASSED, "views are passed over by these rules");
    } else if (s->decided == NULL && sr__memory_of(s->e, s->tensor) != NULL) {
        tell_memory(s);
    } else if (s->decided == NULL) {
        tell_nothing_fixed(s);
    } else if (s->decided->cause == SR_CAUSE_DST || s->decided->cause == SR_CAUSE_VSRC) {
        tell_memory(s);
    } else if (s->decided->cause == SR_CAUSE_INPUT) {
        say(s, SR_STEP_SET, "a user input without memory of its own: the user writes it in the memory of the last "
                            "backend");
    } else {
        tell_weight(s);
    }
}

/* ---- pass 2 ---------------------------------------------------------------------------------------------------- */

static void tell_sweep(step *s) {
    const sr_explainer *e = s->e;
    if (s->t->node < 0 || sr_op_is_view(s->t->op)) {
        say(s, SR_STEP_PASSED, "%s are passed over", s->t->node < 0 ? "leafs" : "views");
        return;
    }
    const bool skips = sr__sweep_skips_last(s->pass);
    if (s->before >= 0) {
        const bool is_last = s->before == sr__last_backend(e);
        say(s, SR_STEP_KEPT, "on %s already%s", backend_of(s, s->before),
            !is_last ? ", which spreads from here" : skips ? ", which stops others here" : ", which now spreads too");
        return;
    }
    const int32_t neighbour = e->neighbour[s->pass - SR_PASS_2_GPU_DOWN][s->t->node];
    s->because = s->decided != NULL ? s->decided->because : neighbour;
    if (s->because < 0) {
        say(s, SR_STEP_LEFT, "no assigned node %s", sr__sweeps_up(s->pass) ? "below it" : "above it");
        return;
    }
    const int comes = sr__backend_before(e, s->pass, s->because);
    if (s->decided != NULL) {
        say(s, SR_STEP_SET, "%s comes from ", backend_of(s, s->decided->to));
        sr__put_place(&s->text, e, s->because);
        sr__str_printf(&s->text, " and supports %s", desc(s));
    } else if (skips && comes == sr__last_backend(e)) {
        sr__put_place(&s->text, e, s->because);
        say(s, SR_STEP_LEFT, " on %s is met last %s, and the last backend stops the spreading", backend_of(s, comes),
            sr__sweeps_up(s->pass) ? "below it" : "above it");
    } else {
        say(s, SR_STEP_LEFT, "%s comes from ", backend_of(s, comes));
        sr__put_place(&s->text, e, s->because);
        sr__str_puts(&s->text, ", but ");
        sr__explain_refusal(&s->text, e, comes, s->tensor);
    }
}

/* ---- pass 3 ---------------------------------------------------------------------------------------------------- */

/* "CPU can read 3 of its 4 sources where they are, GPU0 1; GPU1 refuses X". */
static void put_counts(step *s) {
    const sr_explainer *e = s->e;
    const char *lead = "";
    for (int b = 0; b < e->layout->n_backends; b++) {
        int n = 0;
        sr__str_puts(&s->text, lead);
        lead = "; ";
        if (!sr__takes_op(e, b, s->tensor)) {
            sr__explain_refusal(&s->text, e, b, s->tensor);
            continue;
        }
        const int readable = sr__count_readable(e, b, s->tensor, &n);
        sr__str_printf(&s->text, "%s can read %d of its %d source%s where %s", backend_of(s, b), readable, n,
                       n == 1 ? "" : "s", n == 1 ? "it is" : "they are");
    }
}

/* The higher backend with the same memory that could not have it, and why. */
static void tell_no_upgrade(step *s) {
    const sr_explainer *e = s->e;
    const sr_layout *layout = e->layout;
    say(s, SR_STEP_KEPT, "on %s", backend_of(s, s->before));
    int n_higher = 0;
    for (int b = 0; b < s->before; b++) {
        if (layout->buffer_types[b] != layout->buffer_types[s->before]) {
            continue;
        }
        n_higher++;
        sr__str_printf(&s->text, "; %s has the same buffer type, but ", backend_of(s, b));
        if (!sr__takes_op(e, b, s->tensor)) {
            sr__explain_refusal(&s->text, e, b, s->tensor);
        } else {
            sr__str_puts(&s->text, "cannot read all of its sources");
        }
    }
    if (n_higher == 0) {
        sr__str_puts(&s->text, "; no higher backend has the same buffer type");
    }
}

static void tell_pass_3(step *s) {
    if (s->t->node < 0 || sr_op_is_view(s->t->op)) {
        say(s, SR_STEP_PASSED, "%s are passed over", s->t->node < 0 ? "leafs" : "views");
    } else if (s->before >= 0 && s->decided != NULL) {
        say(s, SR_STEP_SET, "moved up from %s: %s has the same buffer type %s, supports %s and can read its sources",
            backend_of(s, s->before), backend_of(s, s->decided->to), s->e->layout->buffer_types[s->before]->name,
            desc(s));
    } else if (s->before >= 0) {
        tell_no_upgrade(s);
    } else if (s->decided != NULL) {
        say(s, SR_STEP_SET, "goes to who can read most of its sources: ");
        put_counts(s);
    } else {
        say(s, SR_STEP_LEFT, "no backend supports it");
        put_all_refusals(s, NULL);
    }
}

/* ---- pass 4 ---------------------------------------------------------------------------------------------------- */

static void tell_pass_4_decision(step *s) {
    const sr_decision *d = s->decided;
    const sr_step_kind kind = d->to >= 0 ? SR_STEP_SET : SR_STEP_NOTED;
    s->because = d->because;
    if (d->cause == SR_CAUSE_VSRC4) {
        say(s, kind, "views %s, which %s%s", name_of(s, d->because), d->to >= 0 ? "is on " : "has no backend",
            d->to >= 0 ? backend_of(s, d->to) : "");
    } else if (d->cause == SR_CAUSE_CUR) {
        sr__str_puts(&s->text, "read first by ");
        sr__put_place(&s->text, s->e, d->because);
        say(s, kind, ", which %s%s", d->to >= 0 ? "is on " : "has no backend yet",
            d->to >= 0 ? backend_of(s, d->to) : "");
    } else {
        say(s, kind, "%s%s is the first backend that supports %s",
            s->t->view_src >= 0 ? "what it views has no backend: " : "", backend_of(s, d->to), desc(s));
    }
}

static void tell_pass_4(step *s) {
    if (s->decided != NULL && s->before < 0) {
        tell_pass_4_decision(s);
    } else if (s->before >= 0) {
        say(s, SR_STEP_KEPT, "on %s", backend_of(s, s->before));
    } else if (s->tensor == s->e->failed_at) {
        say(s, SR_STEP_LEFT, "no backend supports it");
        put_all_refusals(s, NULL);
        sr__str_puts(&s->text, "; the schedule fails here");
    } else {
        say(s, SR_STEP_LEFT, "no node reads it: it stays without a backend, and without memory");
    }
    if (s->e->out->cause == SR_CAUSE_COPY) {
        sr__str_printf(&s->text, "; as a user input it then gets %d pipeline copies (4.cpy)",
                       s->e->layout->n_copies);
    }
}

/* ---- all of them ----------------------------------------------------------------------------------------------- */

static void tell_users(step *s) {
    if (s->decided != NULL) {
        say(s, SR_STEP_SET, "assigned to %s by hand", backend_of(s, s->decided->to));
    } else {
        say(s, SR_STEP_LEFT, "it was not assigned by hand");
    }
}

static void tell(step *s) {
    if (!sr__pass_reached(s->e, s->pass, s->tensor)) {
        say(s, SR_STEP_NOT_REACHED, "not reached: the schedule failed before");
    } else if (s->pass == SR_PASS_USER) {
        tell_users(s);
    } else if (s->pass == SR_PASS_1) {
        tell_pass_1(s);
    } else if (sr__is_sweep(s->pass)) {
        tell_sweep(s);
    } else if (s->pass == SR_PASS_3) {
        tell_pass_3(s);
    } else {
        tell_pass_4(s);
    }
}

sr_status sr__explain_steps(sr_explainer *e, int32_t tensor) {
    sr_explanation *x = e->out;
    x->steps = sr__calloc(SR_PASS_COUNT, sizeof(*x->steps));
    if (x->steps == NULL) {
        return sr__fail_memory(e->err);
    }
    for (int pass = 0; pass < SR_PASS_COUNT; pass++) {
        step s = {.e = e, .tensor = tensor, .t = sr__tensor_of(e, tensor), .pass = pass, .because = -1};
        s.before = sr__backend_before(e, pass, tensor);
        s.decided = sr_explainer_decision(e, pass, tensor);
        tell(&s);
        char *text = s.text.failed ? NULL : sr__strdup(sr__str_text(&s.text));
        sr__str_free(&s.text);
        if (text == NULL) {
            return sr__fail_memory(e->err);
        }
        x->steps[x->n_steps++] = (sr_explain_step){.pass = pass,
                                                   .kind = s.kind,
                                                   .from = s.before,
                                                   .to = sr__backend_after(e, pass, tensor),
                                                   .cause = sr_explainer_cause_after(e, pass, tensor),
                                                   .because = s.because,
                                                   .text = text};
    }
    return SR_OK;
}
