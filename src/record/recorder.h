/*
 * recorder.h - what the files of the recorder share: settings, recordings, graphs.
 *
 * Layer: record.  Answers to nothing of the reference.
 *
 * One lock guards everything here; who calls holds it, unless it says otherwise.
 */
#ifndef RECORD_RECORDER_H
#define RECORD_RECORDER_H

#include "record/ggml_library.h"
#include "record/json_text.h"
#include "record/record_state.h"

typedef struct settings {
    char *output;  /* absolute; NULL: nothing is recorded */
    bool data, anonymise, log, quiet;
    bool reserves, allocs; /* which runs are kept */
    int max_runs;
} settings;

/* ---- machine ----------------------------------------------------------------------------------------------------- */

typedef struct seen_type {
    abi_buffer_type *type; /* only compared */
    char *name;            /* unique in the recording */
    size_t alignment, max_size;
    bool host;
    bool *accepted; /* by backend */
} seen_type;

typedef struct seen_backend {
    abi_backend *backend;
    char *name, *description;
    int device_type;
    int type; /* index of its buffer type */
} seen_backend;

typedef struct seen_buffer {
    int type, usage;
} seen_buffer;

typedef struct machine {
    seen_backend *backends;
    seen_type *types;
    seen_buffer *buffers;
    int n_backends, n_types, n_buffers;
} machine;

typedef struct recording recording;

bool machine_take(recording *r, abi_backend **backends, abi_buffer_type **types, int n);
void machine_free(machine *m);
/* The index of the buffer's type and usage; -1 where memory ran out. */
int machine_buffer(recording *r, abi_buffer *buffer);
/* Name of a buffer in the description. */
void machine_buffer_name(const machine *m, int buffer, json_text *out);
/* Backends, buffer types and buffers as members of the description. */
void machine_write(const recording *r, json_text *out);

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

/* The tensors of one graph by index: leafs, nodes, then what sources and views name from outside of both. */
typedef struct graph_items {
    abi_tensor **items;
    int n, n_leafs, n_nodes, capacity;
    int *slots; /* hash table of indices + 1 */
    size_t n_slots;
    int *links; /* ABI_LINKS for each item: indices of its sources and of what it views, -1 for none */
    int links_capacity;
} graph_items;

enum { ABI_LINKS = ABI_SRCS + 1 };

bool items_take(graph_items *g, const abi_graph *graph);
int items_find(const graph_items *g, const abi_tensor *tensor);
/* What a tensor views, as an index; -1 for none. */
int items_root(const graph_items *g, int item);
void items_free(graph_items *g);

typedef struct graph_key {
    uint64_t low, high;
} graph_key;

/* Of everything that graph_write would write, but for the answers of backends, which follow from it. */
bool graph_key_of(recording *r, const graph_items *g, const int *assigned, graph_key *out);

/* Where the contents of an input belong in a graph's text. */
typedef struct data_place {
    abi_tensor *tensor;
    size_t at;
} data_place;

typedef struct data_places {
    data_place *places;
    int n, capacity;
} data_places;

/* Of a text, for graphs whose contents count too. */
graph_key graph_key_of_text(const json_text *t);

/* The graph as a JSON object; assigned: backend of each item or -1, NULL for none.  False with *out_why set where the
 * library's structs turn out not to fit, with NULL where memory ran out. */
bool graph_write(recording *r, const graph_items *g, const int *assigned, json_text *out, data_places *places,
                 const char **out_why);
/* The text with the contents of its inputs as they are now. */
bool graph_write_data(const recording *r, const json_text *graph, const data_places *places, json_text *out);

/* The name to write for a tensor, valid until the next call. */
const char *shown_name(recording *r, const char *name);

/* ---- recordings -------------------------------------------------------------------------------------------------- */

typedef enum call_kind { CALL_ALLOC, CALL_RESERVE, CALL_RESERVE_SIZE, CALL_SPLIT } call_kind;

typedef struct kept_graph {
    graph_key key;
    json_text json;
    bool with_data; /* its key counts the contents too */
} kept_graph;

typedef struct kept_run {
    int graph; /* -1: waits for its data */
    call_kind kind;
    bool failed;
    json_text printed; /* the debug json_text */
} kept_run;

/* A name that was replaced, in the order of appearance. */
typedef struct kept_name {
    char *from, *to;
} kept_name;

/* A user assignment. */
typedef struct given_backend {
    abi_tensor *tensor;
    abi_backend *backend;
} given_backend;

struct recording {
    recording *next;
    abi_sched *sched; /* NULL after it was freed */
    const library *lib;
    bool on;                  /* more runs are taken */
    bool is_reset, is_alloc;  /* as the scheduler has them */
    bool is_split;            /* it holds the backends of the graph before */
    given_backend *given;     /* user assignments since it was reset */
    int n_given, given_capacity;
    size_t graph_size;
    int n_copies;
    bool op_offload;
    machine machine;
    kept_graph *graphs;
    kept_run *runs;
    int n_graphs, graphs_capacity, n_runs, runs_capacity;
    int n_reserves;
    bool stopped;             /* the largest number of runs was reached */
    kept_name *names;
    int n_names, names_capacity;
    json_text name_scratch;
    /* a run whose data are not known before it is computed */
    json_text pending_json;
    data_places pending_places;
    graph_key pending_key;
    int pending_run;          /* -1: none */
    /* its file */
    int number;               /* 0: none yet */
    bool dirty, write_failed;
    int64_t written_at, write_took; /* nanoseconds */
};

/* Doubles an array until it has room for n elements. */
bool grow(void *array, int *capacity, int n, size_t element);

/* ---- files ------------------------------------------------------------------------------------------------------- */

/* The file of a recording, whole or not at all; a failure is said once for each recording. */
void recording_write(recording *r);
/* Gives the recording a number, and the plain name to the first one that computes.  False where there are too many. */
bool recording_number(recording *r);

/* ---- the process ------------------------------------------------------------------------------------------------- */

extern settings recorder_settings;
extern record_state *recorder_state; /* never NULL */
extern recording *recorder_recordings;

/* Takes a scheduler that was just made; its recording is listed even if it is not recorded. */
recording *recording_new(abi_sched *sched, const library *lib);
/* What follows is freed once its file is written. */
void recording_end(recording *r);
/* Writes what is not written yet. */
void recordings_flush(void);

/* The scheduler was reset; a tensor was given a backend. */
void recording_reset(recording *r);
void recording_give(recording *r, abi_tensor *tensor, abi_backend *backend);
/* One run on the scheduler, before it happens; -1 where it is not taken. */
int recording_run(recording *r, const abi_graph *graph, call_kind kind);
/* The run whose contents are waited for: they are there now, or it never came to be computed. */
void recording_computed(recording *r, bool is_computed);

/* A line on standard error. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
