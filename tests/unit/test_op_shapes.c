/*
 * test_op_shapes.c - tests of the shape rules, src/graph/op_shapes*.c: one line a case.
 *
 * Layer: tests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "support/graph_parts.h"

typedef struct shape_case {
    const char *op;
    const char *sources;
    const char *given;    /* extents, and with a type before them that too; NULL: left out */
    int32_t words[SR_MAX_OP_PARAMS];
    const char *expect;   /* "f32[4,8]", or what the error says */
} shape_case;

static void run_case(const shape_case *c) {
    sr_error err = {0};
    sr_graph *graph;
    int32_t srcs[SR_MAX_SRC], out = -1;
    char text[128];
    PARTS_OK(sr_graph_new("g", &graph, &err), &err);
    int n = parts_sources(graph, c->sources, srcs);
    sr_tensor_spec spec = parts_node(c->op, "y", srcs, n);
    int32_t kind = spec.op_params[0];
    memcpy(spec.op_params, c->words, sizeof spec.op_params);
    if (spec.op == SR_OP_UNARY || spec.op == SR_OP_GLU) {
        spec.op_params[0] = kind;
    }
    if (c->given != NULL) {
        parts_read(&spec, c->given);
    }
    int32_t before = graph->n_tensors;
    sr_status status = sr_graph_add(graph, &spec, &out, &err);
    if (status == SR_OK) {
        if (strcmp(parts_text(&graph->tensors[out], text), c->expect) != 0) {
            fail_msg("%s(%s): %s instead of %s", c->op, c->sources, text, c->expect);
        }
    } else {
        assert_int_equal(status, SR_INVALID);
        assert_int_equal(graph->n_tensors, before);
        if (strstr(sr_error_message(&err), c->expect) == NULL) {
            fail_msg("%s(%s): '%s' instead of '%s'", c->op, c->sources, sr_error_message(&err), c->expect);
        }
    }
    sr_error_clear(&err);
    sr_graph_free(graph);
}

static void run_cases(const shape_case *cases, int n) {
    for (int i = 0; i < n; i++) {
        run_case(&cases[i]);
    }
}

static void test_element(void **state) {
    (void)state;
    static const shape_case cases[] = {
        {"DUP", "f16[8,4]", NULL, {0}, "f16[8,4]"},
        {"ADD", "f32[8,4] f32[8]", NULL, {0}, "f32[8,4]"},
        {"ADD", "f16[8,4] f32[8]", "f32[8,4]", {0}, "f32[8,4]"},
        {"ADD", "f32[8,4] f32[8,3]", NULL, {0}, "sources 0 'a' [8,4] and 1 'b' [8,3] of ADD do not fit"},
        {"ADD", "f32[8,4] f32[8,0]", NULL, {0}, "does not repeat into the first"},
        {"ADD", "f32[8,0] f32[8,4]", NULL, {0}, "f32[8,0]"},
        {"ADD", "f32[8,0] f32[0]", NULL, {0}, "f32[8,0]"},
        {"ADD", "f32[8,4] f32[8]", "[4,8]", {0}, "ne [4,8] does not agree with the rule of ADD: [8,4]"},
        {"SUB", "f32[8,4] f32[1,4]", NULL, {0}, "f32[8,4]"},
        {"MUL", "f32[8,4] f32[4,2]", NULL, {0}, "f32[8,4]"},
        {"DIV", "f32[8,4,2,2] f32[8,1,2]", NULL, {0}, "f32[8,4,2,2]"},
        {"ADD1", "f32[8,4] f32[1]", NULL, {0}, "f32[8,4]"},
        {"ADD1", "f32[8,4] f32[4]", NULL, {0}, "source 1 'b' [4] of ADD1 must be a scalar"},
        {"ADD_ID", "f32[8,2,5] f32[8,16] i32[2,5]", NULL, {0}, "f32[8,2,5]"},
        {"ADD_ID", "f32[8,2,5] f32[7,16] i32[2,5]", NULL, {0}, "ne0 differs"},
        {"ADD_ID", "f32[8,2,5] f32[8,16] i32[3,5]", NULL, {0}, "ne0 and ne1 of the ids"},
        {"ADD_ID", "f32[8,2,5] f32[8,16] f32[2,5]", NULL, {0}, "must be i32"},
        {"ACC", "f32[8,4] f32[4,2]", NULL, {32, 128, 128, 16}, "f32[8,4]"},
        {"ACC", "f32[8,4] f32[4,2]", NULL, {32, 128, 128, 84}, "reaches past the first"},
        {"ACC", "f32[8,4] f32[4,2]", NULL, {32, 128, 128, -4}, "parameter 'offset' of ACC is -4"},
        {"ACC", "f32[8,4] f32[8,5]", NULL, {32, 128, 128, 0}, "more elements"},
        {"SET", "i32[8,4] i32[8]", NULL, {32, 128, 128, 96}, "i32[8,4]"},
        {"SILU_BACK", "f32[8,4] f32[8,4]", NULL, {0}, "f32[8,4]"},
        {"SILU_BACK", "f32[8,4] f32[4,8]", NULL, {0}, "their extents differ"},
        {"SQR", "f16[8,4]", NULL, {0}, "f16[8,4]"},
        {"SQRT", "f32[8]", NULL, {0}, "f32[8]"},
        {"LOG", "f32[8]", NULL, {0}, "f32[8]"},
        {"SIN", "f32[8]", NULL, {0}, "f32[8]"},
        {"COS", "f32[8]", NULL, {0}, "f32[8]"},
        {"SILU", "f32[8,4]", NULL, {0}, "f32[8,4]"},
        {"LEAKY_RELU", "f32[8,4]", NULL, {0}, "f32[8,4]"},
        {"CLAMP", "f32[8,4]", NULL, {0}, "f32[8,4]"},
        {"CLAMP", "f32[8,4]", "f16[8,4]", {0}, "type f16 does not agree with the rule of CLAMP: f32"},
        {"SCALE", "f32[8,4]", NULL, {0}, "f32[8,4]"},
        {"FILL", "f32[8,4]", NULL, {0}, "f32[8,4]"},
        {"SWIGLU", "f32[8,4]", NULL, {0}, "f32[4,4]"},
        {"SWIGLU", "f32[9,4]", NULL, {0}, "f32[4,4]"},
        {"GEGLU", "f16[8,4] f16[8,4]", NULL, {0}, "f16[8,4]"},
        {"GEGLU", "f16[8,4] f32[8,4]", NULL, {0}, "their types differ"},
        {"GEGLU", "f32[8,4] f32[4,4]", NULL, {0}, "their extents differ"},
    };
    run_cases(cases, SR_COUNT(cases));
}

static void test_reduce_and_sort(void **state) {
    (void)state;
    static const shape_case cases[] = {
        {"SUM", "f16[8,4]", NULL, {0}, "f16[1]"},
        {"SUM_ROWS", "f32[8,4,2]", NULL, {0}, "f32[1,4,2]"},
        {"MEAN", "f32[8,4,2]", NULL, {0}, "f32[1,4,2]"},
        {"CUMSUM", "f32[8,4]", NULL, {0}, "f32[8,4]"},
        {"ARGMAX", "f32[8,4]", NULL, {0}, "i32[4]"},
        {"ARGMAX", "f32[8,4,2]", NULL, {0}, "source 0 'a' [8,4,2] of ARGMAX must be a matrix"},
        {"COUNT_EQUAL", "i32[8,4] i32[8,4]", NULL, {0}, "i64[1]"},
        {"COUNT_EQUAL", "i32[8,4] i32[8]", NULL, {0}, "their extents differ"},
        {"NORM", "f32[8,4]", NULL, {0}, "f32[8,4]"},
        {"RMS_NORM", "f32[8,4]", NULL, {0}, "f32[8,4]"},
        {"L2_NORM", "f32[8,4]", NULL, {0}, "f32[8,4]"},
        {"RMS_NORM_BACK", "f32[8,4] f32[8,4]", NULL, {0}, "f32[8,4]"},
        {"RMS_NORM_BACK", "f32[8,4] f32[8,5]", NULL, {0}, "their extents differ"},
        {"GROUP_NORM", "f32[8,4,6]", NULL, {2}, "f32[8,4,6]"},
        {"GROUP_NORM", "f32[8,4,6]", NULL, {0}, "parameter 'n_groups' of GROUP_NORM is 0, must be positive"},
        {"ARGSORT", "f32[8,4]", NULL, {1}, "i32[8,4]"},
        {"TOP_K", "f32[8,4]", "i32[3,4]", {0}, "i32[3,4]"},
        {"TOP_K", "f32[8,4]", "i32[9,4]", {0}, "parameter 'k' of TOP_K is 9"},
        {"TOP_K", "f32[8,4]", NULL, {0}, "needs parameter 'k'"},
        {"CROSS_ENTROPY_LOSS", "f32[8,4] f32[8,4]", NULL, {0}, "f32[1]"},
        {"CROSS_ENTROPY_LOSS", "f32[8,4] f32[8]", NULL, {0}, "their extents differ"},
        {"CROSS_ENTROPY_LOSS_BACK", "f32[1] f32[8,4] f32[8,4]", NULL, {0}, "f32[8,4]"},
        {"CROSS_ENTROPY_LOSS_BACK", "f32[2] f32[8,4] f32[8,4]", NULL, {0}, "must be a scalar"},
        {"CROSS_ENTROPY_LOSS_BACK", "f32[1] f32[8,4] f32[8]", NULL, {0}, "their extents differ"},
        {"OPT_STEP_ADAMW", "f32[8,4] f32[8,4] f32[8,4] f32[8,4] f32[7]", NULL, {0}, "f32[8,4]"},
        {"OPT_STEP_ADAMW", "f32[8,4] f32[8,4] f32[8,4] f32[8,4] f32[6]", NULL, {0}, "must have 7 elements"},
        {"OPT_STEP_ADAMW", "f32[8,4] f32[8,4] f32[8,3] f32[8,4] f32[7]", NULL, {0}, "their extents differ"},
        {"OPT_STEP_SGD", "f32[8,4] f32[8,4] f32[2]", NULL, {0}, "f32[8,4]"},
        {"OPT_STEP_SGD", "f32[8,4] f32[8,4] f32[7]", NULL, {0}, "must have 2 elements"},
        {"MAP_CUSTOM1", "q8_0[32,4]", NULL, {0}, "q8_0[32,4]"},
        {"MAP_CUSTOM2", "f32[8] f32[4]", NULL, {0}, "f32[8]"},
        {"MAP_CUSTOM3", "f32[8] f32[4] i32[1]", NULL, {0}, "f32[8]"},
        {"CUSTOM", "f32[8] i32[4]", "f16[3]", {0}, "f16[3]"},
        {"CUSTOM", "f32[8] i32[4]", NULL, {0}, "CUSTOM needs its extents (ne)"},
    };
    run_cases(cases, SR_COUNT(cases));
}

static void test_move(void **state) {
    (void)state;
    static const shape_case cases[] = {
        {"REPEAT", "f32[8,1]", "[16,3]", {0}, "f32[16,3]"},
        {"REPEAT", "f32[8,1]", "[12,3]", {0}, "source 0 'a' [8] of REPEAT does not repeat into [12,3]"},
        {"REPEAT", "f32[8,1]", NULL, {0}, "REPEAT needs its extents (ne)"},
        {"REPEAT_BACK", "f32[16,3]", "[8]", {0}, "f32[8]"},
        {"REPEAT_BACK", "f32[16,3]", "[5]", {0},
         "the result [5] of REPEAT_BACK does not repeat into source 0 'a' [16,3]"},
        {"CONCAT", "f32[8,4] f32[8,3]", NULL, {1}, "f32[8,7]"},
        {"CONCAT", "f32[8,4] f32[8,3]", NULL, {0}, "outside dimension 'dim'"},
        {"CONCAT", "f32[8,4] f16[8,4]", NULL, {0}, "their types differ"},
        {"CONCAT", "f32[8,4] f32[8,4]", NULL, {4}, "parameter 'dim' of CONCAT is 4, must be 0 to 3"},
        {"CPY", "f32[8,4] f16[4,8]", NULL, {0}, "f16[4,8]"},
        {"CPY", "f32[8,4] f16[4,7]", NULL, {0}, "their numbers of elements differ"},
        {"CPY", "f32[8,4] f16[4,8]", "f32[4,8]", {0}, "type f32 of a CPY is not that of its destination 'b', f16"},
        {"CONT", "f16[8,4]", NULL, {0}, "f16[8,4]"},
        {"CONT", "f16[8,4]", "[32]", {0}, "f16[32]"},
        {"CONT", "f16[8,4]", "[31]", {0}, "ne [31] of CONT has not as many elements as source 0 'a' [8,4]"},
        {"RESHAPE", "q4_0[64,4]", "[32,2,4]", {0}, "q4_0[32,2,4]"},
        {"RESHAPE", "f32[8,4]", "[31]", {0}, "has not as many elements"},
        {"RESHAPE", "f32[8,4]", NULL, {0}, "RESHAPE needs its extents (ne)"},
        {"VIEW", "f32[8,4]", "[8,2]", {64}, "f32[8,2]"},
        {"VIEW", "f32[8,4]", "[8,2]", {68}, "view of 'a' ends at byte 132, past the 128 bytes of its root"},
        {"VIEW", "f32[8,4]", NULL, {0}, "VIEW needs its extents (ne)"},
        {"PERMUTE", "f32[2,3,4,5]", NULL, {1, 2, 0, 3}, "f32[4,2,3,5]"},
        {"PERMUTE", "f32[2,3,4,5]", NULL, {1, 2, 1, 3}, "axes 1, 2, 1, 3 of PERMUTE are no permutation of 0 to 3"},
        {"PERMUTE", "f32[2,3,4,5]", NULL, {0}, "no permutation"},
        {"TRANSPOSE", "f16[2,3,4,5]", NULL, {0}, "f16[3,2,4,5]"},
        {"TRANSPOSE", "q4_0[32,32]", NULL, {0}, "q4_0[32,32]"},
        {"TRANSPOSE", "q4_0[64,3]", NULL, {0}, "view of 'a' ends at byte 1137, past the 108 bytes of its root"},
        {"GET_ROWS", "q4_0[64,10,2,3] i32[5,2,3]", NULL, {0}, "f32[64,5,2,3]"},
        {"GET_ROWS", "i32[8,10] i32[5]", NULL, {0}, "i32[8,5]"},
        {"GET_ROWS", "f32[8,10] i64[5]", NULL, {0}, "source 1 'b' [5] of GET_ROWS must be i32"},
        {"GET_ROWS", "f32[8,10,2] i32[5,3]", NULL, {0}, "do not fit"},
        {"GET_ROWS_BACK", "f16[8,5] i32[5]", "[8,10]", {0}, "f32[8,10]"},
        {"GET_ROWS_BACK", "f16[8,5] i32[5]", "[7,10]", {0}, "has not ne0 of source 0"},
        {"GET_ROWS_BACK", "f16[8,5,2] i32[5]", "[8,10]", {0}, "must be a matrix"},
        {"GET_ROWS_BACK", "f16[8,5] f32[5]", "[8,10]", {0}, "must be an i32 vector"},
        {"SET_ROWS", "f32[64,5,4,6] i64[5,2,3] q8_0[64,10,4,6]", NULL, {0}, "q8_0[64,10,4,6]"},
        {"SET_ROWS", "f32[64,5,4] i64[5,3] f16[64,10,4]", NULL, {0}, "the row numbers must be"},
        {"SET_ROWS", "f32[64,5] i64[5] f16[32,10]", NULL, {0}, "they may differ in ne1 only"},
        {"SET_ROWS", "f32[64,5] f32[5] f16[64,10]", NULL, {0}, "must be i64 or i32"},
        {"DIAG", "f32[3,1,2]", NULL, {0}, "f32[3,3,2]"},
        {"DIAG", "f32[3,2]", NULL, {0}, "must have ne1 = 1"},
        {"DIAG_MASK_INF", "f32[8,4]", NULL, {3}, "f32[8,4]"},
        {"DIAG_MASK_INF", "f32[8,4]", NULL, {-1}, "parameter 'n_past' of DIAG_MASK_INF is -1"},
        {"DIAG_MASK_ZERO", "f32[8,4]", NULL, {0}, "f32[8,4]"},
        {"TRI", "f32[4,4,2]", NULL, {0}, "f32[4,4,2]"},
        {"TRI", "f32[4,3]", NULL, {0}, "must have ne0 = ne1"},
    };
    run_cases(cases, SR_COUNT(cases));
}

static void test_matrix(void **state) {
    (void)state;
    static const shape_case cases[] = {
        {"MUL_MAT", "q4_0[64,32] f32[64,5]", NULL, {0}, "f32[32,5]"},
        {"MUL_MAT", "f16[64,32,2,3] f32[64,5,8,6]", NULL, {0}, "f32[32,5,8,6]"},
        {"MUL_MAT", "f16[64,32] f32[48,5]", NULL, {0},
         "sources 0 'a' [64,32] and 1 'b' [48,5] of MUL_MAT do not fit: their inner extents (ne0) differ"},
        {"MUL_MAT", "f16[64,32,2] f32[64,5,3]", NULL, {0}, "ne2, ne3 of the second are no multiples"},
        {"MUL_MAT", "f16[64,32,0] f32[64,5]", NULL, {0}, "no multiples"},
        {"MUL_MAT", "f32[0,4] f32[0,5]", NULL, {0}, "has empty rows"},
        {"MUL_MAT", "f16[64,32] f32[64,5]", "[8,8]", {0}, "ne [8,8] does not agree with the rule of MUL_MAT: [32,5]"},
        {"MUL_MAT", "f16[64,32] f32[64,5]", "f16[32,5]", {0}, "type f16 does not agree with the rule of MUL_MAT: f32"},
        {"MUL_MAT", "f16[64,32] f32[64,0]", NULL, {0}, "f32[32,0]"},
        {"MUL_MAT_ID", "f16[64,32,8] f32[64,1,5] i32[2,5]", NULL, {0}, "f32[32,2,5]"},
        {"MUL_MAT_ID", "f16[64,32,8] f32[64,2,5] i32[2,5]", NULL, {0}, "f32[32,2,5]"},
        {"MUL_MAT_ID", "f16[64,32,8] f32[64,2,5] i32[3,5]", NULL, {0}, "the ids must be"},
        {"MUL_MAT_ID", "f16[64,32,8] f32[60,2,5] i32[2,5]", NULL, {0}, "inner extents"},
        {"MUL_MAT_ID", "f16[64,32,8] f32[64,2,5] f32[2,5]", NULL, {0}, "must be an i32 matrix"},
        {"MUL_MAT_ID", "f16[64,32,8,2] f32[64,2,5] i32[2,5]", NULL, {0}, "must have ne3 = 1"},
        {"OUT_PROD", "f32[6,3,2] f32[7,3,4]", NULL, {0}, "f32[6,7,4]"},
        {"OUT_PROD", "f32[6,3] f32[7,4]", NULL, {0}, "inner extents (ne1)"},
        {"SOFT_MAX", "f32[8,4,6,2] f16[8,10,3,2] f32[6]", NULL, {0}, "f32[8,4,6,2]"},
        {"SOFT_MAX", "f32[8,4,6] - f32[6]", NULL, {0}, "f32[8,4,6]"},
        {"SOFT_MAX", "f32[8,4,6] - f32[5]", NULL, {0}, "ne0 of the sinks"},
        {"SOFT_MAX", "f32[8,4] f16[8,3]", NULL, {0}, "the mask must be"},
        {"SOFT_MAX", "f32[8,4]", NULL, {0, 0x41000000}, "needs a mask"},
        {"SOFT_MAX_BACK", "f32[8,4] f32[8,4]", NULL, {0}, "f32[8,4]"},
        {"ROPE", "f32[64,4,7] i32[7]", NULL, {0, 32}, "f32[64,4,7]"},
        {"ROPE", "f32[64,4,7] i32[7] f32[16]", NULL, {0, 32}, "f32[64,4,7]"},
        {"ROPE", "f32[64,4,7] i32[7] f32[15]", NULL, {0, 32}, "fewer factors"},
        {"ROPE", "f32[64,4,7] i32[28]", NULL, {0, 32, 8}, "f32[64,4,7]"},
        {"ROPE", "f32[64,4,7] i32[7]", NULL, {0, 32, 24}, "4 positions for each token"},
        {"ROPE", "f32[64,4,7] i32[8]", NULL, {0, 32}, "one position for each token"},
        {"ROPE", "f32[64,4,7] f32[7]", NULL, {0, 32}, "must be an i32 vector"},
        {"ROPE", "f32[64,4,7] i32[7]", NULL, {0, 66}, "parameter 'n_dims' of ROPE is 66"},
        {"ROPE_BACK", "f32[64,4,7] i32[7]", NULL, {0, 64}, "f32[64,4,7]"},
        {"FLASH_ATTN_EXT", "f32[64,5,8,2] f16[64,40,4,2] f16[32,40,2,2] f16[40,5,1,1] f32[8]", NULL, {0},
         "f32[32,8,5,2]"},
        {"FLASH_ATTN_EXT", "f32[64,5,8] f16[64,40,8] f16[64,40,8]", NULL, {0}, "f32[64,8,5]"},
        {"FLASH_ATTN_EXT", "f32[64,5,8] f16[64,40,8] f16[64,40,8] - f32[8]", NULL, {0}, "f32[64,8,5]"},
        {"FLASH_ATTN_EXT", "f32[64,5,8] f16[32,40,8] f16[64,40,8]", NULL, {0}, "inner extents"},
        {"FLASH_ATTN_EXT", "f32[64,5,8] f16[64,40,3] f16[64,40,8]", NULL, {0}, "must be a multiple"},
        {"FLASH_ATTN_EXT", "f32[64,5,8] f16[64,40,8] f16[64,41,8]", NULL, {0}, "as many values as keys"},
        {"FLASH_ATTN_EXT", "f32[64,5,8] f16[64,40,8] f16[64,40,3]", NULL, {0}, "must be a multiple"},
        {"FLASH_ATTN_EXT", "f32[64,5,8] f16[64,40,8] f16[64,40,8] f16[40,4]", NULL, {0}, "the mask must be"},
        {"FLASH_ATTN_EXT", "f32[64,5,8] f16[64,40,8] f16[64,40,8] - f32[7]", NULL, {0}, "ne0 of the sinks"},
        {"FLASH_ATTN_EXT", "f32[64,5,8] f16[64,40,8] f16[64,40,8]", NULL, {0, 0x41000000}, "needs a mask"},
        {"FLASH_ATTN_BACK", "f32[5,3,2] f32[5,7,1] f32[7,5,1] f32[5,3,2]", NULL, {0}, "f32[104]"},
        {"FLASH_ATTN_BACK", "f32[5,3,2] f32[5,2,1] f32[2,5,1] f32[5,3,2]", NULL, {0}, "ne1 at least"},
        {"FLASH_ATTN_BACK", "f32[5,3,2] f32[5,7,1] f32[5,7,1] f32[5,3,2]", NULL, {0}, "exchanged"},
        {"FLASH_ATTN_BACK", "f32[5,3,2] f32[5,7,1] f32[7,5,1] f32[5,3,1]", NULL, {0}, "their extents differ"},
        {"SOLVE_TRI", "f32[4,4,2] f32[3,4,2]", NULL, {0}, "f32[3,4,2]"},
        {"SOLVE_TRI", "f32[4,3,2] f32[3,4,2]", NULL, {0}, "must have ne0 = ne1"},
        {"SOLVE_TRI", "f32[4,4,2] f32[3,4,1]", NULL, {0}, "they may differ in ne0 only"},
    };
    run_cases(cases, SR_COUNT(cases));
}

static void test_image(void **state) {
    (void)state;
    static const shape_case cases[] = {
        {"CONV_TRANSPOSE_1D", "f16[3,5,2] f32[7,2]", NULL, {2, 0, 1}, "f32[15,5]"},
        {"CONV_TRANSPOSE_1D", "f16[3,5,2] f32[7,3]", NULL, {2, 0, 1}, "input channels"},
        {"CONV_TRANSPOSE_1D", "f16[3,5,2] f32[7,2]", NULL, {0, 0, 1}, "parameter 's0' of CONV_TRANSPOSE_1D is 0"},
        {"CONV_TRANSPOSE_1D", "f16[3,5,2] f32[7,2]", NULL, {2, 1, 1}, "parameter 'p0'"},
        {"CONV_TRANSPOSE_1D", "f16[3,5,2] f32[7,2]", NULL, {2, 0, 2}, "parameter 'd0'"},
        {"IM2COL", "f16[3,3,2,8] f32[10,12,2,4]", "f16[18,10,12,4]", {1, 1, 1, 1, 1, 1, 1}, "f16[18,10,12,4]"},
        {"IM2COL", "f16[3,2,8] f32[10,2,4]", NULL, {2, 0, 0, 0, 1, 0, 0}, "f32[6,4,4]"},
        {"IM2COL", "f16[3,3,2,8] f32[2,12,2,4]", NULL, {1, 1, 0, 0, 1, 1, 1}, "larger than the padded image"},
        {"IM2COL", "f16[3,3,2,8] f32[10,12,3,4]", NULL, {1, 1, 1, 1, 1, 1, 1}, "input channels"},
        {"IM2COL_BACK", "f32[18,10,12,4] f32[3,3,2,8]", "[10,12,2,4]", {1, 1, 1, 1, 1, 1, 1}, "f32[10,12,2,4]"},
        {"IM2COL_BACK", "f32[18,10,12,4] f32[3,3,2,8]", NULL, {0}, "needs its extents"},
        {"IM2COL_3D", "f16[3,3,3,4] f32[10,11,12,6]", NULL, {1, 1, 1, 0, 0, 0, 1, 1, 1, 2}, "f32[54,8,9,30]"},
        {"IM2COL_3D", "f16[3,3,3,4] f32[10,11,12,6]", NULL, {1, 1, 1, 0, 0, 0, 1, 1, 1, 9}, "f32[243,8,9,0]"},
        {"IM2COL_3D", "f16[3,3,3,4] f32[10,11,12,6]", NULL, {1, 1, 1, 0, 0, 0, 1, 1, 1, 0}, "parameter 'ic'"},
        {"IM2COL_3D", "f16[3,3,3,4] f32[10,11,2,6]", NULL, {1, 1, 1, 0, 0, 0, 1, 1, 1, 2},
         "larger than the padded image"},
        {"CONV_2D", "f16[3,3,2,8] f32[10,12,2,4]", NULL, {2, 1, 1, 0, 1, 2}, "f32[5,8,8,4]"},
        {"CONV_2D", "f16[3,3,2,8] f32[10,12,3,4]", NULL, {2, 1, 1, 0, 1, 1}, "input channels"},
        {"CONV_2D", "f16[3,3,2,8] f32[10,12,2,4]", NULL, {2, 0, 1, 0, 1, 1}, "parameter 's1' of CONV_2D is 0"},
        {"CONV_2D", "f16[3,3,2,8] f32[2,12,2,4]", NULL, {4, 1, 0, 0, 1, 1}, "f32[1,10,8,4]"},
        {"CONV_2D", "f16[9,3,2,8] f32[2,12,2,4]", NULL, {1, 1, 0, 0, 1, 1}, "larger than the padded image"},
        {"CONV_3D", "f16[3,3,3,6] f32[8,8,8,4]", NULL, {1, 1, 1, 0, 0, 0, 1, 1, 1, 2, 2, 3}, "f32[6,6,6,6]"},
        {"CONV_3D", "f16[3,3,3,5] f32[8,8,8,4]", NULL, {1, 1, 1, 0, 0, 0, 1, 1, 1, 2, 2, 3}, "ne3 = c * oc"},
        {"CONV_3D", "f16[3,3,3,6] f32[8,8,8,5]", NULL, {1, 1, 1, 0, 0, 0, 1, 1, 1, 2, 2, 3}, "ne3 = c * n"},
        {"CONV_2D_DW", "f32[3,3,1,8] f32[10,12,8,2]", NULL, {1, 1, 1, 1, 1, 1}, "f32[10,12,8,2]"},
        {"CONV_2D_DW", "f32[3,3,1,7] f32[10,12,8,2]", NULL, {1, 1, 1, 1, 1, 1}, "the kernel must be"},
        {"CONV_TRANSPOSE_2D", "f16[3,2,5,4] f32[7,6,4]", NULL, {2}, "f32[15,12,5]"},
        {"CONV_TRANSPOSE_2D", "f16[3,2,5,4] f32[7,6,3]", NULL, {2}, "input channels"},
        {"POOL_1D", "f16[10,4]", NULL, {0, 3, 2, 1}, "f32[5,4]"},
        {"POOL_1D", "f16[2,4]", NULL, {0, 3, 2, 0}, "smaller, with its padding, than the window"},
        {"POOL_1D", "f16[2,4]", NULL, {0, 3, 0, 0}, "parameter 's0' of POOL_1D is 0"},
        {"POOL_2D", "f32[10,9,3,2]", NULL, {1, 2, 3, 2, 1, 0, 1}, "f32[5,9,3,2]"},
        {"POOL_2D", "f32[10,10]", "[5,5]", {1, 3, 3, 2, 2, 0, 0}, "f32[5,5]"}, /* padding 0.5: words hold 0 */
        {"POOL_2D", "f32[10,10]", "[6,4]", {1, 3, 3, 2, 2, 0, 0}, "does not agree with the rule of POOL_2D: [4,4]"},
        {"POOL_2D_BACK", "f32[5,9,3,2] f32[10,9,3,2]", NULL, {0}, "f32[10,9,3,2]"},
        {"POOL_2D_BACK", "f32[5,9,3,2] f32[10,9,4,2]", NULL, {0}, "ne2 or ne3 differs"},
        {"UPSCALE", "f32[4,4,2]", "[8,12,2]", {0}, "f32[8,12,2]"},
        {"UPSCALE", "f32[4,4,2]", NULL, {0}, "UPSCALE needs its extents"},
        {"PAD", "f32[4,4,2]", NULL, {1, 2, 0, -1, 0, 0, 3, 0}, "f32[7,3,2,4]"},
        {"PAD", "f32[4,4,2]", NULL, {-3, -2}, "negative padding"},
        {"PAD_REFLECT_1D", "f32[4,3]", NULL, {3, 1}, "f32[8,3]"},
        {"PAD_REFLECT_1D", "f32[4,3]", NULL, {4, 1}, "parameter 'p0' of PAD_REFLECT_1D is 4"},
        {"ROLL", "f32[4,3]", NULL, {3, -2}, "f32[4,3]"},
        {"ROLL", "f32[4,3]", NULL, {4}, "parameter 'shift0' of ROLL is 4"},
        {"ARANGE", "", NULL, {0, 0x40a00000, 0x40000000}, "f32[3]"}, /* 0 to 5 by 2 */
        {"ARANGE", "", NULL, {0, 0, 0x40000000}, "parameter 'stop' of ARANGE"},
        {"ARANGE", "", NULL, {0, 0x40a00000, 0}, "parameter 'step' of ARANGE"},
        {"TIMESTEP_EMBEDDING", "f32[5]", NULL, {7, 1000}, "f32[7,5]"},
        {"TIMESTEP_EMBEDDING", "f32[5]", NULL, {-7, 1000}, "parameter 'dim'"},
    };
    run_cases(cases, SR_COUNT(cases));
}

static void test_state(void **state) {
    (void)state;
    static const shape_case cases[] = {
        {"SSM_CONV", "f32[10,6,3] f32[4,6]", NULL, {0}, "f32[6,7,3]"},
        {"SSM_CONV", "f32[10,6,3] f32[4,5]", NULL, {0}, "channels"},
        {"SSM_CONV", "f32[2,6,3] f32[4,6]", NULL, {0}, "is shorter"},
        {"SSM_CONV", "f32[3,6,3] f32[4,6]", NULL, {0}, "f32[6,0,3]"},
        {"SSM_SCAN", "f32[16,4,6,9] f32[4,6,5,2] f32[6,5,2] f32[16,6] f32[16,3,5,2] f32[16,3,5,2] i32[2]", NULL, {0},
         "f32[1008]"},
        {"SSM_SCAN", "f32[16,4,6,9] f32[4,6,5,2] f32[6,5,2] f32[1,6] f32[16,3,5,2] f32[16,3,5,2] i32[2]", NULL, {1},
         "f32[1008]"},
        {"SSM_SCAN", "f32[16,4,6,9] f32[4,5,5,2] f32[6,5,2] f32[1,6] f32[16,3,5,2] f32[16,3,5,2] i32[2]", NULL, {0},
         "must be ne1, ne2 of the states"},
        {"SSM_SCAN", "f32[16,4,6,9] f32[4,6,5,2] f32[5,5,2] f32[1,6] f32[16,3,5,2] f32[16,3,5,2] i32[2]", NULL, {0},
         "the time steps"},
        {"SSM_SCAN", "f32[16,4,6,9] f32[4,6,5,2] f32[6,5,2] f32[2,6] f32[16,3,5,2] f32[16,3,5,2] i32[2]", NULL, {0},
         "A must be"},
        {"SSM_SCAN", "f32[16,4,6,9] f32[4,6,5,2] f32[6,5,2] f32[1,6] f32[16,4,5,2] f32[16,4,5,2] i32[2]", NULL, {0},
         "B must be"},
        {"SSM_SCAN", "f32[16,4,6,9] f32[4,6,5,2] f32[6,5,2] f32[1,6] f32[16,3,5,2] f32[16,2,5,2] i32[2]", NULL, {0},
         "B and C"},
        {"SSM_SCAN", "f32[16,4,6,9] f32[4,6,5,2] f32[6,5,2] f32[1,6] f32[16,3,5,2] f32[16,3,5,2] i32[3]", NULL, {0},
         "one id for each sequence"},
        {"RWKV_WKV6", "f32[4,3,6] f32[4,3,6] f32[4,3,6] f32[4,3] f32[4,3,6] f32[48,2]", NULL, {0}, "f32[12,14]"},
        {"RWKV_WKV6", "f32[4,3,6] f32[4,3,6] f32[4,3,6] f32[4,2] f32[4,3,6] f32[48,2]", NULL, {0}, "tf must hold"},
        {"RWKV_WKV6", "f32[4,3,6] f32[4,3,6] f32[4,3,6] f32[4,3] f32[4,3,5] f32[48,2]", NULL, {0}, "extents differ"},
        {"GATED_LINEAR_ATTN", "f32[4,3,6] f32[4,3,6] f32[4,3,6] f32[4,3,6] f32[48,3]", NULL, {0}, "f32[12,18]"},
        {"GATED_LINEAR_ATTN", "f32[4,3,6] f32[4,3,6] f32[4,3,6] f32[4,3,6] f32[48,4]", NULL, {0}, "no multiple"},
        {"GATED_LINEAR_ATTN", "f32[4,3,6] f32[4,3,6] f32[4,3,6] f32[4,3,6] f32[47,3]", NULL, {0},
         "the state must hold"},
        {"RWKV_WKV7", "f32[4,3,6] f32[4,3,6] f32[4,3,6] f32[4,3,6] f32[4,3,6] f32[4,3,6] f32[48,2]", NULL, {0},
         "f32[12,14]"},
        {"RWKV_WKV7", "f32[4,3,6] f32[4,3,6] f32[4,3,5] f32[4,3,6] f32[4,3,6] f32[4,3,6] f32[48,2]", NULL, {0},
         "extents differ"},
        {"GATED_DELTA_NET", "f32[4,3,5,2] f32[4,3,5,2] f32[4,6,5,2] f32[1,6,5,2] f32[1,6,5,2] f32[96,2]", NULL, {1},
         "f32[24,18]"},
        {"GATED_DELTA_NET", "f32[4,3,5,2] f32[4,3,5,2] f32[4,6,5,2] f32[4,6,5,2] f32[1,6,5,2] f32[96,2]", NULL, {3},
         "f32[24,34]"},
        {"GATED_DELTA_NET", "f32[4,4,5,2] f32[4,3,5,2] f32[4,6,5,2] f32[1,6,5,2] f32[1,6,5,2] f32[96,2]", NULL, {0},
         "of the values multiples"},
        {"GATED_DELTA_NET", "f32[4,3,5,2] f32[4,3,5,2] f32[4,6,5,2] f32[2,6,5,2] f32[1,6,5,2] f32[96,2]", NULL, {0},
         "the gates"},
        {"GATED_DELTA_NET", "f32[4,3,5,2] f32[4,3,5,2] f32[4,6,5,2] f32[1,6,5,2] f32[1,5,5,2] f32[96,2]", NULL, {0},
         "beta must be"},
        {"GATED_DELTA_NET", "f32[4,3,5,2] f32[4,3,5,2] f32[4,6,5,2] f32[1,6,5,2] f32[1,6,5,2] f32[95,2]", NULL, {0},
         "the state must hold"},
        {"WIN_PART", "f32[5,7,6]", NULL, {2, 2, 4}, "f32[5,4,4,4]"},
        {"WIN_PART", "f32[5,7,6]", NULL, {2, 2, 0}, "parameter 'w' of WIN_PART is 0"},
        {"WIN_PART", "f32[5,7,6,2]", NULL, {2, 2, 4}, "must have ne3 = 1"},
        {"WIN_UNPART", "f32[5,4,4,4]", "[5,7,6]", {4}, "f32[5,7,6]"},
        {"WIN_UNPART", "f32[5,4,4,4]", NULL, {4}, "needs parameters 'w0' and 'h0'"},
        {"WIN_UNPART", "f32[5,4,4,4]", "[5,7,6]", {0}, "parameter 'w'"},
        {"GET_REL_POS", "f16[5,7]", NULL, {0}, "f16[5,4,4]"},
        {"GET_REL_POS", "f16[5,6]", NULL, {0}, "must have an odd ne1"},
        {"ADD_REL_POS", "f32[9,8,2] f32[3,2,4,2] f32[3,2,4,2]", NULL, {0}, "f32[9,8,2]"},
        {"ADD_REL_POS", "f32[9,7,2] f32[3,2,4,2] f32[3,2,4,2]", NULL, {0}, "the first must be"},
        {"ADD_REL_POS", "f32[9,8,2] f32[3,2,4,2] f32[3,4,2,2]", NULL, {0}, "their extents differ"},
    };
    run_cases(cases, SR_COUNT(cases));
}

static void test_places(void **state) {
    (void)state;
    static const shape_case cases[] = {
        {"ADD", "f32[8]", NULL, {0}, "ADD needs source 1, 'y' has none there"},
        {"ADD", "- f32[8]", NULL, {0}, "ADD needs source 0, 'y' has none there"},
        {"ADD", "f32[8] f32[8] f32[8]", NULL, {0}, "ADD takes at most 2 sources, 'y' has 3"},
        {"SILU", "f32[8] f32[8]", NULL, {0}, "UNARY takes at most 1 source, 'y' has 2"},
        {"SOFT_MAX", "f32[8] - -", NULL, {0}, "f32[8]"},
        {"ARANGE", "f32[1]", NULL, {0}, "ARANGE takes at most 0 sources, 'y' has 1"},
    };
    run_cases(cases, SR_COUNT(cases));
}

/* Extents whose products leave 64 bits are refused by every rule that multiplies. */
static void test_overflow(void **state) {
    (void)state;
    static const shape_case cases[] = {
        {"IM2COL", "i8[1099511627776,2] i8[1099511627776,2]", NULL, {1, 0, 0, 0, 1}, "f32[2199023255552]"},
        {"CONV_TRANSPOSE_1D", "i8[3,1,1] i8[4611686018427387904,1]", NULL, {4, 0, 1}, "overflow"},
        {"REPEAT", "f32[1]", "[4294967296,4294967296]", {0}, "too many elements"},
        {"REPEAT", "f32[1]", "[4294967296,1073741824]", {0}, "the size of 'y' [4294967296,1073741824] overflows"},
        {"REPEAT", "i8[1]", "[-1]", {0}, "ne0 of 'y' is -1, extents cannot be negative"},
        {"DIAG", "i8[4294967296]", NULL, {0}, "too many elements"},
        {"CONCAT", "i8[9223372036854775807] i8[1]", NULL, {0}, "overflow"},
    };
    run_cases(cases, SR_COUNT(cases));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_element), cmocka_unit_test(test_reduce_and_sort), cmocka_unit_test(test_move),
        cmocka_unit_test(test_matrix),  cmocka_unit_test(test_image),           cmocka_unit_test(test_state),
        cmocka_unit_test(test_places),  cmocka_unit_test(test_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
