/*
 * diff_memory.c - compute buffers of two layouts, and what is alive in them at their peaks.
 *
 * Layer: analyze.
 */
#include "analyze/diff_impl.h"
#include "sched_run/memory_plan.h"

/* A plan that cannot be made (nothing was planned, no chunk is large enough) leaves the peaks unknown: 0. */
static sr_status make_plan(const sr_layout *layout, sr_memory_plan *plan, sr_error *err) {
    sr_error own = {0};
    const sr_status status = sr_memory_plan_make(layout, plan, &own);
    sr_error_clear(&own);
    return status == SR_MEMORY ? sr__fail_memory(err) : SR_OK;
}

static size_t held_by(const sr_layout *layout, int backend) {
    return backend >= 0 && layout->compute_buffer_size != NULL ? layout->compute_buffer_size[backend] : 0;
}

static void find_peak(const sr_layout *layout, const sr_memory_plan *plan, int backend, size_t *live, int32_t *peak) {
    *live = 0;
    *peak = -1;
    for (int i = 0; i < plan->n_buffers; i++) {
        const sr_memory_buffer *buffer = &plan->buffers[i];
        if (buffer->backend != backend) {
            continue;
        }
        *live = buffer->most_live;
        if (buffer->most_live > 0 && buffer->peak >= 0 && buffer->peak < layout->view.n_nodes) {
            const int32_t id = layout->view.nodes[buffer->peak];
            *peak = id < layout->graph->n_tensors ? id : layout->view.extra[id - layout->graph->n_tensors].of;
        }
    }
}

sr_status sr__diff_memory(sr_diff *diff, sr_error *err) {
    const sr_layout *a = diff->a, *b = diff->b;
    sr_memory_plan plan_a = {0}, plan_b = {0};
    sr_status status;
    SR_TRY(make_plan(a, &plan_a, err));
    SR_TRY(make_plan(b, &plan_b, err));
    diff->memory = sr__calloc((size_t)(a->n_backends + b->n_backends), sizeof(*diff->memory));
    if (diff->memory == NULL) {
        status = sr__fail_memory(err);
        goto done;
    }
    for (int i = 0; i < a->n_backends; i++) {
        diff->memory[diff->n_memory++] = (sr_diff_memory){.a = i, .b = diff->backend_b_of_a[i]};
    }
    for (int i = 0; i < b->n_backends; i++) {
        if (diff->backend_a_of_b[i] < 0) {
            diff->memory[diff->n_memory++] = (sr_diff_memory){.a = -1, .b = i};
        }
    }
    for (int i = 0; i < diff->n_memory; i++) {
        sr_diff_memory *m = &diff->memory[i];
        m->held_a = held_by(a, m->a);
        m->held_b = held_by(b, m->b);
        find_peak(a, &plan_a, m->a, &m->live_a, &m->peak_a);
        find_peak(b, &plan_b, m->b, &m->live_b, &m->peak_b);
    }
done:
    sr_memory_plan_clear(&plan_a);
    sr_memory_plan_clear(&plan_b);
    return status;
}
