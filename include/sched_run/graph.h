/*
 * graph.h - types, ops, tensors and graphs.
 *
 * Layer: graph (above base).  Answers to ggml.h / ggml.c of the reference: a tensor here is an index into its
 * graph, sources are one flat array, and a graph never changes once it is finished (scheduling it twice is safe).
 *
 * Conventions: extents `ne` are in elements, dimension 0 first; strides `nb`, offsets and sizes are in bytes.
 * Strings given to a builder are copied.  A finished graph may be read by any number of threads.
 */
#ifndef SCHED_RUN_GRAPH_H
#define SCHED_RUN_GRAPH_H

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SR_MAX_DIMS = 4, SR_MAX_SRC = 10, SR_MAX_OP_PARAMS = 16, SR_MAX_NAME = 63 };

/* ---- types ---------------------------------------------------------------------------------------------------- */

/* number, enum name, name, elements a block, bytes a block, quantized */
#define SR_TYPE_LIST(X)                        \
    X(0,  F32,     "f32",     1,   4,   false) \
    X(1,  F16,     "f16",     1,   2,   false) \
    X(2,  Q4_0,    "q4_0",    32,  18,  true)  \
    X(3,  Q4_1,    "q4_1",    32,  20,  true)  \
    X(6,  Q5_0,    "q5_0",    32,  22,  true)  \
    X(7,  Q5_1,    "q5_1",    32,  24,  true)  \
    X(8,  Q8_0,    "q8_0",    32,  34,  true)  \
    X(9,  Q8_1,    "q8_1",    32,  36,  true)  \
    X(10, Q2_K,    "q2_K",    256, 84,  true)  \
    X(11, Q3_K,    "q3_K",    256, 110, true)  \
    X(12, Q4_K,    "q4_K",    256, 144, true)  \
    X(13, Q5_K,    "q5_K",    256, 176, true)  \
    X(14, Q6_K,    "q6_K",    256, 210, true)  \
    X(15, Q8_K,    "q8_K",    256, 292, true)  \
    X(16, IQ2_XXS, "iq2_xxs", 256, 66,  true)  \
    X(17, IQ2_XS,  "iq2_xs",  256, 74,  true)  \
    X(18, IQ3_XXS, "iq3_xxs", 256, 98,  true)  \
    X(19, IQ1_S,   "iq1_s",   256, 50,  true)  \
    X(20, IQ4_NL,  "iq4_nl",  32,  18,  true)  \
    X(21, IQ3_S,   "iq3_s",   256, 110, true)  \
    X(22, IQ2_S,   "iq2_s",   256, 82,  true)  \
    X(23, IQ4_XS,  "iq4_xs",  256, 136, true)  \
    X(24, I8,      "i8",      1,   1,   false) \
    X(25, I16,     "i16",     1,   2,   false) \
    X(26, I32,     "i32",     1,   4,   false) \
    X(27, I64,     "i64",     1,   8,   false) \
    X(28, F64,     "f64",     1,   8,   false) \
    X(29, IQ1_M,   "iq1_m",   256, 56,  true)  \
    X(30, BF16,    "bf16",    1,   2,   false) \
    X(34, TQ1_0,   "tq1_0",   256, 54,  true)  \
    X(35, TQ2_0,   "tq2_0",   256, 66,  true)  \
    X(39, MXFP4,   "mxfp4",   32,  17,  true)  \
    X(40, NVFP4,   "nvfp4",   64,  36,  true)  \
    X(41, Q1_0,    "q1_0",    128, 18,  true)

typedef enum sr_type {
#define SR_TYPE_ENUM(number, id, name, block, bytes, quantized) SR_TYPE_##id = number,
    SR_TYPE_LIST(SR_TYPE_ENUM)
#undef SR_TYPE_ENUM
    SR_TYPE_COUNT = 42
} sr_type;

typedef struct sr_type_info {
    const char *name;   /* NULL for a number that is not in use */
    int32_t block;      /* elements a block; 0 for a number that is not in use */
    int32_t bytes;      /* bytes a block */
    bool quantized;
} sr_type_info;

/* The facts of a type; a zeroed record for a number not in use or out of range.  Never NULL. */
SR_API const sr_type_info *sr_type_get(int number);
/* The number of the type called name (case-sensitive), or -1. */
SR_API int sr_type_find(const char *name);

/* ---- ops ------------------------------------------------------------------------------------------------------ */

/* Names in the order of their numbers, 0 to 95; see src/graph/ops.c for what each does. */
#define SR_OP_LIST(X)                                                                                                 \
    X(NONE) X(DUP) X(ADD) X(ADD_ID) X(ADD1) X(ACC) X(SUB) X(MUL) X(DIV) X(SQR) X(SQRT) X(LOG) X(SIN) X(COS) X(SUM)    \
    X(SUM_ROWS) X(CUMSUM) X(MEAN) X(ARGMAX) X(COUNT_EQUAL) X(REPEAT) X(REPEAT_BACK) X(CONCAT) X(SILU_BACK) X(NORM)    \
    X(RMS_NORM) X(RMS_NORM_BACK) X(GROUP_NORM) X(L2_NORM) X(MUL_MAT) X(MUL_MAT_ID) X(OUT_PROD) X(SCALE) X(SET) X(CPY) \
    X(CONT) X(RESHAPE) X(VIEW) X(PERMUTE) X(TRANSPOSE) X(GET_ROWS) X(GET_ROWS_BACK) X(SET_ROWS) X(DIAG)               \
    X(DIAG_MASK_INF) X(DIAG_MASK_ZERO) X(SOFT_MAX) X(SOFT_MAX_BACK) X(ROPE) X(ROPE_BACK) X(CLAMP)                     \
    X(CONV_TRANSPOSE_1D) X(IM2COL) X(IM2COL_BACK) X(IM2COL_3D) X(CONV_2D) X(CONV_3D) X(CONV_2D_DW)                    \
    X(CONV_TRANSPOSE_2D) X(POOL_1D) X(POOL_2D) X(POOL_2D_BACK) X(UPSCALE) X(PAD) X(PAD_REFLECT_1D) X(ROLL) X(ARANGE)  \
    X(TIMESTEP_EMBEDDING) X(ARGSORT) X(TOP_K) X(LEAKY_RELU) X(TRI) X(FILL) X(FLASH_ATTN_EXT) X(FLASH_ATTN_BACK)       \
    X(SSM_CONV) X(SSM_SCAN) X(WIN_PART) X(WIN_UNPART) X(GET_REL_POS) X(ADD_REL_POS) X(RWKV_WKV6) X(GATED_LINEAR_ATTN) \
    X(RWKV_WKV7) X(SOLVE_TRI) X(GATED_DELTA_NET) X(UNARY) X(MAP_CUSTOM1) X(MAP_CUSTOM2) X(MAP_CUSTOM3) X(CUSTOM)      \
    X(CROSS_ENTROPY_LOSS) X(CROSS_ENTROPY_LOSS_BACK) X(OPT_STEP_ADAMW) X(OPT_STEP_SGD) X(GLU)

typedef enum sr_op {
#define SR_OP_ENUM(id) SR_OP_##id,
    SR_OP_LIST(SR_OP_ENUM)
#undef SR_OP_ENUM
    SR_OP_COUNT,
    SR_OP_OPAQUE = SR_OP_COUNT /* an op this build does not know: it can be scheduled, not executed */
} sr_op;

#define SR_UNARY_LIST(X)                                                                                          \
    X(ABS) X(SGN) X(NEG) X(STEP) X(TANH) X(ELU) X(RELU) X(SIGMOID) X(GELU) X(GELU_QUICK) X(SILU) X(HARDSWISH)      \
    X(HARDSIGMOID) X(EXP) X(EXPM1) X(SOFTPLUS) X(GELU_ERF) X(XIELU) X(FLOOR) X(CEIL) X(ROUND) X(TRUNC)

typedef enum sr_unary {
#define SR_UNARY_ENUM(id) SR_UNARY_##id,
    SR_UNARY_LIST(SR_UNARY_ENUM)
#undef SR_UNARY_ENUM
    SR_UNARY_COUNT
} sr_unary;

#define SR_GLU_LIST(X) X(REGLU) X(GEGLU) X(SWIGLU) X(SWIGLU_OAI) X(GEGLU_ERF) X(GEGLU_QUICK)

typedef enum sr_glu {
#define SR_GLU_ENUM(id) SR_GLU_##id,
    SR_GLU_LIST(SR_GLU_ENUM)
#undef SR_GLU_ENUM
    SR_GLU_COUNT
} sr_glu;

/* ---- tensors -------------------------------------------------------------------------------------------------- */

typedef enum sr_tensor_flags {
    SR_FLAG_INPUT = 1,
    SR_FLAG_OUTPUT = 2,
    SR_FLAG_PARAM = 4,
    SR_FLAG_LOSS = 8,
    SR_FLAG_COMPUTE = 16
} sr_tensor_flags;

struct sr_buffer; /* backend.h */

/*
 * One tensor of a finished graph.  The first 64 bytes are what scheduling reads.  `view_src` is the storage root
 * (a view of a view is stored against the root); `view_offs` counts from the root's first byte.
 */
typedef struct sr_tensor {
    uint8_t type;            /* sr_type */
    uint8_t op;              /* sr_op; NONE for a leaf */
    uint8_t flags;           /* sr_tensor_flags */
    uint8_t n_src;           /* 0 to SR_MAX_SRC, empty places counted */
    int32_t src_begin;       /* its sources are graph->srcs[src_begin .. src_begin + n_src) */
    int32_t view_src;        /* index of the root, or -1 */
    int32_t class_id;        /* tensors that every backend must answer alike for (graph.c) */
    struct sr_buffer *buffer; /* where it is pre-allocated, or NULL; not owned */
    size_t buffer_offset;    /* of its first byte in that buffer */
    size_t nbytes;           /* span from its first to its last byte; 0 if any extent is 0 */
    size_t view_offs;
    int32_t answers;         /* index of its recorded answers in the graph, or -1 */
    int32_t node;            /* its position among the nodes, or -1 for a leaf */

    int64_t ne[SR_MAX_DIMS];
    size_t nb[SR_MAX_DIMS];
    const char *name;        /* shown in output, up to 63 bytes, may repeat or be empty; owned by the graph */
    const char *id;          /* unique in the graph; owned by the graph */
    const char *op_name;     /* of an opaque op, else NULL */
    int32_t op_params[SR_MAX_OP_PARAMS];
} sr_tensor;

/* Answers recorded on another machine: they overrule what a backend says, by backend name. */
typedef struct sr_answers {
    const char **supported_by;
    const char **offloaded_by;
    int32_t n_supported_by;  /* -1: not recorded */
    int32_t n_offloaded_by;  /* -1: not recorded */
} sr_answers;

typedef struct sr_graph {
    const char *name;
    const sr_tensor *tensors;
    int32_t n_tensors;
    const int32_t *leafs;     /* in order; a leaf flagged `param` stands among the nodes instead */
    int32_t n_leafs;
    const int32_t *nodes;     /* in execution order */
    int32_t n_nodes;
    const int32_t *srcs;      /* tensor indices, -1 for an empty place */
    int32_t n_srcs;
    const int32_t *use_counts; /* by tensor: how many source places name it */
    int32_t n_classes;
    const sr_answers *answers;
    int32_t n_answers;
    uint64_t uid;             /* unique among the graphs of this process */
    struct sr_graph_impl *impl; /* private */
} sr_graph;

/*
 * What a caller says of a tensor to add.  Zero-initialise; view_of = -1 means no view, which sr_tensor_spec_init
 * sets.  Extents and type may be left out (n_dims 0, type -1) where the op has a shape rule.
 */
typedef struct sr_tensor_spec {
    const char *name;         /* default: id */
    const char *id;           /* default: name; must be unique */
    int type;                 /* sr_type, -1: from the op's rule, f32 for a leaf */
    int op;                   /* sr_op; NONE for a leaf */
    const char *op_name;      /* for SR_OP_OPAQUE */
    unsigned flags;           /* sr_tensor_flags; COMPUTE is set for nodes unless no_compute */
    bool no_compute;
    bool inplace;             /* the result is a view of the first source */
    int n_dims;               /* extents given in ne; 0: from the op's rule */
    int64_t ne[SR_MAX_DIMS];
    bool has_nb;
    size_t nb[SR_MAX_DIMS];
    const int32_t *srcs;      /* tensor indices, -1 for an empty place; SR_SELF for the tensor itself */
    int n_src;
    int32_t view_of;          /* explicit view: any earlier tensor; -1 none */
    size_t view_offset;       /* from the first byte of view_of */
    int32_t op_params[SR_MAX_OP_PARAMS];
    struct sr_buffer *buffer;
    size_t buffer_offset;
    const sr_answers *answers; /* copied, or NULL */
} sr_tensor_spec;

enum { SR_SELF = -2 };

SR_API void sr_tensor_spec_init(sr_tensor_spec *spec);

/* A new, empty graph under construction.  SR_MEMORY. */
SR_API sr_status sr_graph_new(const char *name, sr_graph **out_graph, sr_error *err);
/*
 * Adds a leaf or a node (spec->op decides).  Checks what the op's shape rule demands, that sources come before
 * their users, that a view lies within its root, that sizes do not overflow; out_tensor may be NULL.
 * SR_INVALID with a message that begins with what is wrong, SR_MEMORY.
 */
SR_API sr_status sr_graph_add(sr_graph *graph, const sr_tensor_spec *spec, int32_t *out_tensor, sr_error *err);
/* Where a tensor is pre-allocated; before sr_graph_finish only. */
SR_API void sr_graph_place(sr_graph *graph, int32_t tensor, struct sr_buffer *buffer, size_t offset);
/* Counts uses, orders leafs and nodes, sorts tensors into classes; the graph may then be scheduled.  SR_MEMORY. */
SR_API sr_status sr_graph_finish(sr_graph *graph, sr_error *err);
SR_API void sr_graph_free(sr_graph *graph);
/* The tensor with that id, or -1.  Constant time after sr_graph_finish. */
SR_API int32_t sr_graph_find(const sr_graph *graph, const char *id);

/* ---- what tensors are ----------------------------------------------------------------------------------------- */

SR_API size_t sr_row_size(int type, int64_t ne0);
SR_API int64_t sr_tensor_nelements(const sr_tensor *tensor);
SR_API int64_t sr_tensor_nrows(const sr_tensor *tensor);
SR_API bool sr_tensor_is_contiguous(const sr_tensor *tensor);
/* Rows are dense, rows may have gaps between them (spec: "contiguous rows"). */
SR_API bool sr_tensor_has_contiguous_rows(const sr_tensor *tensor);
/* Contiguous but for the stride between rows (spec: "contiguous from 1"). */
SR_API bool sr_tensor_is_contiguous_1(const sr_tensor *tensor);
SR_API bool sr_tensor_same_shape(const sr_tensor *a, const sr_tensor *b);
/* Same type, extents and strides: the allocator may exchange them, a copy may be one memcpy. */
SR_API bool sr_tensor_same_layout(const sr_tensor *a, const sr_tensor *b);
SR_API bool sr_tensor_is_empty(const sr_tensor *tensor);
/* VIEW, RESHAPE, PERMUTE, TRANSPOSE: nothing to compute, skipped when a graph is split. */
SR_API bool sr_op_is_view(int op);
/* Ops whose result may take over the memory of a source that has no other reader. */
SR_API bool sr_op_can_reuse(int op);
/* The op's name (UNARY), and its description as logs show it (SILU, SWIGLU); opaque ops give their own. */
SR_API const char *sr_tensor_op_name(const sr_tensor *tensor);
SR_API const char *sr_tensor_op_desc(const sr_tensor *tensor);
/* The batch of an op: what offload limits compare with. */
SR_API int64_t sr_tensor_batch(const sr_tensor *tensor);

/* ---- the table of ops ----------------------------------------------------------------------------------------- */

typedef enum sr_param_kind { SR_PARAM_INT, SR_PARAM_FLOAT, SR_PARAM_BOOL, SR_PARAM_ENUM, SR_PARAM_INT4 } sr_param_kind;

typedef struct sr_param_enum { const char *name; int32_t value; } sr_param_enum;

/* A named parameter of an op and the 32-bit word it is stored in. */
typedef struct sr_param_info {
    const char *name;
    sr_param_kind kind;
    int word;                     /* first word; -1: an argument of the builder that no word keeps (k, ne0, type) */
    bool required;
    double fallback;              /* when left out; NaN: follows from the sources or other parameters */
    const sr_param_enum *values;  /* for SR_PARAM_ENUM, ended by a NULL name; a number is accepted too */
} sr_param_info;

typedef struct sr_op_info {
    const char *name;
    int min_src, max_src;         /* places; optional ones may be empty */
    const char *sources;          /* for people: "a f32, b f32|f16 (mask, optional)" */
    int view_src;                 /* the source that the result always views, or -1 */
    bool can_inplace;             /* its builder has an in-place form */
    bool can_reuse;               /* sr_op_can_reuse */
    bool has_shape_rule;          /* extents may be left out */
    const sr_param_info *params;
    int n_params;
} sr_op_info;

/* op from 0 to SR_OP_COUNT - 1; NULL outside. */
SR_API const sr_op_info *sr_op_get(int op);
/* Finds an op, a unary or a GLU description by name.  out_kind: the unary or GLU code, -1 if none.  -1: unknown. */
SR_API int sr_op_find(const char *name, int *out_kind);

/* A value given for a named parameter. */
typedef struct sr_param_value {
    const char *name;
    bool is_text;
    const char *text;      /* enum value */
    double number;
    int32_t four[4];       /* SR_PARAM_INT4 */
} sr_param_value;

/*
 * Turns named parameters into words, with defaults, against the already added sources (their extents and strides
 * supply some defaults).  Builder arguments that no word keeps (target extents, k, dst type) are put into spec.
 * SR_INVALID names the parameter that is unknown, missing or out of range, with a suggestion.
 */
SR_API sr_status sr_op_set_params(const sr_graph *graph, sr_tensor_spec *spec, int kind, const sr_param_value *values,
                                  int n_values, sr_error *err);

/* ---- a graph as something runs it ----------------------------------------------------------------------------- */

typedef struct sr_storage {
    struct sr_buffer *buffer; /* NULL: not allocated */
    size_t offset;            /* of the first byte in the buffer */
} sr_storage;

/* A tensor that scheduling added: laid out as tensor `of`, of op NONE. */
typedef struct sr_extra {
    int32_t of;       /* tensor of the graph */
    int16_t backend;  /* position in the scheduler; the copy lives in that backend's default buffer type */
    uint8_t slot;     /* copy slot, 0 .. n_copies - 1 */
    uint8_t kind;     /* sr_extra_kind */
} sr_extra;

typedef enum sr_extra_kind {
    SR_EXTRA_COPY,     /* a copy of an input on a split's backend, or a further slot of a user input */
    SR_EXTRA_DEPENDENCY /* keeps an input alive until it has been copied; occupies nothing */
} sr_extra_kind;

/*
 * Nodes of a graph in an order, with some sources replaced.  Ids below graph->n_tensors are tensors of the graph,
 * ids from there on are extra[id - graph->n_tensors].  srcs has the graph's offsets, so tensor t's sources are
 * srcs[t.src_begin ..]; an extra has no sources, but a dependency has the one it is of.
 */
typedef struct sr_graph_view {
    const sr_graph *graph;
    const sr_extra *extra;
    int32_t n_extra;
    const int32_t *srcs;
    const int32_t *nodes;
    int32_t n_nodes;
    const int32_t *leafs;
    int32_t n_leafs;
    const sr_storage *storage; /* by id; NULL before allocation */
    const uint8_t *flags;      /* by id, where scheduling changed some; NULL: the tensors' own, none for an extra */
} sr_graph_view;

/* The whole graph as it is, not allocated. */
SR_API sr_graph_view sr_graph_whole(const sr_graph *graph);

static inline bool sr_view_is_extra(const sr_graph_view *view, int32_t id) { return id >= view->graph->n_tensors; }

/* Type, extents and strides of an id: for an extra those of the tensor it is a copy of. */
static inline const sr_tensor *sr_view_tensor(const sr_graph_view *view, int32_t id) {
    return id < view->graph->n_tensors ? &view->graph->tensors[id]
                                       : &view->graph->tensors[view->extra[id - view->graph->n_tensors].of];
}

static inline int sr_view_op(const sr_graph_view *view, int32_t id) {
    return id < view->graph->n_tensors ? view->graph->tensors[id].op : SR_OP_NONE;
}

/* sr_tensor_flags of an id. */
static inline unsigned sr_view_flags(const sr_graph_view *view, int32_t id) {
    if (view->flags) {
        return view->flags[id];
    }
    return id < view->graph->n_tensors ? view->graph->tensors[id].flags : 0u;
}

/* Source j of a tensor of the graph as the view has it, or -1. */
static inline int32_t sr_view_src(const sr_graph_view *view, const sr_tensor *tensor, int j) {
    return j < tensor->n_src ? view->srcs[tensor->src_begin + j] : -1;
}

#ifdef __cplusplus
}
#endif
#endif
