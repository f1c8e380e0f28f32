/*
 * sched_run.h - everything public, in one header.
 *
 * Ownership: objects made by an `..._new` function are freed by the matching `..._free`, which accept NULL; strings
 * returned by getters belong to the object they were asked of.  Errors: see sched_run/status.h.  Threads: see each
 * header; distinct objects may be used by distinct threads.
 */
#ifndef SCHED_RUN_H
#define SCHED_RUN_H

#define SR_VERSION_MAJOR 0
#define SR_VERSION_MINOR 1
#define SR_VERSION_PATCH 0
#define SR_VERSION "0.1.0"

#include "sched_run/alloc.h"
#include "sched_run/analyze.h"
#include "sched_run/backend.h"
#include "sched_run/custom.h"
#include "sched_run/describe.h"
#include "sched_run/diff.h"
#include "sched_run/estimate.h"
#include "sched_run/explain.h"
#include "sched_run/graph.h"
#include "sched_run/import.h"
#include "sched_run/lint.h"
#include "sched_run/memory_plan.h"
#include "sched_run/reallocation.h"
#include "sched_run/report.h"
#include "sched_run/sched.h"
#include "sched_run/status.h"
#include "sched_run/sweep.h"
#include "sched_run/trace.h"

#endif
