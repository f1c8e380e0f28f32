/*
 * backend_plan.c - plans of a backend, with what stands in for them where a backend has none.
 *
 * Layer: backend.  Answers to ggml_backend_graph_plan_create, _compute and _free of the reference.
 */
#include "backend/tracing.h"

/* The plan of a backend without plans: the view itself. */
struct sr_graph_plan { sr_graph_view view; };

static bool has_plans(const sr_backend *backend) {
    const sr_backend_i *iface = backend->iface;
    return iface->plan_new && iface->plan_compute && iface->plan_free;
}

static sr_status of_backend(const sr_backend *backend, sr_status status, sr_error *err) {
    if (status != SR_OK && err && !sr_error_find(err, "backend")) {
        sr__error_prefix(err, "backend '%s': ", backend->name);
        sr__error_text(err, "backend", backend->name);
    }
    return status;
}

sr_status sr_backend_plan_new(sr_backend *backend, const sr_graph_view *view, sr_graph_plan **out_plan,
                              sr_error *err) {
    *out_plan = NULL;
    if (has_plans(backend)) {
        return of_backend(backend, backend->iface->plan_new(backend, view, out_plan, err), err);
    }
    sr_graph_plan *plan = sr__malloc(sizeof(*plan));
    if (!plan) {
        return sr__fail_memory(err);
    }
    plan->view = *view;
    *out_plan = plan;
    return SR_OK;
}

sr_status sr_backend_plan_compute(sr_backend *backend, sr_graph_plan *plan, sr_error *err) {
    return has_plans(backend) ? of_backend(backend, backend->iface->plan_compute(backend, plan, err), err)
                              : sr_backend_compute(backend, &plan->view, err);
}

void sr_backend_plan_free(sr_backend *backend, sr_graph_plan *plan) {
    if (!plan) {
        return;
    }
    if (has_plans(backend)) {
        backend->iface->plan_free(backend, plan);
    } else {
        sr__free(plan);
    }
}
