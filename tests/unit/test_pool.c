/*
 * test_pool.c - the thread pool: chains of nodes, what it passes over, failures, memory that runs out, other sizes.
 *
 * Layer: tests.
 */
#include "../support/kernel_harness.h"

enum { MOST_NODES = 64, LENGTH = 20000 };

/* A graph of copies: leaf 0, then node i copies tensor i-1. */
typedef struct chain {
    sr_graph graph;
    sr_graph_view view;
    sr_tensor tensors[MOST_NODES + 1];
    sr_storage storage[MOST_NODES + 1];
    int32_t srcs[MOST_NODES], nodes[MOST_NODES];
    float *memory;
} chain;

static void chain_init(chain *c, int n, int64_t length) {
    memset(c, 0, sizeof(*c));
    c->memory = calloc((size_t)length * (size_t)(n + 1), sizeof(float));
    assert_non_null(c->memory);
    for (int i = 0; i <= n; i++) {
        sr_tensor *t = &c->tensors[i];
        t->type = SR_TYPE_F32;
        t->view_src = -1;
        t->name = t->id = i == n ? "last" : "some";
        t->ne[0] = length, t->ne[1] = t->ne[2] = t->ne[3] = 1;
        t->nb[0] = 4, t->nb[1] = t->nb[2] = t->nb[3] = 4 * (size_t)length;
        t->nbytes = t->nb[1];
        c->storage[i].offset = (size_t)i * t->nbytes;
        if (i > 0) {
            t->op = SR_OP_DUP;
            t->flags = SR_FLAG_COMPUTE;
            t->n_src = 1;
            t->src_begin = i - 1;
            c->srcs[i - 1] = i - 1;
            c->nodes[i - 1] = i;
        }
    }
    c->graph = (sr_graph){.name = "chain", .tensors = c->tensors, .n_tensors = n + 1, .nodes = c->nodes, .n_nodes = n,
                          .srcs = c->srcs, .n_srcs = n};
    c->view = (sr_graph_view){.graph = &c->graph, .srcs = c->srcs, .nodes = c->nodes, .n_nodes = n,
                              .storage = c->storage};
    for (int64_t i = 0; i < length; i++) {
        c->memory[i] = (float)i;
    }
}

static void chain_free(chain *c) { free(c->memory); }

static char *resolve(void *user, const sr_storage *storage) {
    return storage->offset == SIZE_MAX ? NULL : (char *)((chain *)user)->memory + storage->offset;
}

static void test_chains(void **state) {
    (void)state;
    for (int n_threads = 1; n_threads <= 4; n_threads++) {
        sr_error err = {0};
        sr__pool *pool;
        assert_int_equal(sr__pool_new(n_threads, &pool, &err), SR_OK);
        assert_int_equal(sr__pool_threads(pool), n_threads);
        for (int round = 0; round < 20; round++) {
            const int64_t length = round % 2 == 0 ? LENGTH : 10; /* nodes for the whole team, and for one */
            chain c;
            chain_init(&c, MOST_NODES, length);
            assert_int_equal(sr__pool_compute(pool, &c.view, resolve, &c, &err), SR_OK);
            assert_memory_equal(c.memory + (size_t)(MOST_NODES * length), c.memory, (size_t)length * sizeof(float));
            chain_free(&c);
        }
        sr__pool_free(pool);
    }
}

static void test_other_size(void **state) {
    (void)state;
    sr_error err = {0};
    sr__pool *pool;
    assert_int_equal(sr__pool_new(1, &pool, &err), SR_OK);
    for (int n_threads = 5; n_threads >= 1; n_threads -= 2) {
        chain c;
        chain_init(&c, 8, LENGTH);
        assert_int_equal(sr__pool_set_threads(pool, n_threads, &err), SR_OK);
        assert_int_equal(sr__pool_threads(pool), n_threads);
        assert_int_equal(sr__pool_compute(pool, &c.view, resolve, &c, &err), SR_OK);
        assert_memory_equal(c.memory + 8 * LENGTH, c.memory, LENGTH * sizeof(float));
        chain_free(&c);
    }
    assert_int_equal(sr__pool_set_threads(pool, 0, &err), SR_INVALID);
    assert_non_null(strstr(sr_error_message(&err), "0 threads"));
    assert_int_equal(sr__pool_threads(pool), 1);
    sr_error_clear(&err);
    sr__pool_free(pool);
}

static void test_sleeping_team(void **state) {
    (void)state; /* long after it has gone to sleep it wakes again */
    sr_error err = {0};
    sr__pool *pool;
    assert_int_equal(sr__pool_new(3, &pool, &err), SR_OK);
    for (int i = 0; i < 3; i++) {
        chain c;
        chain_init(&c, 4, LENGTH);
        const struct timespec nap = {0, 30000000};
        nanosleep(&nap, NULL);
        assert_int_equal(sr__pool_compute(pool, &c.view, resolve, &c, &err), SR_OK);
        assert_memory_equal(c.memory + 4 * LENGTH, c.memory, LENGTH * sizeof(float));
        chain_free(&c);
    }
    sr__pool_free(pool);
}

static void test_passed_over(void **state) {
    (void)state; /* views, leafs among the nodes, what need not be computed, empty results without memory */
    sr_error err = {0};
    sr__pool *pool;
    chain c;
    chain_init(&c, 5, 16);
    c.tensors[2].op = SR_OP_RESHAPE;
    c.tensors[3].op = SR_OP_NONE;
    c.tensors[4].flags = 0;
    c.tensors[5].ne[1] = 0;
    c.storage[5].offset = SIZE_MAX;
    c.tensors[5].op = SR_OP_OPAQUE;
    assert_int_equal(sr__pool_new(2, &pool, &err), SR_OK);
    assert_int_equal(sr__pool_compute(pool, &c.view, resolve, &c, &err), SR_OK);
    assert_true(c.memory[16 + 3] == 3.0f);
    for (int i = 2; i < 5; i++) {
        assert_true(c.memory[16 * i + 3] == 0.0f);
    }
    sr__pool_free(pool);
    chain_free(&c);
}

static void expect_failure(chain *c, sr_status status, const char *words) {
    sr_error err = {0};
    sr__pool *pool;
    assert_int_equal(sr__pool_new(2, &pool, &err), SR_OK);
    assert_int_equal(sr__pool_compute(pool, &c->view, resolve, c, &err), status);
    if (strstr(sr_error_message(&err), words) == NULL) {
        fail_msg("'%s' is not in '%s'", words, sr_error_message(&err));
    }
    assert_string_equal(sr_error_find(&err, "node")->text, "last");
    sr_error_clear(&err);
    sr__pool_free(pool);
    chain_free(c);
}

static void test_failures(void **state) {
    (void)state;
    chain c;
    chain_init(&c, 2, 16);
    c.tensors[2].type = SR_TYPE_I64;
    c.tensors[2].ne[0] = 16;
    expect_failure(&c, SR_COMPUTE, "node 'last' (DUP): no conversion between these types (f32 -> i64)");
    chain_init(&c, 2, 16);
    c.tensors[2].op = SR_OP_OPAQUE;
    c.tensors[2].op_name = "NEWER";
    expect_failure(&c, SR_COMPUTE, "node 'last' (NEWER): the op has no kernel");
    chain_init(&c, 1, 16);
    c.storage[0].offset = SIZE_MAX;
    expect_failure(&c, SR_UNREACHABLE, "node 'last' (DUP): 'some' is in no memory");
    chain_init(&c, 1, 16);
    c.storage[1].offset = SIZE_MAX;
    expect_failure(&c, SR_UNREACHABLE, "node 'last' (DUP): 'last' is in no memory");
}

static void test_works_after_failure(void **state) {
    (void)state; /* a failed node leaves nothing behind in the team */
    sr_error err = {0};
    sr__pool *pool;
    chain c;
    int32_t index[1] = {7};
    chain_init(&c, 2, LENGTH);
    c.tensors[2].op = SR_OP_GET_ROWS;
    c.tensors[2].n_src = 2;
    c.tensors[2].src_begin = 1;
    const int32_t srcs[3] = {0, 0, 1};
    c.view.srcs = srcs; /* the rows of leaf 0, by the index in tensor 1 */
    c.tensors[1].type = SR_TYPE_I32;
    c.tensors[1].ne[0] = 1;
    c.tensors[1].op = SR_OP_NONE;
    memcpy(c.memory + LENGTH, index, sizeof(index));
    assert_int_equal(sr__pool_new(3, &pool, &err), SR_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(sr__pool_compute(pool, &c.view, resolve, &c, &err), SR_COMPUTE);
        assert_non_null(strstr(sr_error_message(&err), "node 'last' (GET_ROWS): index 7, at place 0, is outside 0..0"));
        sr_error_clear(&err);
    }
    index[0] = 0;
    memcpy(c.memory + LENGTH, index, sizeof(index));
    assert_int_equal(sr__pool_compute(pool, &c.view, resolve, &c, &err), SR_OK);
    assert_memory_equal(c.memory + 2 * LENGTH, c.memory, LENGTH * sizeof(float));
    sr__pool_free(pool);
    chain_free(&c);
}

static void test_cast(void **state) {
    (void)state; /* a CPY whose second source is itself, named as such or by its index */
    sr_error err = {0};
    sr__pool *pool;
    chain c;
    chain_init(&c, 1, 16);
    for (int named = 0; named < 2; named++) {
        const int32_t srcs[2] = {0, named != 0 ? SR_SELF : 1};
        c.tensors[1].op = SR_OP_CPY;
        c.tensors[1].n_src = 2;
        c.tensors[1].type = SR_TYPE_I32;
        c.view.srcs = srcs;
        memset(c.memory + 16, 0, 16 * sizeof(float));
        assert_null(sr__kernel_refuse(&c.view, 1));
        assert_int_equal(sr__pool_new(1, &pool, &err), SR_OK);
        assert_int_equal(sr__pool_compute(pool, &c.view, resolve, &c, &err), SR_OK);
        sr__pool_free(pool);
        int32_t got[16];
        memcpy(got, c.memory + 16, sizeof(got));
        assert_int_equal(got[13], 13);
    }
    chain_free(&c);
}

/* Every allocation of a pool and of a product's scratch fails once. */
static void test_memory(void **state) {
    (void)state;
    for (long n = 1;; n++) {
        sr_error err = {0};
        sr__pool *pool = NULL;
        chain c;
        chain_init(&c, 2, 64);
        const int32_t srcs[2] = {0, 0};
        c.view.srcs = srcs;
        c.view.nodes = &c.nodes[1];
        c.view.n_nodes = 1;
        c.tensors[2].op = SR_OP_MUL_MAT;
        c.tensors[2].n_src = 2;
        c.tensors[2].src_begin = 0;
        c.tensors[2].ne[0] = 1;
        sr__fail_allocations(n, false);
        sr_status status = sr__pool_new(2, &pool, &err);
        status = status == SR_OK ? sr__pool_compute(pool, &c.view, resolve, &c, &err) : status;
        sr__fail_allocations(0, false);
        const bool done = status == SR_OK && c.memory[128] == 85344.0f;
        assert_true(done || status == SR_MEMORY);
        sr__pool_free(pool);
        sr_error_clear(&err);
        chain_free(&c);
        if (done) {
            assert_true(n > 3);
            return;
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chains),      cmocka_unit_test(test_other_size),
        cmocka_unit_test(test_sleeping_team), cmocka_unit_test(test_passed_over),
        cmocka_unit_test(test_failures),    cmocka_unit_test(test_works_after_failure),
        cmocka_unit_test(test_cast),        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
