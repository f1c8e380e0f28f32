/*
 * recording.c - what one scheduler was given: its graphs, each once, and its runs in order.
 *
 * Layer: record.  Answers to ggml_backend_sched_{new,reserve,alloc_graph} as seen from outside.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "record/recorder.h"

enum { MAX_BACKENDS = 64 };   /* the reference allows 16 */
enum { WRITTEN_AT_ONCE = 32 }; /* graphs of a recording; later ones may wait */

/* Used for one graph after the other. */
static graph_items items;
static int *assigned;
static int assigned_capacity;

/* ---- schedulers -------------------------------------------------------------------------------------------------- */

static void stop(recording *r, const char *why) {
    if (r->on) {
        say("%s; no more of this scheduler is recorded", why);
        r->on = false;
    }
}

static bool take_machine(recording *r) {
    const abi_functions *f = &r->lib->f;
    const int n = f->ggml_backend_sched_get_n_backends(r->sched);
    abi_backend *backends[MAX_BACKENDS];
    abi_buffer_type *types[MAX_BACKENDS];
    if (n < 1 || n > MAX_BACKENDS) {
        return false;
    }
    for (int i = 0; i < n; i++) {
        backends[i] = f->ggml_backend_sched_get_backend(r->sched, i);
        types[i] = f->ggml_backend_sched_get_buffer_type
                       ? f->ggml_backend_sched_get_buffer_type(r->sched, backends[i]) : NULL;
    }
    r->n_copies = f->ggml_backend_sched_get_n_copies(r->sched);
    return machine_take(r, backends, types, n);
}

recording *recording_new(abi_sched *sched, const library *lib) {
    recording *r = calloc(1, sizeof(*r));
    if (!r) {
        return NULL;
    }
    r->sched = sched;
    r->lib = lib;
    r->is_reset = true;
    r->pending_run = -1;
    r->on = lib->readable && recorder_settings.output;
    if (r->on && !take_machine(r)) {
        stop(r, "the scheduler's backends cannot be listed");
    }
    r->next = recorder_recordings;
    recorder_recordings = r;
    recorder_state->schedulers++;
    return r;
}

static void release(recording *r) {
    for (int i = 0; i < r->n_graphs; i++) {
        text_clear(&r->graphs[i].json);
    }
    for (int i = 0; i < r->n_runs; i++) {
        text_clear(&r->runs[i].printed);
    }
    for (int i = 0; i < r->n_names; i++) {
        free(r->names[i].from);
        free(r->names[i].to);
    }
    free(r->graphs);
    free(r->runs);
    free(r->names);
    free(r->given);
    free(r->pending_places.places);
    text_clear(&r->pending_json);
    text_clear(&r->name_scratch);
    machine_free(&r->machine);
    r->graphs = NULL;
    r->runs = NULL;
    r->names = NULL;
    r->given = NULL;
    r->pending_places = (data_places){0};
    r->n_names = 0;
}

void recording_end(recording *r) {
    recording_computed(r, false);
    r->on = false;
    r->sched = NULL;
    if (r->dirty) {
        recording_write(r);
    }
    r->dirty = false;
    release(r);
    /* one that only reserved leaves the plain name to the first that computes, and is needed for that */
    if (r->number == 1 && r->n_runs == r->n_reserves) {
        return;
    }
    recording **at = &recorder_recordings;
    while (*at != r) {
        at = &(*at)->next;
    }
    *at = r->next;
    free(r);
}

void recordings_flush(void) {
    for (recording *r = recorder_recordings; r; r = r->next) {
        recording_computed(r, false);
        if (r->dirty) {
            abi_sched *sched = r->sched;
            r->sched = NULL; /* the last time: devices are written to as well */
            recording_write(r);
            r->sched = sched;
        }
    }
}

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

static int find_graph(const recording *r, graph_key key, bool with_data) {
    for (int i = 0; i < r->n_graphs; i++) {
        const kept_graph *g = &r->graphs[i];
        if (g->key.low == key.low && g->key.high == key.high && g->with_data == with_data) {
            return i;
        }
    }
    return -1;
}

/* Takes over the text. */
static int keep_graph(recording *r, graph_key key, bool with_data, json_text *json) {
    if (json->failed || !grow(&r->graphs, &r->graphs_capacity, r->n_graphs + 1, sizeof(*r->graphs))) {
        text_clear(json);
        return -1;
    }
    r->graphs[r->n_graphs] = (kept_graph){key, *json, with_data};
    *json = (json_text){0};
    return r->n_graphs++;
}

void recording_reset(recording *r) {
    r->is_reset = true;
    r->is_alloc = r->is_split = false;
    r->n_given = 0;
}

void recording_give(recording *r, abi_tensor *tensor, abi_backend *backend) {
    r->is_reset = false;
    if (!grow(&r->given, &r->given_capacity, r->n_given + 1, sizeof(*r->given))) {
        stop(r, "there is no memory for a user assignment");
        return;
    }
    r->given[r->n_given++] = (given_backend){tensor, backend};
}

static void assign(const recording *r, int item, const abi_backend *backend) {
    const machine *m = &r->machine;
    for (int b = 0; backend && b < m->n_backends; b++) {
        if (m->backends[b].backend == backend) {
            assigned[item] = b;
        }
    }
}

/* Backends that tensors have before: the user's, or those of a schedule that was not reset. */
static bool find_assigned(recording *r) {
    if (!grow(&assigned, &assigned_capacity, items.n + 1, sizeof(*assigned))) {
        return false;
    }
    memset(assigned, -1, (size_t)items.n * sizeof(*assigned));
    for (int i = 0; i < r->n_given && !r->is_split; i++) {
        const int item = items_find(&items, r->given[i].tensor);
        if (item >= 0) {
            assign(r, item, r->given[i].backend);
        }
    }
    /* what is outside of the graph is not asked for: that would enter it into the scheduler's table */
    for (int i = 0; i < items.n_leafs + items.n_nodes && r->is_split; i++) {
        assign(r, i, r->lib->f.ggml_backend_sched_get_tensor_backend(r->sched, items.items[i]));
    }
    return true;
}

/* A graph that is not known yet; -2: it waits for its contents. */
static int new_graph(recording *r, graph_key key, const int *of, bool waits) {
    const char *why;
    json_text json = {0};
    r->pending_places.n = 0;
    if (!graph_write(r, &items, of, &json, waits ? &r->pending_places : NULL, &why)) {
        text_clear(&json);
        if (why) {
            say("this program's ggml cannot be read any further: %s is not what the library says it is", why);
        }
        return -1;
    }
    if (!waits) {
        return keep_graph(r, key, false, &json);
    }
    r->pending_json = json;
    r->pending_key = key;
    return -2;
}

void recording_computed(recording *r, bool is_computed) {
    if (r->pending_run < 0) {
        return;
    }
    json_text json = {0};
    int graph = -1;
    if (!is_computed || graph_write_data(r, &r->pending_json, &r->pending_places, &json)) {
        json_text *whole = is_computed ? &json : &r->pending_json;
        const graph_key key = is_computed ? graph_key_of_text(whole) : r->pending_key;
        graph = find_graph(r, key, is_computed);
        if (graph < 0) {
            graph = keep_graph(r, key, is_computed, whole);
        }
    }
    text_clear(&json);
    text_clear(&r->pending_json);
    r->runs[r->pending_run].graph = graph;
    r->pending_run = -1;
    r->dirty = true;
    if (graph < 0) {
        stop(r, "there is no memory for its contents");
    }
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/*
 * Before the scheduler works on it, so that a graph that it dies of is in the file.  Writing again takes longer the
 * more there is, so that after the first graphs it is done at most a fiftieth of the time.
 */
static void write_in_time(recording *r, bool is_new) {
    const int64_t since = now_ns() - r->written_at;
    const bool at_once = r->written_at == 0 || (is_new && r->n_graphs <= WRITTEN_AT_ONCE);
    if (at_once || (since > 50 * r->write_took && (is_new || since > 1000000000))) {
        recording_write(r);
    }
}

static bool is_wanted(const recording *r, call_kind kind) {
    return r->on && (kind == CALL_ALLOC ? recorder_settings.allocs : recorder_settings.reserves);
}

/* The index of the graph, -1: it cannot be kept, -2: it waits for its contents. */
static int take_graph(recording *r, const abi_graph *graph, call_kind kind, bool *out_new) {
    graph_key key;
    const bool has_assigned = kind != CALL_RESERVE_SIZE && (r->n_given > 0 || r->is_split);
    *out_new = false;
    if (!items_take(&items, graph) || (has_assigned && !find_assigned(r))) {
        return -1;
    }
    const int *of = has_assigned ? assigned : NULL;
    if (!graph_key_of(r, &items, of, &key)) {
        return -1;
    }
    const bool waits = recorder_settings.data && kind == CALL_ALLOC;
    const int known = waits ? -1 : find_graph(r, key, false);
    *out_new = known < 0;
    return known >= 0 ? known : new_graph(r, key, of, waits);
}

int recording_run(recording *r, const abi_graph *graph, call_kind kind) {
    bool is_new;
    recording_computed(r, false);
    if (!is_wanted(r, kind)) {
        return -1;
    }
    if (r->n_runs == recorder_settings.max_runs) {
        r->stopped = r->dirty = true;
        r->on = false;
        return -1;
    }
    const int index = grow(&r->runs, &r->runs_capacity, r->n_runs + 1, sizeof(*r->runs))
                          ? take_graph(r, graph, kind, &is_new) : -1;
    if (index == -1) {
        stop(r, "a graph cannot be kept");
        return -1;
    }
    const int run = r->n_runs++;
    r->runs[run] = (kept_run){.graph = index < 0 ? -1 : index, .kind = kind};
    r->n_reserves += kind != CALL_ALLOC;
    r->dirty = true;
    if (!recording_number(r)) {
        stop(r, "more schedulers than can be recorded were made");
        r->dirty = false;
        return -1;
    }
    if (index == -2) {
        r->pending_run = run;
    }
    write_in_time(r, is_new);
    return run;
}
