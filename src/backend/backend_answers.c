/*
 * backend_answers.c - what a backend answers when the scheduler asks it about ops and buffer types.
 *
 * Layer: backend.  Answers to ggml_backend_{supports_op,supports_buft,offload_op} of the reference, where the device
 * alone decides.  Here a recording comes first, then the description's rules, then the device.
 */
#include "base/base.h"
#include "sched_run/backend.h"

static bool name_in(const char *name, const char *const *names, int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        if (strcmp(name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

static const sr_answers *answers_of(const sr_graph_view *view, int32_t id) {
    if (sr_view_is_extra(view, id)) {
        return NULL;
    }
    const int32_t at = sr_view_tensor(view, id)->answers;
    return at >= 0 ? &view->graph->answers[at] : NULL;
}

static const sr_rule *first_match(const sr_rules *rules, const sr_graph_view *view, int32_t tensor) {
    for (int i = 0; i < rules->n; i++) {
        if (sr_rule_matches(&rules->rules[i], view, tensor)) {
            return &rules->rules[i];
        }
    }
    return NULL;
}

bool sr_backend_supports_op(const sr_backend *backend, const sr_graph_view *view, int32_t tensor, sr_refusal *out_why) {
    sr_refusal ignored;
    sr_refusal *why = out_why ? out_why : &ignored;
    *why = (sr_refusal){.by = SR_REFUSED_BY_DEVICE, .text = ""};
    if (sr_view_op(view, tensor) == SR_OP_NONE) {
        return true;
    }
    const sr_answers *answers = answers_of(view, tensor);
    if (answers && answers->n_supported_by >= 0) {
        *why = (sr_refusal){.by = SR_REFUSED_BY_RECORD, .text = "the recording does not list it"};
        return name_in(backend->name, answers->supported_by, answers->n_supported_by);
    }
    const sr_rule *denied = first_match(&backend->deny, view, tensor);
    if (denied) {
        *why = (sr_refusal){.by = SR_REFUSED_BY_DENY, .text = denied->text ? denied->text : ""};
        return false;
    }
    if (backend->has_allow && !first_match(&backend->allow, view, tensor)) {
        *why = (sr_refusal){.by = SR_REFUSED_BY_ALLOW, .text = "not among the ops it allows"};
        return false;
    }
    /* rules on a CPU stand in for its own answer */
    if (backend->has_rules && backend->device->type == SR_DEVICE_CPU) {
        return true;
    }
    const char *text = NULL;
    const bool yes = backend->device->iface->supports_op(backend->device, view, tensor, &text);
    why->text = text ? text : "the device does not support it";
    return yes;
}

bool sr_backend_can_execute(const sr_backend *backend, const sr_graph_view *view, int32_t tensor,
                            const char **out_why) {
    const char *ignored;
    const char **why = out_why ? out_why : &ignored;
    *why = NULL;
    if (sr_view_op(view, tensor) == SR_OP_NONE) {
        return true;
    }
    if (!backend->iface->compute) {
        *why = "this build cannot execute there";
        return false;
    }
    sr_device *device = backend->device;
    if (!device->iface->can_execute || device->iface->can_execute(device, view, tensor, why)) {
        *why = NULL;
        return true;
    }
    if (!*why) {
        *why = "the device has no kernel for it";
    }
    return false;
}

bool sr_backend_supports_buffer_type(const sr_backend *backend, const sr_buffer_type *type) {
    if (type == backend->buffer_type) {
        return true;
    }
    for (int i = 0; i < backend->n_accepts; i++) {
        if (backend->accepts[i] == type) {
            return true;
        }
    }
    return backend->device->iface->supports_buffer_type(backend->device, type);
}

bool sr_backend_can_offload(const sr_backend *backend) {
    return backend->device->iface->offload_op != NULL;
}

bool sr_backend_offload_op(const sr_backend *backend, const sr_graph_view *view, int32_t tensor) {
    const sr_answers *answers = answers_of(view, tensor);
    if (answers && answers->n_offloaded_by >= 0) {
        return name_in(backend->name, answers->offloaded_by, answers->n_offloaded_by);
    }
    sr_device *device = backend->device;
    return device->iface->offload_op && device->iface->offload_op(device, view, tensor);
}
