/*
 * estimate_cost.c - what a split's nodes and its inputs cost by the figures of the backends.
 *
 * Layer: analyze.
 */
#include "analyze/estimate_impl.h"
#include "analyze/finding.h"
#include "analyze/link.h"
#include "analyze/timeline.h"
#include "graph/work.h"

/* ---- nodes ------------------------------------------------------------------------------------------------------ */

static void add_node(sr_estimate_split *split, const sr_speed *speed, const sr_graph *graph, int32_t node,
                     double seconds[SR__BOUND_COUNT]) {
    sr__bound bound;
    const double all = sr__node_seconds(speed, graph, node, &bound);
    if (all <= 0) {
        return;
    }
    seconds[SR__BOUND_LATENCY] += speed->latency;
    if (bound == SR__BOUND_LATENCY) {
        bound = sr__node_flops(graph, node) * speed->memory_bandwidth > sr__node_bytes(graph, node) * speed->flops
                    ? SR__BOUND_FLOPS
                    : SR__BOUND_MEMORY;
    }
    seconds[bound] += all - speed->latency;
    split->flops += sr__node_flops(graph, node);
    split->bytes += sr__node_bytes(graph, node);
    split->n_nodes++;
}

void sr__estimate_nodes(sr_estimate *estimate, const sr_layout *layout) {
    const sr_graph *graph = layout->graph;
    for (int32_t s = 0; s < layout->n_splits; s++) {
        const sr_split *split = &layout->splits[s];
        sr_estimate_split *own = &estimate->splits[s];
        double seconds[SR__BOUND_COUNT] = {0};
        for (int32_t i = split->start; i < split->end; i++) {
            add_node(own, &estimate->speeds[split->backend], graph, graph->nodes[i], seconds);
        }
        own->by_flops = sr__nanoseconds(seconds[SR__BOUND_FLOPS]);
        own->by_memory = sr__nanoseconds(seconds[SR__BOUND_MEMORY]);
        own->by_latency = sr__nanoseconds(seconds[SR__BOUND_LATENCY]);
        own->computing = sr__later(sr__later(own->by_flops, own->by_memory), own->by_latency);
    }
}

/* ---- inputs ----------------------------------------------------------------------------------------------------- */

/* Of experts what is to be expected, in whole experts. */
static uint64_t used_bytes(const sr_layout *layout, const sr_tensor *node, const sr_tensor *weights) {
    const int32_t ids = layout->graph->srcs[node->src_begin + 2];
    if (ids < 0) {
        return weights->nbytes;
    }
    const sr_tensor *chosen = &layout->graph->tensors[ids];
    const double used = sr__experts_used(weights->ne[2], chosen->ne[0], chosen->ne[1]);
    return (uint64_t)(used + 0.5) * weights->nb[2];
}

static bool lies_in_host_memory(const sr_layout *layout, int32_t tensor) {
    const sr_buffer *buffer = sr__home_buffer(layout->graph, tensor);
    const int backend = layout->backend_of[tensor];
    return buffer ? buffer->type->is_host : backend >= 0 && layout->buffer_types[backend]->is_host;
}

static double copy_seconds(const sr_estimate *estimate, const sr_layout *layout, int32_t tensor, int to,
                           double bytes) {
    const int from = layout->backend_of[tensor] >= 0 ? layout->backend_of[tensor] : layout->n_backends - 1;
    const sr_speed *a = &estimate->speeds[from], *b = &estimate->speeds[to];
    if (lies_in_host_memory(layout, tensor) || layout->buffer_types[to]->is_host) {
        return sr__copy_seconds(a, b, bytes);
    }
    if (sr__copies_directly(layout->backends[from], layout->backends[to])) {
        return sr__peer_seconds(a, b, bytes);
    }
    return sr__link_seconds(a, bytes) + sr__link_seconds(b, bytes); /* into host memory, and out of it */
}

sr__input_cost sr__estimate_input(const sr_estimate *estimate, const sr_layout *layout, int32_t split, int32_t input,
                                  bool *out_expected) {
    const int32_t tensor = layout->inputs[input];
    const sr_tensor *t = &layout->graph->tensors[tensor];
    const sr_tensor *node = (t->flags & SR_FLAG_INPUT) != 0
                                ? NULL : sr__experts_node(layout, layout->params, split, input);
    sr__input_cost cost = {.bytes = node ? used_bytes(layout, node, t) : t->nbytes};
    *out_expected = node != NULL;
    if (cost.bytes > 0) {
        cost.time = sr__nanoseconds(
            copy_seconds(estimate, layout, tensor, layout->splits[split].backend, (double)cost.bytes));
    }
    return cost;
}
