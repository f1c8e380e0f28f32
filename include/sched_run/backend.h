/*
 * backend.h - buffer types, buffers, devices, backends, events, the registry and the machine.
 *
 * Layer: backend (above graph).  Answers to ggml-backend.h / ggml-backend-impl.h of the reference.  The interface
 * tables (`..._i`) are what a backend implements; the functions check their arguments, supply fall-backs and add names
 * to errors.  Data is addressed by (buffer, byte offset); a buffer in host memory has a `base` that may be read.
 *
 * Ownership: a registry owns devices; a machine (one description's backends) owns its buffer types, devices and
 * backends; buffers and events are freed by whoever allocated them, before the machine.
 * Thread rule: one thread drives a backend at a time; different backends may be driven by different threads.
 */
#ifndef SCHED_RUN_BACKEND_H
#define SCHED_RUN_BACKEND_H

#include "graph.h"
#include "trace.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sr_buffer_type sr_buffer_type;
typedef struct sr_buffer sr_buffer;
typedef struct sr_device sr_device;
typedef struct sr_backend sr_backend;
typedef struct sr_event sr_event;
typedef struct sr_graph_plan sr_graph_plan;

typedef enum sr_usage { SR_USAGE_ANY, SR_USAGE_WEIGHTS, SR_USAGE_COMPUTE } sr_usage;
typedef enum sr_device_type { SR_DEVICE_CPU, SR_DEVICE_GPU, SR_DEVICE_IGPU, SR_DEVICE_ACCEL } sr_device_type;

SR_API const char *sr_usage_name(sr_usage usage);               /* "any", "weights", "compute" */
SR_API const char *sr_device_type_name(sr_device_type type);    /* "cpu", "gpu", "igpu", "accel" */

/* ---- buffer types --------------------------------------------------------------------------------------------- */

typedef struct sr_buffer_type_i {
    /* A buffer of size > 0 bytes; SR_ALLOCATION with details buffer_type, size, largest_free. */
    sr_status (*alloc_buffer)(sr_buffer_type *type, size_t size, sr_buffer **out_buffer, sr_error *err);
    /* Bytes that a tensor needs, at least its nbytes; NULL: exactly its nbytes. */
    size_t (*alloc_size)(const sr_buffer_type *type, const sr_graph_view *view, int32_t tensor);
    void (*free)(sr_buffer_type *type); /* of context; NULL: nothing to free */
} sr_buffer_type_i;

struct sr_buffer_type {
    const sr_buffer_type_i *iface;
    const char *name;
    sr_device *device;   /* or NULL: plain host memory */
    size_t alignment;    /* a power of two */
    size_t max_size;     /* of one buffer; SIZE_MAX: none */
    bool is_host;
    void *context;
};

/* size 0 gives a buffer without memory. */
SR_API sr_status sr_buffer_type_alloc(sr_buffer_type *type, size_t size, sr_buffer **out_buffer, sr_error *err);
SR_API size_t sr_buffer_type_alloc_size(const sr_buffer_type *type, const sr_graph_view *view, int32_t tensor);
/* The host's own buffer type, "CPU": alignment 32, no maximum.  Of the cpu and blas devices and any sim that asks. */
SR_API sr_buffer_type *sr_host_buffer_type(void);

/* ---- buffers -------------------------------------------------------------------------------------------------- */

typedef struct sr_buffer_i {
    void (*free)(sr_buffer *buffer); /* of the buffer itself too */
    /* Optional. */
    sr_status (*init_tensor)(sr_buffer *buffer, const sr_graph_view *view, int32_t tensor, sr_error *err);
    sr_status (*memset)(sr_buffer *buffer, uint8_t value, size_t offset, size_t size, sr_error *err);
    sr_status (*set)(sr_buffer *buffer, const void *data, size_t offset, size_t size, sr_error *err);
    sr_status (*get)(const sr_buffer *buffer, void *data, size_t offset, size_t size, sr_error *err);
    /* n copies of size bytes, stride apart on each side; optional, the fall-back is a loop over set / get. */
    sr_status (*set_2d)(sr_buffer *buffer, const void *data, size_t offset, size_t size, size_t n, size_t stride_buffer,
                        size_t stride_data, sr_error *err);
    sr_status (*get_2d)(const sr_buffer *buffer, void *data, size_t offset, size_t size, size_t n, size_t stride_buffer,
                        size_t stride_data, sr_error *err);
    /* Copies from another buffer without the host; *done = false: it cannot.  Optional. */
    sr_status (*copy_from)(sr_buffer *dst, size_t dst_offset, const sr_buffer *src, size_t src_offset, size_t size,
                           bool *done, sr_error *err);
    void (*reset)(sr_buffer *buffer); /* optional */
} sr_buffer_i;

struct sr_buffer {
    const sr_buffer_i *iface;
    sr_buffer_type *type;
    sr_usage usage;
    size_t size;
    void *base;    /* host-readable memory, or NULL */
    void *context;
    const char *name; /* of the description's buffer, or NULL; not owned */
};

SR_API void sr_buffer_free(sr_buffer *buffer);
SR_API void sr_buffer_set_usage(sr_buffer *buffer, sr_usage usage); /* of a multi-buffer: of all its parts */
/* Ranges are checked against the size: SR_INVALID.  size 0 does nothing. */
SR_API sr_status sr_buffer_memset(sr_buffer *buffer, uint8_t value, size_t offset, size_t size, sr_error *err);
SR_API sr_status sr_buffer_set(sr_buffer *buffer, const void *data, size_t offset, size_t size, sr_error *err);
SR_API sr_status sr_buffer_get(const sr_buffer *buffer, void *data, size_t offset, size_t size, sr_error *err);
SR_API sr_status sr_buffer_set_2d(sr_buffer *buffer, const void *data, size_t offset, size_t size, size_t n,
                                  size_t stride_buffer, size_t stride_data, sr_error *err);
SR_API sr_status sr_buffer_get_2d(const sr_buffer *buffer, void *data, size_t offset, size_t size, size_t n,
                                  size_t stride_buffer, size_t stride_data, sr_error *err);
SR_API sr_status sr_buffer_clear(sr_buffer *buffer, uint8_t value, sr_error *err);
SR_API void sr_buffer_reset(sr_buffer *buffer);
/* Directly where one side is host memory or the destination can; else through a bounce buffer on the host.
 * out_bounced may be NULL. */
SR_API sr_status sr_buffer_copy(sr_buffer *dst, size_t dst_offset, const sr_buffer *src, size_t src_offset, size_t size,
                                bool *out_bounced, sr_error *err);
/* One buffer made of several of one type; takes ownership of them (on failure too).  It has no base. */
SR_API sr_status sr_multi_buffer_new(sr_buffer **buffers, int n, sr_buffer **out_buffer, sr_error *err);
SR_API bool sr_buffer_is_multi(const sr_buffer *buffer);

/* ---- rules: what a description says a backend takes ------------------------------------------------------------- */

typedef enum sr_rule_field {
    SR_FIELD_TYPE, SR_FIELD_NE0, SR_FIELD_NE1, SR_FIELD_NE2, SR_FIELD_NE3, SR_FIELD_BUFFER_TYPE, SR_FIELD_BATCH
} sr_rule_field;

typedef enum sr_rule_compare { SR_CMP_EQ, SR_CMP_LT, SR_CMP_LE, SR_CMP_GT, SR_CMP_GE, SR_CMP_NE } sr_rule_compare;

/* One test: a field of the node (src -1) or of a source, against values, any of which may match (NE: none). */
typedef struct sr_rule_test {
    int src;
    sr_rule_field field;
    sr_rule_compare compare;
    int64_t *numbers;     /* extents; type numbers */
    char **texts;         /* buffer type names */
    int n_values;
} sr_rule_test;

/* All tests must hold. op -1 matches every op; kind is a unary or GLU code, -1 any; op_name matches opaque ops. */
typedef struct sr_rule {
    int op;
    int kind;
    char *op_name;
    sr_rule_test *tests;
    int n_tests;
    char *text;           /* as the description has it, for messages */
} sr_rule;

typedef struct sr_rules { sr_rule *rules; int n; } sr_rules;

SR_API bool sr_rule_matches(const sr_rule *rule, const sr_graph_view *view, int32_t tensor);
SR_API void sr_rule_clear(sr_rule *rule);
SR_API void sr_rules_clear(sr_rules *rules);

/* Why a backend refused an op. */
typedef struct sr_refusal {
    enum { SR_REFUSED_BY_DEVICE, SR_REFUSED_BY_DENY, SR_REFUSED_BY_ALLOW, SR_REFUSED_BY_RECORD } by;
    const char *text; /* the rule, or the device's words; lives as long as the backend */
} sr_refusal;

/* ---- devices -------------------------------------------------------------------------------------------------- */

typedef struct sr_device_i {
    void (*memory)(sr_device *device, size_t *out_free, size_t *out_total); /* total 0: not known, not limited */
    /* What its kernels can run; why may be NULL. Not asked for NONE. */
    bool (*supports_op)(sr_device *device, const sr_graph_view *view, int32_t tensor, const char **why);
    /* Whether it can also execute what it supports (a CPU claims ops that its kernels lack, as the reference's does);
     * optional: it can.  why gets words that live as long as the device. */
    bool (*can_execute)(sr_device *device, const sr_graph_view *view, int32_t tensor, const char **why);
    /* Whether it has a kernel for any operands of the op; optional: whoever wants to know asks about a node. */
    bool (*has_kernel)(sr_device *device, int op);
    bool (*supports_buffer_type)(sr_device *device, const sr_buffer_type *type);
    bool (*offload_op)(sr_device *device, const sr_graph_view *view, int32_t tensor); /* optional: never */
    sr_status (*init_backend)(sr_device *device, sr_backend *backend, sr_error *err); /* fills iface and context */
    sr_status (*event_new)(sr_device *device, sr_event **out_event, sr_error *err);   /* optional: no events */
    void (*event_free)(sr_event *event);
    sr_status (*event_synchronize)(sr_event *event, sr_error *err);
    void (*free)(sr_device *device);
} sr_device_i;

struct sr_device {
    const sr_device_i *iface;
    const char *name;          /* "sim", "cpu", "opencl:1" */
    const char *description;
    sr_device_type type;
    sr_buffer_type *buffer_type;      /* default */
    sr_buffer_type *host_buffer_type; /* pinned host memory, or NULL */
    void *context;
};

/* ---- backends ------------------------------------------------------------------------------------------------- */

typedef struct sr_backend_i {
    void (*free)(sr_backend *backend);
    void (*set_threads)(sr_backend *backend, int n_threads); /* optional */
    sr_status (*synchronize)(sr_backend *backend, sr_error *err); /* optional: nothing is ever queued */
    sr_status (*set_async)(sr_backend *backend, sr_buffer *dst, const void *data, size_t offset, size_t size,
                           sr_error *err);
    sr_status (*get_async)(sr_backend *backend, const sr_buffer *src, void *data, size_t offset, size_t size,
                           sr_error *err);
    /* Queues a copy after what both backends have queued; *done = false: it cannot.  Optional. */
    sr_status (*copy_async)(sr_backend *src_backend, sr_backend *dst_backend, const sr_storage *src,
                            const sr_storage *dst, size_t size, bool *done, sr_error *err);
    /* Runs the view's nodes in order; may return before they are done.  NULL: this build cannot execute there. */
    sr_status (*compute)(sr_backend *backend, const sr_graph_view *view, sr_error *err);
    sr_status (*event_record)(sr_backend *backend, sr_event *event, sr_error *err);
    sr_status (*event_wait)(sr_backend *backend, sr_event *event, sr_error *err);
    /* May reorder the view's nodes (nodes[0 .. n_nodes)) where no dependence is broken.  Optional. */
    void (*optimize)(sr_backend *backend, const sr_graph_view *view, int32_t *nodes, int32_t n_nodes);
    /* Plans; all three or none.  The type of a plan is the backend's own. */
    sr_status (*plan_new)(sr_backend *backend, const sr_graph_view *view, sr_graph_plan **out_plan, sr_error *err);
    void (*plan_free)(sr_backend *backend, sr_graph_plan *plan);
    sr_status (*plan_compute)(sr_backend *backend, sr_graph_plan *plan, sr_error *err);
} sr_backend_i;

/*
 * What a device sustains, for estimates and for simulated devices that are paced; 0: not given.  Operations and bytes a
 * second, and seconds of latency that each op and each copy takes besides.  peer_bandwidth is that of direct copies
 * between two such devices, where it is not the link's to the host.
 */
typedef struct sr_speed { double flops, memory_bandwidth, link_bandwidth, latency, peer_bandwidth; } sr_speed;

struct sr_event { sr_device *device; void *context; };

/* Whether to stop what is being executed.  Called between nodes, also by threads of a backend. */
typedef bool (*sr_abort_callback)(void *user);

/* What a trace learns of the next thing that a backend is given to do; texts are needed during the call only. */
typedef struct sr_trace_subject { const char *name, *from, *to; int32_t split; } sr_trace_subject;

struct sr_backend {
    const sr_backend_i *iface;
    const char *name;             /* unique in its machine */
    sr_device *device;
    sr_buffer_type *buffer_type;  /* default; the device's unless the description names another */
    const sr_buffer_type **accepts; /* further types */
    int n_accepts;
    bool has_rules;               /* an `ops` key was given */
    bool has_allow;
    sr_rules deny, allow;
    sr_speed speed;
    int64_t offload_min_batch;    /* as the description has it, -1: it never asks for offload */
    bool offloads_listed_ops;     /* then only for ops that the description lists */
    void *context;
    sr_trace *trace;              /* where it tells what it does, NULL: nowhere; see sr_backend_set_trace */
    sr_trace_subject subject;     /* of what it is given next; set by who drives it, where there is a trace */
    sr_abort_callback stop;      /* NULL: nobody stops it; see sr_backend_set_abort */
    void *stop_user;
};

/*
 * Whether it runs the node: NONE always; a recorded answer if the node has one; then the description's rules; then the
 * device (a cpu with an `ops` key says yes to what this build can name).  out_why may be NULL.
 */
SR_API bool sr_backend_supports_op(const sr_backend *backend, const sr_graph_view *view, int32_t tensor,
                                   sr_refusal *out_why);
/* Whether it can execute the node, whatever the rules say; a backend without `compute` cannot.  out_why may be NULL. */
SR_API bool sr_backend_can_execute(const sr_backend *backend, const sr_graph_view *view, int32_t tensor,
                                   const char **out_why);
SR_API bool sr_backend_supports_buffer_type(const sr_backend *backend, const sr_buffer_type *type);
SR_API bool sr_backend_offload_op(const sr_backend *backend, const sr_graph_view *view, int32_t tensor);
/* Whether its device may ask for offload at all; a recorded answer can say so for any. */
SR_API bool sr_backend_can_offload(const sr_backend *backend);
/* How many threads it computes with, where that can be set; n_threads < 1 changes nothing. */
SR_API void sr_backend_set_threads(sr_backend *backend, int n_threads);
/*
 * Where it tells what it does from now on (NULL: nowhere), and what may stop it between two nodes (NULL: nothing): a
 * compute then ends with SR_ABORTED and details node, op.  Both wait until nothing is queued.
 */
SR_API void sr_backend_set_trace(sr_backend *backend, sr_trace *trace);
SR_API void sr_backend_set_abort(sr_backend *backend, sr_abort_callback stop, void *user);
SR_API sr_status sr_backend_synchronize(sr_backend *backend, sr_error *err);
/* Queues if the backend can, else synchronizes it and copies at once. */
SR_API sr_status sr_backend_set_async(sr_backend *backend, sr_buffer *dst, const void *data, size_t offset, size_t size,
                                      sr_error *err);
SR_API sr_status sr_backend_get_async(sr_backend *backend, const sr_buffer *src, void *data, size_t offset, size_t size,
                                      sr_error *err);
SR_API sr_status sr_backend_set_2d_async(sr_backend *backend, sr_buffer *dst, const void *data, size_t offset,
                                         size_t size, size_t n, size_t stride_buffer, size_t stride_data,
                                         sr_error *err);
SR_API sr_status sr_backend_get_2d_async(sr_backend *backend, const sr_buffer *src, void *data, size_t offset,
                                         size_t size, size_t n, size_t stride_buffer, size_t stride_data,
                                         sr_error *err);
SR_API sr_status sr_backend_copy_async(sr_backend *src_backend, sr_backend *dst_backend, const sr_storage *src,
                                       const sr_storage *dst, size_t size, sr_error *err);
SR_API sr_status sr_backend_compute_async(sr_backend *backend, const sr_graph_view *view, sr_error *err);
SR_API sr_status sr_backend_compute(sr_backend *backend, const sr_graph_view *view, sr_error *err);
/*
 * A plan: a view prepared once, to be computed many times.  The graph, its memory and the arrays of the view stay as
 * they are while the plan lives; it is freed before its backend.  Backends without plans of their own compute the view.
 */
SR_API sr_status sr_backend_plan_new(sr_backend *backend, const sr_graph_view *view, sr_graph_plan **out_plan,
                                     sr_error *err);
SR_API sr_status sr_backend_plan_compute(sr_backend *backend, sr_graph_plan *plan, sr_error *err);
SR_API void sr_backend_plan_free(sr_backend *backend, sr_graph_plan *plan);
/* *out_event = NULL where the device has none. */
SR_API sr_status sr_event_new(sr_device *device, sr_event **out_event, sr_error *err);
SR_API void sr_event_free(sr_event *event);
SR_API sr_status sr_event_record(sr_event *event, sr_backend *backend, sr_error *err);
SR_API sr_status sr_event_synchronize(sr_event *event, sr_error *err);
SR_API sr_status sr_event_wait(sr_backend *backend, sr_event *event, sr_error *err);

/* ---- the registry: which devices this build and machine have ----------------------------------------------------- */

/* bytes = expression over ne0..ne3 and nbytes, beyond the tensor's own, for nodes that the rule matches. */
typedef struct sr_alloc_extra { sr_rule rule; char *bytes; } sr_alloc_extra;

/* Everything a description says of one backend.  Defaults: sr_backend_config_init. Owned by the caller. */
typedef struct sr_backend_config {
    const char *name;             /* NULL: the device's name */
    const char *device;           /* "cpu", "sim", "opencl:1" */
    sr_device_type type;          /* sim */
    const char *buffer_type;      /* name of the default buffer type, NULL: the device's */
    size_t alignment;             /* sim's own type: 128 */
    size_t max_buffer_size;       /* sim's own type: SIZE_MAX */
    bool host;                    /* sim's own type */
    bool has_memory;
    uint64_t memory;              /* capacity, sim */
    const char **accepts;
    int n_accepts;
    bool has_rules, has_allow;
    sr_rules deny, allow;         /* moved into the backend */
    int64_t offload_min_batch;    /* sim; -1: never asks */
    bool has_offload_ops;
    sr_rules offload_ops;         /* moved; with has_offload_ops only these */
    sr_alloc_extra *alloc_extra;  /* moved */
    int n_alloc_extra;
    bool events, async;           /* sim: true, true */
    sr_speed speed;
    bool paced;                   /* sim: it takes the time that its speed says, false */
    /* Faults, sim; -1: unset; moved.  An allocation fails that brings the bytes ever allocated above alloc_after; so do
     * a node that compute_op matches and the copy_nth transfer into or out of its memory, counting from 1. */
    struct {
        bool given;
        int64_t alloc_after;
        bool has_compute_op;
        sr_rule compute_op;
        int64_t copy_nth;
    } fail;
} sr_backend_config;

SR_API void sr_backend_config_init(sr_backend_config *config);
SR_API void sr_backend_config_clear(sr_backend_config *config);

/* One kind of device that was built in. */
typedef struct sr_driver {
    const char *name;           /* "cpu" */
    const char *summary;        /* one line for `sched-run devices` */
    int (*device_count)(const char **out_why_none); /* devices present on this machine */
    sr_status (*device_describe)(int index, const char **out_description, size_t *out_free, size_t *out_total);
    /*
     * A device configured for one backend of a description; the machine owns it.  config lives as long as the device
     * and has the name of the backend.  buffer_type: an existing type that the description names, or NULL: the device
     * brings its own, called config->buffer_type or, that being NULL, config->name, and frees it with itself.
     */
    sr_status (*device_new)(int index, const sr_backend_config *config, sr_buffer_type *buffer_type,
                            sr_device **out_device, sr_error *err);
    bool configurable;          /* takes the keys that a simulated device has */
} sr_driver;

/* The drivers of this build, ended by NULL (src/backends/backends.c). */
SR_API const sr_driver *const *sr_drivers(void);

/*
 * A folder in which devices keep the programs that they build, from process to process; it is made when something is
 * kept.  NULL: nothing is kept, as at first.  SR_MEMORY.  Thread rule: any, but before devices compute.
 */
SR_API sr_status sr_cache_folder_set(const char *folder, sr_error *err);

/* ---- the machine: the backends of one description ---------------------------------------------------------------- */

typedef struct sr_machine {
    sr_backend **backends;          /* priority order, the last a CPU */
    int n_backends;
    sr_buffer_type **buffer_types;  /* all that exist, the host's "CPU" first */
    int n_buffer_types;
    struct sr_machine_impl *impl;   /* private */
} sr_machine;

SR_API sr_status sr_machine_new(sr_machine **out_machine, sr_error *err);
/* A further buffer type by name; host types are host memory.  SR_INVALID if the name is taken. */
SR_API sr_status sr_machine_add_buffer_type(sr_machine *machine, const char *name, size_t alignment, size_t max_size,
                                            bool host, sr_error *err);
/* Opens a device and adds the backend; rules move out of config, on failure too.  SR_UNAVAILABLE lists the devices that
 * there are; SR_INVALID for a name that is taken, an unknown buffer type, a key that the device does not take. */
SR_API sr_status sr_machine_add_backend(sr_machine *machine, sr_backend_config *config, sr_error *err);
/* Resolves `accepts` names, checks that the last backend is a CPU and that each accepts its default type. */
SR_API sr_status sr_machine_finish(sr_machine *machine, sr_error *err);
SR_API sr_buffer_type *sr_machine_buffer_type(const sr_machine *machine, const char *name);
SR_API int sr_machine_backend(const sr_machine *machine, const char *name); /* position, or -1 */
SR_API void sr_machine_free(sr_machine *machine);

#ifdef __cplusplus
}
#endif
#endif
