/*
 * report_json_compare.c - for programs: the error of each node that two backends computed.
 *
 * Layer: report.
 */
#include "report/report_json.h"

static void put_node(sr__json *json, const sr_graph *graph, const sr_compared_node *n) {
    const sr_tensor *t = &graph->tensors[n->tensor];
    sr__json_put_inline(json, NULL);
    sr__json_put_string(json, "id", t->id);
    sr__json_put_int(json, "node", t->node);
    sr__json_put_string(json, "op", sr_tensor_op_desc(t));
    if (n->refused_by_a != NULL || n->refused_by_b != NULL) {
        if (n->refused_by_a != NULL) {
            sr__json_put_string(json, "refused_by_a", n->refused_by_a);
        }
        if (n->refused_by_b != NULL) {
            sr__json_put_string(json, "refused_by_b", n->refused_by_b);
        }
    } else {
        sr__json_put_double(json, "nmse", n->nmse);
        sr__json_put_double(json, "limit", n->limit);
        sr__json_put_bool(json, "over", n->over);
    }
    sr__json_end_object(json);
}

void sr__json_compare(sr__json *json, sr__out *out, const sr_compare_result *result) {
    const sr_comparison *c = result->comparison;
    sr__json_key(json, "compare");
    sr__json_object(json);
    sr__json_put_string(json, "a", result->a);
    sr__json_put_string(json, "b", result->b);
    sr__json_put_bool(json, "drift", result->drift);
    sr__json_put_int(json, "compared", c->n_nodes - c->n_refused);
    sr__json_put_int(json, "refused", c->n_refused);
    sr__json_put_int(json, "over", c->n_over);
    if (c->first_over >= 0) {
        sr__json_put_string(json, "first_over", result->run->graph->tensors[c->nodes[c->first_over].tensor].id);
    }
    if (c->worst >= 0) {
        sr__json_put_string(json, "worst", result->run->graph->tensors[c->nodes[c->worst].tensor].id);
    }
    sr__json_key(json, "nodes");
    sr__json_array(json);
    for (int32_t i = 0; i < c->n_nodes; i++) {
        put_node(json, result->run->graph, &c->nodes[i]);
        sr__out_more(out);
    }
    sr__json_end_array(json);
    sr__json_end_object(json);
}
