/*
 * report_memory_svg.c - the memory plan as a drawing: a panel a chunk, address upwards, time to the right, a rectangle
 * a tensor.
 *
 * Layer: report.  Time counts the allocated nodes (copies included); splits are bands in the colour of their backend.
 * Colours of tensors tell neighbours apart and mean nothing else; copies are hatched.  The same plan gives the same
 * text.
 */
#include <stdio.h>

#include "report/dot_draw.h"

enum {
    LEFT = 90,
    RIGHT = 20,
    PLOT_WIDTH = 900,
    PLOT_HEIGHT = 260,
    PANEL_GAP = 70,
    TITLE = 64,
    LEGEND = 26
};

static const char *const colors[] = {"#8fbbe0", "#a9d39b", "#cdb5e6", "#f6c08f", "#f0a9c2", "#9bd8d0",
                                     "#d9cf8d", "#b7c3cf", "#e3a58f", "#9fb4ef", "#c7de86", "#d7a6dd"};

/* One panel: a chunk of a buffer. */
typedef struct panel {
    sr__str *s;
    const sr_layout *layout;
    const sr_memory_buffer *buffer;
    int chunk;
    int run;         /* runs of one page have patterns of their own */
    double top;      /* of the plot */
    double per_byte, per_step;
} panel;

/* ---- text ------------------------------------------------------------------------------------------------------ */

static void put_label(sr__str *s, double x, double y, const char *anchor, int size, const char *text) {
    sr__str_printf(s, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" font-size=\"%d\">", x, y, anchor, size);
    sr__put_escaped(s, text);
    sr__str_puts(s, "</text>\n");
}

/* ---- a panel --------------------------------------------------------------------------------------------------- */

static size_t extent_of(const sr_memory_chunk *chunk) { return chunk->held > chunk->used ? chunk->held : chunk->used; }

/* Positions are cells from -1 to n_nodes. */
static double x_of(const panel *p, int32_t position) { return LEFT + (position + 1) * p->per_step; }
static double y_of(const panel *p, size_t address) { return p->top + PLOT_HEIGHT - (double)address * p->per_byte; }

static void put_title(const panel *p) {
    const sr_memory_chunk *chunk = &p->buffer->chunks[p->chunk];
    sr__str title = {0};
    sr__str_printf(&title, "%s", p->buffer->type->name);
    if (p->buffer->n_chunks > 1) {
        sr__str_printf(&title, ", chunk %d", p->chunk);
    }
    sr__str_puts(&title, ": ");
    sr__put_bytes(&title, chunk->used);
    sr__str_puts(&title, " used");
    if (chunk->held != chunk->used) {
        sr__str_puts(&title, " of ");
        sr__put_bytes(&title, chunk->held);
    }
    if (p->chunk == 0 && p->buffer->n_blocks > 0) {
        sr__str_puts(&title, "; at most ");
        sr__put_bytes(&title, p->buffer->most_live);
        sr__str_puts(&title, " at once, at ");
        sr__put_moment(&title, p->layout, p->buffer->peak, "node ");
    }
    put_label(p->s, LEFT, p->top - 10, "start", 13, sr__str_text(&title));
    p->s->failed |= title.failed;
    sr__str_free(&title);
}

static void put_frame(const panel *p) {
    const size_t extent = extent_of(&p->buffer->chunks[p->chunk]);
    sr__str_printf(p->s, "<rect x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%d\" fill=\"#ffffff\" stroke=\"#999999\"/>\n",
                   LEFT, p->top, PLOT_WIDTH, PLOT_HEIGHT);
    for (int i = 0; i <= 4; i++) {
        const size_t address = extent / 4 * (size_t)i + (i == 4 ? extent % 4 : 0);
        char bytes[16];
        sr__format_bytes(address, bytes);
        put_label(p->s, LEFT - 6, y_of(p, address) + 4, "end", 10, bytes);
    }
    put_label(p->s, LEFT, p->top + PLOT_HEIGHT + 26, "start", 10, "start");
    put_label(p->s, LEFT + PLOT_WIDTH, p->top + PLOT_HEIGHT + 26, "end", 10, "end");
}

/* The splits below the plot, in the colours of their backends. */
static void put_splits(const panel *p) {
    const sr_layout *layout = p->layout;
    for (int32_t i = 0; i < layout->n_splits; i++) {
        const int32_t begin = i == 0 ? 0 : layout->split_nodes[i] - 2 * layout->splits[i].n_inputs;
        const int32_t end = i + 1 < layout->n_splits
                                ? layout->split_nodes[i + 1] - 2 * layout->splits[i + 1].n_inputs
                                : layout->view.n_nodes;
        const sr__dot_color color = sr__dot_backend_color(layout, layout->splits[i].backend);
        const double x = x_of(p, begin), width = x_of(p, end) - x;
        sr__str_printf(p->s,
                       "<g><title>split %d  ", (int)i);
        sr__put_escaped(p->s, sr__backend_name(layout, layout->splits[i].backend));
        sr__str_printf(p->s, "  nodes %d-%d</title><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"9\" fill=\"%s\" "
                             "stroke=\"%s\" stroke-width=\"0.6\"/></g>\n",
                       (int)layout->splits[i].start, (int)layout->splits[i].end - 1, x, p->top + PLOT_HEIGHT + 3, width,
                       color.fill, color.line);
    }
}

static void put_block_title(const panel *p, const sr_memory_block *block) {
    sr__str title = {0};
    char name[SR_MAX_NAME + 1];
    sr__str_printf(&title, "%s\n%zu bytes at %zu\nfrom ", sr__id_name(p->layout, block->id, name), block->size,
                   block->offset);
    sr__put_moment(&title, p->layout, block->first, "node ");
    sr__str_puts(&title, " to ");
    sr__put_moment(&title, p->layout, block->last, "node ");
    if (block->in_place_of >= 0) {
        sr__str_printf(&title, "\nin place of %s", sr__id_name(p->layout, block->in_place_of, name));
    }
    sr__str_puts(&title, block->is_copy ? "\ncopy" : "");
    sr__str_puts(p->s, "<title>");
    /* line by line: the escaping would show a line's end as \x0a */
    for (char *line = title.data; line != NULL;) {
        char *end = strchr(line, '\n');
        if (end != NULL) {
            *end++ = '\0';
        }
        sr__put_escaped(p->s, line);
        sr__str_puts(p->s, end != NULL ? "\n" : "");
        line = end;
    }
    sr__str_puts(p->s, "</title>");
    p->s->failed |= title.failed;
    sr__str_free(&title);
}

static void put_block(const panel *p, const sr_memory_block *block) {
    const int32_t end = block->taken_by >= 0 ? block->last : block->last + 1;
    const double x = x_of(p, block->first), y = y_of(p, block->offset + block->size);
    const double width = x_of(p, end < block->first + 1 ? block->first + 1 : end) - x;
    const double height = (double)block->size * p->per_byte;
    char name[SR_MAX_NAME + 1];
    const char *label = sr__id_name(p->layout, block->id, name);
    sr__str_puts(p->s, "<g>");
    put_block_title(p, block);
    char hatches[32];
    snprintf(hatches, sizeof(hatches), "url(#copy%d)", p->run);
    for (int hatched = 0; hatched <= block->is_copy; hatched++) {
        sr__str_printf(p->s,
                       "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\" stroke=\"#55606b\" "
                       "stroke-width=\"0.5\"/>",
                       x, y, width, height > 0.4 ? height : 0.4,
                       hatched ? hatches : colors[block->id % SR_COUNT(colors)]);
    }
    sr__str_puts(p->s, "</g>\n");
    if (height >= 11 && width >= 7.0 * sr__name_width(label)) {
        put_label(p->s, x + 4, y + height / 2 + 4, "start", 10, label);
    }
}

/* A line at the moment when most is alive. */
static void put_peak(const panel *p) {
    const double x = x_of(p, p->buffer->peak) + p->per_step / 2;
    if (p->buffer->n_owners > 0) {
        sr__str_printf(p->s, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#b03a2e\" "
                             "stroke-dasharray=\"4 3\"/>\n",
                       x, p->top, x, p->top + PLOT_HEIGHT);
    }
}

static void put_panel(panel *p) {
    const size_t extent = extent_of(&p->buffer->chunks[p->chunk]);
    p->per_byte = extent > 0 ? (double)PLOT_HEIGHT / (double)extent : 0.0;
    p->per_step = (double)PLOT_WIDTH / (double)(p->layout->view.n_nodes + 2);
    put_title(p);
    put_frame(p);
    for (int32_t i = 0; i < p->buffer->n_blocks; i++) {
        if (p->buffer->blocks[i].chunk == p->chunk && p->buffer->blocks[i].size > 0) {
            put_block(p, &p->buffer->blocks[i]);
        }
    }
    put_peak(p);
    put_splits(p);
}

/* ---- the drawing ----------------------------------------------------------------------------------------------- */

static void put_legend(sr__str *s, const sr_layout *layout, int run, double y) {
    double x = LEFT;
    for (int b = 0; b < layout->n_backends; b++) {
        const sr__dot_color color = sr__dot_backend_color(layout, b);
        sr__str_printf(s, "<rect x=\"%.1f\" y=\"%.1f\" width=\"14\" height=\"9\" fill=\"%s\" stroke=\"%s\"/>\n", x,
                       y - 9, color.fill, color.line);
        sr__str text = {0};
        sr__str_printf(&text, "splits on %s", layout->backends[b]->name);
        put_label(s, x + 19, y, "start", 10, sr__str_text(&text));
        x += 34 + 6.0 * sr__name_width(sr__str_text(&text));
        s->failed |= text.failed;
        sr__str_free(&text);
    }
    sr__str_printf(s, "<rect x=\"%.1f\" y=\"%.1f\" width=\"14\" height=\"9\" fill=\"#eeeeee\" stroke=\"#55606b\"/>"
                      "<rect x=\"%.1f\" y=\"%.1f\" width=\"14\" height=\"9\" fill=\"url(#copy%d)\" "
                      "stroke=\"#55606b\"/>\n",
                   x, y - 9, x, y - 9, run);
    put_label(s, x + 19, y, "start", 10, "a copy");
    sr__str_printf(s, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#b03a2e\" "
                      "stroke-dasharray=\"4 3\"/>\n", x + 66, y - 10, x + 66, y + 1);
    put_label(s, x + 73, y, "start", 10, "most is alive");
}

static int count_panels(const sr_memory_plan *plan) {
    int n = 0;
    for (int i = 0; i < plan->n_buffers; i++) {
        for (int c = 0; c < plan->buffers[i].n_chunks; c++) {
            n += extent_of(&plan->buffers[i].chunks[c]) > 0;
        }
    }
    return n;
}

static void put_head(sr__str *s, const sr_run_result *result, int height) {
    const int width = LEFT + PLOT_WIDTH + RIGHT;
    sr__str title = {0};
    sr__str_printf(s,
                   "<svg width=\"%dpt\" height=\"%dpt\" viewBox=\"0 0 %d %d\" xmlns=\"http://www.w3.org/2000/svg\" "
                   "font-family=\"Helvetica,Arial,sans-serif\" fill=\"#222222\">\n",
                   width, height, width, height);
    sr__str_printf(s, "<defs><pattern id=\"copy%d\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
                    "patternTransform=\"rotate(45)\"><line x1=\"0\" y1=\"0\" x2=\"0\" y2=\"6\" stroke=\"#55606b\" "
                    "stroke-width=\"1.2\"/></pattern></defs>\n", result->run->index);
    sr__str_printf(s, "<rect width=\"%d\" height=\"%d\" fill=\"#fcfcfc\"/>\n", width, height);
    sr__str_printf(&title, "memory of run %d", result->run->index);
    if (result->run->graph_name[0] != '\0') {
        sr__str_printf(&title, "  %s", result->run->graph_name);
    }
    if (result->run->params_text[0] != '\0') {
        sr__str_printf(&title, "  %s", result->run->params_text);
    }
    sr__str_printf(&title, "%s: address over time, from node to node", result->run->reserve ? "  reserve" : "");
    put_label(s, LEFT, 24, "start", 15, sr__str_text(&title));
    s->failed |= title.failed;
    sr__str_free(&title);
}

sr_status sr_report_memory_svg(const sr_run_result *result, sr_sink *sink, sr_error *err) {
    sr__out out;
    sr__out_init(&out, sink);
    const sr_memory_plan *plan = result->memory;
    const int n_panels = plan != NULL ? count_panels(plan) : 0;
    int at = 0;
    put_head(&out.text, result, TITLE + LEGEND + n_panels * (PLOT_HEIGHT + PANEL_GAP) + (n_panels == 0 ? 30 : 0));
    if (n_panels == 0) {
        put_label(&out.text, LEFT, TITLE, "start", 12, plan == NULL ? "nothing was scheduled" : "no memory is needed");
    } else {
        put_legend(&out.text, result->layout, result->run->index, 46);
    }
    for (int i = 0; n_panels > 0 && i < plan->n_buffers; i++) {
        for (int c = 0; c < plan->buffers[i].n_chunks; c++) {
            if (extent_of(&plan->buffers[i].chunks[c]) > 0) {
                panel p = {.s = &out.text, .layout = result->layout, .buffer = &plan->buffers[i], .chunk = c,
                           .run = result->run->index};
                p.top = TITLE + LEGEND + at++ * (PLOT_HEIGHT + PANEL_GAP);
                put_panel(&p);
                sr__out_more(&out);
            }
        }
    }
    sr__str_puts(&out.text, "</svg>\n");
    return sr__out_end(&out, err);
}
