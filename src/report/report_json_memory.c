/*
 * report_json_memory.c - the memory plan as JSON.
 *
 * Layer: report.
 */
#include "report/report_json.h"

static void put_id(sr__json *json, const char *key, const sr_layout *layout, int32_t id) {
    char name[SR_MAX_NAME + 1];
    sr__json_put_string(json, key, sr__id_name(layout, id, name));
}

/* The name of what is done at a position; null before the first node and after the last. */
static void put_json_position(sr__json *json, const char *key, const sr_layout *layout, int32_t position) {
    if (position >= 0 && position < layout->view.n_nodes) {
        put_id(json, key, layout, layout->view.nodes[position]);
    } else {
        sr__json_key(json, key);
        sr__json_null(json);
    }
}

static void put_json_block(sr__json *json, const sr_layout *layout, const sr_memory_block *block) {
    sr__json_put_inline(json, NULL);
    put_id(json, "tensor", layout, block->id);
    if (block->id < layout->graph->n_tensors) {
        sr__json_put_string(json, "id", layout->graph->tensors[block->id].id);
    }
    sr__json_put_int(json, "chunk", block->chunk);
    sr__json_put_int(json, "offset", (int64_t)block->offset);
    sr__json_put_int(json, "size", (int64_t)block->size);
    sr__json_put_int(json, "first", block->first);
    sr__json_put_int(json, "last", block->last);
    put_json_position(json, "from", layout, block->first);
    put_json_position(json, "to", layout, block->last);
    if (block->in_place_of >= 0) {
        put_id(json, "in_place_of", layout, block->in_place_of);
    }
    if (block->is_copy) {
        sr__json_put_bool(json, "copy", true);
    }
    sr__json_end_object(json);
}

static void put_json_chunks(sr__json *json, const sr_layout *layout, const sr_memory_buffer *buffer) {
    sr__json_key(json, "chunks");
    sr__json_array(json);
    for (int c = 0; c < buffer->n_chunks; c++) {
        sr__json_put_inline(json, NULL);
        sr__json_put_int(json, "held", (int64_t)buffer->chunks[c].held);
        sr__json_put_int(json, "used", (int64_t)buffer->chunks[c].used);
        if (buffer->chunks[c].top >= 0) {
            put_id(json, "top", layout, buffer->blocks[buffer->chunks[c].top].id);
        }
        sr__json_end_object(json);
    }
    sr__json_end_array(json);
}

static void put_json_owners(sr__json *json, const sr_layout *layout, const sr_memory_buffer *buffer) {
    sr__json_key(json, "owners");
    sr__json_array(json);
    for (int32_t i = 0; i < buffer->n_owners; i++) {
        const sr_memory_block *block = &buffer->blocks[buffer->owners[i]];
        sr__json_put_inline(json, NULL);
        put_id(json, "tensor", layout, block->id);
        sr__json_put_int(json, "size", (int64_t)block->size);
        sr__json_end_object(json);
    }
    sr__json_end_array(json);
}

static void put_json_buffer(sr__json *json, sr__out *out, const sr_layout *layout, const sr_memory_buffer *buffer) {
    sr__json_object(json);
    sr__json_put_string(json, "buffer_type", buffer->type->name);
    sr__json_put_string(json, "backend", layout->backends[buffer->backend]->name);
    sr__json_put_int(json, "held", (int64_t)buffer->held);
    sr__json_put_int(json, "used", (int64_t)buffer->used);
    sr__json_put_int(json, "peak", (int64_t)buffer->most_live);
    put_json_position(json, "peak_at", layout, buffer->peak);
    sr__json_put_int(json, "fragmentation", (int64_t)buffer->gaps);
    sr__json_put_int(json, "copies", (int64_t)buffer->copies);
    sr__json_put_int(json, "copies_at_peak", (int64_t)buffer->copies_at_peak);
    put_json_chunks(json, layout, buffer);
    put_json_owners(json, layout, buffer);
    sr__json_key(json, "tensors");
    sr__json_array(json);
    for (int32_t i = 0; i < buffer->n_blocks; i++) {
        put_json_block(json, layout, &buffer->blocks[i]);
        sr__out_more(out);
    }
    sr__json_end_array(json);
    sr__json_end_object(json);
}

static void put_json_overlaps(sr__json *json, const sr_layout *layout, const sr_memory_plan *plan) {
    sr__json_key(json, "overlaps");
    sr__json_array(json);
    for (int32_t i = 0; i < plan->n_overlaps; i++) {
        sr__json_put_inline(json, NULL);
        put_id(json, "tensor", layout, plan->overlaps[i].b);
        put_id(json, "overwrites", layout, plan->overlaps[i].a);
        put_json_position(json, "at", layout, plan->overlaps[i].position);
        sr__json_end_object(json);
    }
    sr__json_end_array(json);
}

static void put_json_row(sr__json *json, const sr_layout *layout, const sr_copies_row *row) {
    sr__json_put_inline(json, NULL);
    sr__json_put_int(json, "n_copies", row->n_copies);
    sr__json_put_string(json, "status", sr_status_name(row->status));
    if (row->status != SR_OK) {
        sr__json_put_string(json, "message", row->message);
        sr__json_end_object(json);
        return;
    }
    sr__json_key(json, "compute_buffer_size");
    sr__json_object(json);
    for (int b = 0; b < layout->n_backends; b++) {
        sr__json_put_int(json, layout->backends[b]->name, (int64_t)row->sizes[b]);
    }
    sr__json_end_object(json);
    sr__json_key(json, "copies");
    sr__json_object(json);
    for (int b = 0; b < layout->n_backends; b++) {
        sr__json_put_int(json, layout->backends[b]->name, (int64_t)row->copies[b]);
    }
    sr__json_end_object(json);
    sr__json_put_int(json, "user_inputs", row->n_graph_inputs);
    sr__json_put_int(json, "split_inputs", row->n_split_inputs);
    sr__json_put_int(json, "slot_bytes", (int64_t)row->slot_bytes);
    sr__json_end_object(json);
}

void sr__json_memory(sr__json *json, sr__out *out, const sr_run_result *result) {
    const sr_memory_plan *plan = result->memory;
    if (plan == NULL) {
        return;
    }
    sr__json_key(json, "memory");
    sr__json_object(json);
    sr__json_put_bool(json, "kept_plan", plan->kept);
    sr__json_key(json, "buffers");
    sr__json_array(json);
    for (int i = 0; i < plan->n_buffers; i++) {
        put_json_buffer(json, out, result->layout, &plan->buffers[i]);
    }
    sr__json_end_array(json);
    put_json_overlaps(json, result->layout, plan);
    if (result->n_copies > 0) {
        sr__json_key(json, "by_copies");
        sr__json_array(json);
        for (int i = 0; i < result->n_copies; i++) {
            put_json_row(json, result->layout, &result->copies[i]);
        }
        sr__json_end_array(json);
    }
    sr__json_end_object(json);
}
