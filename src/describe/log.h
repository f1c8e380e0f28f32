/*
 * log.h - what the files that import a debug log share: its lines, what was read from them, the graphs made of that.
 *
 * Layer: describe.  Internal.  Answers to ggml_backend_sched_print_assignments, read backwards.
 *
 * The way of a log: log_text.c (lines without what front-ends add) -> log_entry.c, log_read.c (splits and nodes) ->
 * log_graph.c (which names mean which tensor) -> log_machine.c, log_weights.c (what must hold so that the splits come
 * out so) -> log_write.c (the description) and log_tell.c (what is said about it).  Texts point into the lines.
 */
#ifndef SR_LOG_H
#define SR_LOG_H

#include "base/base.h"
#include "sched_run/import.h"

typedef struct sr__span { const char *text; int32_t length; } sr__span;

static inline bool sr__span_is(sr__span a, const char *text) {
    return strlen(text) == (size_t)a.length && memcmp(a.text, text, (size_t)a.length) == 0;
}
static inline bool sr__span_equal(sr__span a, sr__span b) {
    return a.length == b.length && memcmp(a.text, b.text, (size_t)a.length) == 0;
}
bool sr__span_starts(sr__span a, const char *start);
sr__span sr__span_trim(const char *begin, const char *end);

/* ---- lines (log_text.c) ----------------------------------------------------------------------------------------- */

typedef enum sr__log_kind { SR__LOG_SPLIT, SR__LOG_NODE } sr__log_kind;

/* A header or a node, from its first word on, with what was wrapped to further lines. */
typedef struct sr__log_record {
    sr__log_kind kind;
    size_t begin, end; /* in the text */
    int64_t line;      /* from 1 */
} sr__log_record;

typedef struct sr__log_lines {
    sr__str text;
    sr__log_record *records; size_t n, cap;
    int64_t n_lines;
    bool utf16, joined; /* what was undone */
} sr__log_lines;

sr_status sr__log_read_lines(const char *text, size_t length, sr__log_lines *out, sr_error *err);
void sr__log_free_lines(sr__log_lines *lines);

/* ---- fields (log_entry.c) --------------------------------------------------------------------------------------- */

/* NAME ( SIZE) [BACKEND CAUSE] */
typedef struct sr__log_entry {
    sr__span name, backend, cause; /* NULL as a backend is none: empty */
    bool is_null;                  /* NULL was printed */
    int64_t size, step;            /* bytes: at least size, less than size + step */
} sr__log_entry;

typedef struct sr__log_input { sr__span name; int64_t size, step; bool taken; } sr__log_input;

/* The next "( SIZE) [" in a text: its '(' and what follows the '['; NULL: none.  closing: ']' of a header's inputs. */
const char *sr__log_find_size(const char *p, const char *end, char closing, sr__log_entry *entry, const char **after);
/* Name, size, backend and cause; NULL: there is none.  width: of the name's field, 0: not known.  out_width: of the
 * text that stands for the name. */
const char *sr__log_read_entry(const char *p, const char *end, int width, sr__log_entry *out, int *out_width);
const char *sr__log_read_number(const char *p, const char *end, int64_t *out);
bool sr__log_is_cause(sr__span text);

/* ---- splits and nodes (log_read.c) ------------------------------------------------------------------------------ */

typedef struct sr__log_split {
    sr__span backend;
    int64_t number, announced; /* announced inputs, -1: the line ends before */
    int32_t inputs_begin, n_inputs;
    int32_t nodes_begin, n_nodes;
    int64_t line;
} sr__log_split;

typedef struct sr__log_node {
    sr__span op;
    sr__log_entry self;
    int64_t number;
    int32_t srcs_begin, n_srcs;
    int32_t split;       /* of the log, -1: its header is missing */
    int use, compute;    /* -1: not printed */
    int64_t line;
} sr__log_node;

/* One schedule: what stands between two "SPLIT #0". */
typedef struct sr__log_schedule {
    int32_t splits_begin, n_splits, nodes_begin, n_nodes;
    int32_t same_as;     /* an earlier schedule of the same graph, or itself */
    int32_t graph;       /* of the graphs made, -1: none (log_graph.c) */
    int copy;            /* the number of its copies, -1: none is seen */
    bool reserve;        /* the next one has the same number */
    bool headless;       /* it begins without "SPLIT #0" */
    int64_t lost_splits; /* headers that are not there although later ones are */
    int64_t line;
    uint64_t hash;
} sr__log_schedule;

typedef struct sr__log {
    sr__log_lines lines;
    sr__log_entry *srcs;          size_t n_srcs, srcs_cap;
    sr__log_input *inputs;        size_t n_inputs, inputs_cap;
    sr__log_split *splits;        size_t n_splits, splits_cap;
    sr__log_node *nodes;          size_t n_nodes, nodes_cap;
    sr__log_schedule *schedules;  size_t n_schedules, schedules_cap;
    int width;                    /* of names */
    int64_t n_torn, torn_line;    /* lines that end too early, the first of them */
    int64_t n_repeated;           /* lines that stand twice */
    int64_t n_causes;
    int max_copy;                 /* highest number of a copy, -1 */
    unsigned seen;                /* bits of what tells generations apart: log_tell.c */
} sr__log;

enum {
    SR__SEEN_USE = 1, SR__SEEN_COMPUTE = 2, SR__SEEN_NO_USE = 4, SR__SEEN_COLON = 8, SR__SEEN_NO_COLON = 16,
    SR__SEEN_UNARY = 32, SR__SEEN_DESC = 64, SR__SEEN_COPY_NUMBER = 128, SR__SEEN_COPY_PLAIN = 256,
    SR__SEEN_SRC_CAUSE = 512, SR__SEEN_PASS_CAUSE = 1024, SR__SEEN_SUP_CAUSE = 2048
};

sr_status sr__log_read(sr__log *log, sr_error *err);
void sr__log_free(sr__log *log);

/* ---- graphs (log_graph.c) --------------------------------------------------------------------------------------- */

typedef enum sr__item_kind { SR__ITEM_LEAF, SR__ITEM_NODE, SR__ITEM_VIEW } sr__item_kind;

enum { SR__MAX_LOG_BACKENDS = 64 }; /* bits of a mask */

/* A tensor of a graph. */
typedef struct sr__log_item {
    sr__item_kind kind;
    sr__span name;
    bool is_full;             /* the name is known to its end */
    bool named;               /* VIEW: it stands for one that the log names */
    int64_t size, step, bytes;
    int backend;              /* -1: not known yet */
    uint64_t direct, copied;  /* backends that read it where it is, and that read a copy */
    int32_t parent;           /* VIEW: what it is a view of, -1 */
    int32_t log_node;         /* NODE: of the log */
    int32_t position;         /* among the nodes; leafs: -1 */
    int32_t n_uses;           /* as a source or by a view, as far as that is known */
    int32_t next;             /* with the same first letters, older; -1 */
    bool is_input;            /* a cause or its name says so */
    bool is_state;            /* pre-allocated, but no weights */
    bool likely_weight, not_weight, weight;
    int buffer;               /* of the machine's, -1 */
    const char *id;           /* log_write.c */
} sr__log_item;

typedef struct sr__log_graph {
    int32_t schedule;         /* the first that shows it */
    sr__log_item *items;      size_t n_items, items_cap;
    int32_t *order;           size_t n_order, order_cap; /* its nodes */
    int32_t *srcs;            size_t n_srcs, srcs_cap;   /* items, in the order of the log's entries; SR_SELF */
    int32_t first_src;        /* entry of the log that srcs[0] stands for */
    int64_t n_views;          /* that the log leaves out */
    int64_t n_gone;           /* numbers of nodes that are too far apart for views */
    int64_t n_doubtful;       /* views where no program has as many in a row, */
    int64_t doubtful_before;  /* the number of the node after the first of these */
    int64_t n_lost;           /* headers that nodes of another backend speak of */
    int64_t n_above;          /* sources that are copies which splits made that are not in the log */
    int64_t n_twice;          /* sources that are copies of an earlier schedule */
    sr__span twice;           /* one of them */
    int64_t n_unread;         /* inputs that headers name and no node reads, or not when it should */
    int64_t n_uncut;          /* splits whose beginning nothing explains */
} sr__log_graph;

typedef struct sr__log_backend {
    sr__span name;
    bool is_full; /* a header has it; else as nodes show it, cut */
    int rank;     /* place in the description */
} sr__log_backend;

/* A buffer, and the type it is of. */
typedef struct sr__log_buffer {
    int backend;       /* whose memory */
    uint64_t readers;  /* 0: the backend's own type; else a type of its own that these read */
    int type;          /* number among such types */
    bool weights;
} sr__log_buffer;

/* What all graphs share. */
typedef struct sr__log_machine {
    sr__log_backend *backends;  size_t n_backends, backends_cap;
    uint64_t accepts[SR__MAX_LOG_BACKENDS]; /* [whose memory]: backends that read it */
    sr__log_buffer *buffers;    size_t n_buffers, buffers_cap;
    int n_types;
    int last;                   /* the CPU */
    int n_copies;               /* pipeline copies */
    int max_split_inputs;       /* 0: the default does */
} sr__log_machine;

typedef struct sr__import {
    const sr_import_options *options;
    const char *name;
    sr__log log;
    sr__log_machine machine;
    sr__log_graph *graphs; size_t n_graphs, graphs_cap;
    sr__arena arena;
    sr__str notes;        /* lines for `_import` */
    int64_t n_missing;    /* of these, those that tell of something missing */
    sr_import_result *result;
    sr_error *err;
} sr__import;

/* The backend that a text means: the preferred one if it may, -1: none. */
int sr__log_backend_of(const sr__log_machine *machine, sr__span text, int preferred);
int sr__log_split_backend(const sr__import *im, const sr__log_node *node);
sr_status sr__log_find_backends(sr__import *im);                        /* log_backends.c */
sr_status sr__log_add_backend(sr__import *im, sr__span name, bool is_full);
sr_status sr__log_rank_backends(sr__import *im);
sr_status sr__log_make_graph(sr__import *im, int32_t schedule);         /* log_graph.c */
/* A name that says of itself that it is a view of another; *out_base: of which. */
bool sr__log_is_view_name(sr__span name, bool cut, sr__span *out_base);
sr_status sr__log_add_item(sr__import *im, sr__log_graph *graph, const sr__log_item *like, int32_t *out);
sr_status sr__log_settle_views(sr__import *im, sr__log_graph *graph);   /* log_machine.c */
bool sr__log_is_weight_name(sr__span name);
sr_status sr__log_find_weights(sr__import *im, sr__log_graph *graph);        /* log_weights.c */
sr_status sr__log_place(sr__import *im);                                /* log_machine.c */
sr_status sr__log_write(sr__import *im, char **out_text);               /* log_write.c */
void sr__log_tell(sr__import *im);                                      /* log_tell.c */
const char *sr__log_generation(const sr__log *log);

static inline int32_t sr__log_src(const sr__log_graph *graph, const sr__log_node *node, int j) {
    return graph->srcs[node->srcs_begin + j - graph->first_src];
}

#endif
