/*
 * explain_hints.c - what to try where a tensor is not where it is wanted.
 *
 * Layer: analyze.  A hint names what decided and the option that changes it; the most promising comes first.
 */
#include <inttypes.h>
#include <stdio.h>

#include "analyze/explain_impl.h"

typedef struct hints {
    sr_explainer *e;
    int32_t tensor;
    const sr_tensor *t;
    size_t cap;
    sr_status status;
} hints;

static void hint(hints *h, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void hint(hints *h, const char *fmt, ...) {
    sr_explanation *x = h->e->out;
    sr__str s = {0};
    va_list args;
    if (h->status != SR_OK) {
        return;
    }
    va_start(args, fmt);
    sr__str_vprintf(&s, fmt, args);
    va_end(args);
    char *text = s.failed ? NULL : sr__strdup(sr__str_text(&s));
    sr__str_free(&s);
    if (text == NULL || !sr__grow(&x->hints, &h->cap, (size_t)x->n_hints + 1, sizeof(*x->hints))) {
        sr__free(text);
        h->status = sr__fail_memory(h->e->err);
        return;
    }
    x->hints[x->n_hints++] = text;
}

static const char *label(const hints *h, int32_t tensor) { return sr__label(h->e, tensor); }
static const char *backend_label(const hints *h, int backend) { return sr__backend_label(h->e, backend); }
static const char *type_label(const hints *h, int backend) { return h->e->layout->buffer_types[backend]->name; }

/* The first backend, but its own, that supports the op; higher: only before its own.  -1: none. */
static int find_taker(const hints *h, bool higher) {
    const int own = h->e->out->backend;
    const int end = higher && own >= 0 ? own : h->e->layout->n_backends;
    for (int b = 0; b < end; b++) {
        if (b != own && sr__takes_op(h->e, b, h->tensor)) {
            return b;
        }
    }
    return -1;
}

/* The first backend before its own that refuses the op, -1: none. */
static int find_refusing(const hints *h) {
    for (int b = 0; b < h->e->out->backend; b++) {
        if (!sr__takes_op(h->e, b, h->tensor)) {
            return b;
        }
    }
    return -1;
}

/* "q8_0[256,64] q4_0[8]": types and extents of the sources, which most refusals are about. */
static void put_operands(sr__str *s, const hints *h) {
    for (int j = 0; j < h->t->n_src; j++) {
        const int32_t source = h->e->graph->srcs[h->t->src_begin + j];
        if (source < 0) {
            continue;
        }
        const sr_tensor *t = sr__tensor_of(h->e, source);
        sr__str_printf(s, "%s%s %s[%" PRId64, s->length > 0 ? ", " : "", label(h, source), sr_type_get(t->type)->name,
                       t->ne[0]);
        int n = SR_MAX_DIMS;
        while (n > 1 && t->ne[n - 1] == 1) {
            n--;
        }
        for (int d = 1; d < n; d++) {
            sr__str_printf(s, ",%" PRId64, t->ne[d]);
        }
        sr__str_puts(s, "]");
    }
}

static void hint_refused(hints *h) {
    const int b = find_refusing(h);
    if (b < 0) {
        return;
    }
    sr__str operands = {0};
    put_operands(&operands, h);
    if (operands.failed) {
        h->status = sr__fail_memory(h->e->err);
    }
    hint(h, "%s does not support this %s: try other types or shapes of its sources (%s), or a version of %s that does",
         backend_label(h, b), sr_tensor_op_desc(h->t), sr__str_text(&operands), backend_label(h, b));
    sr__str_free(&operands);
}

/* "-P '^blk\.0\.weight$=GPU0'": what puts a tensor, and no other, into a buffer. */
typedef struct option_text { char text[2 * SR_MAX_NAME + 128]; } option_text;

static option_text place_option(const hints *h, int32_t tensor, const char *buffer) {
    option_text p = {.text = "-P '^"};
    size_t n = strlen(p.text);
    if (sr__tensor_of(h->e, tensor)->node >= 0 || (sr__tensor_of(h->e, tensor)->flags & SR_FLAG_INPUT) != 0) {
        /* the option is for leafs */
        snprintf(p.text, sizeof(p.text), "\"buffer\" of %.63s in the description", label(h, tensor));
        return p;
    }
    for (const char *name = label(h, tensor); *name != '\0' && n < 2 * SR_MAX_NAME + 8; name++) {
        if (strchr(".[{()\\*+?|^$", *name) != NULL) {
            p.text[n++] = '\\';
        }
        p.text[n++] = *name;
    }
    snprintf(p.text + n, sizeof(p.text) - n, "$=%.64s'", buffer);
    return p;
}

/* ---- by cause -------------------------------------------------------------------------------------------------- */

static void hint_memory(hints *h) {
    const int32_t root = h->t->view_src >= 0 ? h->t->view_src : h->tensor;
    const int b = find_taker(h, h->t->op != SR_OP_NONE);
    if (h->t->op == SR_OP_NONE && h->t->view_src < 0) {
        hint(h, "a tensor stays in the memory that it has: %s puts it elsewhere",
             place_option(h, root, "BUFFER").text);
    } else if (b >= 0) {
        hint(h, "%s decides by the memory it lies in: %s puts it where %s runs", label(h, root),
             place_option(h, root, type_label(h, b)).text, backend_label(h, b));
    }
    hint_refused(h);
}

/* What kept higher backends from asking for an op with weights in host memory. */
static void hint_offload(hints *h, int32_t weight) {
    const sr_explainer *e = h->e;
    const sr_sched_params *params = e->layout->params;
    const sr_buffer_type *type = sr__memory_of(e, weight)->type;
    const int64_t batch = sr_tensor_batch(h->t);
    for (int b = 0; b < sr__last_backend(e); b++) {
        const sr_backend *backend = e->layout->backends[b];
        if (!sr_backend_can_offload(backend) || !sr__takes_op(e, b, h->tensor)) {
            continue;
        }
        if (sr__home_of(e, type, h->tensor) != sr__last_backend(e)) {
            hint(h, "without %s among the backends %s could ask for it: only weights of the last backend are offloaded",
                 backend_label(h, e->out->backend), backend->name);
        } else if (params->rules.op_offload_switch && !params->op_offload) {
            hint(h, "with op offload (without --no-op-offload) %s would be asked", backend->name);
        } else if (!type->is_host && params->rules.offload_host_only) {
            hint(h, "in plain host memory, such as %s (llama.cpp: --no-repack), %s could be offloaded to %s",
                 place_option(h, weight, "CPU").text, label(h, weight), backend->name);
        } else if (backend->offload_min_batch > batch) {
            hint(h, "the batch is %" PRId64 ": from %" PRId64 " on %s asks (GGML_OP_OFFLOAD_MIN_BATCH sets that)",
                 batch, backend->offload_min_batch, backend->name);
        }
        break;
    }
}

static void hint_weight(hints *h) {
    int place = 0;
    const int32_t weight = sr__deciding_weight(h->e, h->tensor, &place);
    const int b = find_taker(h, true);
    char bytes[16];
    if (weight < 0) {
        return;
    }
    sr__format_bytes(sr__tensor_of(h->e, weight)->nbytes, bytes);
    if (b >= 0) {
        hint(h, "%s puts the weights (%s) where %s runs (llama.cpp: -ot, -ngl)",
             place_option(h, weight, type_label(h, b)).text, bytes, backend_label(h, b));
        hint_offload(h, weight);
    } else if (h->e->out->backend == 0) {
        hint(h, "nothing is wrong: it runs where its weights are, on the first backend");
    }
    hint_refused(h);
}

static void hint_offloaded(hints *h) {
    int place = 0;
    const int32_t weight = sr__deciding_weight(h->e, h->tensor, &place);
    char bytes[16];
    if (weight < 0) {
        return;
    }
    sr__format_bytes(sr__tensor_of(h->e, weight)->nbytes, bytes);
    hint(h, "it costs a copy of %s (%s) in every evaluation: %s keeps the weights there", label(h, weight), bytes,
         place_option(h, weight, type_label(h, h->e->out->backend)).text);
    hint(h, "--no-op-offload runs it where its weights are");
}

static void hint_neighbours(hints *h) {
    const int b = find_taker(h, h->e->out->backend > 0);
    const sr_decision *d = NULL;
    for (int pass = SR_PASS_2_GPU_DOWN; pass <= SR_PASS_2_REST_UP && d == NULL; pass++) {
        d = sr_explainer_decision(h->e, pass, h->tensor);
    }
    hint_refused(h);
    if (d != NULL && d->because >= 0) {
        hint(h, "it goes where its neighbour goes: -e '%s' tells why %s is on %s", label(h, d->because),
             label(h, d->because), backend_label(h, d->to));
    }
    if (b >= 0) {
        hint(h, "-A '%s=%s' assigns it by hand", label(h, h->tensor), backend_label(h, b));
    }
}

static void hint_user(hints *h) {
    const int own = h->e->out->backend;
    if (!sr__takes_op(h->e, own, h->tensor)) {
        hint(h, "%s does not support the op: executing it there fails", backend_label(h, own));
    }
    hint(h, "without the assignment the rules decide");
}

static void hint_failed(hints *h) {
    const int32_t at = h->e->failed_at;
    if (at < 0) {
        return;
    }
    if (at != h->tensor) {
        hint(h, "the schedule failed at %s: -e '%s' tells why", label(h, at), label(h, at));
        return;
    }
    const sr_buffer *memory = sr__memory_of(h->e, at);
    const int32_t root = h->t->view_src >= 0 ? h->t->view_src : at;
    if (h->e->layout->status == SR_PREALLOCATED && h->t->op == SR_OP_NONE) {
        hint(h, "no backend of this scheduler accepts buffer type %s: add the backend that it belongs to, let one of "
                "them accept it (\"accepts\"), or put %s elsewhere: %s",
             memory->type->name, label(h, root), place_option(h, root, "BUFFER").text);
    } else if (h->e->layout->status == SR_PREALLOCATED) {
        const int b = find_taker(h, false);
        if (b >= 0) {
            hint(h, "%s puts %s where %s, which supports %s, can write", place_option(h, root, type_label(h, b)).text,
                 label(h, root), backend_label(h, b), sr_tensor_op_desc(h->t));
        }
    } else {
        hint(h, "let a backend support %s, or give it other types or shapes", sr_tensor_op_desc(h->t));
        int place = 0;
        const int32_t weight = sr__deciding_weight(h->e, at, &place);
        if (weight >= 0) {
            hint(h, "its weights %s are in %s, for which a backend may refuse what it does in plain memory: %s",
                 label(h, weight), sr__memory_of(h->e, weight)->type->name, place_option(h, weight, "CPU").text);
        }
    }
}

static void hint_by_cause(hints *h) {
    const sr_decision *d = sr_explainer_decision(h->e, SR_PASS_4, h->tensor);
    switch (h->e->out->cause) {
    case SR_CAUSE_USER: hint_user(h); break;
    case SR_CAUSE_DST:
    case SR_CAUSE_VSRC: hint_memory(h); break;
    case SR_CAUSE_INPUT:
    case SR_CAUSE_COPY:
        hint(h, "nothing is wrong: whoever reads it elsewhere gets a copy; a large input that rarely changes may lie "
                "in a buffer of the device: %s", place_option(h, h->tensor, "").text);
        break;
    case SR_CAUSE_OFFLOAD: hint_offloaded(h); break;
    case SR_CAUSE_SUP:
    case SR_CAUSE_BEST: hint_neighbours(h); break;
    case SR_CAUSE_UPG: hint(h, "nothing is wrong: the memory is the same"); break;
    case SR_CAUSE_VSRC4:
        if (h->t->view_src >= 0) {
            hint(h, "it goes where %s goes: -e '%s'", label(h, h->t->view_src), label(h, h->t->view_src));
        }
        break;
    case SR_CAUSE_CUR:
        if (d != NULL && d->because >= 0) {
            hint(h, "it goes where its first user goes: -e '%s'", label(h, d->because));
        }
        break;
    default:
        if (h->e->out->cause >= SR_CAUSE_WGT0) {
            hint_weight(h);
        }
        break;
    }
}

sr_status sr__explain_hints(sr_explainer *e, int32_t tensor) {
    hints h = {.e = e, .tensor = tensor, .t = sr__tensor_of(e, tensor), .status = SR_OK};
    if (e->out->backend < 0) {
        hint_failed(&h);
    } else {
        hint_by_cause(&h);
    }
    return h.status;
}
