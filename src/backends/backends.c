/*
 * backends.c - the list of drivers: the only file that knows which were built.
 *
 * Layer: backends.  Answers to ggml-backend-reg.cpp of the reference.
 */
#include "backends/drivers.h"

const sr_driver *const *sr_drivers(void) {
    static const sr_driver *const drivers[] = {
        &sr__driver_cpu,
        &sr__driver_sim,
        &sr__driver_blas,
        &sr__driver_opencl,
        &sr__driver_cuda,
        &sr__driver_null,
        NULL,
    };
    return drivers;
}
