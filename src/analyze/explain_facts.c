/*
 * explain_facts.c - what explanations ask about tensors, buffers and backends.
 *
 * Layer: analyze.  The questions are those of the scheduler's passes (sched/assign.c), asked of the same backends.
 */
#include <inttypes.h>

#include "analyze/explain_impl.h"

const sr_buffer *sr__memory_of(const sr_explainer *e, int32_t tensor) {
    const sr_tensor *t = sr__tensor_of(e, tensor);
    return t->view_src >= 0 ? e->graph->tensors[t->view_src].buffer : t->buffer;
}

bool sr__is_weight(const sr_explainer *e, int32_t tensor) {
    const sr_buffer *buffer = sr__tensor_of(e, tensor)->buffer;
    return buffer != NULL && buffer->usage == SR_USAGE_WEIGHTS;
}

bool sr__takes_op(const sr_explainer *e, int backend, int32_t tensor) {
    return sr_backend_supports_op(e->layout->backends[backend], &e->view, tensor, NULL);
}

bool sr__takes_type(const sr_explainer *e, int backend, const sr_buffer_type *type) {
    return sr_backend_supports_buffer_type(e->layout->backends[backend], type);
}

int sr__home_of(const sr_explainer *e, const sr_buffer_type *type, int32_t tensor) {
    for (int b = 0; b < e->layout->n_backends; b++) {
        if (sr__takes_type(e, b, type) && sr__takes_op(e, b, tensor)) {
            return b;
        }
    }
    return -1;
}

bool sr__placed_by_weights(const sr_explainer *e, int32_t tensor) {
    const int op = sr__tensor_of(e, tensor)->op;
    return op != SR_OP_ROPE && !(op == SR_OP_FLASH_ATTN_EXT && e->layout->params->rules.attention_ignores_weights);
}

int32_t sr__deciding_weight(const sr_explainer *e, int32_t tensor, int *out_place) {
    const sr_tensor *t = sr__tensor_of(e, tensor);
    for (int j = 0; j < t->n_src; j++) {
        const int32_t source = e->graph->srcs[t->src_begin + j];
        if (source >= 0 && sr__is_weight(e, source)) {
            *out_place = j;
            return source;
        }
    }
    return -1;
}

bool sr__can_read(const sr_explainer *e, int backend, int32_t tensor, int pass) {
    const sr_buffer *memory = sr__memory_of(e, tensor);
    if (memory != NULL) {
        return sr__takes_type(e, backend, memory->type);
    }
    int home = sr__backend_before(e, pass, tensor);
    const int32_t root = sr__tensor_of(e, tensor)->view_src;
    if (home < 0 && root >= 0) {
        home = sr__backend_before(e, pass, root);
    }
    return home >= 0 && sr__takes_type(e, backend, e->layout->buffer_types[home]);
}

/* Sources stand before the node, so that pass 3 has been at them already; a node that reads itself is not counted. */
int sr__count_readable(const sr_explainer *e, int backend, int32_t node, int *out_n) {
    const sr_tensor *t = sr__tensor_of(e, node);
    int n = 0;
    *out_n = 0;
    for (int j = 0; j < t->n_src; j++) {
        const int32_t source = e->graph->srcs[t->src_begin + j];
        if (source < 0 || source == node) {
            continue;
        }
        const int32_t root = sr__tensor_of(e, source)->view_src;
        const bool assigned = sr__backend_before(e, SR_PASS_4, source) >= 0 ||
                              (root >= 0 && sr__backend_before(e, SR_PASS_4, root) >= 0);
        (*out_n)++;
        n += assigned && sr__can_read(e, backend, source, SR_PASS_4);
    }
    return n;
}

/* ---- words ----------------------------------------------------------------------------------------------------- */

void sr__put_place(sr__str *s, const sr_explainer *e, int32_t tensor) {
    const int32_t node = sr__tensor_of(e, tensor)->node;
    if (node >= 0) {
        sr__str_printf(s, "node %d ", (int)node);
    }
    sr__str_puts(s, sr__label(e, tensor));
}

void sr__put_buffer(sr__str *s, const sr_buffer *buffer) {
    const char *name = buffer->name != NULL ? buffer->name : buffer->type->name;
    sr__str_puts(s, name);
    if (strcmp(name, buffer->type->name) != 0) {
        sr__str_printf(s, " (%s)", buffer->type->name);
    }
}

void sr__explain_refusal(sr__str *s, const sr_explainer *e, int backend, int32_t tensor) {
    sr_refusal why = {0};
    sr_backend_supports_op(e->layout->backends[backend], &e->view, tensor, &why);
    sr__str_printf(s, "%s refuses %s", sr__backend_label(e, backend), sr_tensor_op_desc(sr__tensor_of(e, tensor)));
    if (why.by == SR_REFUSED_BY_DENY && why.text != NULL && why.text[0] != '\0') {
        sr__str_printf(s, " (rule: %s)", why.text);
    } else if (why.by == SR_REFUSED_BY_ALLOW) {
        sr__str_puts(s, " (not in its allow list)");
    } else if (why.text != NULL && why.text[0] != '\0') {
        sr__str_printf(s, " (%s)", why.text);
    }
}

bool sr__put_no_offload(sr__str *s, const sr_explainer *e, int backend, int32_t tensor, int32_t weight) {
    const sr_sched_params *params = e->layout->params;
    const sr_backend *b = e->layout->backends[backend];
    const sr_buffer_type *type = sr__memory_of(e, weight)->type;
    const int home = sr__home_of(e, type, tensor);
    const int64_t batch = sr_tensor_batch(sr__tensor_of(e, tensor));
    if (home != sr__last_backend(e)) {
        sr__str_printf(s, "nobody is asked to offload it: %s is in %s, whose backend is %s, not the last one",
                       sr__label(e, weight), type->name, sr__backend_label(e, home));
    } else if (params->rules.op_offload_switch && !params->op_offload) {
        sr__str_puts(s, "nobody is asked to offload it: op offload is switched off");
    } else if (!type->is_host && params->rules.offload_host_only) {
        sr__str_printf(s, "nobody is asked to offload it: %s is in %s, which is no host memory", sr__label(e, weight),
                       type->name);
    } else if (!sr__takes_op(e, backend, tensor)) {
        sr__explain_refusal(s, e, backend, tensor);
        sr__str_puts(s, ", so that it is not asked to offload it");
    } else if (sr_backend_offload_op(b, &e->view, tensor)) {
        return false;
    } else if (b->offload_min_batch >= 0 && batch < b->offload_min_batch) {
        sr__str_printf(s, "%s does not ask for it: its batch is %" PRId64 ", %s asks from %" PRId64 " on", b->name,
                       batch, b->name, b->offload_min_batch);
    } else if (b->offloads_listed_ops) {
        sr__str_printf(s, "%s does not ask for it: %s is not among the ops that it offloads", b->name,
                       sr_tensor_op_desc(sr__tensor_of(e, tensor)));
    } else {
        sr__str_printf(s, "%s does not ask for ops whose weights are elsewhere", b->name);
    }
    return true;
}
