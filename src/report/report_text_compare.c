/*
 * report_text_compare.c - for people: the error of each node that two backends computed.
 *
 * Layer: report.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "report/report_text.h"

typedef struct table {
    sr__out *out;
    const sr_compare_result *result;
    const sr_report_options *options;
    int op_width, name_width;
} table;

static const sr_tensor *tensor_of(const table *t, int32_t i) {
    return &t->result->run->graph->tensors[t->result->comparison->nodes[i].tensor];
}

static void measure(table *t) {
    t->op_width = t->name_width = 4;
    for (int32_t i = 0; i < t->result->comparison->n_nodes; i++) {
        const sr_tensor *node = tensor_of(t, i);
        const int op = sr__name_width(sr_tensor_op_desc(node)), name = sr__name_width(sr__shown_name(node));
        t->op_width = op > t->op_width ? op : t->op_width;
        t->name_width = name > t->name_width ? name : t->name_width;
    }
}

static void put_refusals(sr__str *s, const sr_compare_result *result, const sr_compared_node *n) {
    const char *whys[] = {n->refused_by_a, n->refused_by_b}, *names[] = {result->a, result->b};
    const char *separator = "  not compared: ";
    for (int i = 0; i < 2; i++) {
        if (whys[i] != NULL) {
            sr__str_puts(s, separator);
            sr__put_name(s, names[i]);
            sr__str_puts(s, ": ");
            sr__put_name(s, whys[i]);
            separator = "; ";
        }
    }
}

static void put_error(sr__str *s, double nmse) {
    if (isinf(nmse)) {
        sr__str_puts(s, "       inf");
    } else if (nmse == 0.0) {
        sr__str_puts(s, "         0");
    } else {
        sr__str_printf(s, "%10.2e", nmse);
    }
}

static void put_node(table *t, int32_t i) {
    sr__str *s = &t->out->text;
    const sr_compared_node *n = &t->result->comparison->nodes[i];
    const sr_tensor *node = tensor_of(t, i);
    sr__str_printf(s, "%7d  ", (int)node->node);
    sr__put_left(s, sr_tensor_op_desc(node), t->op_width);
    sr__str_puts(s, "  ");
    sr__put_left(s, sr__shown_name(node), t->name_width);
    if (n->refused_by_a != NULL || n->refused_by_b != NULL) {
        put_refusals(s, t->result, n);
    } else {
        put_error(s, n->nmse);
        sr__str_printf(s, "  limit %.0e", n->limit);
        if (n->over) {
            sr__style_on(s, t->options, SR__RED);
            sr__str_puts(s, "  over");
            sr__style_off(s, t->options);
        }
    }
    sr__str_puts(s, "\n");
    sr__out_more(t->out);
}

static void put_named(sr__str *s, const char *what, const table *t, int32_t i) {
    sr__str_puts(s, what);
    sr__put_name(s, sr__shown_name(tensor_of(t, i)));
}

static void put_verdict(table *t) {
    sr__str *s = &t->out->text;
    const sr_comparison *c = t->result->comparison;
    sr__str_puts(s, "    ");
    sr__put_count(s, c->n_nodes - c->n_refused, "node");
    sr__str_puts(s, " compared");
    if (c->n_refused > 0) {
        sr__str_printf(s, ", %d not", (int)c->n_refused);
    }
    if (c->n_over > 0) {
        sr__style_on(s, t->options, SR__RED);
        sr__str_printf(s, ", %d over the limit", (int)c->n_over);
        sr__style_off(s, t->options);
        put_named(s, ", the first is ", t, c->first_over);
    } else if (c->worst >= 0) {
        sr__str_puts(s, ", all within the limit");
    }
    if (c->worst >= 0 && c->nodes[c->worst].nmse > 0.0) {
        put_named(s, "; the worst is ", t, c->worst);
    }
    sr__str_puts(s, "\n");
}

sr_status sr_report_text_compare(const sr_compare_result *result, const sr_report_options *options, sr_sink *sink,
                                 sr_error *err) {
    sr__out out;
    sr__out_init(&out, sink);
    table t = {.out = &out, .result = result, .options = options};
    const sr_run_result run = {.run = result->run, .error = result->error};
    sr__text_title(&out.text, &run, options);
    sr__str_puts(&out.text, "   ");
    sr__put_name(&out.text, result->a);
    sr__str_puts(&out.text, " compared with ");
    sr__put_name(&out.text, result->b);
    sr__str_puts(&out.text, result->drift ? ", errors adding up\n" : ", each node from equal inputs\n");
    if (result->error->status != SR_OK) {
        sr__text_error(&out.text, result->error, options);
    }
    measure(&t);
    for (int32_t i = 0; i < result->comparison->n_nodes; i++) {
        put_node(&t, i);
    }
    put_verdict(&t);
    return sr__out_end(&out, err);
}
