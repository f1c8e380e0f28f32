/*
 * report_text_nodes.c - the text report's splits, nodes and leafs.
 *
 * Layer: report.  Columns are aligned within a split to its longest name up to a limit; a longer name pushes its line
 * to the right, for nothing that a person needs is cut.
 */
#include <stdio.h>

#include "report/report_text.h"

enum { MOST_NAME_WIDTH = 36 };

/* ---- split header ----------------------------------------------------------------------------------------------- */

/* A column of a line so far: how far the line has got, to wrap lists. */
typedef struct wrap { sr__str *s; int column, indent, width; } wrap;

/* "  NAME SIZE", on a new line where it would not fit. */
static void put_input(wrap *w, const char *name, size_t bytes) {
    char size[16];
    sr__format_bytes(bytes, size);
    const int columns = 2 + sr__name_width(name) + 1 + (int)strlen(size);
    if (w->column + columns > w->width && w->column > w->indent) {
        sr__str_puts(w->s, "\n");
        sr__put_spaces(w->s, w->indent);
        w->column = w->indent;
    }
    sr__str_puts(w->s, "  ");
    sr__put_name(w->s, name);
    sr__str_printf(w->s, " %s", size);
    w->column += columns;
}

static void put_split_header(sr__text *text, int32_t i) {
    sr__str *s = &text->out->text;
    const sr_layout *layout = text->layout;
    const sr_split *split = &layout->splits[i];
    char title[80];
    if (i == 0 || text->options->debug_level >= 2) {
        sr__str_puts(s, "\n");
    }
    sr__style_on(s, text->options, SR__BOLD);
    int column = snprintf(title, sizeof(title), "split %d  ", (int)i);
    sr__str_puts(s, title);
    sr__backend_on(s, text->options, layout, split->backend);
    sr__put_left(s, layout->backends[split->backend]->name, text->backend_width);
    sr__style_off(s, text->options);
    column += text->backend_width;
    if (split->end > split->start) {
        column += snprintf(title, sizeof(title), "  nodes %d-%d", (int)split->start, (int)split->end - 1);
    } else {
        column += snprintf(title, sizeof(title), "  no nodes");
    }
    sr__str_puts(s, title);
    sr__str_puts(s, split->n_inputs > 0 ? "  inputs" : "  no inputs");
    column += split->n_inputs > 0 ? 8 : 11;
    wrap w = {.s = s, .column = column, .indent = column, .width = sr__text_width(text->options)};
    for (int32_t j = 0; j < split->n_inputs; j++) {
        const sr_tensor *input = &layout->graph->tensors[layout->inputs[split->inputs_begin + j]];
        put_input(&w, sr__shown_name(input), input->nbytes);
        sr__out_more(text->out);
    }
    sr__put_split_words(s, layout, split);
    sr__str_puts(s, "\n");
}

/* ---- tensors ---------------------------------------------------------------------------------------------------- */

typedef struct columns { int index, op, name; } columns;

/* Widths that suit the nodes of a split. */
static columns measure(const sr_layout *layout, const sr_split *split) {
    columns c = {.index = 3, .op = 8, .name = 12};
    char last[16];
    const int digits = snprintf(last, sizeof(last), "%d", (int)(split->end > 0 ? split->end - 1 : 0));
    c.index = digits > c.index ? digits : c.index;
    for (int32_t i = split->start; i < split->end; i++) {
        const sr_tensor *t = &layout->graph->tensors[layout->graph->nodes[i]];
        const int op = sr__name_width(sr_tensor_op_desc(t));
        const int name = sr__name_width(sr__shown_name(t));
        c.op = op > c.op && op <= MOST_NAME_WIDTH ? op : c.op;
        c.name = name > c.name && name <= MOST_NAME_WIDTH ? name : c.name;
    }
    return c;
}

static void put_trimmed_end(sr__str *s) {
    while (!s->failed && s->length > 0 && s->data[s->length - 1] == ' ') {
        s->data[--s->length] = '\0';
    }
    sr__str_puts(s, "\n");
}

/* "8.0 MiB  CPU   1.wgt0  weights token_embd.weight are in CPU" */
static void put_placement(sr__text *text, int32_t tensor) {
    sr__str *s = &text->out->text;
    const sr_layout *layout = text->layout;
    const int backend = layout->backend_of[tensor];
    char size[16];
    sr__format_bytes(layout->graph->tensors[tensor].nbytes, size);
    sr__put_right(s, size, 9);
    sr__str_puts(s, "  ");
    sr__backend_on(s, text->options, layout, backend);
    sr__put_left(s, sr__backend_name(layout, backend), text->backend_width);
    sr__style_off(s, text->options);
    sr__str_puts(s, "  ");
    sr__put_left(s, sr_cause_name(layout->cause_of[tensor]), 6);
    sr__str_puts(s, "  ");
    sr__put_cause_words(s, layout, text->facts, tensor);
}

/* Verbose: a second line with what the node reads and where its result is. */
static void put_sources(sr__text *text, int32_t tensor, int indent) {
    sr__str *s = &text->out->text;
    const sr_layout *layout = text->layout;
    const sr_tensor *t = &layout->graph->tensors[tensor];
    const int32_t *srcs = layout->view.srcs != NULL ? layout->view.srcs : layout->graph->srcs;
    sr__put_spaces(s, indent);
    sr__style_on(s, text->options, SR__DIM);
    sr__str_puts(s, "from");
    for (int j = 0; j < t->n_src; j++) {
        const int32_t source = srcs[t->src_begin + j];
        char name[SR_MAX_NAME + 1] = "-";
        if (source >= 0) {
            sr_layout_name(layout, source, name);
        }
        sr__str_puts(s, j == 0 ? " " : ", ");
        sr__put_name(s, name);
    }
    const sr_address *address = layout->addresses != NULL ? &layout->addresses[tensor] : NULL;
    if (address != NULL && address->buffer_id >= 0) {
        sr__str_puts(s, "   at ");
        sr__put_name(s, layout->buffer_types[address->buffer_id]->name);
        sr__str_printf(s, "[%d] + %zu", (int)address->chunk, address->offset);
    }
    sr__style_off(s, text->options);
    sr__str_puts(s, "\n");
}

static void put_node(sr__text *text, int32_t i, const columns *c) {
    sr__str *s = &text->out->text;
    const sr_graph *graph = text->layout->graph;
    const int32_t tensor = graph->nodes[i];
    const sr_tensor *t = &graph->tensors[tensor];
    const bool view = sr_op_is_view(t->op);
    sr__str_printf(s, "    %*d  ", c->index, (int)i);
    if (view) {
        sr__style_on(s, text->options, SR__DIM);
    }
    sr__put_left(s, sr_tensor_op_desc(t), c->op);
    sr__str_puts(s, "  ");
    sr__put_left(s, sr__shown_name(t), c->name);
    if (view) {
        sr__style_off(s, text->options);
    }
    sr__str_puts(s, " ");
    put_placement(text, tensor);
    if ((t->flags & SR_FLAG_COMPUTE) == 0) {
        sr__str_puts(s, "  (not computed)");
    }
    put_trimmed_end(s);
    if (text->options->verbose) {
        put_sources(text, tensor, 4 + c->index + 2 + c->op + 2);
    }
}

void sr__text_splits(sr__text *text) {
    const sr_layout *layout = text->layout;
    for (int32_t i = 0; i < layout->n_splits && !text->out->refused; i++) {
        const sr_split *split = &layout->splits[i];
        put_split_header(text, i);
        if (text->options->debug_level < 2) {
            continue;
        }
        const columns c = measure(layout, split);
        for (int32_t j = split->start; j < split->end && !text->out->refused; j++) {
            put_node(text, j, &c);
            sr__out_more(text->out);
        }
    }
}

void sr__text_leafs(sr__text *text) {
    sr__str *s = &text->out->text;
    const sr_graph *graph = text->layout->graph;
    int width = 12;
    for (int32_t i = 0; i < graph->n_leafs; i++) {
        const int n = sr__name_width(sr__shown_name(&graph->tensors[graph->leafs[i]]));
        width = n > width && n <= MOST_NAME_WIDTH ? n : width;
    }
    sr__str_puts(s, "\n");
    sr__style_on(s, text->options, SR__BOLD);
    sr__str_puts(s, "leafs\n");
    sr__style_off(s, text->options);
    for (int32_t i = 0; i < graph->n_leafs && !text->out->refused; i++) {
        const sr_tensor *t = &graph->tensors[graph->leafs[i]];
        sr__str_puts(s, "    ");
        sr__put_left(s, sr_type_get(t->type)->name, 8);
        sr__str_puts(s, "  ");
        sr__put_left(s, sr__shown_name(t), width);
        sr__str_puts(s, " ");
        put_placement(text, graph->leafs[i]);
        put_trimmed_end(s);
        sr__out_more(text->out);
    }
}
