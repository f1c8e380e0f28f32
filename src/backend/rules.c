/*
 * rules.c - whether a node matches what a description says of ops.
 *
 * Layer: backend.  The reference has no rules: there each device's source decides.
 */
#include "base/base.h"
#include "sched_run/backend.h"

static bool op_matches(const sr_rule *rule, const sr_graph_view *view, int32_t id) {
    const sr_tensor *tensor = sr_view_tensor(view, id);
    const int op = sr_view_op(view, id);
    if (rule->op_name) {
        return op == SR_OP_OPAQUE && tensor->op_name && strcmp(rule->op_name, tensor->op_name) == 0;
    }
    if (rule->op >= 0 && rule->op != op) {
        return false;
    }
    /* the first word of both ops with kinds says which it is */
    return rule->kind < 0 || ((op == SR_OP_UNARY || op == SR_OP_GLU) && tensor->op_params[0] == rule->kind);
}

/* The pre-allocated buffer that a tensor lies in; a copy made by the scheduler is in none. */
static const sr_buffer *buffer_of(const sr_graph_view *view, int32_t id) {
    if (sr_view_is_extra(view, id)) {
        return NULL;
    }
    const sr_tensor *tensor = sr_view_tensor(view, id);
    if (!tensor->buffer && tensor->view_src >= 0) {
        tensor = sr_view_tensor(view, tensor->view_src);
    }
    return tensor->buffer;
}

static bool compare_number(sr_rule_compare compare, int64_t value, int64_t with) {
    switch (compare) {
    case SR_CMP_LT: return value < with;
    case SR_CMP_LE: return value <= with;
    case SR_CMP_GT: return value > with;
    case SR_CMP_GE: return value >= with;
    case SR_CMP_EQ:
    case SR_CMP_NE: break;
    }
    return value == with;
}

static int64_t number_of(sr_rule_field field, const sr_tensor *tensor) {
    switch (field) {
    case SR_FIELD_TYPE: return tensor->type;
    case SR_FIELD_NE0: return tensor->ne[0];
    case SR_FIELD_NE1: return tensor->ne[1];
    case SR_FIELD_NE2: return tensor->ne[2];
    case SR_FIELD_NE3: return tensor->ne[3];
    case SR_FIELD_BATCH: return sr_tensor_batch(tensor);
    case SR_FIELD_BUFFER_TYPE: break;
    }
    return 0;
}

/* Any of the values may match; NE asks that none does. */
static bool test_holds(const sr_rule_test *test, const sr_graph_view *view, int32_t node) {
    int32_t id = node;
    if (test->src >= 0) {
        id = sr_view_is_extra(view, node) ? -1 : sr_view_src(view, sr_view_tensor(view, node), test->src);
    }
    if (id < 0) {
        return false;
    }
    bool any = false;
    if (test->field == SR_FIELD_BUFFER_TYPE) {
        const sr_buffer *buffer = buffer_of(view, id);
        for (int i = 0; i < test->n_values && !any && buffer; i++) {
            any = strcmp(test->texts[i], buffer->type->name) == 0;
        }
    } else {
        const int64_t value = number_of(test->field, sr_view_tensor(view, id));
        for (int i = 0; i < test->n_values && !any; i++) {
            any = compare_number(test->compare, value, test->numbers[i]);
        }
    }
    return test->compare == SR_CMP_NE ? !any : any;
}

bool sr_rule_matches(const sr_rule *rule, const sr_graph_view *view, int32_t tensor) {
    if (!op_matches(rule, view, tensor)) {
        return false;
    }
    for (int i = 0; i < rule->n_tests; i++) {
        if (!test_holds(&rule->tests[i], view, tensor)) {
            return false;
        }
    }
    return true;
}

void sr_rule_clear(sr_rule *rule) {
    for (int i = 0; i < rule->n_tests; i++) {
        sr_rule_test *test = &rule->tests[i];
        for (int j = 0; test->texts && j < test->n_values; j++) {
            sr__free(test->texts[j]);
        }
        sr__free(test->texts);
        sr__free(test->numbers);
    }
    sr__free(rule->tests);
    sr__free(rule->op_name);
    sr__free(rule->text);
    *rule = (sr_rule){.op = -1, .kind = -1};
}

void sr_rules_clear(sr_rules *rules) {
    for (int i = 0; i < rules->n; i++) {
        sr_rule_clear(&rules->rules[i]);
    }
    sr__free(rules->rules);
    *rules = (sr_rules){0};
}
