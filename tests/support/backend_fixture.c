/*
 * backend_fixture.c - machines, graphs and storage made in a few words, for tests of backends.
 *
 * Layer: tests.
 */
#include "support/backend_fixture.h"

#include <stdlib.h>

void bf_ok_at(sr_status status, sr_error *err, const char *file, int line) {
    if (status != SR_OK) {
        print_error("%s: %s\n", sr_status_name(status), sr_error_message(err));
        _fail(file, line);
    }
}

void bf_fails_at(sr_status status, sr_status expected, sr_error *err, const char *text, const char *file, int line) {
    const char *message = sr_error_message(err);
    if (status != expected || (text && !strstr(message, text))) {
        print_error("expected %s with '%s', got %s: %s\n", sr_status_name(expected), text ? text : "",
                    sr_status_name(status), message);
        _fail(file, line);
    }
    sr_error_clear(err);
}

/* ---- machines ------------------------------------------------------------------------------------------------- */

sr_backend_config bf_config(const char *name, const char *device) {
    sr_backend_config config;
    sr_backend_config_init(&config);
    config.name = name;
    config.device = device;
    return config;
}

sr_machine *bf_machine(sr_backend_config *configs, int n) {
    sr_error err = {0};
    sr_machine *machine;
    bf_ok(sr_machine_new(&machine, &err), &err);
    for (int i = 0; i < n; i++) {
        bf_ok(sr_machine_add_backend(machine, &configs[i], &err), &err);
    }
    bf_ok(sr_machine_finish(machine, &err), &err);
    return machine;
}

sr_machine *bf_gpu_and_cpu(void) {
    sr_backend_config configs[] = {bf_config("GPU0", "sim"), bf_config("CPU", "cpu")};
    return bf_machine(configs, 2);
}

/* ---- graphs --------------------------------------------------------------------------------------------------- */

sr_graph *bf_graph(void) {
    sr_error err = {0};
    sr_graph *graph;
    bf_ok(sr_graph_new("test", &graph, &err), &err);
    return graph;
}

static int32_t add(sr_graph *graph, const sr_tensor_spec *spec) {
    sr_error err = {0};
    int32_t tensor;
    bf_ok(sr_graph_add(graph, spec, &tensor, &err), &err);
    return tensor;
}

int32_t bf_leaf(sr_graph *graph, const char *name, int type, int64_t ne0, int64_t ne1) {
    sr_tensor_spec spec;
    sr_tensor_spec_init(&spec);
    spec.name = name;
    spec.type = type;
    spec.n_dims = 2;
    spec.ne[0] = ne0;
    spec.ne[1] = ne1;
    return add(graph, &spec);
}

int32_t bf_node(sr_graph *graph, const char *name, int op, const int32_t *srcs, int n_src) {
    sr_tensor_spec spec;
    sr_tensor_spec_init(&spec);
    spec.name = name;
    spec.op = op;
    spec.srcs = srcs;
    spec.n_src = n_src;
    if (op == SR_OP_SCALE) {
        const float two = 2.0f;
        memcpy(&spec.op_params[0], &two, sizeof(two));
    }
    return add(graph, &spec);
}

int32_t bf_opaque(sr_graph *graph, const char *name, const char *op_name, int32_t src) {
    sr_tensor_spec spec;
    sr_tensor_spec_init(&spec);
    spec.name = name;
    spec.op = SR_OP_OPAQUE;
    spec.op_name = op_name;
    spec.type = SR_TYPE_F32;
    spec.n_dims = 2;
    spec.ne[0] = spec.ne[1] = 4;
    spec.srcs = &src;
    spec.n_src = 1;
    return add(graph, &spec);
}

/* ---- runs ----------------------------------------------------------------------------------------------------- */

void bf_run_init(bf_run *run, sr_graph *graph, sr_buffer_type *type) {
    sr_error err = {0};
    size_t size = 0;
    bf_ok(sr_graph_finish(graph, &err), &err);
    *run = (bf_run){.graph = graph, .view = sr_graph_whole(graph)};
    run->storage = sr__calloc((size_t)graph->n_tensors + 1, sizeof(sr_storage));
    assert_non_null(run->storage);
    for (int32_t i = 0; i < graph->n_tensors; i++) {
        const sr_tensor *t = &graph->tensors[i];
        if (t->view_src >= 0) {
            run->storage[i].offset = run->storage[t->view_src].offset + t->view_offs;
            continue;
        }
        run->storage[i].offset = size;
        size += (sr_buffer_type_alloc_size(type, &run->view, i) + type->alignment - 1) & ~(type->alignment - 1);
    }
    bf_ok(sr_buffer_type_alloc(type, size, &run->buffer, &err), &err);
    for (int32_t i = 0; i < graph->n_tensors; i++) {
        run->storage[i].buffer = run->buffer;
    }
    run->view.storage = run->storage;
}

void bf_run_free(bf_run *run) {
    sr_buffer_free(run->buffer);
    sr__free(run->storage);
    sr_graph_free(run->graph);
    *run = (bf_run){0};
}

void bf_set(const bf_run *run, int32_t tensor, const float *values) {
    sr_error err = {0};
    const sr_storage *at = &run->storage[tensor];
    bf_ok(sr_buffer_set(at->buffer, values, at->offset, run->graph->tensors[tensor].nbytes, &err), &err);
}

void bf_get(const bf_run *run, int32_t tensor, float *values) {
    sr_error err = {0};
    const sr_storage *at = &run->storage[tensor];
    bf_ok(sr_buffer_get(at->buffer, values, at->offset, run->graph->tensors[tensor].nbytes, &err), &err);
}

void bf_all_equal(const bf_run *run, int32_t tensor, float value) {
    const sr_tensor *t = &run->graph->tensors[tensor];
    float *values = sr__malloc(t->nbytes);
    assert_non_null(values);
    bf_get(run, tensor, values);
    const int64_t n = sr_tensor_nelements(t);
    for (int64_t i = 0; i < n; i++) {
        if (values[i] < value || values[i] > value) {
            print_error("element %lld of '%s' is %g, not %g\n", (long long)i, t->name, (double)values[i],
                        (double)value);
            sr__free(values);
            fail();
        }
    }
    sr__free(values);
}

/* ---- rules ---------------------------------------------------------------------------------------------------- */

sr_rule bf_rule(int op, const char *text) {
    sr_rule rule = {.op = op, .kind = -1, .text = sr__strdup(text)};
    assert_non_null(rule.text);
    return rule;
}

sr_rules bf_rules(sr_rule rule) {
    sr_rules rules = {.rules = sr__malloc(sizeof(sr_rule)), .n = 1};
    assert_non_null(rules.rules);
    rules.rules[0] = rule;
    return rules;
}

void bf_rule_test(sr_rule *rule, int src, sr_rule_field field, sr_rule_compare compare, int64_t number,
                  const char *text) {
    rule->tests = sr__realloc(rule->tests, ((size_t)rule->n_tests + 1) * sizeof(sr_rule_test));
    assert_non_null(rule->tests);
    sr_rule_test *test = &rule->tests[rule->n_tests++];
    *test = (sr_rule_test){.src = src, .field = field, .compare = compare, .n_values = 1};
    if (text) {
        test->texts = sr__malloc(sizeof(char *));
        assert_non_null(test->texts);
        test->texts[0] = sr__strdup(text);
        assert_non_null(test->texts[0]);
    } else {
        test->numbers = sr__malloc(sizeof(int64_t));
        assert_non_null(test->numbers);
        test->numbers[0] = number;
    }
}
