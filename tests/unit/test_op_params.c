/*
 * test_op_params.c - tests of src/graph/op_params.c: named parameters into words.
 *
 * Layer: tests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>

#include "support/graph_parts.h"

#define F(x) parts_float(x)

typedef struct fixture {
    sr_graph *graph;
    int32_t srcs[SR_MAX_SRC];
    sr_tensor_spec spec;
    int kind;
    sr_param_value values[16];
    int n_values;
    sr_error err;
} fixture;

static void begin(fixture *f, const char *op, const char *sources) {
    memset(f, 0, sizeof *f);
    PARTS_OK(sr_graph_new("g", &f->graph, &f->err), &f->err);
    int n = parts_sources(f->graph, sources, f->srcs);
    f->spec = parts_node(op, "y", f->srcs, n);
    assert_true(sr_op_find(op, &f->kind) >= 0);
}

static void number(fixture *f, const char *name, double value) {
    f->values[f->n_values++] = (sr_param_value){.name = name, .number = value};
}

static void text(fixture *f, const char *name, const char *value) {
    f->values[f->n_values++] = (sr_param_value){.name = name, .is_text = true, .text = value};
}

static void end(fixture *f) {
    sr_error_clear(&f->err);
    sr_graph_free(f->graph);
}

static sr_status set(fixture *f) {
    return sr_op_set_params(f->graph, &f->spec, f->kind, f->values, f->n_values, &f->err);
}

/* Sets the parameters, compares the words, and ends the fixture. */
static void expect_words(fixture *f, const int32_t words[SR_MAX_OP_PARAMS]) {
    PARTS_OK(set(f), &f->err);
    for (int i = 0; i < SR_MAX_OP_PARAMS; i++) {
        if (f->spec.op_params[i] != words[i]) {
            fail_msg("word %d is 0x%x instead of 0x%x", i, (unsigned)f->spec.op_params[i], (unsigned)words[i]);
        }
    }
    end(f);
}

static void expect_error(fixture *f, const char *message) {
    assert_int_equal(set(f), SR_INVALID);
    assert_string_equal(sr_error_message(&f->err), message);
    end(f);
}

#define WORDS(...) (const int32_t[SR_MAX_OP_PARAMS]){__VA_ARGS__}

static void test_plain_words(void **state) {
    (void)state;
    fixture f;
    begin(&f, "RMS_NORM", "f32[8]");
    number(&f, "eps", 1e-6);
    expect_words(&f, WORDS(F(1e-6f)));
    begin(&f, "SCALE", "f32[8]");
    number(&f, "s", 0.5);
    expect_words(&f, WORDS(F(0.5f)));
    begin(&f, "SOFT_MAX", "f32[8]");
    expect_words(&f, WORDS(F(1.0f)));
    begin(&f, "CLAMP", "f32[8]");
    number(&f, "max", 2);
    number(&f, "min", -1);
    expect_words(&f, WORDS(F(-1.0f), F(2.0f)));
    begin(&f, "GROUP_NORM", "f32[8]");
    number(&f, "n_groups", 4);
    number(&f, "eps", 1e-5);
    expect_words(&f, WORDS(4, F(1e-5f)));
    begin(&f, "ADD", "f32[8] f32[8]");
    f.spec.op_params[0] = 7;
    expect_words(&f, WORDS(0));
    begin(&f, "CONV_2D", "f16[3,3,1,1] f32[8,8]");
    number(&f, "s0", 2);
    number(&f, "s1", 3);
    expect_words(&f, WORDS(2, 3, 0, 0, 1, 1));
    begin(&f, "FLASH_ATTN_EXT", "f32[8] f16[8] f16[8]");
    number(&f, "scale", 0.125);
    text(&f, "prec", "f32");
    expect_words(&f, WORDS(F(0.125f), 0, 0, 10));
    begin(&f, "CUSTOM", "f32[8]");
    expect_words(&f, WORDS(0, 0, -1));
}

static void test_enums(void **state) {
    (void)state;
    fixture f;
    begin(&f, "ARGSORT", "f32[8]");
    text(&f, "order", "desc");
    expect_words(&f, WORDS(1));
    begin(&f, "ARGSORT", "f32[8]");
    number(&f, "order", 0);
    expect_words(&f, WORDS(0));
    begin(&f, "ARGSORT", "f32[8]");
    number(&f, "order", 2);
    expect_error(&f, "parameter 'order' of ARGSORT is 2, must be one of 'asc', 'desc'");
    begin(&f, "TRI", "f32[8,8]");
    text(&f, "type", "lower_dag");
    expect_error(&f, "parameter 'type' of TRI is 'lower_dag', did you mean 'lower_diag'?");
    begin(&f, "TRI", "f32[8,8]");
    text(&f, "type", "lower");
    expect_words(&f, WORDS(3));
    begin(&f, "MUL_MAT", "f32[8,8] f32[8]");
    text(&f, "hint", "src0_is_hadamard");
    expect_words(&f, WORDS(0, 1));
    begin(&f, "POOL_1D", "f32[8]");
    text(&f, "op", "avg");
    number(&f, "k0", 3);
    number(&f, "s0", 2);
    expect_words(&f, WORDS(1, 3, 2));
}

static void test_rope(void **state) {
    (void)state;
    fixture f;
    begin(&f, "ROPE", "f32[64,4,2] i32[2]");
    number(&f, "n_dims", 64);
    text(&f, "mode", "neox");
    f.values[f.n_values++] = (sr_param_value){.name = "sections", .four = {1, 2, 3, 4}};
    expect_words(&f, WORDS(0, 64, 2, 0, 0, F(10000.0f), F(1.0f), 0, F(1.0f)));
    begin(&f, "ROPE", "f32[64,4,2] i32[8]");
    number(&f, "n_dims", 32);
    number(&f, "mode", 40);
    number(&f, "n_ctx_orig", 4096);
    number(&f, "freq_base", 1e6);
    number(&f, "freq_scale", 0.25);
    number(&f, "ext_factor", 1);
    number(&f, "attn_factor", 1.5);
    number(&f, "beta_fast", 32);
    number(&f, "beta_slow", 1);
    f.values[f.n_values++] = (sr_param_value){.name = "sections", .four = {8, 4, 4, 0}};
    expect_words(&f, WORDS(0, 32, 40, 0, 4096, F(1e6f), F(0.25f), F(1.0f), F(1.5f), F(32.0f), F(1.0f), 8, 4, 4, 0));
    begin(&f, "ROPE", "f32[64,4,2] i32[2]");
    number(&f, "n_dims", 64);
    number(&f, "mode", 1);
    expect_error(&f, "parameter 'mode' of ROPE is 1, must be one of 'normal', 'neox', 'mrope', 'vision', 'imrope'");
    begin(&f, "ROPE", "f32[64,4,2] i32[2]");
    number(&f, "n_dims", 64);
    text(&f, "sections", "1,2");
    expect_error(&f, "parameter 'sections' of ROPE is '1,2', must be four integers");
}

static void test_unary_and_glu(void **state) {
    (void)state;
    fixture f;
    begin(&f, "SILU", "f32[8]");
    expect_words(&f, WORDS(SR_UNARY_SILU));
    begin(&f, "XIELU", "f32[8]");
    number(&f, "alpha_n", 0.8);
    number(&f, "alpha_p", 30);
    number(&f, "beta", 0.5);
    number(&f, "eps", -1e-6);
    float n = 0.5f + logf(1.0f + expf(0.8f));
    expect_words(&f, WORDS(SR_UNARY_XIELU, F(n), F(30.0f), F(0.5f), F(-1e-6f)));
    begin(&f, "XIELU", "f32[8]");
    expect_error(&f, "XIELU needs parameter 'alpha_n'");
    begin(&f, "SILU", "f32[8]");
    number(&f, "beta", 1);
    expect_error(&f, "unknown parameter 'beta' of SILU, which takes none");
    begin(&f, "SWIGLU", "f32[8]");
    number(&f, "swapped", 1);
    expect_words(&f, WORDS(SR_GLU_SWIGLU, 1));
    begin(&f, "SWIGLU", "f32[8]");
    number(&f, "alpha", 1);
    expect_error(&f, "unknown parameter 'alpha' of SWIGLU, did you mean 'swapped'?");
    begin(&f, "SWIGLU_OAI", "f32[8] f32[8]");
    number(&f, "alpha", 1.702);
    number(&f, "limit", 7);
    expect_words(&f, WORDS(SR_GLU_SWIGLU_OAI, 0, F(1.702f), F(7.0f)));
    begin(&f, "SWIGLU_OAI", "f32[8] f32[8]");
    number(&f, "alpha", 1.702);
    expect_error(&f, "SWIGLU_OAI needs parameter 'limit'");
    begin(&f, "UNARY", "f32[8]");
    expect_error(&f, "UNARY needs a kind: name the op by it, as in 'SILU'");
    begin(&f, "GLU", "f32[8]");
    expect_error(&f, "GLU needs a kind: name the op by it, as in 'SWIGLU'");
}

static void test_in_place_words(void **state) {
    (void)state;
    fixture f;
    begin(&f, "ACC", "f32[8,4,2] f32[4]");
    number(&f, "offset", 16);
    expect_words(&f, WORDS(32, 128, 256, 16));
    begin(&f, "SET", "f32[8,4,2] f32[4]");
    number(&f, "nb1", 64);
    number(&f, "inplace", 1);
    PARTS_OK(set(&f), &f.err);
    assert_true(f.spec.inplace);
    assert_int_equal(f.spec.op_params[0], 64);
    assert_int_equal(f.spec.op_params[4], 1);
    end(&f);
    begin(&f, "SET", "f32[8,4,2] f32[4]");
    f.spec.inplace = true;
    expect_words(&f, WORDS(32, 128, 256, 0, 1));
    begin(&f, "SET", "f32[8,4,2] f32[4]");
    f.spec.inplace = true;
    number(&f, "inplace", 0);
    expect_error(&f, "parameter 'inplace' of SET is false, but the node is in place");
    begin(&f, "ADD_REL_POS", "f32[9,8,2] f32[3,2,4,2] f32[3,2,4,2]");
    number(&f, "inplace", 1);
    expect_words(&f, WORDS(1));
    begin(&f, "ACC", "");
    expect_error(&f, "ACC needs source 0");
    begin(&f, "ACC", "i8[2147483648,2] i8[1]");
    expect_error(&f, "ACC needs parameter 'nb1': the stride of 'a' is too large for it");
}

static void test_computed_words(void **state) {
    (void)state;
    fixture f;
    begin(&f, "VIEW", "f32[8]");
    number(&f, "offset", 4294967296.0 * 3 + 5);
    expect_words(&f, WORDS(5, 3));
    begin(&f, "VIEW", "f32[8]");
    number(&f, "offset", -4);
    expect_error(&f, "parameter 'offset' of VIEW is -4, must be 0 or more");
    begin(&f, "PERMUTE", "f32[8]");
    number(&f, "axis0", 0);
    number(&f, "axis1", 2);
    number(&f, "axis2", 1);
    number(&f, "axis3", 3);
    expect_words(&f, WORDS(0, 2, 1, 3));
    begin(&f, "PERMUTE", "f32[8]");
    number(&f, "axis0", 0);
    number(&f, "axis1", 2);
    number(&f, "axis2", 2);
    number(&f, "axis3", 3);
    expect_error(&f, "parameter 'axis2' of PERMUTE is 2, must be from 0 to 3 and no other's");
    begin(&f, "UPSCALE", "f32[4,4,2]");
    text(&f, "mode", "bilinear");
    number(&f, "align_corners", 1);
    number(&f, "antialias", 1);
    expect_words(&f, WORDS(1 + 256 + 512));
    begin(&f, "UPSCALE", "f32[4,4,2]");
    number(&f, "antialias", 1);
    expect_error(&f, "parameter 'antialias' of UPSCALE is 1, must be false unless 'mode' is 'bilinear'");
    begin(&f, "PAD", "f32[4]");
    number(&f, "lp0", 1);
    number(&f, "p0", 2);
    number(&f, "rp1", 3);
    number(&f, "circular", 1);
    expect_words(&f, WORDS(1, 2, 0, 3, 0, 0, 0, 0, 1));
    begin(&f, "PAD", "f32[4]");
    number(&f, "rp3", 2);
    number(&f, "p3", 2);
    expect_error(&f, "PAD takes parameter 'p3' or 'rp3', not both");
    begin(&f, "WIN_PART", "f32[5,7,8]");
    number(&f, "w", 4);
    expect_words(&f, WORDS(2, 2, 4));
    begin(&f, "WIN_PART", "f32[5,7,8]");
    number(&f, "w", 0);
    expect_error(&f, "parameter 'w' of WIN_PART is 0, must be positive");
    begin(&f, "IM2COL", "f16[3,3,2,8] f32[10,12,2,4]");
    number(&f, "s0", 2);
    expect_words(&f, WORDS(2, 1, 0, 0, 1, 1, 1));
    begin(&f, "IM2COL_BACK", "f16[3,2,8] f32[10,2,4]");
    number(&f, "s0", 2);
    number(&f, "is_2d", 0);
    expect_words(&f, WORDS(2, 0, 0, 0, 1, 0, 0));
}

static void expect_extents(fixture *f, const char *expect) {
    int32_t out = -1;
    char buffer[128];
    PARTS_OK(set(f), &f->err);
    PARTS_OK(sr_graph_add(f->graph, &f->spec, &out, &f->err), &f->err);
    assert_string_equal(parts_text(&f->graph->tensors[out], buffer), expect);
    end(f);
}

static void test_arguments_that_no_word_keeps(void **state) {
    (void)state;
    fixture f;
    begin(&f, "TOP_K", "f32[8,4]");
    number(&f, "k", 3);
    expect_extents(&f, "i32[3,4]");
    begin(&f, "TOP_K", "f32[8,4]");
    parts_read(&f.spec, "[2,4]");
    expect_extents(&f, "i32[2,4]");
    begin(&f, "TOP_K", "f32[8,4]");
    parts_read(&f.spec, "[2,4]");
    number(&f, "k", 3);
    expect_error(&f, "ne0 of TOP_K is 2, but its parameters make it 3");
    begin(&f, "TOP_K", "f32[8,4]");
    number(&f, "k", 9);
    expect_error(&f, "parameter 'k' of TOP_K is 9, must be from 1 to ne0 of the source");
    begin(&f, "TOP_K", "f32[8,4]");
    expect_error(&f, "TOP_K needs parameter 'k'");
    begin(&f, "IM2COL", "f16[3,3,2,8] f32[10,12,2,4]");
    number(&f, "s0", 1);
    number(&f, "p0", 1);
    text(&f, "dst_type", "f16");
    expect_extents(&f, "f16[18,10,10,4]");
    begin(&f, "IM2COL", "f16[3,3,2,8] f32[10,12,2,4]");
    f.spec.type = SR_TYPE_F32;
    number(&f, "s0", 1);
    text(&f, "dst_type", "f16");
    expect_error(&f, "type f32 of IM2COL is not its parameter 'dst_type', f16");
    begin(&f, "IM2COL_3D", "f16[3,3,3,4] f32[10,11,12,6]");
    number(&f, "s0", 1);
    number(&f, "s1", 1);
    number(&f, "s2", 1);
    number(&f, "ic", 2);
    expect_extents(&f, "f32[54,8,9,30]");
    begin(&f, "UPSCALE", "f32[4,4,2]");
    number(&f, "ne0", 8);
    number(&f, "ne1", 12);
    expect_extents(&f, "f32[8,12,2]");
    begin(&f, "POOL_2D", "f32[10,10,3]");
    text(&f, "op", "max");
    number(&f, "k0", 3);
    number(&f, "k1", 3);
    number(&f, "s0", 2);
    number(&f, "s1", 2);
    number(&f, "p0", 0.5);
    number(&f, "p1", 0.5);
    expect_extents(&f, "f32[5,5,3]");
    begin(&f, "WIN_UNPART", "f32[5,4,4,4]");
    number(&f, "w", 4);
    number(&f, "w0", 7);
    number(&f, "h0", 6);
    expect_extents(&f, "f32[5,7,6]");
    begin(&f, "GET_REL_POS", "f16[5,7]");
    number(&f, "qh", 4);
    number(&f, "kh", 4);
    expect_extents(&f, "f16[5,4,4]");
    begin(&f, "GET_REL_POS", "f16[5,7]");
    number(&f, "qh", 4);
    expect_error(&f, "GET_REL_POS takes parameters 'kh' and 'qh' together");
    begin(&f, "GET_REL_POS", "f16[5,7]");
    expect_extents(&f, "f16[5,4,4]");
}

static void test_refusals(void **state) {
    (void)state;
    fixture f;
    begin(&f, "RMS_NORM", "f32[8]");
    number(&f, "epsilon", 1e-6);
    expect_error(&f, "unknown parameter 'epsilon' of RMS_NORM, did you mean 'eps'?");
    begin(&f, "RMS_NORM", "f32[8]");
    expect_error(&f, "RMS_NORM needs parameter 'eps'");
    begin(&f, "RMS_NORM", "f32[8]");
    number(&f, "eps", -1);
    expect_error(&f, "parameter 'eps' of RMS_NORM is -1, must be 0 or more");
    begin(&f, "RMS_NORM", "f32[8]");
    text(&f, "eps", "small");
    expect_error(&f, "parameter 'eps' of RMS_NORM is 'small', must be a number");
    begin(&f, "RMS_NORM", "f32[8]");
    number(&f, "eps", 1);
    number(&f, "eps", 1);
    expect_error(&f, "parameter 'eps' of RMS_NORM is given twice");
    begin(&f, "ROPE", "f32[8] i32[1]");
    number(&f, "n_dimss", 8);
    expect_error(&f, "unknown parameter 'n_dimss' of ROPE, did you mean 'n_dims'?");
    begin(&f, "ROPE", "f32[8] i32[1]");
    number(&f, "quite_another_thing", 8);
    expect_error(&f, "unknown parameter 'quite_another_thing' of ROPE");
    begin(&f, "ROPE", "f32[8] i32[1]");
    number(&f, "n_dims", 2.5);
    expect_error(&f, "parameter 'n_dims' of ROPE is 2.5, must be an integer within range");
    begin(&f, "CONCAT", "f32[8] f32[8]");
    number(&f, "dim", 4294967296.0);
    expect_error(&f, "parameter 'dim' of CONCAT is 4294967296, must be an integer within range");
    begin(&f, "ADD", "f32[8] f32[8]");
    number(&f, "alpha", 1);
    expect_error(&f, "unknown parameter 'alpha' of ADD, which takes none");
    begin(&f, "SWIGLU", "f32[8]");
    number(&f, "swapped", 2);
    expect_error(&f, "parameter 'swapped' of SWIGLU is 2, must be true or false");
    begin(&f, "SOFT_MAX_BACK", "f32[8] f32[8]");
    number(&f, "max_bias", 8);
    expect_error(&f, "parameter 'max_bias' of SOFT_MAX_BACK is 8, must be 0");
    begin(&f, "CUSTOM", "f32[8]");
    number(&f, "n_tasks", 0);
    expect_error(&f, "parameter 'n_tasks' of CUSTOM is 0, must be positive, or -1 for all threads");
    begin(&f, "SCALE", "f32[8]");
    number(&f, "s", (double)NAN);
    assert_int_equal(set(&f), SR_INVALID);
    end(&f);
}

static void test_opaque(void **state) {
    (void)state;
    fixture f;
    begin(&f, "ADD", "f32[8] f32[8]");
    f.spec.op = SR_OP_OPAQUE;
    f.spec.op_name = "NEW_OP";
    PARTS_OK(set(&f), &f.err);
    number(&f, "x", 1);
    expect_error(&f, "NEW_OP is not known here: give its words (op_params)");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_words),
        cmocka_unit_test(test_enums),
        cmocka_unit_test(test_rope),
        cmocka_unit_test(test_unary_and_glu),
        cmocka_unit_test(test_in_place_words),
        cmocka_unit_test(test_computed_words),
        cmocka_unit_test(test_arguments_that_no_word_keeps),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_opaque),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
