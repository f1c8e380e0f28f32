/*
 * cpu_ops.h - which ops the CPU says it supports.
 *
 * Layer: backends.  Internal.
 */
#ifndef SR_CPU_OPS_H
#define SR_CPU_OPS_H

#include "sched_run/backend.h"

/* NULL: supported; else why not, a string literal. */
const char *sr__cpu_refuses(const sr_graph_view *view, int32_t tensor);

#endif
