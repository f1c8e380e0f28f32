/*
 * report_ggml.c - the schedule as the reference's debug log prints it, byte for byte.
 *
 * Layer: report.  Answers to ggml_backend_sched_print_assignments with its causes compiled in.
 *
 * Graphs of a million nodes are printed, so that a line is put together by hand: every field but the names in a split's
 * header is cut to a fixed width in bytes, and a node's line has room in a fixed buffer.
 */
#include "report/report_out.h"

/* " %20.20s (%5.5s) [%5.5s %8.8s]" for ten sources, and what stands before them. */
enum { SOURCE_SIZE = 48, LINE_SIZE = 192 + SR_MAX_SRC * SOURCE_SIZE };

/* ---- fields ----------------------------------------------------------------------------------------------------- */

static char *put_text(char *p, const char *text) {
    const size_t n = strlen(text);
    memcpy(p, text, n);
    return p + n;
}

/* %W.Ws: to the right, and cut to the width. */
static char *put_field(char *p, const char *text, size_t width) {
    const size_t n = strnlen(text, width);
    memset(p, ' ', width - n);
    memcpy(p + width - n, text, n);
    return p + width;
}

static char *put_unsigned(char *p, uint64_t value, int width) {
    char digits[20];
    int n = 0;
    do {
        digits[n++] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    for (int i = n; i < width; i++) {
        *p++ = ' ';
    }
    while (n > 0) {
        *p++ = digits[--n];
    }
    return p;
}

/* (%5.5s) of the size in whole MiB from one MiB on, else in whole KiB. */
static char *put_size(char *p, size_t size) {
    const size_t mebi = 1024 * 1024;
    char text[24];
    char *end = put_unsigned(text, size >= mebi ? size / mebi : size / 1024, 0);
    *end++ = size >= mebi ? 'M' : 'K';
    *end = '\0';
    *p++ = '(';
    p = put_field(p, text, 5);
    *p++ = ')';
    return p;
}

/* "%20.20s (%5.5s) [%5.5s %8.8s]" */
static char *put_tensor(char *p, const char *name, size_t size, const char *backend, const char *cause) {
    p = put_field(p, name, 20);
    *p++ = ' ';
    p = put_size(p, size);
    *p++ = ' ';
    *p++ = '[';
    p = put_field(p, backend, 5);
    *p++ = ' ';
    p = put_field(p, cause, 8);
    *p++ = ']';
    return p;
}

/* ---- lines ------------------------------------------------------------------------------------------------------ */

static const char *assigned_name(const sr_layout *layout, int32_t tensor) {
    const int backend = layout->backend_of[tensor];
    return backend >= 0 ? layout->backends[backend]->name : "NULL";
}

static void put_split(const sr_layout *layout, int32_t i, sr__str *s) {
    const sr_split *split = &layout->splits[i];
    sr__str_printf(s, "\n## SPLIT #%d: %s # %d inputs", (int)i, layout->backends[split->backend]->name,
                   (int)split->n_inputs);
    for (int32_t j = 0; j < split->n_inputs; j++) {
        const sr_tensor *input = &layout->graph->tensors[layout->inputs[split->inputs_begin + j]];
        char size[16];
        sr__str_puts(s, j == 0 ? ": [" : "[");
        sr__str_puts(s, input->name);
        sr__str_append(s, " ", 1);
        sr__str_append(s, size, (size_t)(put_size(size, input->nbytes) - size));
        sr__str_puts(s, "] ");
    }
    sr__str_append(s, "\n", 1);
}

static char *put_source(const sr_layout *layout, int32_t source, char *p) {
    const sr_graph *graph = layout->graph;
    *p++ = ' ';
    if (source < graph->n_tensors) {
        const sr_tensor *t = &graph->tensors[source];
        return put_tensor(p, t->name, t->nbytes, assigned_name(layout, source),
                          sr_cause_name(layout->cause_of[source]));
    }
    /* a copy is in no table of assignments */
    char name[SR_MAX_NAME + 1];
    sr_layout_name(layout, source, name);
    return put_tensor(p, name, sr_view_tensor(&layout->view, source)->nbytes, "NULL", sr_cause_name(SR_CAUSE_COPY));
}

static void put_node(const sr_layout *layout, int32_t i, sr__str *s) {
    const sr_graph *graph = layout->graph;
    const int32_t tensor = graph->nodes[i];
    const sr_tensor *t = &graph->tensors[tensor];
    const int32_t *srcs = layout->view.srcs != NULL ? layout->view.srcs : graph->srcs;
    char line[LINE_SIZE];
    char *p = put_text(line, "node #");
    p = put_unsigned(p, (uint64_t)i, 3);
    p = put_text(p, " (");
    p = put_field(p, sr_tensor_op_desc(t), 10);
    p = put_text(p, "): ");
    p = put_tensor(p, t->name, t->nbytes, assigned_name(layout, tensor), sr_cause_name(layout->cause_of[tensor]));
    p = put_text(p, " use=");
    p = put_unsigned(p, (uint64_t)graph->use_counts[tensor], 0);
    p = put_text(p, (t->flags & SR_FLAG_COMPUTE) != 0 ? ",c=1:" : ",c=0:");
    for (int j = 0; j < t->n_src; j++) {
        const int32_t source = srcs[t->src_begin + j];
        if (source >= 0) {
            p = put_source(layout, source, p);
        }
    }
    *p++ = '\n';
    sr__str_append(s, line, (size_t)(p - line));
}

sr_status sr_report_ggml(const sr_layout *layout, int level, sr_sink *sink, sr_error *err) {
    if (level <= 0 || !sr_layout_has_splits(layout)) {
        return SR_OK;
    }
    const sr_graph *graph = layout->graph;
    sr__out out;
    sr__out_init(&out, sink);
    int32_t split = 0;
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        if (split < layout->n_splits && i == layout->splits[split].start) {
            put_split(layout, split++, &out.text);
        }
        if (level > 1 && !sr_op_is_view(graph->tensors[graph->nodes[i]].op)) {
            put_node(layout, i, &out.text);
        }
        sr__out_more(&out);
        if (out.refused) {
            break;
        }
    }
    return sr__out_end(&out, err);
}
