/*
 * test_cpu_ops.c - tests of src/backends/cpu/cpu_ops.c: what the CPU refuses, and nothing else.
 *
 * Layer: tests.
 */
#include <stdio.h>

#include "support/backend_fixture.h"

/* A node as a recording might have it: only types and extents matter to the answer. */
typedef struct node {
    int op;
    int type, a, b; /* sr_type; -1: no such source */
    int64_t a_ne2, b_ne2;
    float max_bias;
} node;

static bool cpu_supports(const sr_backend *cpu, node n, const char **why) {
    sr_tensor tensors[3] = {{.type = (uint8_t)n.a, .view_src = -1, .answers = -1, .ne = {32, 32, n.a_ne2, 1}},
                            {.type = (uint8_t)n.b, .view_src = -1, .answers = -1, .ne = {32, 32, n.b_ne2, 1}},
                            {.type = (uint8_t)n.type, .op = (uint8_t)n.op, .n_src = 2, .view_src = -1, .answers = -1,
                             .ne = {32, 32, 1, 1}}};
    memcpy(&tensors[2].op_params[1], &n.max_bias, sizeof(n.max_bias));
    const int32_t srcs[2] = {n.a < 0 ? -1 : 0, n.b < 0 ? -1 : 1};
    const sr_graph graph = {.tensors = tensors, .n_tensors = 3, .srcs = srcs, .n_srcs = 2};
    const sr_graph_view view = {.graph = &graph, .srcs = srcs};
    sr_refusal refusal;
    const bool yes = sr_backend_supports_op(cpu, &view, 2, &refusal);
    *why = refusal.text;
    return yes;
}

enum { F32 = SR_TYPE_F32, F16 = SR_TYPE_F16, BF16 = SR_TYPE_BF16, I32 = SR_TYPE_I32 };

static const struct { node node; bool yes; } cases[] = {
    {{SR_OP_CPY, SR_TYPE_Q4_0, F32, -1, 1, 1, 0}, true},
    {{SR_OP_CPY, SR_TYPE_IQ4_NL, F32, -1, 1, 1, 0}, true},
    {{SR_OP_CPY, SR_TYPE_IQ2_XXS, F32, -1, 1, 1, 0}, false},
    {{SR_OP_CPY, SR_TYPE_IQ2_XS, F32, -1, 1, 1, 0}, false},
    {{SR_OP_CPY, SR_TYPE_IQ2_S, F32, -1, 1, 1, 0}, false},
    {{SR_OP_CPY, SR_TYPE_IQ3_XXS, F32, -1, 1, 1, 0}, false},
    {{SR_OP_CPY, SR_TYPE_IQ3_S, F32, -1, 1, 1, 0}, false},
    {{SR_OP_CPY, SR_TYPE_IQ1_S, F32, -1, 1, 1, 0}, false},
    {{SR_OP_SET_ROWS, SR_TYPE_IQ1_M, F32, I32, 1, 1, 0}, false},
    {{SR_OP_SET_ROWS, SR_TYPE_Q8_0, F32, I32, 1, 1, 0}, true},
    {{SR_OP_DUP, SR_TYPE_IQ1_M, F32, -1, 1, 1, 0}, true},
    {{SR_OP_MUL_MAT, F32, F32, F32, 1, 1, 0}, true},
    {{SR_OP_MUL_MAT, F32, F32, F16, 1, 1, 0}, false},
    {{SR_OP_MUL_MAT, F32, F16, F16, 1, 1, 0}, true},
    {{SR_OP_MUL_MAT, F32, BF16, BF16, 1, 1, 0}, true},
    {{SR_OP_MUL_MAT, F32, F16, BF16, 1, 1, 0}, false},
    {{SR_OP_MUL_MAT, F32, SR_TYPE_Q4_0, SR_TYPE_Q8_0, 1, 1, 0}, true},
    {{SR_OP_MUL_MAT, F32, SR_TYPE_Q4_1, SR_TYPE_Q8_1, 1, 1, 0}, true},
    {{SR_OP_MUL_MAT, F32, SR_TYPE_Q4_K, SR_TYPE_Q8_K, 1, 1, 0}, true},
    {{SR_OP_MUL_MAT, F32, SR_TYPE_Q4_K, SR_TYPE_Q8_0, 1, 1, 0}, false},
    {{SR_OP_MUL_MAT, F32, I32, F32, 1, 1, 0}, true},
    {{SR_OP_MUL_MAT, F32, F32, -1, 1, 1, 0}, false},
    {{SR_OP_MUL_MAT_ID, F32, F32, F16, 1, 1, 0}, true},
    {{SR_OP_OUT_PROD, F32, F32, F32, 1, 4, 0}, true},
    {{SR_OP_OUT_PROD, F32, F16, F32, 1, 1, 0}, false},
    {{SR_OP_OUT_PROD, F32, SR_TYPE_Q4_0, F32, 2, 2, 0}, true},
    {{SR_OP_OUT_PROD, F32, SR_TYPE_Q4_0, F32, 1, 2, 0}, false},
    {{SR_OP_OUT_PROD, F32, F32, F16, 1, 1, 0}, false},
    {{SR_OP_OUT_PROD, F16, F32, F32, 1, 1, 0}, false},
    {{SR_OP_SOFT_MAX_BACK, F32, F32, F32, 1, 1, 0}, true},
    {{SR_OP_SOFT_MAX_BACK, F32, F32, F32, 1, 1, 8}, false},
    {{SR_OP_SOFT_MAX_BACK, F32, F16, F32, 1, 1, 0}, false},
    {{SR_OP_GET_ROWS_BACK, F32, F16, I32, 1, 1, 0}, true},
    {{SR_OP_GET_ROWS_BACK, F32, BF16, I32, 1, 1, 0}, false},
    {{SR_OP_IM2COL_BACK, F32, F32, F32, 1, 1, 0}, true},
    {{SR_OP_IM2COL_BACK, F32, F32, F16, 1, 1, 0}, false},
    {{SR_OP_ADD, SR_TYPE_I8, I32, F16, 1, 1, 0}, true},
    {{SR_OP_OPAQUE, F32, F32, F32, 1, 1, 0}, true},
};

static void test_answers(void **state) {
    (void)state;
    sr_backend_config config = bf_config("CPU", "cpu");
    sr_machine *machine = bf_machine(&config, 1);
    for (int i = 0; i < SR_COUNT(cases); i++) {
        const char *why;
        const bool yes = cpu_supports(machine->backends[0], cases[i].node, &why);
        if (yes != cases[i].yes || (!yes && strlen(why) < 10)) {
            print_error("case %d: %s, %s\n", i, yes ? "yes" : "no", why);
            fail();
        }
    }
    /* every other op of the table: yes, whatever the types are */
    for (int op = 1; op < SR_OP_COUNT; op++) {
        const char *why;
        switch (op) {
        case SR_OP_CPY: case SR_OP_SET_ROWS: case SR_OP_MUL_MAT: case SR_OP_OUT_PROD: case SR_OP_SOFT_MAX_BACK:
        case SR_OP_GET_ROWS_BACK: case SR_OP_IM2COL_BACK: continue;
        default: assert_true(cpu_supports(machine->backends[0], (node){op, I32, BF16, SR_TYPE_I8, 3, 2, 1}, &why));
        }
    }
    sr_machine_free(machine);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_answers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
