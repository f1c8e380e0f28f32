/*
 * log_backends.c - the backends of a log: headers have their names, nodes the first five letters of them.
 *
 * Layer: describe.  Answers to ggml_backend_name as the reference prints it.
 */
#include "describe/log.h"

static bool is_meant(const sr__log_backend *backend, sr__span text) {
    const sr__span name = backend->name;
    if (sr__span_equal(name, text)) {
        return true;
    }
    /* cut to 5 letters, in old logs to 4 */
    return text.length >= 4 && text.length <= 5 && name.length > text.length &&
           memcmp(name.text, text.text, (size_t)text.length) == 0;
}

int sr__log_backend_of(const sr__log_machine *machine, sr__span text, int preferred) {
    int found = -1;
    if (text.length == 0) {
        return -1;
    }
    if (preferred >= 0 && is_meant(&machine->backends[preferred], text)) {
        return preferred;
    }
    for (int b = 0; b < (int)machine->n_backends; b++) {
        if (sr__span_equal(machine->backends[b].name, text)) {
            return b;
        }
        found = found < 0 && is_meant(&machine->backends[b], text) ? b : found;
    }
    return found;
}

/* A header that is lost leaves nodes behind the header of another backend: their own word counts then.  A node without
 * either is on the CPU. */
int sr__log_split_backend(const sr__import *im, const sr__log_node *node) {
    const sr__log_machine *machine = &im->machine;
    const int by_header =
        node->split >= 0 ? sr__log_backend_of(machine, im->log.splits[node->split].backend, -1) : -1;
    const int own = sr__log_backend_of(machine, node->self.backend, by_header);
    return own >= 0 ? own : by_header >= 0 ? by_header : machine->last;
}

sr_status sr__log_add_backend(sr__import *im, sr__span name, bool is_full) {
    sr__log_machine *machine = &im->machine;
    if (machine->n_backends == SR__MAX_LOG_BACKENDS) {
        return sr__fail(im->err, SR_LIMIT, "the log has more than %d backends", SR__MAX_LOG_BACKENDS);
    }
    if (!sr__grow(&machine->backends, &machine->backends_cap, machine->n_backends + 1, sizeof(*machine->backends))) {
        return sr__fail_memory(im->err);
    }
    machine->backends[machine->n_backends++] = (sr__log_backend){.name = name, .is_full = is_full};
    return SR_OK;
}

static bool is_known(const sr__log_machine *machine, sr__span name) {
    for (size_t b = 0; b < machine->n_backends; b++) {
        if (sr__span_equal(machine->backends[b].name, name)) {
            return true;
        }
    }
    return false;
}

/* Without headers, copies tell: "CUDA0#inp_embd#0". */
static sr_status add_from_copies(sr__import *im, const sr__log_node *node) {
    sr_status status = SR_OK;
    for (int32_t j = node->srcs_begin; j < node->srcs_begin + node->n_srcs && status == SR_OK; j++) {
        const sr__log_entry *e = &im->log.srcs[j];
        const char *hash = e->name.length > 0 ? memchr(e->name.text, '#', (size_t)e->name.length) : NULL;
        if (!e->is_null || hash == NULL || hash == e->name.text) {
            continue;
        }
        const sr__span name = {e->name.text, (int32_t)(hash - e->name.text)};
        const sr__log_backend backend = {.name = name};
        if (is_meant(&backend, node->self.backend) && !is_known(&im->machine, name)) {
            status = sr__log_add_backend(im, name, true);
        }
    }
    return status;
}

static sr_status add_cut(sr__import *im, const sr__log_entry *e) {
    if (e->backend.length == 0 || sr__log_backend_of(&im->machine, e->backend, -1) >= 0) {
        return SR_OK;
    }
    return sr__log_add_backend(im, e->backend, false);
}

/* ---- order of priority ------------------------------------------------------------------------------------------ */

/* Devices first, then what only lends the CPU a hand, the CPU last. */
static int class_of(const sr__log_machine *machine, int b) {
    static const char *const helpers[] = {"BLAS", "AMX", "KLEIDIAI", "ZenDNN", "ACCEL"};
    if (b == machine->last) {
        return 2;
    }
    for (int i = 0; i < SR_COUNT(helpers); i++) {
        if (sr__span_starts(machine->backends[b].name, helpers[i])) {
            return 1;
        }
    }
    return sr__span_starts(machine->backends[b].name, "CPU");
}

static int32_t stem_length(sr__span name) {
    int32_t n = name.length;
    while (n > 0 && name.text[n - 1] >= '0' && name.text[n - 1] <= '9') {
        n--;
    }
    return n;
}

static int group_of(const sr__log_machine *machine, int b) {
    const sr__span name = machine->backends[b].name;
    const sr__span stem = {name.text, stem_length(name)};
    for (int k = 0; k < b; k++) {
        const sr__span other = machine->backends[k].name;
        if (sr__span_equal((sr__span){other.text, stem_length(other)}, stem)) {
            return k;
        }
    }
    return b;
}

/* By class, then as they first come, those of one stem (CUDA0, CUDA1) by number. */
static bool comes_before(const sr__log_machine *machine, int a, int b) {
    const int classes = class_of(machine, a) - class_of(machine, b);
    if (classes != 0) {
        return classes < 0;
    }
    const int groups = group_of(machine, a) - group_of(machine, b);
    if (groups != 0) {
        return groups < 0;
    }
    const sr__span x = machine->backends[a].name, y = machine->backends[b].name;
    if (x.length != y.length) {
        return x.length < y.length;
    }
    const int order = memcmp(x.text, y.text, (size_t)x.length);
    return order != 0 ? order < 0 : a < b;
}

sr_status sr__log_rank_backends(sr__import *im) {
    sr__log_machine *machine = &im->machine;
    sr_status status = SR_OK;
    machine->last = -1;
    for (size_t b = 0; b < machine->n_backends; b++) {
        machine->backends[b].rank = 0;
    }
    for (int b = (int)machine->n_backends - 1; b >= 0; b--) {
        const sr__span name = machine->backends[b].name;
        const bool better = machine->last < 0 || !sr__span_is(machine->backends[machine->last].name, "CPU");
        if (sr__span_is(name, "CPU") || (better && sr__span_starts(name, "CPU"))) {
            machine->last = b;
        }
    }
    if (machine->last < 0) {
        SR_TRY(sr__log_add_backend(im, (sr__span){"CPU", 3}, true));
        machine->last = (int)machine->n_backends - 1;
    }
    for (int b = 0; b < (int)machine->n_backends; b++) {
        for (int k = 0; k < (int)machine->n_backends; k++) {
            machine->backends[b].rank += k != b && comes_before(machine, k, b);
        }
    }
done:
    return status;
}

sr_status sr__log_find_backends(sr__import *im) {
    const sr__log *log = &im->log;
    sr_status status = SR_OK;
    for (size_t i = 0; i < log->n_splits; i++) {
        if (!is_known(&im->machine, log->splits[i].backend)) {
            SR_TRY(sr__log_add_backend(im, log->splits[i].backend, true));
        }
    }
    for (size_t i = 0; i < log->n_nodes; i++) {
        if (log->nodes[i].split < 0) {
            SR_TRY(add_from_copies(im, &log->nodes[i]));
        }
    }
    for (size_t i = 0; i < log->n_nodes; i++) {
        SR_TRY(add_cut(im, &log->nodes[i].self));
    }
    for (size_t i = 0; i < log->n_srcs; i++) {
        SR_TRY(add_cut(im, &log->srcs[i]));
    }
    SR_TRY(sr__log_rank_backends(im));
done:
    return status;
}
