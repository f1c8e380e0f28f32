/*
 * ggml_abi.h - what is known of a ggml library from outside: its public structs and the functions that it exports.
 *
 * Layer: record (the recorder library; it sees its own headers and libc, nothing else of this project).
 * Answers to: ggml.h, ggml-backend.h and struct ggml_cgraph of ggml-impl.h.  The declarations are this project's own;
 * abi_proof.c shows for each library at run time whether they fit, and nothing is read where they do not.
 */
#ifndef RECORD_GGML_ABI_H
#define RECORD_GGML_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ABI_DIMS = 4, ABI_SRCS = 10, ABI_PARAM_WORDS = 16 };

enum {
    ABI_FLAG_INPUT = 1,
    ABI_FLAG_OUTPUT = 2,
    ABI_FLAG_PARAM = 4,
    ABI_FLAG_LOSS = 8,
    ABI_FLAG_COMPUTE = 16, /* newer libraries: the node was asked for */
};

enum { ABI_USAGE_ANY, ABI_USAGE_WEIGHTS, ABI_USAGE_COMPUTE };

typedef struct abi_buffer_type abi_buffer_type;
typedef struct abi_buffer abi_buffer;
typedef struct abi_backend abi_backend;
typedef struct abi_device abi_device;
typedef struct abi_sched abi_sched;
typedef struct abi_context abi_context;

typedef struct abi_tensor {
    int type;
    abi_buffer *buffer;
    int64_t ne[ABI_DIMS];
    size_t nb[ABI_DIMS];
    int op;
    int32_t op_params[ABI_PARAM_WORDS];
    int32_t flags;
    struct abi_tensor *src[ABI_SRCS];
    struct abi_tensor *view_src;
    size_t view_offs;
    void *data;
    char name[]; /* 64 bytes, or as many as the library was built with: read through ggml_get_name */
} abi_tensor;

/* Not public, but without it a graph has no leafs. */
typedef struct abi_graph {
    int size;
    int n_nodes;
    int n_leafs;
    abi_tensor **nodes;
    abi_tensor **grads;
    abi_tensor **grad_accs;
    abi_tensor **leafs;
} abi_graph;

typedef struct abi_init_params {
    size_t mem_size;
    void *mem_buffer;
    bool no_alloc;
} abi_init_params;

/*
 * The functions by name, result and arguments.  CALLED are the ones that are stood in for and called through; NEEDED
 * are the ones without which nothing is recorded; WANTED may be missing in older libraries.
 */
#define ABI_CALLED(F)                                                                                                  \
    F(abi_sched *, ggml_backend_sched_new, (abi_backend **, abi_buffer_type **, int, size_t, bool, bool))              \
    F(void, ggml_backend_sched_free, (abi_sched *))                                                                    \
    F(void, ggml_backend_sched_reset, (abi_sched *))                                                                   \
    F(void, ggml_backend_sched_set_tensor_backend, (abi_sched *, abi_tensor *, abi_backend *))                         \
    F(bool, ggml_backend_sched_reserve, (abi_sched *, abi_graph *))                                                    \
    F(void, ggml_backend_sched_reserve_size, (abi_sched *, abi_graph *, size_t *))                                     \
    F(void, ggml_backend_sched_split_graph, (abi_sched *, abi_graph *))                                                \
    F(bool, ggml_backend_sched_alloc_graph, (abi_sched *, abi_graph *))                                                \
    F(int, ggml_backend_sched_graph_compute, (abi_sched *, abi_graph *))                                               \
    F(int, ggml_backend_sched_graph_compute_async, (abi_sched *, abi_graph *))

#define ABI_NEEDED(F)                                                                                                  \
    F(int, ggml_backend_sched_get_n_backends, (abi_sched *))                                                           \
    F(abi_backend *, ggml_backend_sched_get_backend, (abi_sched *, int))                                               \
    F(int, ggml_backend_sched_get_n_copies, (abi_sched *))                                                             \
    F(abi_backend *, ggml_backend_sched_get_tensor_backend, (abi_sched *, abi_tensor *))                               \
    F(const char *, ggml_backend_name, (abi_backend *))                                                                \
    F(abi_device *, ggml_backend_get_device, (abi_backend *))                                                          \
    F(abi_buffer_type *, ggml_backend_get_default_buffer_type, (abi_backend *))                                        \
    F(bool, ggml_backend_supports_op, (abi_backend *, const abi_tensor *))                                             \
    F(bool, ggml_backend_supports_buft, (abi_backend *, abi_buffer_type *))                                            \
    F(bool, ggml_backend_offload_op, (abi_backend *, const abi_tensor *))                                              \
    F(int, ggml_backend_dev_type, (abi_device *))                                                                      \
    F(const char *, ggml_backend_dev_description, (abi_device *))                                                      \
    F(const char *, ggml_backend_buft_name, (abi_buffer_type *))                                                       \
    F(size_t, ggml_backend_buft_get_alignment, (abi_buffer_type *))                                                    \
    F(size_t, ggml_backend_buft_get_max_size, (abi_buffer_type *))                                                     \
    F(bool, ggml_backend_buft_is_host, (abi_buffer_type *))                                                            \
    F(abi_buffer_type *, ggml_backend_buffer_get_type, (abi_buffer *))                                                 \
    F(int, ggml_backend_buffer_get_usage, (abi_buffer *))                                                              \
    F(void, ggml_backend_tensor_get, (const abi_tensor *, void *, size_t, size_t))                                     \
    F(const char *, ggml_op_name, (int))                                                                               \
    F(const char *, ggml_op_desc, (const abi_tensor *))                                                                \
    F(const char *, ggml_type_name, (int))                                                                             \
    F(size_t, ggml_type_size, (int))                                                                                   \
    F(int64_t, ggml_blck_size, (int))                                                                                  \
    F(const char *, ggml_get_name, (const abi_tensor *))                                                               \
    F(size_t, ggml_nbytes, (const abi_tensor *))                                                                       \
    F(int64_t, ggml_nelements, (const abi_tensor *))                                                                   \
    F(int, ggml_graph_n_nodes, (abi_graph *))                                                                          \
    F(abi_tensor *, ggml_graph_node, (abi_graph *, int))                                                               \
    F(abi_context *, ggml_init, (abi_init_params))                                                                     \
    F(void, ggml_free, (abi_context *))                                                                                \
    F(size_t, ggml_tensor_overhead, (void))                                                                            \
    F(size_t, ggml_graph_overhead_custom, (size_t, bool))                                                              \
    F(abi_tensor *, ggml_new_tensor_3d, (abi_context *, int, int64_t, int64_t, int64_t))                               \
    F(abi_tensor *, ggml_view_2d, (abi_context *, abi_tensor *, int64_t, int64_t, size_t, size_t))                     \
    F(abi_tensor *, ggml_scale, (abi_context *, abi_tensor *, float))                                                  \
    F(abi_tensor *, ggml_add, (abi_context *, abi_tensor *, abi_tensor *))                                             \
    F(abi_tensor *, ggml_set_name, (abi_tensor *, const char *))                                                       \
    F(void, ggml_set_input, (abi_tensor *))                                                                            \
    F(void, ggml_set_output, (abi_tensor *))                                                                           \
    F(abi_graph *, ggml_new_graph_custom, (abi_context *, size_t, bool))                                               \
    F(void, ggml_build_forward_expand, (abi_graph *, abi_tensor *))

#define ABI_WANTED(F)                                                                                                  \
    F(abi_buffer_type *, ggml_backend_sched_get_buffer_type, (abi_sched *, abi_backend *))                             \
    F(abi_buffer *, ggml_backend_cpu_buffer_from_ptr, (void *, size_t))                                                \
    F(int, ggml_backend_tensor_alloc, (abi_buffer *, abi_tensor *, void *))                                            \
    F(void, ggml_backend_buffer_free, (abi_buffer *))                                                                  \
    F(const char *, ggml_glu_op_name, (int))                                                                           \
    F(const char *, ggml_version, (void))                                                                              \
    F(const char *, ggml_commit, (void))

/* The functions of one library. */
typedef struct abi_functions {
#define ABI_MEMBER(result, name, arguments) result(*name) arguments;
    ABI_CALLED(ABI_MEMBER)
    ABI_NEEDED(ABI_MEMBER)
    ABI_WANTED(ABI_MEMBER)
#undef ABI_MEMBER
    void (*ggml_log_internal)(int level, const char *format, ...);
} abi_functions;

#endif
