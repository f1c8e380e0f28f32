/*
 * compare.c - two backends side by side: each node of a graph on both, and how far the results are apart.
 *
 * Layer: analyze.  Answers to ggml_backend_compare_graph_backend of the reference, where errors add up along the graph;
 * here they do so on request only, for what has drifted before says nothing about a node.
 */
#include <math.h>

#include "analyze/tensor_values.h"

double sr_compare_limit(const sr_tensor *node) {
    static const int products[] = {SR_OP_MUL_MAT, SR_OP_MUL_MAT_ID, SR_OP_OUT_PROD, SR_OP_FLASH_ATTN_EXT,
                                   SR_OP_CONV_2D, SR_OP_CONV_3D, SR_OP_CONV_2D_DW, SR_OP_CONV_TRANSPOSE_1D,
                                   SR_OP_CONV_TRANSPOSE_2D};
    for (int i = 0; i < SR_COUNT(products); i++) {
        if (node->op == products[i]) {
            return 5e-4;
        }
    }
    return sr_type_get(node->type)->quantized ? 5e-4 : 1e-6;
}

typedef struct side { sr_graph_copy *copy; int32_t n_refused; /* met so far */ } side;

/* One comparison under way. */
typedef struct comparing {
    side a, b;
    const sr_graph_view *view_a, *view_b;
    const sr_compare_options *options;
    sr_comparison *out;
    sr_error *err;
} comparing;

/* ---- errors ----------------------------------------------------------------------------------------------------- */

typedef struct sums { double error, square; bool apart; } sums;

static void add_row(sums *s, const double *got, const double *expected, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        if (isfinite(got[i]) && isfinite(expected[i])) {
            s->error += (got[i] - expected[i]) * (got[i] - expected[i]);
            s->square += expected[i] * expected[i];
        } else if (!(got[i] == expected[i] || (isnan(got[i]) && isnan(expected[i])))) {
            s->apart = true;
        }
    }
}

/* Where nothing but zeros is expected the mean squared error stands for it. */
static double nmse_of(const sums *s, int64_t n) {
    if (s->apart) {
        return INFINITY;
    }
    if (s->error == 0.0) {
        return 0.0;
    }
    return s->square > 0.0 ? s->error / s->square : s->error / (double)n;
}

static sr_status measure(const comparing *c, int32_t tensor, double *out_nmse) {
    const sr_tensor *t = sr_view_tensor(c->view_a, tensor);
    const size_t n = (size_t)t->ne[0];
    sr__values a = {0}, b = {0};
    double *rows = NULL;
    sums s = {0};
    sr_status status;
    SR_TRY(sr__values_read(&a, c->view_a, tensor, c->err));
    SR_TRY(sr__values_read(&b, c->view_b, tensor, c->err));
    rows = sr__malloc(2 * n * sizeof(*rows));
    if (!rows) {
        SR_TRY(sr__fail_memory(c->err));
    }
    for (int64_t i = 0; i < sr_tensor_nrows(t); i++) {
        const int64_t i1 = i % t->ne[1], i2 = i / t->ne[1] % t->ne[2], i3 = i / t->ne[1] / t->ne[2];
        sr__values_row(&a, i1, i2, i3, rows);
        sr__values_row(&b, i1, i2, i3, rows + n);
        add_row(&s, rows, rows + n, t->ne[0]);
    }
    *out_nmse = nmse_of(&s, sr_tensor_nelements(t));
done:
    sr__values_free(&a);
    sr__values_free(&b);
    sr__free(rows);
    return status;
}

/* ---- one node --------------------------------------------------------------------------------------------------- */

/* Refusals stand in the order of the nodes, in which they are asked for. */
static const char *next_refusal(side *s, int32_t tensor) {
    int32_t n;
    const sr_refused_node *refused = sr_graph_copy_refused(s->copy, &n);
    return s->n_refused < n && refused[s->n_refused].tensor == tensor ? refused[s->n_refused++].why : NULL;
}

static bool is_about_the_node(sr_status status) {
    return status == SR_COMPUTE || status == SR_UNAVAILABLE || status == SR_UNREACHABLE || status == SR_INVALID;
}

/* *out_why: why it was not run, owned by the caller; another failure is returned. */
static sr_status run_one(const comparing *c, side *s, int32_t position, int32_t tensor, char **out_why) {
    sr_error own = {0};
    const char *why = next_refusal(s, tensor);
    sr_status status = why ? SR_UNAVAILABLE : sr_graph_copy_compute_node(s->copy, position, &own);
    if (is_about_the_node(status)) {
        *out_why = sr__strdup(why ? why : sr_error_message(&own));
        status = *out_why ? SR_OK : sr__fail_memory(c->err);
    } else if (status != SR_OK) {
        sr__fail(c->err, status, "%s", sr_error_message(&own));
    }
    sr_error_clear(&own);
    return status;
}

static sr_status take_over(const comparing *c, const sr_graph_view *to, const sr_graph_view *from, int32_t tensor) {
    const sr_storage *dst = &to->storage[tensor], *src = &from->storage[tensor];
    return sr_buffer_copy(dst->buffer, dst->offset, src->buffer, src->offset, sr_view_tensor(to, tensor)->nbytes, NULL,
                          c->err);
}

static void count(sr_comparison *out) {
    const int32_t i = out->n_nodes - 1;
    const sr_compared_node *n = &out->nodes[i];
    if (n->refused_by_a || n->refused_by_b) {
        out->n_refused++;
        return;
    }
    if (n->over) {
        out->n_over++;
        out->first_over = out->first_over < 0 ? i : out->first_over;
    }
    const sr_compared_node *worst = out->worst >= 0 ? &out->nodes[out->worst] : NULL;
    if (!worst || n->nmse / n->limit > worst->nmse / worst->limit) {
        out->worst = i;
    }
}

static sr_status compare_node(comparing *c, int32_t position, int32_t tensor) {
    sr_comparison *out = c->out;
    sr_status status;
    if (!sr__grow(&out->nodes, &out->cap, (size_t)out->n_nodes + 1, sizeof(*out->nodes))) {
        return sr__fail_memory(c->err);
    }
    sr_compared_node *n = &out->nodes[out->n_nodes];
    *n = (sr_compared_node){.tensor = tensor};
    n->limit = c->options->nmse > 0.0 ? c->options->nmse : sr_compare_limit(sr_view_tensor(c->view_a, tensor));
    SR_TRY(run_one(c, &c->a, position, tensor, &n->refused_by_a));
    SR_TRY(run_one(c, &c->b, position, tensor, &n->refused_by_b));
    if (n->refused_by_a && !n->refused_by_b) {
        SR_TRY(take_over(c, c->view_a, c->view_b, tensor));
    } else if (n->refused_by_b && !n->refused_by_a) {
        SR_TRY(take_over(c, c->view_b, c->view_a, tensor));
    } else if (!sr__values_known(sr_view_tensor(c->view_a, tensor)->type)) {
        n->refused_by_b = n->refused_by_a ? n->refused_by_b : sr__strdup("values of its type cannot be read");
        SR_TRY(n->refused_by_b ? SR_OK : sr__fail_memory(c->err));
    } else if (!n->refused_by_a) {
        SR_TRY(measure(c, tensor, &n->nmse));
        n->over = !(n->nmse <= n->limit);
        if (n->nmse > 0.0 && !c->options->drift) {
            SR_TRY(take_over(c, c->view_a, c->view_b, tensor));
        }
    }
    out->n_nodes++;
    count(out);
    return SR_OK;
done:
    sr__free(n->refused_by_a);
    sr__free(n->refused_by_b);
    return status;
}

/* ---- the graph --------------------------------------------------------------------------------------------------- */

static bool has_something_to_compare(const sr_tensor *t) {
    return t->op != SR_OP_NONE && !sr_op_is_view(t->op) && (t->flags & SR_FLAG_COMPUTE) != 0 && !sr_tensor_is_empty(t);
}

sr_status sr_compare_backends(sr_graph_copy *a, sr_graph_copy *b, const sr_compare_options *options,
                              sr_comparison *out_comparison, sr_error *err) {
    comparing c = {.a = {a, 0}, .b = {b, 0}, .view_a = sr_graph_copy_view(a), .view_b = sr_graph_copy_view(b),
                   .options = options, .out = out_comparison, .err = err};
    const sr_graph *graph = c.view_a->graph;
    *out_comparison = (sr_comparison){.first_over = -1, .worst = -1};
    if (graph != c.view_b->graph) {
        return sr__fail(err, SR_INVALID, "only copies of one graph can be compared");
    }
    sr_status status = SR_OK;
    for (int32_t i = 0; i < graph->n_nodes && status == SR_OK; i++) {
        const sr_tensor *t = &graph->tensors[graph->nodes[i]];
        if (!has_something_to_compare(t)) {
            continue;
        }
        if (options->stop && options->stop(options->stop_user)) {
            return sr__fail(err, SR_ABORTED, "stopped before node '%s' (%s)", t->name, sr_tensor_op_desc(t));
        }
        status = compare_node(&c, i, graph->nodes[i]);
    }
    return status;
}

void sr_comparison_clear(sr_comparison *comparison) {
    for (int32_t i = 0; i < comparison->n_nodes; i++) {
        sr__free(comparison->nodes[i].refused_by_a);
        sr__free(comparison->nodes[i].refused_by_b);
    }
    sr__free(comparison->nodes);
    *comparison = (sr_comparison){.first_over = -1, .worst = -1};
}
