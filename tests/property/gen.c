/*
 * gen.c - random cases: the machine, where weights and caches lie, what leafs hold, and how a case is run.
 *
 * Layer: tests.  The nodes are in gen_nodes.c.  They and the machine draw from streams of their own.
 */
#include "gen.h"

#include <stdio.h>

#include "base/base.h"
#include "gen_nodes.h"
#include "graph/quant.h"

uint64_t gen_next(uint64_t *state) {
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

void gen_params_init(gen_params *params, uint64_t seed) {
    uint64_t state = seed ^ 0x5eed;
    *params = (gen_params){.seed = seed, .place = true, .rules = true, .assign = true};
    params->n_nodes = 1 + (int)gen_below(&state, gen_chance(&state, 30) ? 12 : 200);
    params->n_backends = 1 + (int)gen_below(&state, 5);
}

/* ---- the machine ------------------------------------------------------------------------------------------------- */

static sr_rule_test *add_test(sr_rule *rule, int src, sr_rule_field field, sr_rule_compare compare, int64_t number) {
    rule->tests = sr__calloc(1, sizeof(*rule->tests));
    if (rule->tests == NULL) {
        return NULL;
    }
    *rule->tests = (sr_rule_test){.src = src, .field = field, .compare = compare};
    rule->tests->numbers = sr__malloc(sizeof(*rule->tests->numbers));
    rule->n_tests = 1;
    if (rule->tests->numbers != NULL) {
        *rule->tests->numbers = number;
        rule->tests->n_values = 1;
    }
    return rule->tests->numbers != NULL ? rule->tests : NULL;
}

/* Ops that a backend may refuse; the last two write. */
static const int refusable[] = {
    SR_OP_UNARY,    SR_OP_SCALE,    SR_OP_ADD,      SR_OP_SUB,        SR_OP_MUL,    SR_OP_MUL_MAT, SR_OP_MUL_MAT_ID,
    SR_OP_RMS_NORM, SR_OP_NORM,     SR_OP_SOFT_MAX, SR_OP_ROPE,       SR_OP_GLU,    SR_OP_GET_ROWS, SR_OP_CONCAT,
    SR_OP_CONT,     SR_OP_SUM_ROWS, SR_OP_ARGMAX,   SR_OP_TOP_K,      SR_OP_CUMSUM, SR_OP_CLAMP,   SR_OP_CPY,
    SR_OP_SET_ROWS};

/* Whether a rule about an op may be drawn: CPY is a cast as often as a write, so both stand back together. */
static int draw_op(uint64_t *state, bool writes) {
    return refusable[gen_below(state, SR_COUNT(refusable) - (writes ? 0 : 2))];
}

static bool draw_rules(uint64_t *state, sr_rules *rules, bool writes) {
    const int n = (int)gen_below(state, 4);
    rules->rules = sr__calloc((size_t)n + 1, sizeof(*rules->rules));
    for (int i = 0; rules->rules != NULL && i < n; i++) {
        sr_rule *rule = &rules->rules[rules->n++];
        *rule = (sr_rule){.op = draw_op(state, writes), .kind = -1};
        rule->text = sr__strdup("drawn by the generator");
        bool ok = rule->text != NULL;
        switch (gen_below(state, 5)) {
            case 0: ok = ok && add_test(rule, 0, SR_FIELD_TYPE, SR_CMP_NE, SR_TYPE_F32); break;
            case 1: ok = ok && add_test(rule, -1, SR_FIELD_NE1, SR_CMP_GT, gen_below(state, 20)); break;
            case 2: ok = ok && add_test(rule, -1, SR_FIELD_NE0, SR_CMP_LE, gen_below(state, 64)); break;
            default: break;
        }
        if (!ok) {
            return false;
        }
    }
    return rules->rules != NULL;
}

/*
 * Draws what backend i takes besides its own memory: the host's, or that of the backend before it with the n types that
 * this one takes.  All of them, because the allocator may lay a result over a source in the memory of another backend:
 * who takes a backend's results has to reach whatever that backend reaches.  before NULL: nobody reaches its memory.
 */
static int draw_accepts(uint64_t *state, int i, int n, const char *before, const char **accepts) {
    if (i > 0 && gen_chance(state, 20) && before != NULL) {
        accepts[n] = before;
        return n + 1;
    }
    if (gen_chance(state, 30)) {
        accepts[0] = "CPU";
        return 1;
    }
    return 0;
}

/* What make_machine carries from backend to backend. */
typedef struct neighbours {
    char (*names)[16];
    const char **accepts; /* of the backend before */
    int n_accepts;
} neighbours;

static void set_fault(sr_backend_config *config, const gen_fault *fault) {
    switch (fault->kind) {
        case GEN_FAIL_ALLOC: config->fail.alloc_after = fault->at; break;
        case GEN_FAIL_COPY: config->fail.copy_nth = fault->at; break;
        case GEN_FAIL_OP:
            config->fail.compute_op = (sr_rule){.op = (int)fault->at, .kind = -1};
            config->fail.has_compute_op = true;
            break;
        case GEN_FAIL_MEMORY:
            config->has_memory = true;
            config->memory = (uint64_t)fault->at;
            return;
        default: return;
    }
    config->fail.given = true;
}

static sr_status add_backend(gen_case *c, uint64_t *state, neighbours *n, int i, sr_error *err) {
    static const sr_device_type types[] = {SR_DEVICE_GPU, SR_DEVICE_GPU, SR_DEVICE_IGPU, SR_DEVICE_ACCEL};
    const bool last = i == c->params.n_backends - 1;
    sr_backend_config config;
    sr_backend_config_init(&config);
    snprintf(n->names[i], sizeof(n->names[i]), last ? "CPU" : "GPU%d", i);
    config.name = n->names[i];
    const char *real = last ? NULL : i == 0 ? c->params.device : i == 1 ? c->params.second : NULL;
    config.device = last ? "cpu" : real != NULL ? real : "sim";
    /* a real device's memory can be reached by nobody else */
    const bool after_sim = i > 0 && (i > 1 ? i > 2 || c->params.second == NULL : c->params.device == NULL);
    bool ok = true;
    if (real != NULL && c->params.rules) {
        config.has_rules = true;
        ok = draw_rules(state, &config.deny, c->params.refuse_writes);
    } else if (!last && c->params.rules) {
        config.type = types[gen_below(state, SR_COUNT(types))];
        config.alignment = (size_t)32 << gen_below(state, 5);
        config.offload_min_batch = gen_chance(state, 40) ? gen_below(state, 33) : -1;
        config.events = gen_chance(state, 70);
        config.async = gen_chance(state, 70);
        n->n_accepts = draw_accepts(state, i, n->n_accepts, after_sim ? n->names[i - 1] : NULL, n->accepts);
        config.accepts = n->accepts;
        config.n_accepts = n->n_accepts;
        config.has_rules = true;
        ok = draw_rules(state, &config.deny, c->params.refuse_writes);
    }
    if (!last && real == NULL && c->params.events != GEN_DRAWN_EVENTS) {
        config.events = c->params.events == GEN_ALL_EVENTS;
    }
    if (!last && i == c->params.fault.backend) {
        set_fault(&config, &c->params.fault);
    }
    const sr_status status = ok ? sr_machine_add_backend(c->machine, &config, err) : sr__fail_memory(err);
    sr_backend_config_clear(&config);
    return status;
}

static sr_status make_machine(gen_case *c, uint64_t *state, sr_error *err) {
    neighbours n = {.names = sr__calloc((size_t)c->params.n_backends, sizeof(*n.names)),
                    .accepts = sr__calloc((size_t)c->params.n_backends + 1, sizeof(*n.accepts))};
    sr_status status = n.names != NULL && n.accepts != NULL ? SR_OK : sr__fail_memory(err);
    SR_TRY(status);
    SR_TRY(sr_machine_new(&c->machine, err));
    for (int i = 0; i < c->params.n_backends; i++) {
        SR_TRY(add_backend(c, state, &n, i, err));
    }
    SR_TRY(sr_machine_finish(c->machine, err));
done:
    sr__free(n.names);
    sr__free(n.accepts);
    return status;
}

/* ---- places ------------------------------------------------------------------------------------------------------ */

static size_t align(size_t offset, size_t alignment) { return (offset + alignment - 1) & ~(alignment - 1); }

/* Draws a backend for every weight and cache, makes the buffers, places the tensors. */
static sr_status place_leafs(gen_case *c, uint64_t *state, sr_error *err) {
    const int n = c->params.n_backends;
    sr_status status = SR_OK;
    size_t *sizes = sr__calloc((size_t)n * 2, sizeof(*sizes));
    c->n_buffers = n * 2;
    c->buffers = sr__calloc((size_t)n * 2, sizeof(*c->buffers));
    if (sizes == NULL || c->buffers == NULL) {
        SR_TRY(sr__fail_memory(err));
    }
    for (int pass = 0; pass < 2; pass++) {
        uint64_t draw = *state;
        memset(sizes, 0, (size_t)n * 2 * sizeof(*sizes));
        for (size_t i = 0; i < c->n_leafs; i++) {
            gen_leaf *leaf = &c->leafs[i];
            if (leaf->place == GEN_INPUT) {
                continue;
            }
            const int backend = c->params.place ? (int)gen_below(&draw, n) : n - 1;
            const int place = backend * 2 + leaf->place % 2;
            size_t *size = &sizes[place];
            *size = align(*size, c->machine->backends[backend]->buffer_type->alignment);
            if (pass == 1) {
                leaf->place = place;
                sr_graph_place(c->graph, leaf->tensor, c->buffers[place], *size);
            }
            *size += c->graph->tensors[leaf->tensor].nbytes;
        }
        for (int p = 0; pass == 0 && p < c->n_buffers; p++) {
            if (sizes[p] > 0) {
                SR_TRY(sr_buffer_type_alloc(c->machine->backends[p / 2]->buffer_type, sizes[p], &c->buffers[p], err));
                sr_buffer_set_usage(c->buffers[p], p % 2 == GEN_WEIGHT ? SR_USAGE_WEIGHTS : SR_USAGE_ANY);
            }
        }
    }
done:
    sr__free(sizes);
    return status;
}

/* Nodes that write into buffers go where the buffer is: they are not assigned. */
static sr_status draw_assignments(gen_case *c, uint64_t *state, sr_error *err) {
    for (int32_t t = 0; t < c->graph->n_tensors && c->params.assign; t++) {
        const sr_tensor *tensor = &c->graph->tensors[t];
        if (tensor->op == SR_OP_NONE || tensor->view_src >= 0 || !gen_chance(state, 5)) {
            continue;
        }
        if (!sr__grow(&c->assignments, &c->assignments_cap, c->n_assignments + 1, sizeof(*c->assignments))) {
            return sr__fail_memory(err);
        }
        c->assignments[c->n_assignments++] = (gen_assignment){t, (int)gen_below(state, c->params.n_backends)};
    }
    return SR_OK;
}

sr_status gen_new(const gen_params *params, gen_case **out_case, sr_error *err) {
    sr_status status;
    uint64_t state = params->seed ^ 0x6d616368696e65; /* the machine's stream */
    gen_case *c = sr__calloc(1, sizeof(*c));
    *out_case = NULL;
    if (c == NULL) {
        return sr__fail_memory(err);
    }
    c->params = *params;
    SR_TRY(make_machine(c, &state, err));
    SR_TRY(sr_graph_new("generated", &c->graph, err));
    SR_TRY(gen_add_nodes(c, err));
    SR_TRY(place_leafs(c, &state, err));
    gen_next(&state);
    SR_TRY(draw_assignments(c, &state, err));
    SR_TRY(sr_graph_finish(c->graph, err));
    *out_case = c;
    return SR_OK;
done:
    gen_free(c);
    return status;
}

void gen_free(gen_case *c) {
    if (c == NULL) {
        return;
    }
    sr_graph_free(c->graph);
    for (int i = 0; c->buffers != NULL && i < c->n_buffers; i++) {
        sr_buffer_free(c->buffers[i]);
    }
    sr__free(c->buffers);
    sr_machine_free(c->machine);
    sr__free(c->leafs);
    sr__free(c->assignments);
    sr__free(c);
}

/* ---- contents ---------------------------------------------------------------------------------------------------- */

static void put_whole(const sr_tensor *t, int64_t i, int64_t value, char *out) {
    if (t->type == SR_TYPE_I64) {
        memcpy(out + i * 8, &value, 8);
    } else {
        const int32_t narrow = (int32_t)value;
        memcpy(out + i * 4, &narrow, 4);
    }
}

/* Leafs are contiguous. */
static sr_status fill(const gen_case *c, const gen_leaf *leaf, const sr_storage *at, sr_error *err) {
    const sr_tensor *t = &c->graph->tensors[leaf->tensor];
    const int64_t n = sr_tensor_nelements(t);
    const uint64_t turn = t->buffer == NULL ? c->turn : 0;
    uint64_t state = (c->params.seed + (turn << 32)) * 1000003 + (uint64_t)leaf->tensor;
    const int64_t first = leaf->content == GEN_DISTINCT ? gen_below(&state, leaf->bound) : 0;
    char *bytes = sr__malloc(t->nbytes + 1);
    float *values = sr__malloc((size_t)n * sizeof(*values) + 1);
    sr_status status = bytes != NULL && values != NULL ? SR_OK : sr__fail_memory(err);
    for (int64_t i = 0; status == SR_OK && i < n; i++) {
        const uint64_t z = gen_next(&state);
        if (leaf->content == GEN_VALUES) {
            values[i] = (float)((double)(z >> 40) / 8388608.0 - 1.0);
        } else {
            const int64_t any = (int64_t)(z % (uint64_t)leaf->bound), next = (first + i) % leaf->bound;
            put_whole(t, i, leaf->content == GEN_BELOW ? any : next, bytes);
        }
    }
    if (status == SR_OK && leaf->content == GEN_VALUES) {
        sr__row_from_f32(t->type, values, bytes, n);
    }
    if (status == SR_OK) {
        status = sr_buffer_set(at->buffer, bytes, at->offset, t->nbytes, err);
    }
    sr__free(bytes);
    sr__free(values);
    return status;
}

sr_status gen_fill_buffers(const gen_case *c, sr_error *err) {
    sr_status status = SR_OK;
    for (size_t i = 0; status == SR_OK && i < c->n_leafs; i++) {
        const sr_tensor *t = &c->graph->tensors[c->leafs[i].tensor];
        const sr_storage at = {t->buffer, t->buffer_offset};
        if (t->buffer != NULL) {
            status = fill(c, &c->leafs[i], &at, err);
        }
    }
    return status;
}

sr_status gen_fill_inputs(const gen_case *c, const sr_layout *layout, sr_error *err) {
    sr_status status = SR_OK;
    for (size_t i = 0; status == SR_OK && i < c->n_leafs; i++) {
        const int32_t t = c->leafs[i].tensor;
        if (c->graph->tensors[t].buffer == NULL && layout->view.storage[t].buffer != NULL) {
            status = fill(c, &c->leafs[i], &layout->view.storage[t], err);
        }
    }
    return status;
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

sr_status gen_assign(const gen_case *c, sr_sched *sched, sr_error *err) {
    sr_status status = SR_OK;
    for (size_t i = 0; status == SR_OK && i < c->n_assignments; i++) {
        status = sr_sched_set_tensor_backend(sched, c->graph, c->assignments[i].tensor, c->assignments[i].backend, err);
    }
    return status;
}

sr_status gen_run(const gen_case *c, sr_sched *sched, sr_error *err) {
    sr_status status;
    sr_sched_reset(sched);
    SR_TRY(gen_assign(c, sched, err));
    SR_TRY(sr_sched_alloc_graph(sched, c->graph, err));
    SR_TRY(gen_fill_buffers(c, err));
    SR_TRY(gen_fill_inputs(c, sr_sched_layout(sched), err));
    SR_TRY(sr_sched_compute(sched, c->graph, err));
done:
    return status;
}

bool gen_is_result(const gen_case *c, int32_t tensor) {
    const sr_tensor *t = &c->graph->tensors[tensor];
    const bool is_cache = t->op == SR_OP_NONE && t->buffer != NULL && t->buffer->usage == SR_USAGE_ANY;
    return is_cache || (t->flags & SR_FLAG_OUTPUT) != 0;
}

sr_status gen_hash(const gen_case *c, const sr_layout *layout, int32_t tensor, uint64_t *out_hash, sr_error *err) {
    const sr_tensor *t = &c->graph->tensors[tensor];
    sr_storage at = {t->buffer, t->buffer_offset};
    if (at.buffer == NULL) {
        at = layout->view.storage[tensor];
    }
    char *bytes = sr__malloc(t->nbytes + 1);
    if (bytes == NULL) {
        return sr__fail_memory(err);
    }
    const sr_status status = sr_buffer_get(at.buffer, bytes, at.offset, t->nbytes, err);
    *out_hash = status == SR_OK ? sr__hash_bytes(0, bytes, t->nbytes) : 0;
    sr__free(bytes);
    return status;
}
