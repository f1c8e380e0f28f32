/*
 * registry.h - finding a device by the text that a description names it with.
 *
 * Layer: backend.  Internal.
 */
#ifndef SR_REGISTRY_H
#define SR_REGISTRY_H

#include "sched_run/backend.h"

/* "cpu", "opencl:1".  SR_UNAVAILABLE, with the devices that there are and a suggestion; SR_INVALID. */
sr_status sr__device_find(const char *text, const sr_driver **out_driver, int *out_index, sr_error *err);

#endif
