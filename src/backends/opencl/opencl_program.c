/*
 * opencl_program.c - the program of all kernels, built for a device when it is first launched on.
 *
 * Layer: backends.  Answers to load_cl_kernels of the reference's ggml-opencl.cpp.
 */
#include "backends/opencl/opencl.h"

/* Made by the Makefile out of the files of backends/gpu/kernels. */
static const char program_text[] =
#include "backends/opencl/kernels.cl.embed"
    ;

static pthread_mutex_t building = PTHREAD_MUTEX_INITIALIZER;

static sr_status fail_build(sr__ocl_entry *entry, cl_program program, cl_int code, sr_error *err) {
    size_t size = 0;
    clGetProgramBuildInfo(program, entry->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
    char *log = sr__calloc(1, size + 1);
    if (log && size > 0) {
        clGetProgramBuildInfo(program, entry->id, CL_PROGRAM_BUILD_LOG, size, log, NULL);
    }
    const sr_status status = sr__fail(err, SR_UNAVAILABLE, "the kernels do not build for '%s': %s (%d): %s",
                                      entry->description, sr__ocl_code_name(code), (int)code, log ? log : "");
    sr__free(log);
    return status;
}

/* Division and roots as exact as the host's, where the device can. */
static const char *options_for(const sr__ocl_entry *entry) {
    cl_device_fp_config config = 0;
    clGetDeviceInfo(entry->id, CL_DEVICE_SINGLE_FP_CONFIG, sizeof(config), &config, NULL);
    return config & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT ? "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt"
                                                        : "-cl-std=CL1.2";
}

static sr_status build(sr__ocl_entry *entry, cl_program *out_program, sr_error *err) {
    const char *source = program_text;
    cl_int code = CL_SUCCESS;
    cl_program program = clCreateProgramWithSource(entry->platform->context, 1, &source, NULL, &code);
    if (code != CL_SUCCESS) {
        return sr__ocl_fail(err, entry->platform, "clCreateProgramWithSource", code);
    }
    code = clBuildProgram(program, 1, &entry->id, options_for(entry), NULL, NULL);
    if (code != CL_SUCCESS) {
        const sr_status status = fail_build(entry, program, code, err);
        clReleaseProgram(program);
        return status;
    }
    *out_program = program;
    return SR_OK;
}

sr_status sr__ocl_program(sr__ocl_entry *entry, cl_program *out_program, sr_error *err) {
    sr_status status = SR_OK;
    pthread_mutex_lock(&building);
    pthread_mutex_lock(&sr__ocl_lock);
    *out_program = entry->program;
    pthread_mutex_unlock(&sr__ocl_lock);
    if (!*out_program) {
        status = build(entry, out_program, err);
    }
    if (status == SR_OK) {
        pthread_mutex_lock(&sr__ocl_lock);
        entry->program = *out_program;
        pthread_mutex_unlock(&sr__ocl_lock);
    }
    pthread_mutex_unlock(&building);
    return status;
}
