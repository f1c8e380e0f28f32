/*
 * estimate_offload.c - from which batch copying host weights to a device beats computing where they are.
 *
 * Layer: analyze.  Answers to the min_batch_size of the reference's offload_op, which is 32 whatever the machine.
 *
 * A product with a batch of n reads its weights once and does n times its work.  On the host that takes the longer of
 * both; on the device the weights come over the link first, and so do n rows of the second source, and n rows of the
 * result go back.  Both sides grow with n, the host's faster, so the first n that gains is found by halving.
 */
#include "analyze/estimate_impl.h"
#include "analyze/finding.h"
#include "graph/work.h"

static const int64_t LARGEST_BATCH = INT64_C(1) << 20;

/* A product whose batch is to vary: everything a unit of batch. */
typedef struct product {
    int32_t node;
    double flops, moved, back;  /* operations, bytes of the second source, bytes of the result */
    double weights;             /* bytes, of experts of one */
    int64_t n_expert, n_used;   /* 0: no experts */
} product;

/* Bytes of weights that a batch needs. */
static double weights_of(const product *p, int64_t batch) {
    return p->n_expert > 0 ? p->weights * sr__experts_used(p->n_expert, p->n_used, batch) : p->weights;
}

/* What the device saves, in seconds; below 0 it loses. */
static double gain_of(const product *p, const sr_speed *host, const sr_speed *device, int64_t batch) {
    const double n = (double)batch, weights = weights_of(p, batch);
    const double bytes = weights + n * (p->moved + p->back);
    return sr__op_seconds(host, n * p->flops, bytes, NULL) - sr__op_seconds(device, n * p->flops, bytes, NULL) -
           sr__copy_seconds(host, device, weights) - sr__copy_seconds(host, device, n * p->moved) -
           sr__copy_seconds(host, device, n * p->back);
}

static double gain_of_all(const product *products, int32_t n, const sr_speed *host, const sr_speed *device,
                          int64_t batch) {
    double gain = 0;
    for (int32_t i = 0; i < n; i++) {
        gain += gain_of(&products[i], host, device, batch);
    }
    return gain;
}

/* The first batch that gains, 0: none up to a million does. */
static int64_t pays_from(const product *products, int32_t n, const sr_speed *host, const sr_speed *device) {
    int64_t high = 1;
    while (high <= LARGEST_BATCH && gain_of_all(products, n, host, device, high) <= 0) {
        high *= 2;
    }
    if (high > LARGEST_BATCH) {
        return 0;
    }
    int64_t low = high / 2; /* does not gain, or is 0 */
    while (low + 1 < high) {
        const int64_t middle = low + (high - low) / 2;
        if (gain_of_all(products, n, host, device, middle) > 0) {
            high = middle;
        } else {
            low = middle;
        }
    }
    return high;
}

/* ---- finding them ----------------------------------------------------------------------------------------------- */

static bool is_host_weight(const sr_graph *graph, int32_t tensor) {
    const sr_buffer *buffer = sr__home_buffer(graph, tensor);
    return buffer && buffer->usage == SR_USAGE_WEIGHTS && buffer->type->is_host;
}

static bool describe(const sr_graph *graph, int32_t node, product *out) {
    const sr_tensor *t = &graph->tensors[node];
    const int32_t weights = sr__source_of(graph, node, 0), other = sr__source_of(graph, node, 1);
    const int64_t batch = sr_tensor_batch(t);
    if ((t->op != SR_OP_MUL_MAT && t->op != SR_OP_MUL_MAT_ID) || weights < 0 || other < 0 || batch < 1 ||
        !is_host_weight(graph, weights)) {
        return false;
    }
    const double n = (double)batch;
    *out = (product){.node = node, .flops = sr__node_flops(graph, node) / n, .back = (double)t->nbytes / n,
                     .moved = (double)graph->tensors[other].nbytes / n,
                     .weights = (double)graph->tensors[weights].nbytes};
    const int32_t ids = sr__source_of(graph, node, 2);
    if (t->op == SR_OP_MUL_MAT_ID && ids >= 0) {
        out->weights = (double)graph->tensors[weights].nb[2];
        out->n_expert = graph->tensors[weights].ne[2];
        out->n_used = graph->tensors[ids].ne[0];
    }
    return true;
}

static void find_ends(sr_offload_gain *gain, const product *products, int32_t n, const sr_speed *host,
                      const sr_speed *device) {
    gain->first_node = gain->last_node = -1;
    for (int32_t i = 0; i < n; i++) {
        const int64_t own = pays_from(&products[i], 1, host, device);
        if (gain->first_node < 0 || (own > 0 && (gain->first == 0 || own < gain->first))) {
            gain->first = own;
            gain->first_node = products[i].node;
        }
        if (gain->last_node < 0 || (gain->last > 0 && (own == 0 || own > gain->last))) {
            gain->last = own;
            gain->last_node = products[i].node;
        }
    }
}

static sr_offload_gain gain_on(const sr_layout *layout, sr__answers *answers, int backend, product *products) {
    const sr_graph *graph = layout->graph;
    sr_offload_gain gain = {.backend = backend, .asks_from = -1};
    if (layout->params->op_offload && sr_backend_can_offload(layout->backends[backend])) {
        gain.asks_from = layout->backends[backend]->offload_min_batch;
    }
    const sr_speed host = sr__speed_of(layout->backends[layout->n_backends - 1], NULL);
    const sr_speed device = sr__speed_of(layout->backends[backend], NULL);
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        const int32_t node = graph->nodes[i];
        if (describe(graph, node, &products[gain.n_nodes]) && sr__answers_supports(answers, node, backend)) {
            gain.bytes += graph->tensors[sr__source_of(graph, node, 0)].nbytes;
            gain.n_nodes++;
            gain.n_asked += layout->params->op_offload && sr__answers_offload(answers, node, backend);
        }
    }
    gain.pays_from = gain.n_nodes > 0 ? pays_from(products, gain.n_nodes, &host, &device) : 0;
    find_ends(&gain, products, gain.n_nodes, &host, &device);
    return gain;
}

sr_status sr_offload_gains(const sr_layout *layout, sr_offload_gain **out_gains, int *out_n, sr_error *err) {
    *out_gains = NULL;
    *out_n = 0;
    sr__answers answers;
    const bool ready = sr__answers_init(&answers, layout);
    product *products = sr__calloc((size_t)layout->graph->n_nodes + 1, sizeof(*products));
    sr_offload_gain *gains = sr__calloc((size_t)layout->n_backends, sizeof(*gains));
    const bool ok = ready && products && gains;
    for (int b = 0; ok && b < layout->n_backends - 1; b++) {
        if (layout->buffer_types[b]->is_host) {
            continue; /* it reads them where they are */
        }
        const sr_offload_gain gain = gain_on(layout, &answers, b, products);
        if (gain.n_nodes > 0) {
            gains[(*out_n)++] = gain;
        }
    }
    sr__answers_free(&answers);
    sr__free(products);
    if (!ok || *out_n == 0) {
        sr__free(gains);
        return ok ? SR_OK : sr__fail_memory(err);
    }
    *out_gains = gains;
    return SR_OK;
}

void sr_offload_gains_free(sr_offload_gain *gains) { sr__free(gains); }
