/* Tests of what shares memory: views, places that overlap, columns between each other's rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/storage.h"
#include "support/build.h"

/* A buffer of the host without a machine. */
static sr_buffer *new_buffer(size_t size) {
    sr_buffer *buffer;
    assert_int_equal(sr_buffer_type_alloc(sr_host_buffer_type(), size, &buffer, NULL), SR_OK);
    return buffer;
}

static int32_t add_view(sr_graph *graph, const char *name, int32_t of, int64_t ne0, int64_t ne1, size_t nb1,
                        size_t offset) {
    sr_error err = {0};
    sr_tensor_spec spec;
    int32_t tensor;
    sr_tensor_spec_init(&spec);
    spec.name = name;
    spec.op = SR_OP_VIEW;
    spec.n_dims = 2;
    spec.ne[0] = ne0;
    spec.ne[1] = ne1;
    spec.has_nb = true;
    spec.nb[0] = 4;
    spec.nb[1] = nb1;
    spec.nb[2] = spec.nb[3] = nb1 * (size_t)ne1;
    spec.srcs = &of;
    spec.n_src = 1;
    spec.view_of = of;
    spec.view_offset = offset;
    ASSERT_OK(sr_graph_add(graph, &spec, &tensor, &err), &err);
    return tensor;
}

static void views(void **state) {
    (void)state;
    sr_graph *g = build_graph("g");
    sr__storage_map map;
    const int32_t x = build_leaf(g, "x", 16, 4, 0, NULL), y = build_leaf(g, "y", 16, 4, 0, NULL);
    const int32_t low = add_view(g, "low", x, 16, 2, 64, 0), high = add_view(g, "high", x, 16, 2, 64, 128);
    const int32_t left = add_view(g, "left", x, 8, 4, 64, 0), right = add_view(g, "right", x, 8, 4, 64, 32);
    const int32_t wide = add_view(g, "wide", x, 12, 4, 64, 16);
    build_finish(g);
    assert_true(sr__storage_init(&map, g));
    assert_null(map.merged);
    assert_int_equal(sr__storage_of(&map, high), x);
    assert_false(sr__storage_overlaps(&map, x, y));
    assert_true(sr__storage_overlaps(&map, x, low));
    assert_false(sr__storage_overlaps(&map, low, high));
    assert_true(sr__storage_overlaps(&map, low, left));
    assert_false(sr__storage_overlaps(&map, left, right));
    assert_true(sr__storage_overlaps(&map, left, wide));
    assert_true(sr__storage_overlaps(&map, right, wide));
    sr__storage_free(&map);
    sr_graph_free(g);
}

/* Places out of order, three of which reach into each other. */
static void places_that_overlap(void **state) {
    (void)state;
    sr_buffer *one = new_buffer(4096), *other = new_buffer(4096);
    sr_graph *g = build_graph("g");
    const int32_t a = build_leaf(g, "a", 16, 4, 0, NULL), b = build_leaf(g, "b", 16, 4, 0, NULL);
    const int32_t c = build_leaf(g, "c", 16, 4, 0, NULL), d = build_leaf(g, "d", 16, 4, 0, NULL);
    const int32_t e = build_leaf(g, "e", 16, 4, 0, NULL);
    sr_graph_place(g, a, one, 512);
    sr_graph_place(g, b, one, 0);
    sr_graph_place(g, c, one, 128);
    sr_graph_place(g, d, one, 320);
    sr_graph_place(g, e, other, 128);
    build_finish(g);
    sr__storage_map map;
    assert_true(sr__storage_init(&map, g));
    assert_int_equal(sr__storage_of(&map, b), a); /* b reaches c, c d, d a */
    assert_int_equal(sr__storage_of(&map, d), a);
    assert_int_equal(sr__storage_of(&map, e), e);
    assert_true(sr__storage_overlaps(&map, b, c));
    assert_true(sr__storage_overlaps(&map, d, a));
    assert_false(sr__storage_overlaps(&map, b, d)); /* one storage, other bytes */
    assert_false(sr__storage_overlaps(&map, c, e));
    sr__storage_free(&map);
    for (long n = 1; n <= 2; n++) {
        sr__fail_allocations(n, true);
        assert_false(sr__storage_init(&map, g));
        sr__fail_allocations(0, false);
        sr__storage_free(&map);
    }
    sr_graph_free(g);
    sr_buffer_free(one);
    sr_buffer_free(other);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(views), cmocka_unit_test(places_that_overlap)};
    return cmocka_run_group_tests_name("storage", tests, NULL, NULL);
}
