/*
 * test_ops.c - tests of the table in src/graph/ops.c, and that docs/ops.md says the same.
 *
 * Layer: tests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sched_run/graph.h"

static void test_every_op_is_found(void **state) {
    (void)state;
    int kind;
    for (int op = 0; op < SR_OP_COUNT; op++) {
        const sr_op_info *info = sr_op_get(op);
        assert_non_null(info);
        assert_non_null(info->name);
        assert_int_equal(sr_op_find(info->name, &kind), op);
        assert_int_equal(kind, -1);
    }
    assert_int_equal(SR_OP_COUNT, 96);
    assert_int_equal(SR_OP_GLU, 95);
    assert_int_equal(SR_OP_CLAMP, 50);
    assert_int_equal(SR_OP_UNARY, 86);
    assert_null(sr_op_get(-1));
    assert_null(sr_op_get(SR_OP_OPAQUE));
}

static void test_kinds_are_found(void **state) {
    (void)state;
    int kind;
    assert_int_equal(sr_op_find("SILU", &kind), SR_OP_UNARY);
    assert_int_equal(kind, 10);
    assert_int_equal(sr_op_find("TRUNC", &kind), SR_OP_UNARY);
    assert_int_equal(kind, 21);
    assert_int_equal(sr_op_find("GEGLU_QUICK", &kind), SR_OP_GLU);
    assert_int_equal(kind, 5);
    assert_int_equal(sr_op_find("silu", &kind), -1);
    assert_int_equal(sr_op_find("NEW_OP", NULL), -1);
}

static void test_table_is_consistent(void **state) {
    (void)state;
    for (int op = 0; op < SR_OP_COUNT; op++) {
        const sr_op_info *info = sr_op_get(op);
        assert_true(info->min_src >= 0 && info->min_src <= info->max_src && info->max_src <= SR_MAX_SRC);
        assert_true(info->view_src < info->max_src);
        assert_int_equal(info->can_reuse, sr_op_can_reuse(op));
        assert_true(info->n_params <= 16);
        for (int i = 0; i < info->n_params; i++) {
            const sr_param_info *p = &info->params[i];
            assert_true(p->word >= -1 && p->word < SR_MAX_OP_PARAMS);
            assert_int_equal(p->kind == SR_PARAM_ENUM, p->values != NULL);
            for (int k = 0; k < i; k++) {
                assert_string_not_equal(p->name, info->params[k].name);
            }
        }
    }
    assert_true(sr_op_is_view(SR_OP_VIEW) && sr_op_is_view(SR_OP_RESHAPE));
    assert_true(sr_op_is_view(SR_OP_PERMUTE) && sr_op_is_view(SR_OP_TRANSPOSE));
    assert_false(sr_op_is_view(SR_OP_CPY));
    assert_false(sr_op_is_view(SR_OP_NONE));
}

/* The ops that the allocator of the reference may put over a source. */
static void test_reuse(void **state) {
    (void)state;
    static const int ops[] = {
        SR_OP_FILL, SR_OP_SCALE, SR_OP_DIAG_MASK_ZERO, SR_OP_DIAG_MASK_INF, SR_OP_ADD, SR_OP_ADD_ID, SR_OP_ADD1,
        SR_OP_SUB, SR_OP_MUL, SR_OP_DIV, SR_OP_SQR, SR_OP_SQRT, SR_OP_LOG, SR_OP_UNARY, SR_OP_ROPE, SR_OP_ROPE_BACK,
        SR_OP_SILU_BACK, SR_OP_RMS_NORM, SR_OP_RMS_NORM_BACK, SR_OP_SOFT_MAX, SR_OP_SOFT_MAX_BACK,
    };
    int n = 0;
    for (int op = 0; op < SR_OP_COUNT; op++) {
        n += sr_op_can_reuse(op);
    }
    assert_int_equal(n, sizeof ops / sizeof ops[0]);
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        assert_true(sr_op_can_reuse(ops[i]));
    }
    assert_false(sr_op_can_reuse(-1));
    assert_false(sr_op_can_reuse(SR_OP_OPAQUE));
}

/* ---- docs/ops.md ---- */

static char *read_docs(void) {
    FILE *file = fopen("docs/ops.md", "rb");
    if (file == NULL) {
        return NULL;
    }
    char *text = calloc(1, 1 << 20);
    assert_non_null(text);
    size_t n = fread(text, 1, (1 << 20) - 1, file);
    assert_true(n > 0);
    fclose(file);
    return text;
}

/* The row of an op: from "| `NAME` |" to the end of the line. */
static char *row_of(const char *docs, const char *name) {
    char start[64];
    snprintf(start, sizeof start, "\n| `%s` |", name);
    const char *at = strstr(docs, start);
    if (at == NULL) {
        fail_msg("docs/ops.md has no row for %s", name);
    }
    return strndup(at + 1, strcspn(at + 1, "\n"));
}

static void expect_in_row(const char *row, const char *what) {
    if (strstr(row, what) == NULL) {
        fail_msg("docs/ops.md: '%s' is not in the row '%s'", what, row);
    }
}

static void check_row(const char *docs, int op) {
    const sr_op_info *info = sr_op_get(op);
    char *row = row_of(docs, info->name), text[96];
    if (info->sources[0] != '\0') {
        expect_in_row(row, info->sources);
    }
    snprintf(text, sizeof text, "| %s%s |", info->view_src == 0 ? "view of a" : info->can_inplace ? "in place" : "",
             info->can_reuse ? (info->can_inplace ? ", reuse" : "reuse") : "");
    if (info->view_src <= 0) {
        expect_in_row(row, text);
    }
    for (int i = 0; i < info->n_params; i++) {
        const sr_param_info *p = &info->params[i];
        if (p->required || isnan(p->fallback) || p->kind == SR_PARAM_INT4) {
            snprintf(text, sizeof text, "`%s`", p->name);
        } else if (p->kind == SR_PARAM_ENUM) {
            const sr_param_enum *value = p->values;
            while (value->value != (int32_t)p->fallback) {
                value++;
            }
            snprintf(text, sizeof text, "`%s` (%s)", p->name, value->name);
        } else if (p->kind == SR_PARAM_BOOL) {
            snprintf(text, sizeof text, "`%s` (%s)", p->name, p->fallback != 0 ? "true" : "false");
        } else {
            snprintf(text, sizeof text, "`%s` (%g)", p->name, p->fallback);
        }
        expect_in_row(row, text);
    }
    free(row);
}

static void test_docs_agree(void **state) {
    (void)state;
    char *docs = read_docs();
    if (docs == NULL) {
        skip(); /* run from elsewhere than the root of the tree */
    }
    for (int op = 1; op < SR_OP_COUNT; op++) {
        check_row(docs, op);
    }
    free(docs);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_op_is_found), cmocka_unit_test(test_kinds_are_found),
        cmocka_unit_test(test_table_is_consistent), cmocka_unit_test(test_reuse), cmocka_unit_test(test_docs_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
