/*
 * speed.h - how long a device takes, by its figures: an op, a copy.
 *
 * Layer: backend.  Internal.  Estimates and paced simulated devices count with the same functions.
 */
#ifndef SR_SPEED_H
#define SR_SPEED_H

#include "sched_run/backend.h"

/* Nanoseconds that no estimate goes beyond: 73 years, so that sums of them do not overflow soon. */
#define SR__LONGEST (UINT64_C(1) << 61)

/* What limits an op: the device's operations, its memory, or that it takes an op at all. */
typedef enum sr__bound { SR__BOUND_FLOPS, SR__BOUND_MEMORY, SR__BOUND_LATENCY, SR__BOUND_COUNT } sr__bound;

/* The figures that stand in for those a device of this type is given none of; the CPU's link is its memory. */
sr_speed sr__speed_assumed(sr_device_type type);
/* Figures given to a device of that type, the missing ones assumed; *out_assumed (may be NULL): whether any was. */
sr_speed sr__speed_complete(const sr_speed *given, sr_device_type type, bool *out_assumed);
/* Those of a backend. */
sr_speed sr__speed_of(const sr_backend *backend, bool *out_assumed);

/* Seconds as nanoseconds, at least 0, at most SR__LONGEST. */
uint64_t sr__nanoseconds(double seconds);
/* Nanoseconds added up, at most SR__LONGEST. */
static inline uint64_t sr__later(uint64_t a, uint64_t b) { return a + b < SR__LONGEST ? a + b : SR__LONGEST; }

/* The larger of what its operations and its bytes take, and the latency.  out_bound may be NULL. */
double sr__op_seconds(const sr_speed *speed, double flops, double bytes, sr__bound *out_bound);
/* A node of a graph on a device; 0 for what computes nothing. */
double sr__node_seconds(const sr_speed *speed, const sr_graph *graph, int32_t node, sr__bound *out_bound);
/* So many bytes over one link. */
double sr__link_seconds(const sr_speed *speed, double bytes);
/* Between the host's memory and a device: the slower end's bandwidth, the longer latency. */
double sr__copy_seconds(const sr_speed *a, const sr_speed *b, double bytes);
/* Directly from one device to another. */
double sr__peer_seconds(const sr_speed *a, const sr_speed *b, double bytes);

#endif
