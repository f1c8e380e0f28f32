/*
 * speed.c - how long a device takes, by its figures: an op, a copy.
 *
 * Layer: backend.  Answers to nothing in the reference.  A roofline: an op takes what the slower of arithmetic and
 * memory takes, and a latency for its launch.
 */
#include "backend/speed.h"

#include "graph/work.h"

/* Round figures of the middle of each kind as of 2024; docs/estimating.md has them too. */
sr_speed sr__speed_assumed(sr_device_type type) {
    switch (type) {
        case SR_DEVICE_GPU:
            return (sr_speed){.flops = 4e13, .memory_bandwidth = 5e11, .link_bandwidth = 2.4e10, .latency = 4e-6};
        case SR_DEVICE_IGPU:
            return (sr_speed){.flops = 3e12, .memory_bandwidth = 6e10, .link_bandwidth = 3e10, .latency = 1e-5};
        default: return (sr_speed){.flops = 5e11, .memory_bandwidth = 5e10, .latency = 1e-6};
    }
}

static double given_or(double given, double assumed, bool *any) {
    if (given > 0) {
        return given;
    }
    *any = true;
    return assumed;
}

sr_speed sr__speed_complete(const sr_speed *given, sr_device_type type, bool *out_assumed) {
    const sr_speed assumed = sr__speed_assumed(type);
    bool any = false;
    sr_speed speed = {
        .flops = given_or(given->flops, assumed.flops, &any),
        .memory_bandwidth = given_or(given->memory_bandwidth, assumed.memory_bandwidth, &any),
    };
    const bool none = given->flops <= 0 && given->memory_bandwidth <= 0 && given->link_bandwidth <= 0;
    /* no latency is a figure, too, where there are others; so is a CPU's link, which is its memory */
    speed.latency = none && given->latency <= 0 ? assumed.latency : given->latency;
    if (assumed.link_bandwidth > 0) {
        speed.link_bandwidth = given_or(given->link_bandwidth, assumed.link_bandwidth, &any);
    } else {
        speed.link_bandwidth = given->link_bandwidth > 0 ? given->link_bandwidth : speed.memory_bandwidth;
    }
    speed.peer_bandwidth = given->peer_bandwidth > 0 ? given->peer_bandwidth : speed.link_bandwidth;
    if (out_assumed) {
        *out_assumed = any;
    }
    return speed;
}

sr_speed sr__speed_of(const sr_backend *backend, bool *out_assumed) {
    return sr__speed_complete(&backend->speed, backend->device->type, out_assumed);
}

uint64_t sr__nanoseconds(double seconds) {
    const double ns = seconds * 1e9 + 0.5;
    if (!(ns >= 1)) {
        return 0;
    }
    return ns < (double)SR__LONGEST ? (uint64_t)ns : SR__LONGEST;
}

double sr__op_seconds(const sr_speed *speed, double flops, double bytes, sr__bound *out_bound) {
    const double arithmetic = speed->flops > 0 ? flops / speed->flops : 0;
    const double memory = speed->memory_bandwidth > 0 ? bytes / speed->memory_bandwidth : 0;
    const double longer = arithmetic > memory ? arithmetic : memory;
    if (out_bound) {
        *out_bound = speed->latency > longer    ? SR__BOUND_LATENCY
                     : arithmetic > memory      ? SR__BOUND_FLOPS
                                                : SR__BOUND_MEMORY;
    }
    return longer + speed->latency;
}

double sr__node_seconds(const sr_speed *speed, const sr_graph *graph, int32_t node, sr__bound *out_bound) {
    const sr_tensor *t = &graph->tensors[node];
    if (t->op == SR_OP_NONE || sr_op_is_view(t->op) || sr_tensor_is_empty(t) || !(t->flags & SR_FLAG_COMPUTE)) {
        if (out_bound) {
            *out_bound = SR__BOUND_MEMORY;
        }
        return 0;
    }
    return sr__op_seconds(speed, sr__node_flops(graph, node), sr__node_bytes(graph, node), out_bound);
}

static double over(double bandwidth, double latency, double bytes) {
    return (bandwidth > 0 ? bytes / bandwidth : 0) + latency;
}

double sr__link_seconds(const sr_speed *speed, double bytes) {
    return over(speed->link_bandwidth, speed->latency, bytes);
}

static double slower(double a, double b) { return a > 0 && (b <= 0 || a < b) ? a : b; }

static double longer_latency(const sr_speed *a, const sr_speed *b) {
    return a->latency > b->latency ? a->latency : b->latency;
}

double sr__copy_seconds(const sr_speed *a, const sr_speed *b, double bytes) {
    return over(slower(a->link_bandwidth, b->link_bandwidth), longer_latency(a, b), bytes);
}

double sr__peer_seconds(const sr_speed *a, const sr_speed *b, double bytes) {
    return over(slower(a->peer_bandwidth, b->peer_bandwidth), longer_latency(a, b), bytes);
}
