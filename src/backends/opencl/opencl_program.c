/*
 * opencl_program.c - the program of all kernels, built for a device when it is first launched on.
 *
 * Layer: backends.  Answers to load_cl_kernels of the reference's ggml-opencl.cpp.
 */
#include "backends/opencl/opencl.h"

#include <inttypes.h>
#include <stdio.h>

#include "backend/cache.h"

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

/* Device and platform texts into out; false: it does not tell them. */
static bool put_device_text(sr__str *out, const sr__ocl_entry *entry, cl_device_info what) {
    size_t size = 0;
    char text[256] = "";
    if (clGetDeviceInfo(entry->id, what, 0, NULL, &size) != CL_SUCCESS || size > sizeof(text) ||
        clGetDeviceInfo(entry->id, what, size, text, NULL) != CL_SUCCESS) {
        return false;
    }
    sr__str_printf(out, " | %s", text);
    return true;
}

/*
 * PoCL keeps what it compiles itself, kernel by kernel as they are used; asked for the program as a whole it would
 * compile every kernel first, which takes minutes.
 */
static bool keeps_its_own(const sr__ocl_entry *entry) {
    char name[256] = "";
    return clGetPlatformInfo(entry->platform->id, CL_PLATFORM_NAME, sizeof(name), name, NULL) == CL_SUCCESS &&
           strcmp(name, "Portable Computing Language") == 0;
}

/* The name of the file and the key: all that a built program depends on.  false: it is not to be kept. */
static bool cache_key(const sr__ocl_entry *entry, char name[48], sr__str *out_key) {
    if (!sr__cache_on() || keeps_its_own(entry)) {
        return false;
    }
    sr__str_printf(out_key, "opencl | %016" PRIx64 " | %s | %s", sr__fnv1a64(program_text), options_for(entry),
                   entry->description);
    if (!put_device_text(out_key, entry, CL_DEVICE_VERSION) || !put_device_text(out_key, entry, CL_DRIVER_VERSION) ||
        out_key->failed) {
        return false;
    }
    snprintf(name, 48, "opencl-%016" PRIx64 ".bin", sr__fnv1a64(out_key->data));
    return true;
}

/* NULL: nothing was kept, or the driver does not take it any more. */
static cl_program load(sr__ocl_entry *entry, const char *name, const char *key) {
    void *data = NULL;
    size_t size = 0;
    cl_int state = CL_SUCCESS, code = CL_SUCCESS;
    if (!sr__cache_read(name, key, &data, &size)) {
        return NULL;
    }
    const unsigned char *binary = data;
    cl_program program = clCreateProgramWithBinary(entry->platform->context, 1, &entry->id, &size, &binary, &state,
                                                   &code);
    sr__free(data);
    if (code != CL_SUCCESS || state != CL_SUCCESS) {
        if (code == CL_SUCCESS) {
            clReleaseProgram(program);
        }
        return NULL;
    }
    if (clBuildProgram(program, 1, &entry->id, options_for(entry), NULL, NULL) != CL_SUCCESS) {
        clReleaseProgram(program);
        return NULL;
    }
    return program;
}

/* The program may be of several devices of the context; the binary of each has its place, of others it is empty. */
static void save(sr__ocl_entry *entry, cl_program program, const char *name, const char *key) {
    cl_uint n = 0;
    clGetProgramInfo(program, CL_PROGRAM_NUM_DEVICES, sizeof(n), &n, NULL);
    cl_device_id *ids = sr__calloc(n + 1, sizeof(*ids));
    size_t *sizes = sr__calloc(n + 1, sizeof(*sizes));
    unsigned char **binaries = sr__calloc(n + 1, sizeof(*binaries));
    bool ok = ids && sizes && binaries &&
              clGetProgramInfo(program, CL_PROGRAM_DEVICES, n * sizeof(*ids), ids, NULL) == CL_SUCCESS &&
              clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, n * sizeof(*sizes), sizes, NULL) == CL_SUCCESS;
    for (cl_uint i = 0; i < n && ok; i++) {
        binaries[i] = sr__malloc(sizes[i]);
        ok = binaries[i] != NULL;
    }
    ok = ok && clGetProgramInfo(program, CL_PROGRAM_BINARIES, n * sizeof(*binaries), binaries, NULL) == CL_SUCCESS;
    for (cl_uint i = 0; i < n && ok; i++) {
        if (ids[i] == entry->id && sizes[i] > 0) {
            sr__cache_write(name, key, binaries[i], sizes[i]);
        }
    }
    for (cl_uint i = 0; i < n && binaries; i++) {
        sr__free(binaries[i]);
    }
    sr__free(binaries);
    sr__free(sizes);
    sr__free(ids);
}

static sr_status compile(sr__ocl_entry *entry, cl_program *out_program, sr_error *err) {
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

static sr_status build(sr__ocl_entry *entry, cl_program *out_program, sr_error *err) {
    char name[48];
    sr__str key = {0};
    sr_status status = SR_OK;
    const bool kept = cache_key(entry, name, &key);
    *out_program = kept ? load(entry, name, key.data) : NULL;
    if (!*out_program) {
        status = compile(entry, out_program, err);
        if (status == SR_OK && kept) {
            save(entry, *out_program, name, key.data);
        }
    }
    sr__str_free(&key);
    return status;
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
