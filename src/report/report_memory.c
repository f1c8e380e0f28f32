/*
 * report_memory.c - the memory plan as text: buffers, chunks, what lies where and for how long.
 *
 * Layer: report.
 */
#include "report/report_text.h"

enum { MOST_NAME_WIDTH = 32, MOST_SHOWN_OWNERS = 6 };

/* "3 mm-1" of a node, the name of a copy, "start", "end". */
static void put_share(sr__str *s, size_t part, size_t whole) {
    sr__str_printf(s, " (%.0f%%)", whole > 0 ? 100.0 * (double)part / (double)whole : 0.0);
}

/* ---- totals of a buffer ---------------------------------------------------------------------------------------- */

static void put_chunks(sr__str *s, const sr_layout *layout, const sr_memory_buffer *buffer) {
    for (int c = 0; buffer->n_chunks > 1 && c < buffer->n_chunks; c++) {
        const sr_memory_chunk *chunk = &buffer->chunks[c];
        char name[SR_MAX_NAME + 1];
        sr__str_printf(s, "      chunk %d: ", c);
        sr__put_bytes(s, chunk->used);
        sr__str_puts(s, " of ");
        sr__put_bytes(s, chunk->held);
        sr__str_puts(s, " used");
        if (chunk->top >= 0) {
            sr__str_puts(s, ", up to the end of ");
            sr__put_name(s, sr__id_name(layout, buffer->blocks[chunk->top].id, name));
        }
        sr__str_puts(s, "\n");
    }
}

static void put_owners(sr__str *s, const sr_layout *layout, const sr_memory_buffer *buffer, int width) {
    sr__str line = {0};
    for (int32_t i = 0; i < buffer->n_owners && i < MOST_SHOWN_OWNERS; i++) {
        const sr_memory_block *block = &buffer->blocks[buffer->owners[i]];
        char name[SR_MAX_NAME + 1];
        char bytes[16];
        sr__format_bytes(block->size, bytes);
        sr__str_printf(&line, "%s%s %s%s", i > 0 ? ", " : "", sr__id_name(layout, block->id, name), bytes,
                       block->is_copy ? " (copy)" : "");
    }
    if (buffer->n_owners > MOST_SHOWN_OWNERS) {
        sr__str_printf(&line, ", and %d more", (int)buffer->n_owners - MOST_SHOWN_OWNERS);
    }
    if (line.length > 0) {
        sr__str_puts(s, "      then held by ");
        sr__put_wrapped(s, sr__str_text(&line), 19, 19, width);
    }
    s->failed |= line.failed;
    sr__str_free(&line);
}

static void put_totals(sr__text *text, const sr_memory_buffer *buffer) {
    sr__str *s = &text->out->text;
    const sr_layout *layout = text->layout;
    sr__str_puts(s, "    ");
    sr__backend_on(s, text->options, layout, buffer->backend);
    sr__put_name(s, buffer->type->name);
    sr__style_off(s, text->options);
    sr__str_puts(s, "  ");
    sr__put_bytes(s, buffer->used);
    sr__str_puts(s, " used");
    if (buffer->held != buffer->used) {
        sr__str_puts(s, " of ");
        sr__put_bytes(s, buffer->held);
    }
    sr__str_puts(s, " in ");
    sr__put_count(s, buffer->n_chunks, "chunk");
    sr__str_puts(s, ", ");
    sr__put_count(s, buffer->n_blocks, "tensor");
    if (buffer->n_blocks == 0) {
        sr__str_puts(s, "\n");
        return;
    }
    sr__str_puts(s, "\n      peak ");
    sr__put_bytes(s, buffer->most_live);
    const int32_t at = buffer->peak;
    const bool is_node = at >= 0 && at < layout->view.n_nodes && layout->view.nodes[at] < layout->graph->n_tensors;
    sr__str_puts(s, is_node ? " at node " : " at ");
    sr__put_moment(s, layout, at, "");
    sr__str_puts(s, "   fragmentation ");
    sr__put_bytes(s, buffer->gaps);
    put_share(s, buffer->gaps, buffer->used);
    sr__str_puts(s, "   copies ");
    sr__put_bytes(s, buffer->copies_at_peak);
    put_share(s, buffer->copies_at_peak, buffer->most_live);
    sr__str_puts(s, " of the peak, ");
    sr__put_bytes(s, buffer->copies);
    sr__str_puts(s, " in all\n");
    put_owners(s, layout, buffer, sr__text_width(text->options));
    put_chunks(s, layout, buffer);
}

/* ---- what lies where ------------------------------------------------------------------------------------------- */

typedef struct widths { int name, from, to; } widths;

static int position_width(sr__text *text, int32_t position) {
    sr__str s = {0};
    sr__put_moment(&s, text->layout, position, "");
    const int width = sr__name_width(sr__str_text(&s));
    text->out->text.failed |= s.failed;
    sr__str_free(&s);
    return width;
}

static int wider(int a, int b) { return b > a && b <= MOST_NAME_WIDTH ? b : a; }

static widths measure(sr__text *text, const sr_memory_buffer *buffer) {
    widths w = {6, 4, 2};
    for (int32_t i = 0; i < buffer->n_blocks; i++) {
        const sr_memory_block *block = &buffer->blocks[i];
        char name[SR_MAX_NAME + 1];
        w.name = wider(w.name, sr__name_width(sr__id_name(text->layout, block->id, name)));
        w.from = wider(w.from, position_width(text, block->first));
        w.to = wider(w.to, position_width(text, block->last));
    }
    return w;
}

static void put_position_column(sr__str *s, const sr_layout *layout, int32_t position, int width) {
    const size_t start = s->length;
    sr__put_moment(s, layout, position, "");
    int columns = 0;
    for (size_t i = start; i < s->length; i++) {
        columns += ((unsigned char)s->data[i] & 0xC0) != 0x80;
    }
    sr__put_spaces(s, width - columns);
}

static void put_block(sr__text *text, const sr_memory_buffer *buffer, const sr_memory_block *block, widths w) {
    sr__str *s = &text->out->text;
    const sr_layout *layout = text->layout;
    char name[SR_MAX_NAME + 1];
    char bytes[16];
    sr__format_bytes(block->size, bytes);
    if (buffer->n_chunks > 1) {
        sr__str_printf(s, "      %5d", (int)block->chunk);
    } else {
        sr__str_puts(s, "      ");
    }
    sr__str_printf(s, "%12zu", block->offset);
    sr__put_right(s, bytes, 11);
    sr__str_puts(s, "  ");
    sr__put_left(s, sr__id_name(layout, block->id, name), w.name);
    sr__str_puts(s, "  ");
    put_position_column(s, layout, block->first, w.from);
    sr__str_puts(s, "  ");
    put_position_column(s, layout, block->last, w.to);
    if (block->in_place_of >= 0) {
        sr__str_puts(s, "  in place of ");
        sr__put_name(s, sr__id_name(layout, block->in_place_of, name));
    } else if (block->is_copy) {
        sr__str_puts(s, "  copy");
    }
    while (!s->failed && s->length > 0 && s->data[s->length - 1] == ' ') {
        s->data[--s->length] = '\0';
    }
    sr__str_puts(s, "\n");
}

static void put_blocks(sr__text *text, const sr_memory_buffer *buffer) {
    sr__str *s = &text->out->text;
    const widths w = measure(text, buffer);
    if (buffer->n_blocks == 0) {
        return;
    }
    sr__style_on(s, text->options, SR__DIM);
    sr__str_puts(s, buffer->n_chunks > 1 ? "      chunk" : "      ");
    sr__str_puts(s, "      offset       size  ");
    sr__put_left(s, "tensor", w.name);
    sr__str_puts(s, "  ");
    sr__put_left(s, "from", w.from);
    sr__str_puts(s, "  to");
    sr__style_off(s, text->options);
    sr__str_puts(s, "\n");
    for (int32_t i = 0; i < buffer->n_blocks && !text->out->refused; i++) {
        put_block(text, buffer, &buffer->blocks[i], w);
        sr__out_more(text->out);
    }
}

static void put_overlaps(sr__text *text, const sr_memory_plan *plan) {
    sr__str *s = &text->out->text;
    for (int32_t i = 0; i < plan->n_overlaps && i < 8; i++) {
        const sr_memory_overlap *o = &plan->overlaps[i];
        char name[SR_MAX_NAME + 1];
        sr__str_puts(s, "    ");
        sr__style_on(s, text->options, SR__RED);
        sr__str_puts(s, "overlap");
        sr__style_off(s, text->options);
        sr__str_puts(s, ": ");
        sr__put_name(s, sr__id_name(text->layout, o->b, name));
        sr__str_puts(s, " overwrites ");
        sr__put_name(s, sr__id_name(text->layout, o->a, name));
        sr__str_puts(s, ", which is still needed: the plan was made for another graph\n");
    }
}

void sr__text_memory(sr__text *text, const sr_memory_plan *plan) {
    sr__str *s = &text->out->text;
    sr__str_puts(s, "\n");
    sr__style_on(s, text->options, SR__BOLD);
    sr__str_puts(s, "memory");
    sr__style_off(s, text->options);
    sr__str_puts(s, plan->kept ? "  (addresses are of an earlier plan, which was kept)\n" : "\n");
    for (int i = 0; i < plan->n_buffers; i++) {
        if (plan->buffers[i].n_blocks == 0 && plan->buffers[i].held == 0) {
            continue;
        }
        put_totals(text, &plan->buffers[i]);
        if (text->options->debug_level > 1) {
            put_blocks(text, &plan->buffers[i]);
        }
    }
    put_overlaps(text, plan);
}

/* ---- numbers of copies side by side ---------------------------------------------------------------------------- */

static void put_size(sr__str *s, size_t bytes, int width) {
    char text[16];
    sr__format_bytes(bytes, text);
    sr__put_right(s, bytes > 0 ? text : "-", width);
}

static int column_width(const sr_layout *layout, int b) {
    const int n = sr__name_width(layout->backends[b]->name) + 2;
    return n > 11 ? n : 11;
}

static void put_row(sr__str *s, const sr_layout *layout, const sr_copies_row *row) {
    sr__str_printf(s, "      %6d", row->n_copies);
    if (row->status != SR_OK) {
        sr__str_printf(s, "  %s: ", sr_status_name(row->status));
        sr__put_name(s, row->message);
        sr__str_puts(s, "\n");
        return;
    }
    for (int b = 0; b < layout->n_backends; b++) {
        put_size(s, row->sizes[b], column_width(layout, b));
    }
    size_t copies = 0;
    for (int b = 0; b < layout->n_backends; b++) {
        copies += row->copies[b];
    }
    put_size(s, copies, 15);
    sr__str_puts(s, "\n");
}

static void put_multiplied(sr__str *s, const sr_layout *layout, const sr_copies_row *row, int width) {
    sr__str line = {0};
    char bytes[16];
    sr__format_bytes(row->slot_bytes, bytes);
    sr__str_printf(&line, "every further copy adds %s: %d user input%s and %d split input%s", bytes,
                   (int)row->n_graph_inputs, row->n_graph_inputs == 1 ? "" : "s", (int)row->n_split_inputs,
                   row->n_split_inputs == 1 ? "" : "s");
    for (int i = 0; i < row->n_multiplied; i++) {
        const sr_tensor *t = &layout->graph->tensors[row->multiplied[i]];
        sr__format_bytes(t->nbytes, bytes);
        sr__str_printf(&line, "%s%s %s on %s", i == 0 ? "; the largest: " : ", ", sr__shown_name(t), bytes,
                       sr__backend_name(layout, row->multiplied_on[i]));
    }
    sr__str_puts(s, "      ");
    sr__put_wrapped(s, sr__str_text(&line), 6, 6, width);
    s->failed |= line.failed;
    sr__str_free(&line);
}

void sr__text_copies(sr__text *text, const sr_run_result *result) {
    sr__str *s = &text->out->text;
    const sr_layout *layout = text->layout;
    const sr_copies_row *largest = NULL;
    sr__str_puts(s, "\n");
    sr__style_on(s, text->options, SR__BOLD);
    sr__str_puts(s, "compute buffers by pipeline copies");
    sr__style_off(s, text->options);
    sr__str_puts(s, "\n      copies");
    for (int b = 0; b < layout->n_backends; b++) {
        sr__put_right(s, layout->backends[b]->name, column_width(layout, b));
    }
    sr__str_puts(s, "  in copies\n");
    for (int i = 0; i < result->n_copies; i++) {
        put_row(s, layout, &result->copies[i]);
        if (result->copies[i].status == SR_OK &&
            (largest == NULL || result->copies[i].n_copies > largest->n_copies)) {
            largest = &result->copies[i];
        }
    }
    if (largest != NULL && largest->n_copies > 1) {
        put_multiplied(s, layout, largest, sr__text_width(text->options));
    }
}
