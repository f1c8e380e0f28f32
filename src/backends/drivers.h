/*
 * drivers.h - the drivers that a build can have, one a folder.
 *
 * Layer: backends.  Internal.  Only backends.c knows which of them were built.
 */
#ifndef SR_DRIVERS_H
#define SR_DRIVERS_H

#include "sched_run/backend.h"

extern const sr_driver sr__driver_cpu;
extern const sr_driver sr__driver_sim;
extern const sr_driver sr__driver_blas;
extern const sr_driver sr__driver_opencl;
extern const sr_driver sr__driver_cuda;
extern const sr_driver sr__driver_null;

#endif
