/*
 * loader.h - what the files of this room share: sources, the state of a load, typed access to JSON, and the finished
 * description.
 *
 * Layer: describe.  Internal; the only header of the project that includes the JSON parser's.
 *
 * A load keeps its JSON trees in one arena and throws them away at its end; what a description keeps is copied into its
 * own arena.  Places (`sr__at`) are linked on the stack and become pointers, lines and columns when something is wrong.
 */
#ifndef SR_LOADER_H
#define SR_LOADER_H

#include <cjson/cJSON.h>

#include "base/base.h"
#include "describe/positions.h"
#include "sched_run/describe.h"

/* ---- sources ----------------------------------------------------------------------------------------------------- */

/* One file that was read. */
typedef struct sr__source {
    const char *name;      /* as messages show it */
    const char *directory; /* where its relative paths start: "" or with a '/' at the end */
    const char *prefix;    /* the same relative to the main file's directory */
    char *text;            /* with a 0 byte behind it */
    size_t length;
    const cJSON *root;
    uint64_t device, inode; /* of the file, 0: none */
    const struct sr__source *includer;
} sr__source;

/* The keys at the top of a description, in this order. */
typedef enum sr__top_key {
    SR__TOP_SCHED_RUN, SR__TOP_NAME, SR__TOP_DESCRIPTION, SR__TOP_PARAMS, SR__TOP_BACKENDS, SR__TOP_BUFFER_TYPES,
    SR__TOP_BUFFERS, SR__TOP_PLACEMENT, SR__TOP_SCHEDULER, SR__TOP_TENSORS, SR__TOP_NODES, SR__TOP_GRAPHS, SR__TOP_RUNS,
    SR__TOP_EXPECT, SR__TOP_WEIGHTS, SR__TOP_UNKNOWN_OPS, SR__TOP_INCLUDE, SR__TOP_COUNT
} sr__top_key;

/* A file with what it includes: each key's value and the place where it stands. */
typedef struct sr__top {
    const cJSON *json[SR__TOP_COUNT];
    sr__at at[SR__TOP_COUNT];
    sr__at roots[18]; /* of the file and of the files it includes, one after another */
    int n_roots;
} sr__top;

/* ---- params and loop variables ----------------------------------------------------------------------------------- */

typedef struct sr__param {
    const char *name;
    const cJSON *json; /* its value in the file */
    const char *given; /* its value on the command line, which nothing overrides, or NULL */
} sr__param;

typedef struct sr__loop {
    const struct sr__loop *up;
    const char *name;
    size_t length;
    int64_t value;
} sr__loop;

/* What names in expressions mean. */
typedef struct sr__scope {
    const double *params;     /* by position in the loader's params; NULL: none yet */
    const sr__loop *loops;
    const int64_t *groups;    /* m1 .. m9 in [1] .. [9], or NULL */
    unsigned groups_given;    /* bit k: mk is a number */
} sr__scope;

/* ---- data -------------------------------------------------------------------------------------------------------- */

typedef enum sr__data_kind {
    SR__DATA_VALUES, SR__DATA_FILL, SR__DATA_BYTES, SR__DATA_FILE, SR__DATA_GGUF, SR__DATA_RANDOM
} sr__data_kind;

/* The contents of a leaf, as the description gives them. */
typedef struct sr__data {
    sr__data_kind kind;
    double *values;         /* VALUES */
    double fill;
    uint8_t *bytes;         /* BYTES: as many as the tensor spans */
    const char *path;       /* FILE, GGUF: as it was resolved */
    const char *shown_path; /* and relative to the main file */
    int64_t offset;
    const char *tensor;
    uint64_t seed;
    bool has_seed;          /* else it follows from the tensor's name */
    double min, max;
} sr__data;

/* ---- the description --------------------------------------------------------------------------------------------- */

/* A tensor that a buffer holds. */
typedef struct sr__placed {
    int32_t tensor;
    int32_t slot; /* of the description */
} sr__placed;

typedef struct sr__leaf_data {
    int32_t tensor;
    sr__data *data;
} sr__leaf_data;

/* One graph as it was built with one set of params. */
typedef struct sr__variant {
    const char *name;      /* the file's name for the graph */
    const double *params;  /* effective values */
    const char *suffix;    /* "@n_tokens=1" where they differ from the file's, else "" */
    int order;             /* of the graph in the file */
    sr_graph *graph;
    sr__placed *placed;      size_t n_placed, placed_cap;
    sr_assignment *assigned; size_t n_assigned, assigned_cap;
    sr__leaf_data *data;     size_t n_data, data_cap;
} sr__variant;

/* A place in a buffer that the tensors of one name share. */
typedef struct sr__slot {
    const char *key;   /* tells it apart: buffer, occurrence and name */
    const char *name;
    int32_t buffer;
    size_t size, offset;
    int32_t physical;  /* of the buffer's physical buffers */
    const sr__variant *user;   /* the last graph that has it, and how many tensors of the name that has so far: */
    int64_t n_user;            /* in the first slot of each name */
    const sr__variant *holder; /* whose leaf gives its contents */
    int32_t holder_tensor;
    const sr__data *holder_data;
} sr__slot;

typedef struct sr__buffer_entry {
    const char *name;
    const char *type_name;
    sr_buffer_type *type;
    sr_usage usage;
    bool implicit;         /* made for a placement that names a buffer type */
    sr_buffer **physical;
    int n_physical;
} sr__buffer_entry;

struct sr_description {
    sr__arena arena;
    const char *name, *text;
    bool has_name;                /* the file gives it */
    sr_machine *machine;
    sr_sched_settings settings;
    bool opaque, all_opaque;      /* unknown_ops */
    const char *weights;          /* resolved, or NULL */
    const char *shown_weights;
    struct sr__gguf *gguf;        /* of weights once opened */
    struct sr__gguf **data_files; size_t n_data_files, data_files_cap; /* that `data` names */
    sr__buffer_entry *buffers;    size_t n_buffers, buffers_cap;
    sr__slot *slots;              size_t n_slots, slots_cap;
    sr__variant **variants;       size_t n_variants, variants_cap;
    sr_run *runs;                 int n_runs;
    sr__variant **run_variants;   /* by run */
    bool named_graphs;            /* `graphs` was given */
    bool buffers_set;
    const cJSON *plain[SR__TOP_COUNT]; /* copies of the sections that expand repeats as they are */
};

/* ---- the state of a load ----------------------------------------------------------------------------------------- */

typedef struct sr__loader {
    sr_description *d;
    const sr_load_options *options;
    sr_error *err;
    sr__arena json;     /* the trees */
    sr__arena scratch;  /* strings of one item; reset after each */
    sr__source **sources; size_t n_sources, sources_cap;
    sr__top top, machine_top;
    bool has_machine_top;
    bool other_machine; /* a machine file whose backends are not called as the description's: what was recorded of those
                         * says nothing here */
    sr__map stand_ins;  /* buffer types that this machine lacks, numbered */
    sr__param *params;  int n_params;
    const double *base; /* values without any run's */
    sr__scope scope;
    const uint8_t *params_known; /* while params are worked out: which are; else NULL */
    int32_t param_wanted;        /* the one that an expression asked for in vain, or -1 */
    const char *fraction;        /* a param that an expression of integers cannot use */
    const char *too_large;       /* likewise */
    bool settle;        /* integers given as expressions are written into the tree as numbers */
    sr__map ops, types, buffers, slot_index, variant_index;
    struct sr__place_rule *places; int n_places;
    int64_t barren;     /* repetitions that made no tensor */
} sr__loader;

/* ---- typed access (values.c) ------------------------------------------------------------------------------------- */

static inline int sr__json_type(const cJSON *json) { return json->type & 0xFF; }
static inline bool sr__is_number(const cJSON *json) { return sr__json_type(json) == cJSON_Number; }
static inline bool sr__is_string(const cJSON *json) { return sr__json_type(json) == cJSON_String; }
static inline bool sr__is_object(const cJSON *json) { return sr__json_type(json) == cJSON_Object; }
static inline bool sr__is_array(const cJSON *json) { return sr__json_type(json) == cJSON_Array; }

/* SR_DESCRIPTION at a place, with file, line, column and pointer. */
sr_status sr__wrong(sr__loader *ld, const sr__at *at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* The same, standing at the key of a member. */
sr_status sr__wrong_key(sr__loader *ld, const sr__at *at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Gives an error that is there a place; SR_INVALID becomes SR_DESCRIPTION.  Returns its status. */
sr_status sr__wrong_there(sr__loader *ld, const sr__at *at, sr_status status);
/* "unknown WHAT 'name'" and the nearest of names, or all of them if they are few. */
sr_status sr__unknown(sr__loader *ld, const sr__at *at, const char *what, const char *name, const char *const *names,
                      int n);
sr_status sr__no_memory(sr__loader *ld);

/* "an object", "a number", ...: what a value is, for messages. */
const char *sr__json_kind(const cJSON *json);
sr_status sr__want_object(sr__loader *ld, const cJSON *json, const sr__at *at);
sr_status sr__want_array(sr__loader *ld, const cJSON *json, const sr__at *at);
/* The members of an object by the position of their keys in `keys`, NULL where absent.  Unknown and repeated keys are
 * errors; keys that begin with _ or $ are passed over. */
sr_status sr__fields(sr__loader *ld, const cJSON *json, const sr__at *at, const char *const *keys, int n,
                     const cJSON **out);
static inline bool sr__is_comment(const char *key) { return key[0] == '_' || key[0] == '$'; }
/* Checks that no key of an object (a table of names) comes twice. */
sr_status sr__no_repeats(sr__loader *ld, const cJSON *json, const sr__at *at);

/* {expressions} replaced inside a repeat; lives until the item is done, or as long as the tree. */
sr_status sr__string(sr__loader *ld, const cJSON *json, const sr__at *at, const char **out);
/* A string that is one of n names: its place among them.  "unknown WHAT 'text'" where it is none. */
sr_status sr__one_of(sr__loader *ld, const cJSON *json, const sr__at *at, const char *what, const char *const *names,
                     int n, int *out_place);
/* The same, kept by the description. */
sr_status sr__kept_string(sr__loader *ld, const cJSON *json, const sr__at *at, const char **out);
sr_status sr__keep(sr__loader *ld, const char *text, const char **out);
sr_status sr__bool(sr__loader *ld, const cJSON *json, const sr__at *at, bool *out);
/* An integer within the exact range of a double, or an expression. */
sr_status sr__int(sr__loader *ld, const cJSON *json, const sr__at *at, int64_t *out);
sr_status sr__int_in(sr__loader *ld, const cJSON *json, const sr__at *at, int64_t min, int64_t max, int64_t *out);
/* A number of bytes: an integer of at least 0, an expression, or "8GiB". */
sr_status sr__size(sr__loader *ld, const cJSON *json, const sr__at *at, int64_t *out);
/* A finite number, the name of a param, or an expression. */
sr_status sr__double(sr__loader *ld, const cJSON *json, const sr__at *at, double *out);
/* Evaluates a text in the current scope. */
sr_status sr__evaluate(sr__loader *ld, const char *text, size_t length, const sr__at *at, int64_t *out);

/* ---- sources (source.c) ------------------------------------------------------------------------------------------ */

/* Reads and parses a file (with what it includes) into top. */
sr_status sr__load_file(sr__loader *ld, const char *path, sr__top *top);
sr_status sr__load_text(sr__loader *ld, const char *text, size_t length, const char *name, const char *directory,
                        sr__top *top);
void sr__free_sources(sr__loader *ld);
/* A path of a source: as it is to be opened, and relative to the main file; kept. */
sr_status sr__resolve_path(sr__loader *ld, const sr__source *source, const char *path, const char **out_path,
                           const char **out_shown);
/* Hands `size` bytes of a file, from `offset` on, to take, piece by piece (`at` counts from 0).  SR_IO; SR_DESCRIPTION
 * if the file ends before. */
typedef sr_status (*sr__part_fn)(void *user, const char *bytes, size_t at, size_t n, sr_error *err);
sr_status sr__read_part(const char *path, size_t offset, size_t size, sr__part_fn take, void *user, sr_error *err);
/* A copy of a tree in the description's arena. */
sr_status sr__copy_tree(sr__loader *ld, const cJSON *json, const cJSON **out);
extern const char *const sr__top_keys[SR__TOP_COUNT];

/* ---- params (params.c) ------------------------------------------------------------------------------------------- */

/* Reads the file's params and the options'; the scope then has the base values. */
sr_status sr__load_params(sr__loader *ld);
/* The values with a run's own (object or NULL) on top; out_text is what sr_run.params_text shows. */
sr_status sr__run_params(sr__loader *ld, const cJSON *json, const sr__at *at, const double **out_values,
                         const char **out_text);
/* "@n_tokens=1" for the values that differ from the base. */
sr_status sr__params_suffix(sr__loader *ld, const double *values, const char **out);
bool sr__lookup_name(void *loader, const char *name, size_t length, int64_t *out);

/* ---- sections ---------------------------------------------------------------------------------------------------- */

sr_status sr__load_machine(sr__loader *ld);                       /* machine_in.c */
sr_status sr__load_buffers(sr__loader *ld);                       /* placement.c */
sr_status sr__load_placement(sr__loader *ld);
void sr__free_placement(sr__loader *ld);
/* The buffer of a leaf by the rules, or -1; from_command_line: only by the options' rules. */
sr_status sr__place_leaf(sr__loader *ld, const char *name, bool from_command_line, int32_t *out_buffer);
/* The buffer a name means; made for the name of a buffer type if by_type.  -1: none. */
sr_status sr__find_buffer(sr__loader *ld, const char *name, bool by_type, int32_t *out_buffer);
/* The same for a name that a tensor gives: one of `buffers`, or wrong. */
sr_status sr__named_buffer(sr__loader *ld, const char *name, const sr__at *at, int32_t *out_buffer);
/* Puts a tensor of a variant under construction in the k-th slot of its name. */
sr_status sr__put_in_buffer(sr__loader *ld, sr__variant *v, int32_t tensor, const char *name, int32_t buffer);
/* What the description says of the contents of a tensor, or NULL. */
const sr__data *sr__data_of(const sr__variant *v, int32_t tensor);
sr_status sr__lay_out(sr__loader *ld);                            /* slots.c: sizes, offsets, memory, graphs finished */

sr_status sr__load_rule(sr__loader *ld, const cJSON *json, const sr__at *at, sr_rule *out);      /* rules_in.c */
sr_status sr__load_rules(sr__loader *ld, const cJSON *json, const sr__at *at, sr_rules *out);
/* The op, unary or GLU description of a name; SR_OP_OPAQUE where the description allows it. */
sr_status sr__find_op(sr__loader *ld, const char *name, const sr__at *at, int *out_op, int *out_kind);
sr_status sr__find_type(sr__loader *ld, const char *name, const sr__at *at, int *out_type);

typedef sr_status (*sr__item_fn)(sr__loader *ld, const cJSON *item, const sr__at *at, void *user);
/* Calls fn for each item of a list, repeats and conditions resolved.  *made counts what fn made. */
sr_status sr__each_item(sr__loader *ld, const cJSON *list, const sr__at *at, sr__item_fn fn, void *user,
                        const int64_t *made);                     /* expand_items.c */

/* Builds a graph with the params in scope; not finished.  graph.json: {"tensors", "nodes"}. */
typedef struct sr__graph_json { const cJSON *tensors, *nodes; sr__at tensors_at, nodes_at; } sr__graph_json;
sr_status sr__build_graph(sr__loader *ld, const sr__graph_json *json, sr__variant *v);            /* graph_in.c */
/* The params / op_params / view / inplace of a node into spec (node_in.c). */
sr_status sr__node_words(sr__loader *ld, const sr_graph *graph, sr_tensor_spec *spec, int kind, const cJSON *params,
                         const cJSON *op_params, const sr__at *at);

sr_status sr__load_data(sr__loader *ld, const cJSON *json, const sr__at *at, const sr_tensor *tensor, sr__data **out);
sr_status sr__load_runs(sr__loader *ld);                          /* runs_in.c */
sr_status sr__load_expect(sr__loader *ld, const cJSON *json, const sr__at *at, const sr_expect **out); /* expect_in.c */

/* base64 (base64.c): bytes decoded, or SIZE_MAX with *out_what; encoding appends. */
size_t sr__base64_decode(const char *text, uint8_t *out, const char **out_what);
void sr__base64_encode(sr__str *out, const uint8_t *bytes, size_t n);

#endif
