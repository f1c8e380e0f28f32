/*
 * has_splits.c - whether the record of a schedule, possibly a failed one, holds splits.
 *
 * Layer: analyze.
 */
#include "sched_run/analyze.h"

bool sr_layout_has_splits(const sr_layout *layout) {
    if (layout == NULL || layout->graph == NULL || layout->n_splits <= 0) {
        return false;
    }
    switch (layout->status) {
    case SR_OK:
    case SR_ALLOCATION:
    case SR_COMPUTE:
    case SR_UNREACHABLE:
    case SR_ABORTED:
        return true;
    default:
        return false;
    }
}
