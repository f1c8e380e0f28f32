/*
 * test_graph.c - tests of building graphs: src/graph/graph.c, graph_layout.c, graph_tables.c and graph_class.c.
 *
 * Layer: tests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "support/graph_parts.h"

static sr_graph *new_graph(void) {
    sr_error err = {0};
    sr_graph *graph = NULL;
    PARTS_OK(sr_graph_new("g", &graph, &err), &err);
    return graph;
}

static int32_t add(sr_graph *graph, const sr_tensor_spec *spec) {
    sr_error err = {0};
    int32_t out = -1;
    PARTS_OK(sr_graph_add(graph, spec, &out, &err), &err);
    return out;
}

static int32_t node(sr_graph *graph, const char *op, const char *id, int32_t a, int32_t b) {
    int32_t srcs[2] = {a, b};
    sr_tensor_spec spec = parts_node(op, id, srcs, b == -1 ? 1 : 2);
    return add(graph, &spec);
}

static int32_t node_of_shape(sr_graph *graph, const char *op, const char *id, int32_t a, const char *shape) {
    sr_tensor_spec spec = parts_node(op, id, &a, 1);
    parts_read(&spec, shape);
    return add(graph, &spec);
}

static void expect_refusal(sr_graph *graph, const sr_tensor_spec *spec, const char *message) {
    sr_error err = {0};
    int32_t before = graph->n_tensors, srcs = graph->n_srcs;
    assert_int_equal(sr_graph_add(graph, spec, NULL, &err), SR_INVALID);
    assert_string_equal(sr_error_message(&err), message);
    assert_non_null(sr_error_find(&err, "tensor"));
    assert_int_equal(graph->n_tensors, before);
    assert_int_equal(graph->n_srcs, srcs);
    sr_error_clear(&err);
}

static void finish(sr_graph *graph) {
    sr_error err = {0};
    PARTS_OK(sr_graph_finish(graph, &err), &err);
}

/* ---- order, flags, names ---- */

static void test_order_and_uses(void **state) {
    (void)state;
    sr_graph *g = new_graph(), *other = new_graph();
    int32_t x = parts_leaf(g, "x", "f32[8,4]");
    sr_tensor_spec spec;
    sr_tensor_spec_init(&spec);
    spec.id = "p";
    spec.flags = SR_FLAG_PARAM;
    parts_read(&spec, "f32[8]");
    int32_t p = add(g, &spec);
    int32_t y = node(g, "MUL", "y", x, p);
    int32_t w = parts_leaf(g, "w", "f32[8,4]");
    int32_t z = node(g, "ADD", "z", y, y);
    spec = parts_node("SILU", "s", &z, 1);
    spec.no_compute = true;
    spec.flags = SR_FLAG_OUTPUT;
    int32_t s = add(g, &spec);
    finish(g);
    finish(g);
    assert_int_equal(g->n_tensors, 6);
    assert_int_equal(g->n_leafs, 2);
    assert_int_equal(g->leafs[0], x);
    assert_int_equal(g->leafs[1], w);
    assert_int_equal(g->n_nodes, 4);
    const int32_t nodes[] = {p, y, z, s};
    assert_memory_equal(g->nodes, nodes, sizeof nodes);
    assert_int_equal(g->tensors[x].node, -1);
    assert_int_equal(g->tensors[p].node, 0);
    assert_int_equal(g->tensors[z].node, 2);
    assert_int_equal(g->tensors[y].flags, SR_FLAG_COMPUTE);
    assert_int_equal(g->tensors[s].flags, SR_FLAG_OUTPUT);
    assert_int_equal(g->tensors[x].flags, 0);
    assert_int_equal(g->use_counts[x], 1);
    assert_int_equal(g->use_counts[y], 2);
    assert_int_equal(g->use_counts[w], 0);
    assert_int_equal(sr_graph_find(g, "z"), z);
    assert_int_equal(sr_graph_find(g, "none"), -1);
    assert_int_equal(sr_graph_find(g, NULL), -1);
    assert_true(g->uid != other->uid);
    sr_graph_view view = sr_graph_whole(g);
    assert_ptr_equal(view.graph, g);
    assert_int_equal(view.n_nodes, 4);
    assert_int_equal(sr_view_src(&view, &g->tensors[z], 1), y);
    assert_int_equal(sr_view_src(&view, &g->tensors[z], 2), -1);
    assert_null(view.storage);
    sr_graph_free(other);
    sr_graph_free(g);
}

static void test_names(void **state) {
    (void)state;
    sr_graph *g = new_graph();
    sr_tensor_spec spec;
    sr_tensor_spec_init(&spec);
    parts_read(&spec, "f32[1]");
    spec.id = "i0";
    spec.name = "x";
    int32_t a = add(g, &spec);
    spec.id = "i1";
    int32_t b = add(g, &spec);
    assert_string_equal(g->tensors[a].name, "x");
    assert_string_equal(g->tensors[b].name, "x");
    assert_int_equal(sr_graph_find(g, "i1"), b);
    assert_int_equal(sr_graph_find(g, "x"), -1);
    spec.id = NULL;
    spec.name = "only a name";
    a = add(g, &spec);
    assert_string_equal(g->tensors[a].id, "only a name");
    expect_refusal(g, &spec, "id 'only a name' is used twice");
    spec.name = NULL;
    a = add(g, &spec);
    assert_string_equal(g->tensors[a].id, "#3");
    assert_string_equal(g->tensors[a].name, "");
    spec.id = "an id without a name";
    a = add(g, &spec);
    assert_string_equal(g->tensors[a].name, "an id without a name");
    /* 63 bytes are shown, and no half of a character */
    char name[100];
    memset(name, 'n', sizeof name);
    name[62] = (char)0xc3;
    name[63] = (char)0xa9;
    name[99] = '\0';
    spec.id = NULL;
    spec.name = name;
    a = add(g, &spec);
    assert_int_equal(strlen(g->tensors[a].name), 62);
    assert_string_equal(g->tensors[a].id, name);
    sr_graph_free(g);
}

static void test_many_ids(void **state) {
    (void)state;
    sr_graph *g = new_graph();
    char id[16];
    for (int i = 0; i < 5000; i++) {
        snprintf(id, sizeof id, "t%d", i);
        assert_int_equal(parts_leaf(g, id, "f32[1]"), i);
    }
    finish(g);
    for (int i = 0; i < 5000; i++) {
        snprintf(id, sizeof id, "t%d", i);
        assert_int_equal(sr_graph_find(g, id), i);
    }
    assert_int_equal(g->n_leafs, 5000);
    assert_int_equal(g->n_classes, 1);
    sr_graph_free(g);
}

static void test_empty_graph(void **state) {
    (void)state;
    sr_graph *g = new_graph();
    finish(g);
    assert_int_equal(g->n_nodes, 0);
    assert_int_equal(g->n_leafs, 0);
    assert_int_equal(g->n_classes, 0);
    sr_tensor_spec spec;
    sr_tensor_spec_init(&spec);
    spec.id = "x";
    parts_read(&spec, "f32[1]");
    expect_refusal(g, &spec, "the graph is finished, 'x' cannot be added");
    sr_graph_free(g);
    sr_graph_free(NULL);
}

/* ---- sizes and strides ---- */

static void test_sizes(void **state) {
    (void)state;
    sr_graph *g = new_graph();
    const sr_tensor *t = &g->tensors[0];
    static const struct { const char *text; size_t nbytes, nb1; } cases[] = {
        {"f32[8,4,2,3]", 768, 32}, {"q4_0[64,4]", 144, 36}, {"f16[0,4]", 0, 0},   {"i64[3,0,2]", 0, 24},
        {"q6_K[256]", 210, 210},   {"i8[7]", 7, 7},         {"bf16[5,3]", 30, 10},
    };
    for (int i = 0; i < SR_COUNT(cases); i++) {
        char id[2] = {(char)('a' + i), '\0'};
        int32_t at = parts_leaf(g, id, cases[i].text);
        t = &g->tensors[at];
        assert_int_equal(t->nbytes, cases[i].nbytes);
        assert_int_equal(t->nb[1], cases[i].nb1);
        assert_true(sr_tensor_is_contiguous(t));
    }
    /* gaps between rows count, what follows the last element does not */
    sr_tensor_spec spec;
    sr_tensor_spec_init(&spec);
    spec.id = "padded";
    parts_read(&spec, "f32[8,4]");
    spec.has_nb = true;
    memcpy(spec.nb, (size_t[]){4, 64, 256, 256}, sizeof spec.nb);
    assert_int_equal(g->tensors[add(g, &spec)].nbytes, 3 * 64 + 32);
    sr_graph_free(g);
}

static void test_wrong_sizes(void **state) {
    (void)state;
    sr_graph *g = new_graph();
    static const struct { const char *text, *message; } cases[] = {
        {"q4_0[48,2]", "ne0 of 'x' is 48, not a multiple of the 32 elements of a block of q4_0"},
        {"f32[8,-1]", "ne1 of 'x' is -1, extents cannot be negative"},
        {"f32[4611686018427387904]", "the size of 'x' [4611686018427387904] overflows"},
        {"f32[4294967296,4294967296]", "the extents of 'x' overflow: too many elements"},
        {"f64[1152921504606846976]", "the size of 'x' [1152921504606846976] overflows"},
        {"f32[4294967296,0,4294967296]", "the extents of 'x' overflow: too many elements"},
    };
    sr_tensor_spec spec;
    for (int i = 0; i < SR_COUNT(cases); i++) {
        sr_tensor_spec_init(&spec);
        spec.id = "x";
        parts_read(&spec, cases[i].text);
        expect_refusal(g, &spec, cases[i].message);
    }
    sr_tensor_spec_init(&spec);
    spec.id = "x";
    expect_refusal(g, &spec, "'x' needs its extents (ne)");
    parts_read(&spec, "f32[8,4]");
    spec.has_nb = true;
    memcpy(spec.nb, (size_t[]){4, 34, 128, 128}, sizeof spec.nb);
    expect_refusal(g, &spec, "stride nb1 of 'x' is 34, not a multiple of the 4 bytes of f32");
    spec.nb[1] = SIZE_MAX - 3;
    expect_refusal(g, &spec, "the size of 'x' [8,4] overflows");
    spec.nb[1] = SIZE_MAX / 8 & ~(size_t)3;
    spec.nb[0] = SIZE_MAX / 8 & ~(size_t)3;
    expect_refusal(g, &spec, "the size of 'x' [8,4] overflows");
    assert_int_equal(g->n_tensors, 0);
    sr_graph_free(g);
}

/* ---- views ---- */

static void test_views_go_to_the_root(void **state) {
    (void)state;
    sr_graph *g = new_graph();
    int32_t x = parts_leaf(g, "x", "f32[8,4]");
    sr_tensor_spec spec = parts_node("VIEW", "v", &x, 1);
    parts_read(&spec, "f32[8,2]");
    spec.op_params[0] = 32;
    int32_t v = add(g, &spec);
    assert_int_equal(g->tensors[v].view_src, x);
    assert_int_equal(g->tensors[v].view_offs, 32);
    spec = parts_node("VIEW", "u", &v, 1);
    parts_read(&spec, "f32[4]");
    spec.view_of = v;
    spec.view_offset = 16;
    spec.op_params[0] = 20; /* an explicit view is what counts */
    int32_t u = add(g, &spec);
    assert_int_equal(g->tensors[u].view_src, x);
    assert_int_equal(g->tensors[u].view_offs, 48);
    int32_t r = node_of_shape(g, "RESHAPE", "r", v, "[4,4]");
    assert_int_equal(g->tensors[r].view_src, x);
    assert_int_equal(g->tensors[r].view_offs, 32);
    /* recorded against the root, as well as against what it is a view of */
    spec = parts_node("RESHAPE", "r2", &v, 1);
    parts_read(&spec, "f32[16]");
    spec.view_of = x;
    spec.view_offset = 32;
    assert_int_equal(g->tensors[add(g, &spec)].view_offs, 32);
    sr_graph_free(g);
}

static void test_strides_of_views(void **state) {
    (void)state;
    sr_graph *g = new_graph();
    int32_t x = parts_leaf(g, "x", "f32[2,3,4,5]");
    int32_t t = node(g, "TRANSPOSE", "t", x, -1);
    assert_int_equal(g->tensors[t].nb[0], 8);
    assert_int_equal(g->tensors[t].nb[1], 4);
    assert_int_equal(g->tensors[t].nbytes, 480);
    sr_tensor_spec spec = parts_node("PERMUTE", "p", &x, 1);
    memcpy(spec.op_params, (int32_t[]){1, 2, 0, 3}, 4 * sizeof(int32_t));
    const sr_tensor *p = &g->tensors[add(g, &spec)];
    assert_memory_equal(p->ne, ((int64_t[]){4, 2, 3, 5}), sizeof p->ne);
    assert_memory_equal(p->nb, ((size_t[]){24, 4, 8, 96}), sizeof p->nb);
    /* axes that a recording does not tell follow from its extents and strides */
    spec = parts_node("PERMUTE", "q", &x, 1);
    parts_read(&spec, "f32[2,4,3,5]");
    spec.has_nb = true;
    memcpy(spec.nb, (size_t[]){4, 24, 8, 96}, sizeof spec.nb);
    add(g, &spec);
    /* in place, a copy and a row store have the strides of what they write to */
    int32_t s = node(g, "TRANSPOSE", "s", x, -1);
    spec = parts_node("SILU", "i", &s, 1);
    spec.inplace = true;
    const sr_tensor *i = &g->tensors[add(g, &spec)];
    assert_int_equal(i->view_src, x);
    assert_int_equal(i->nb[0], 8);
    int32_t c = node(g, "CPY", "c", x, s);
    assert_int_equal(g->tensors[c].view_src, x);
    assert_int_equal(g->tensors[c].nb[0], 8);
    assert_int_equal(g->tensors[c].ne[0], 3);
    sr_graph_free(g);
}

static void test_copies_and_casts(void **state) {
    (void)state;
    sr_graph *g = new_graph();
    int32_t x = parts_leaf(g, "x", "f32[8,4]"), y = parts_leaf(g, "y", "f16[8,4]");
    int32_t c = node(g, "CPY", "c", x, y);
    assert_int_equal(g->tensors[c].view_src, y);
    assert_int_equal(g->tensors[c].type, SR_TYPE_F16);
    int32_t srcs[] = {x, SR_SELF};
    sr_tensor_spec spec = parts_node("CPY", "cast", srcs, 2);
    expect_refusal(g, &spec, "a CPY onto itself is a cast and needs a type");
    spec.type = SR_TYPE_BF16;
    int32_t cast = add(g, &spec);
    assert_int_equal(g->tensors[cast].view_src, -1);
    assert_int_equal(g->srcs[g->tensors[cast].src_begin + 1], cast);
    /* its own index says the same */
    srcs[1] = g->n_tensors;
    spec.id = "cast2";
    add(g, &spec);
    srcs[0] = SR_SELF;
    srcs[1] = y;
    spec.id = "cast3";
    expect_refusal(g, &spec, "'cast3' is its own source: only a CPY may be, as its destination");
    finish(g);
    assert_int_equal(g->use_counts[cast], 1);
    sr_graph_free(g);
}

static void test_channels_first_images(void **state) {
    (void)state;
    sr_graph *g = new_graph();
    int32_t k = parts_leaf(g, "k", "f32[3,3,1,8]");
    sr_tensor_spec spec;
    sr_tensor_spec_init(&spec);
    spec.id = "image";
    parts_read(&spec, "f32[10,12,8,2]");
    spec.has_nb = true;
    memcpy(spec.nb, (size_t[]){32, 320, 4, 3840}, sizeof spec.nb);
    int32_t image = add(g, &spec), srcs[] = {k, image};
    spec = parts_node("CONV_2D_DW", "y", srcs, 2);
    memcpy(spec.op_params, (int32_t[]){1, 1, 0, 0, 1, 1}, 6 * sizeof(int32_t));
    const sr_tensor *y = &g->tensors[add(g, &spec)];
    assert_memory_equal(y->ne, ((int64_t[]){8, 10, 8, 2}), sizeof y->ne);
    assert_memory_equal(y->nb, ((size_t[]){32, 256, 4, 2560}), sizeof y->nb);
    assert_int_equal(y->nbytes, 5120);
    sr_graph_free(g);
}

static void test_in_place_words(void **state) {
    (void)state;
    sr_graph *g = new_graph();
    int32_t x = parts_leaf(g, "x", "f32[8,4]"), b = parts_leaf(g, "b", "f32[8]"), srcs[] = {x, b};
    sr_tensor_spec spec = parts_node("SET", "word", srcs, 2);
    memcpy(spec.op_params, (int32_t[]){32, 128, 128, 0, 1}, 5 * sizeof(int32_t));
    assert_int_equal(g->tensors[add(g, &spec)].view_src, x);
    spec.id = "key";
    spec.op_params[4] = 0;
    spec.inplace = true;
    int32_t key = add(g, &spec);
    assert_int_equal(g->tensors[key].view_src, x);
    assert_int_equal(g->tensors[key].op_params[4], 1);
    spec.id = "neither";
    spec.inplace = false;
    assert_int_equal(g->tensors[add(g, &spec)].view_src, -1);
    sr_graph_free(g);
}

static void test_wrong_views(void **state) {
    (void)state;
    sr_graph *g = new_graph();
    int32_t x = parts_leaf(g, "x", "f32[8,4]"), y = parts_leaf(g, "y", "f32[8,4]"), xy[] = {x, y};
    sr_tensor_spec spec = parts_node("VIEW", "v", &x, 1);
    parts_read(&spec, "f32[8,4]");
    spec.view_of = x;
    spec.view_offset = 384;
    expect_refusal(g, &spec, "view of 'x' ends at byte 512, past the 128 bytes of its root");
    spec.view_offset = SIZE_MAX - 8;
    expect_refusal(g, &spec, "the offset of 'v' in 'x' overflows");
    spec.view_offset = 0;
    spec.has_nb = true;
    memcpy(spec.nb, (size_t[]){4, 36, 144, 144}, sizeof spec.nb);
    expect_refusal(g, &spec, "view of 'x' ends at byte 140, past the 128 bytes of its root");
    /* strides of 0 reach nowhere, but the reference wants room for all elements */
    parts_read(&spec, "f32[8,8]");
    memcpy(spec.nb, (size_t[]){4, 0, 0, 0}, sizeof spec.nb);
    expect_refusal(g, &spec, "view of 'x' ends at byte 256, past the 128 bytes of its root");
    spec.has_nb = false;
    parts_read(&spec, "f32[1]");
    spec.view_offset = 2;
    expect_refusal(g, &spec, "the offset 2 of 'v' is not a multiple of the 4 bytes of f32");
    spec.view_of = 7;
    expect_refusal(g, &spec, "'v' is a view of tensor 7, which is not there yet");
    spec.view_of = y;
    spec.view_offset = 0;
    expect_refusal(g, &spec, "view of 'y', but VIEW shares the memory of 'x'");
    spec.view_of = x;
    spec.buffer = (struct sr_buffer *)&spec;
    expect_refusal(g, &spec, "'v' is a view of 'x' and cannot have a buffer of its own");
    spec = parts_node("MUL_MAT", "m", xy, 2);
    spec.inplace = true;
    expect_refusal(g, &spec, "MUL_MAT has no in-place form ('m')");
    spec = parts_node("XIELU", "m", xy, 1);
    spec.inplace = true;
    expect_refusal(g, &spec, "XIELU has no in-place form ('m')");
    spec = parts_node("ADD", "m", xy, 2);
    spec.inplace = true;
    spec.type = SR_TYPE_F16;
    expect_refusal(g, &spec, "'m' is in place but is f16 [8,4], not f32 [8,4] as its first source 'x'");
    /* an empty view may lie anywhere */
    spec = parts_node("VIEW", "e", &x, 1);
    parts_read(&spec, "f32[8,0]");
    spec.op_params[0] = 4096;
    assert_int_equal(g->tensors[add(g, &spec)].nbytes, 0);
    sr_graph_free(g);
}

/* ---- wrong specs ---- */

static void test_wrong_specs(void **state) {
    (void)state;
    sr_graph *g = new_graph();
    int32_t x = parts_leaf(g, "x", "f32[8]"), many[16];
    for (int i = 0; i < 16; i++) {
        many[i] = x;
    }
    sr_tensor_spec spec = parts_node("CUSTOM", "n", many, 11);
    parts_read(&spec, "f32[8]");
    expect_refusal(g, &spec, "'n' has 11 sources, at most 10 are possible");
    spec.n_src = 10;
    add(g, &spec);
    spec = parts_node("SILU", "y", many, 1);
    many[0] = 9;
    expect_refusal(g, &spec, "source 0 of 'y' is tensor 9, which is not there yet");
    many[0] = 2;
    expect_refusal(g, &spec, "'y' is its own source: only a CPY may be, as its destination");
    many[0] = x;
    spec.op = 97;
    expect_refusal(g, &spec, "97 is not an op ('y')");
    spec.op = SR_OP_OPAQUE;
    expect_refusal(g, &spec, "the op of 'y' has no name");
    spec.op = SR_OP_NONE;
    expect_refusal(g, &spec, "'y' is a leaf and cannot have sources");
    spec = parts_node("SILU", "y", many, 1);
    spec.type = 4;
    expect_refusal(g, &spec, "4 is not a type ('y')");
    spec.type = -1;
    spec.n_dims = 5;
    expect_refusal(g, &spec, "'y' has 5 extents, at most 4 are possible");
    spec.n_dims = 0;
    spec.flags = 64;
    expect_refusal(g, &spec, "'y' has unknown flags 0x40");
    sr_graph_free(g);
}

/* ---- opaque ops, answers, classes ---- */

static void test_opaque(void **state) {
    (void)state;
    sr_graph *g = new_graph();
    int32_t x = parts_leaf(g, "x", "f32[8,4]"), srcs[] = {x, -1, x};
    sr_tensor_spec spec = parts_node("ADD", "o", srcs, 3);
    spec.op = SR_OP_OPAQUE;
    spec.op_name = "NEW_OP";
    expect_refusal(g, &spec, "'o' needs its extents (ne)");
    parts_read(&spec, "f16[8,2]");
    int32_t o = add(g, &spec);
    assert_string_equal(sr_tensor_op_desc(&g->tensors[o]), "NEW_OP");
    assert_int_equal(g->tensors[o].n_src, 3);
    char name[] = "NEW_OP";
    spec.op_name = name;
    spec.id = "p";
    int32_t p = add(g, &spec);
    spec.op_name = "OTHER_OP";
    spec.id = "q";
    int32_t q = add(g, &spec);
    finish(g);
    assert_ptr_equal(g->tensors[o].op_name, g->tensors[p].op_name);
    assert_int_equal(g->tensors[o].class_id, g->tensors[p].class_id);
    assert_int_not_equal(g->tensors[o].class_id, g->tensors[q].class_id);
    sr_graph_free(g);
}

static void test_answers(void **state) {
    (void)state;
    sr_graph *g = new_graph();
    int32_t x = parts_leaf(g, "x", "f32[8]");
    const char *one[] = {"GPU0"}, *two[] = {"GPU0", "CPU"};
    sr_answers lists[] = {
        {one, NULL, 1, -1}, {two, NULL, 2, -1}, {one, NULL, 1, -1}, {one, one, 1, 1}, {NULL, NULL, 0, -1},
        {NULL, NULL, -1, -1},
    };
    static const int32_t expect[] = {0, 1, 0, 2, 3, -1};
    char id[16];
    for (int i = 0; i < SR_COUNT(lists); i++) {
        snprintf(id, sizeof id, "n%d", i);
        sr_tensor_spec spec = parts_node("SILU", id, &x, 1);
        spec.answers = &lists[i];
        int32_t n = add(g, &spec);
        assert_int_equal(g->tensors[n].answers, expect[i]);
    }
    one[0] = "changed"; /* they are copies */
    finish(g);
    assert_int_equal(g->n_answers, 4);
    assert_string_equal(g->answers[0].supported_by[0], "GPU0");
    assert_int_equal(g->answers[0].n_offloaded_by, -1);
    assert_string_equal(g->answers[2].offloaded_by[0], "GPU0");
    assert_int_equal(g->answers[3].n_supported_by, 0);
    assert_int_equal(g->tensors[1].class_id, g->tensors[3].class_id);
    assert_int_not_equal(g->tensors[1].class_id, g->tensors[2].class_id);
    sr_graph_free(g);
}

static void test_classes(void **state) {
    (void)state;
    sr_graph *g = new_graph();
    struct sr_buffer *buffer = (struct sr_buffer *)g; /* never followed */
    int32_t x = parts_leaf(g, "x", "f32[8,4]"), y = parts_leaf(g, "y", "f32[8,4]");
    int32_t w = parts_leaf(g, "w", "f32[8,4]"), h = parts_leaf(g, "h", "f16[8,4]");
    sr_graph_place(g, w, buffer, 64);
    sr_graph_place(g, 99, buffer, 0);
    int32_t rx = node_of_shape(g, "RESHAPE", "rx", x, "[8,4]"), rw = node_of_shape(g, "RESHAPE", "rw", w, "[8,4]");
    int32_t base = node(g, "ADD", "base", x, y);
    int32_t same = node(g, "ADD", "same", y, x);
    int32_t other_op = node(g, "SUB", "other op", x, y);
    int32_t other_buffer = node(g, "ADD", "other buffer", x, w);
    int32_t other_type = node(g, "ADD", "other type", x, h);
    int32_t other_view = node(g, "ADD", "other view", x, rx);
    int32_t other_root = node(g, "ADD", "other root", x, rw);
    int32_t s1 = node(g, "SILU", "s1", x, -1), s2 = node(g, "GELU", "s2", x, -1), s3 = node(g, "SILU", "s3", y, -1);
    sr_tensor_spec spec = parts_node("ADD", "in place", (int32_t[]){x, y}, 2);
    spec.inplace = true;
    int32_t in_place = add(g, &spec);
    finish(g);
    sr_graph_place(g, x, buffer, 0); /* too late */
    assert_null(g->tensors[x].buffer);
    assert_ptr_equal(g->tensors[w].buffer, buffer);
    assert_int_equal(g->tensors[w].buffer_offset, 64);
    assert_int_equal(g->tensors[base].class_id, g->tensors[same].class_id);
    assert_int_equal(g->tensors[s1].class_id, g->tensors[s3].class_id);
    assert_int_equal(g->tensors[x].class_id, g->tensors[y].class_id);
    const int32_t apart[] = {x, w, h, rx, rw, base, other_op, other_buffer, other_type, other_view, other_root, s1, s2,
                             in_place};
    for (int i = 0; i < SR_COUNT(apart); i++) {
        assert_in_range(g->tensors[apart[i]].class_id, 0, g->n_classes - 1);
        for (int k = 0; k < i; k++) {
            assert_int_not_equal(g->tensors[apart[i]].class_id, g->tensors[apart[k]].class_id);
        }
    }
    assert_int_equal(g->n_classes, SR_COUNT(apart));
    sr_graph_free(g);
}

/* ---- allocation failures ---- */

/* A graph that makes every table grow: ids, sources, answers, op names, facets and classes. */
static sr_status build_large(sr_error *err) {
    static const char *const names[] = {"GPU0", "CPU"};
    sr_graph *g = NULL;
    sr_status status;
    char id[100];
    SR_TRY(sr_graph_new("large", &g, err));
    for (int32_t i = 0; i < 200; i++) {
        sr_tensor_spec spec;
        int32_t src = i - 1;
        const char *list[2] = {names[i % 2], names[0]};
        sr_answers answers = {list, list, i % 3, i % 2};
        sr_tensor_spec_init(&spec);
        snprintf(id, sizeof id, "tensor %d with a name that is longer than what is shown of it in any output", i);
        spec.id = id;
        spec.n_dims = 1;
        spec.ne[0] = 8 + i;
        if (i > 0) {
            spec.op = SR_OP_OPAQUE;
            spec.op_name = i % 2 == 0 ? "EVEN" : "ODD";
            spec.srcs = &src;
            spec.n_src = 1;
            spec.answers = &answers;
        }
        SR_TRY(sr_graph_add(g, &spec, NULL, err));
    }
    SR_TRY(sr_graph_finish(g, err));
done:
    sr_graph_free(g);
    return status;
}

static void test_allocation_failures(void **state) {
    (void)state;
    sr_error err = {0};
    long failures = 0;
    for (int all_after = 0; all_after < 2; all_after++) {
        for (long n = 1;; n++) {
            sr__fail_allocations(n, all_after != 0);
            sr_status status = build_large(&err);
            sr__fail_allocations(0, false);
            if (status == SR_OK) {
                break;
            }
            assert_int_equal(status, SR_MEMORY);
            sr_error_clear(&err);
            failures++;
        }
    }
    assert_true(failures > 20);
}

/* A failed finish leaves a graph that can be finished later. */
static void test_finish_again(void **state) {
    (void)state;
    sr_error err = {0};
    for (long n = 1; n < 5; n++) {
        sr_graph *g = new_graph();
        int32_t x = parts_leaf(g, "x", "f32[8]");
        sr__fail_allocations(n, true);
        assert_int_equal(sr_graph_finish(g, &err), SR_MEMORY);
        sr__fail_allocations(0, false);
        sr_error_clear(&err);
        node(g, "SILU", "y", x, -1);
        finish(g);
        assert_int_equal(g->n_nodes, 1);
        assert_int_equal(g->n_leafs, 1);
        sr_graph_free(g);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_and_uses),       cmocka_unit_test(test_names),
        cmocka_unit_test(test_many_ids),             cmocka_unit_test(test_empty_graph),
        cmocka_unit_test(test_sizes),                cmocka_unit_test(test_wrong_sizes),
        cmocka_unit_test(test_views_go_to_the_root), cmocka_unit_test(test_strides_of_views),
        cmocka_unit_test(test_copies_and_casts),     cmocka_unit_test(test_channels_first_images),
        cmocka_unit_test(test_in_place_words),       cmocka_unit_test(test_wrong_views),
        cmocka_unit_test(test_wrong_specs),          cmocka_unit_test(test_opaque),
        cmocka_unit_test(test_answers),              cmocka_unit_test(test_classes),
        cmocka_unit_test(test_allocation_failures),  cmocka_unit_test(test_finish_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
