/*
 * fake_ggml.h - what the tests call of the small library that stands for ggml; see fake_ggml.c.
 */
#ifndef TESTS_FAKE_GGML_H
#define TESTS_FAKE_GGML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAKE_API __attribute__((visibility("default")))

struct ggml_tensor;
struct ggml_cgraph;
struct ggml_context;
struct ggml_backend;
struct ggml_backend_device;
struct ggml_backend_buffer;
struct ggml_backend_buffer_type;
struct ggml_backend_sched;
struct ggml_init_params { size_t mem_size; void *mem_buffer; bool no_alloc; };

/* Ops that the tests give to tensors by hand; the second is in no version of anything. */
enum { FAKE_OP_CPY = 5, FAKE_OP_NEWEST, FAKE_OP_UNARY };

/* Splitting a graph ends the thread. */
FAKE_API extern bool fake_leaves;

/* 0: the device FAKE0, 1: the CPU. */
FAKE_API struct ggml_backend *fake_backend(int i);
/* Puts a tensor in a buffer: 0 the device's weights, 1 the CPU's weights, 2 FAKE_Host, 3 compute memory of the CPU. */
FAKE_API void fake_put(struct ggml_tensor *t, int buffer, void *data);

FAKE_API struct ggml_context *ggml_init(struct ggml_init_params params);
FAKE_API void ggml_free(struct ggml_context *context);
FAKE_API struct ggml_tensor *ggml_new_tensor_3d(struct ggml_context *context, int type, int64_t a, int64_t b,
                                                int64_t c);
FAKE_API struct ggml_tensor *ggml_set_name(struct ggml_tensor *t, const char *name);
FAKE_API void ggml_set_input(struct ggml_tensor *t);
FAKE_API void ggml_set_output(struct ggml_tensor *t);
FAKE_API struct ggml_tensor *ggml_add(struct ggml_context *context, struct ggml_tensor *a, struct ggml_tensor *b);
FAKE_API struct ggml_tensor *ggml_get_rows(struct ggml_context *context, struct ggml_tensor *a, struct ggml_tensor *b);
FAKE_API struct ggml_tensor *ggml_scale(struct ggml_context *context, struct ggml_tensor *a, float by);
FAKE_API struct ggml_tensor *ggml_view_2d(struct ggml_context *context, struct ggml_tensor *a, int64_t n, int64_t m,
                                          size_t stride, size_t offset);
FAKE_API size_t ggml_tensor_overhead(void);
FAKE_API size_t ggml_graph_overhead_custom(size_t size, bool grads);
FAKE_API struct ggml_cgraph *ggml_new_graph_custom(struct ggml_context *context, size_t size, bool grads);
FAKE_API void ggml_build_forward_expand(struct ggml_cgraph *g, struct ggml_tensor *t);

FAKE_API struct ggml_backend_sched *ggml_backend_sched_new(struct ggml_backend **list,
                                                           struct ggml_backend_buffer_type **types, int n, size_t size,
                                                           bool parallel, bool op_offload);
FAKE_API void ggml_backend_sched_free(struct ggml_backend_sched *s);
FAKE_API void ggml_backend_sched_reset(struct ggml_backend_sched *s);
FAKE_API void ggml_backend_sched_set_tensor_backend(struct ggml_backend_sched *s, struct ggml_tensor *t,
                                                    struct ggml_backend *b);
FAKE_API bool ggml_backend_sched_reserve(struct ggml_backend_sched *s, struct ggml_cgraph *g);
FAKE_API void ggml_backend_sched_reserve_size(struct ggml_backend_sched *s, struct ggml_cgraph *g, size_t *sizes);
FAKE_API void ggml_backend_sched_split_graph(struct ggml_backend_sched *s, struct ggml_cgraph *g);
FAKE_API bool ggml_backend_sched_alloc_graph(struct ggml_backend_sched *s, struct ggml_cgraph *g);
FAKE_API int ggml_backend_sched_graph_compute(struct ggml_backend_sched *s, struct ggml_cgraph *g);
FAKE_API int ggml_backend_sched_graph_compute_async(struct ggml_backend_sched *s, struct ggml_cgraph *g);

#endif
