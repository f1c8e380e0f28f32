/*
 * test_opencl_errors.c - tests of src/backends/opencl: what OpenCL refuses ends in an error with its words and number.
 *
 * Layer: tests.  This program has some of OpenCL's functions itself: they fail on request, or ask the driver's.
 */
#include <stdio.h>

#include "support/backend_fixture.h"

#ifdef SR_HAVE_OPENCL

#include <dlfcn.h>

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

static const char *failing; /* the function that fails */
static cl_int code;

/* The driver's own function of that name. */
static void *real(const char *name) { return dlsym(RTLD_NEXT, name); }

#define INTERPOSE(name, parameters, arguments)               \
    cl_int name parameters {                                 \
        cl_int (*own) parameters;                            \
        void *found = real(#name);                           \
        memcpy(&own, &found, sizeof(own));                   \
        return failing && strcmp(failing, #name) == 0 ? code : own arguments; \
    }

INTERPOSE(clBuildProgram, (cl_program p, cl_uint n, const cl_device_id *d, const char *o,
                           void (CL_CALLBACK *f)(cl_program, void *), void *u), (p, n, d, o, f, u))
INTERPOSE(clEnqueueNDRangeKernel, (cl_command_queue q, cl_kernel k, cl_uint d, const size_t *o, const size_t *g,
                                   const size_t *l, cl_uint n, const cl_event *w, cl_event *e),
          (q, k, d, o, g, l, n, w, e))
INTERPOSE(clSetKernelArg, (cl_kernel k, cl_uint i, size_t s, const void *v), (k, i, s, v))
INTERPOSE(clFinish, (cl_command_queue q), (q))
INTERPOSE(clEnqueueWriteBuffer, (cl_command_queue q, cl_mem m, cl_bool b, size_t o, size_t s, const void *p, cl_uint n,
                                 const cl_event *w, cl_event *e), (q, m, b, o, s, p, n, w, e))
INTERPOSE(clEnqueueReadBuffer, (cl_command_queue q, cl_mem m, cl_bool b, size_t o, size_t s, void *p, cl_uint n,
                                const cl_event *w, cl_event *e), (q, m, b, o, s, p, n, w, e))
INTERPOSE(clEnqueueFillBuffer, (cl_command_queue q, cl_mem m, const void *p, size_t ps, size_t o, size_t s, cl_uint n,
                                const cl_event *w, cl_event *e), (q, m, p, ps, o, s, n, w, e))

/* A graph on the device from its description to its values; the first thing that fails ends it. */
static sr_status use_device(sr_error *err) {
    sr_backend_config configs[] = {bf_config("G", "opencl"), bf_config("CPU", "cpu")};
    sr_machine *machine = NULL;
    sr_buffer *buffer = NULL;
    sr_status status;
    float values[64] = {0};
    sr_graph *graph = bf_graph();
    const int32_t x = bf_leaf(graph, "x", SR_TYPE_F32, 64, 1), y = bf_node(graph, "y", SR_OP_ADD, BF_ARRAY(x, x), 2);
    sr_error ignored = {0};
    bf_ok(sr_graph_finish(graph, &ignored), &ignored);
    SR_TRY(sr_machine_new(&machine, err));
    SR_TRY(sr_machine_add_backend(machine, &configs[0], err));
    SR_TRY(sr_machine_add_backend(machine, &configs[1], err));
    SR_TRY(sr_machine_finish(machine, err));
    sr_backend *g = machine->backends[0];
    SR_TRY(sr_buffer_type_alloc(g->buffer_type, 4096, &buffer, err));
    const sr_storage storage[] = {{buffer, 0}, {buffer, 1024}};
    sr_graph_view view = sr_graph_whole(graph);
    view.storage = storage;
    (void)y;
    SR_TRY(sr_backend_set_async(g, buffer, values, 0, sizeof(values), err));
    SR_TRY(sr_backend_compute_async(g, &view, err));
    SR_TRY(sr_backend_get_async(g, buffer, values, 1024, sizeof(values), err));
    SR_TRY(sr_backend_synchronize(g, err));
done:
    failing = NULL;
    sr_buffer_free(buffer);
    sr_machine_free(machine);
    sr_graph_free(graph);
    return status;
}

static void expect(const char *function, cl_int with, sr_status status, const char *words) {
    sr_error err = {0};
    failing = function;
    code = with;
    bf_fails(use_device(&err), status, &err, words);
}

static void test_errors(void **state) {
    (void)state;
    sr_error err = {0};
    const char *why = "no OpenCL device";
    for (const sr_driver *const *d = sr_drivers(); *d; d++) {
        if (strcmp((*d)->name, "opencl") == 0 && (*d)->device_count(&why) == 0) {
            print_message("skipped: %s\n", why);
            skip();
        }
    }
    expect("clBuildProgram", CL_BUILD_PROGRAM_FAILURE, SR_UNAVAILABLE, "the kernels do not build for");
    expect("clBuildProgram", CL_BUILD_PROGRAM_FAILURE, SR_UNAVAILABLE, "CL_BUILD_PROGRAM_FAILURE (-11)");
    bf_ok(use_device(&err), &err); /* it is built when it can be */
    expect("clEnqueueNDRangeKernel", CL_OUT_OF_RESOURCES, SR_COMPUTE, "node 'y' (ADD): kernel 'gpu_binary'");
    expect("clEnqueueNDRangeKernel", CL_INVALID_WORK_GROUP_SIZE, SR_COMPUTE, "CL_INVALID_WORK_GROUP_SIZE (-54)");
    expect("clSetKernelArg", CL_INVALID_ARG_SIZE, SR_COMPUTE, "clSetKernelArg: CL_INVALID_ARG_SIZE (-51)");
    expect("clFinish", CL_DEVICE_NOT_AVAILABLE, SR_COMPUTE, "the device is lost");
    expect("clEnqueueWriteBuffer", CL_OUT_OF_HOST_MEMORY, SR_MEMORY, "backend 'G': clEnqueueWriteBuffer");
    expect("clEnqueueReadBuffer", -9999, SR_COMPUTE, "an error of the vendor's own (-9999)");
    expect("clEnqueueFillBuffer", CL_MEM_OBJECT_ALLOCATION_FAILURE, SR_ALLOCATION, "failed to allocate G buffer");
    bf_ok(use_device(&err), &err);
}

#else

static void test_errors(void **state) {
    (void)state;
    print_message("skipped: this build has no OpenCL\n");
    skip();
}

#endif

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_errors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
