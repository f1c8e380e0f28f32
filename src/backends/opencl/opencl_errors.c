/*
 * opencl_errors.c - OpenCL's error codes as statuses and words.
 *
 * Layer: backends.
 */
#include "backends/opencl/opencl.h"

const char *sr__ocl_code_name(cl_int code) {
    static const struct { cl_int code; const char *name; } names[] = {
#define CODE(name) {name, #name}
        CODE(CL_DEVICE_NOT_FOUND), CODE(CL_DEVICE_NOT_AVAILABLE), CODE(CL_COMPILER_NOT_AVAILABLE),
        CODE(CL_MEM_OBJECT_ALLOCATION_FAILURE), CODE(CL_OUT_OF_RESOURCES), CODE(CL_OUT_OF_HOST_MEMORY),
        CODE(CL_PROFILING_INFO_NOT_AVAILABLE), CODE(CL_MEM_COPY_OVERLAP), CODE(CL_BUILD_PROGRAM_FAILURE),
        CODE(CL_MAP_FAILURE), CODE(CL_MISALIGNED_SUB_BUFFER_OFFSET),
        CODE(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST), CODE(CL_COMPILE_PROGRAM_FAILURE),
        CODE(CL_LINKER_NOT_AVAILABLE), CODE(CL_LINK_PROGRAM_FAILURE), CODE(CL_INVALID_VALUE),
        CODE(CL_INVALID_DEVICE_TYPE), CODE(CL_INVALID_PLATFORM), CODE(CL_INVALID_DEVICE), CODE(CL_INVALID_CONTEXT),
        CODE(CL_INVALID_QUEUE_PROPERTIES), CODE(CL_INVALID_COMMAND_QUEUE), CODE(CL_INVALID_HOST_PTR),
        CODE(CL_INVALID_MEM_OBJECT), CODE(CL_INVALID_BINARY), CODE(CL_INVALID_BUILD_OPTIONS),
        CODE(CL_INVALID_PROGRAM), CODE(CL_INVALID_PROGRAM_EXECUTABLE), CODE(CL_INVALID_KERNEL_NAME),
        CODE(CL_INVALID_KERNEL), CODE(CL_INVALID_ARG_INDEX), CODE(CL_INVALID_ARG_VALUE), CODE(CL_INVALID_ARG_SIZE),
        CODE(CL_INVALID_KERNEL_ARGS), CODE(CL_INVALID_WORK_DIMENSION), CODE(CL_INVALID_WORK_GROUP_SIZE),
        CODE(CL_INVALID_WORK_ITEM_SIZE), CODE(CL_INVALID_EVENT_WAIT_LIST), CODE(CL_INVALID_EVENT),
        CODE(CL_INVALID_OPERATION), CODE(CL_INVALID_BUFFER_SIZE), CODE(CL_INVALID_GLOBAL_WORK_SIZE),
        {-1001, "CL_PLATFORM_NOT_FOUND_KHR"},
#undef CODE
    };
    for (int i = 0; i < SR_COUNT(names); i++) {
        if (names[i].code == code) {
            return names[i].name;
        }
    }
    return "an error of the vendor's own";
}

static sr_status status_of(cl_int code) {
    switch (code) {
    case CL_OUT_OF_HOST_MEMORY: return SR_MEMORY;
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_INVALID_BUFFER_SIZE: return SR_ALLOCATION;
    case CL_DEVICE_NOT_FOUND:
    case CL_COMPILER_NOT_AVAILABLE:
    case CL_BUILD_PROGRAM_FAILURE:
    case CL_INVALID_BUILD_OPTIONS: return SR_UNAVAILABLE;
    default: return SR_COMPUTE;
    }
}

sr_status sr__ocl_fail(sr_error *err, const sr__ocl_platform *platform, const char *call, cl_int code) {
    pthread_mutex_lock(&sr__ocl_lock);
    const char *words = platform ? platform->last_words : "";
    const sr_status status = sr__fail(err, status_of(code), "%s: %s (%d)%s%s%s", call, sr__ocl_code_name(code),
                                      (int)code, code == CL_DEVICE_NOT_AVAILABLE ? ", the device is lost" : "",
                                      *words ? ": " : "", words);
    pthread_mutex_unlock(&sr__ocl_lock);
    return status;
}
