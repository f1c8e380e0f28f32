/*
 * cuda_errors.c - CUDA's error codes as statuses and words.
 *
 * Layer: backends.  Answers to ggml_cuda_error of the reference, which ends the process.
 */
#include "backends/cuda/cuda.h"

static sr_status status_of(cudaError_t code) {
    switch (code) {
    case cudaErrorMemoryAllocation: return SR_ALLOCATION;
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorInvalidDevice:
    case cudaErrorInitializationError:
    case cudaErrorDevicesUnavailable:
    case cudaErrorSystemNotReady:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion: return SR_UNAVAILABLE;
    default: return SR_COMPUTE;
    }
}

/* Errors after which every later call of the process fails the same way. */
static bool is_sticky(cudaError_t code) {
    switch (code) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorAssert:
    case cudaErrorECCUncorrectable: return true;
    default: return false;
    }
}

sr_status sr__cuda_fail(sr_error *err, const char *call, cudaError_t code) {
    (void)cudaGetLastError(); /* the next call shall not find this error again */
    return sr__fail(err, status_of(code), "%s: %s%s", call, cudaGetErrorString(code),
                    is_sticky(code) ? "; the device is lost to this process" : "");
}
