/*
 * slots.c - where pre-allocated tensors lie: the slots of every buffer, their sizes and offsets, and the memory.
 *
 * Layer: describe.  Answers to ggml_backend_alloc_ctx_tensors_from_buft of the reference.
 *
 * A slot belongs to all tensors of one name in one buffer, over all graphs, so that what one run leaves there the next
 * one finds.  Where one graph has a name several times in a buffer, the k-th of them has the k-th slot of that name.
 */
#include "describe/loader.h"

/* ---- collecting slots while graphs are built --------------------------------------------------------------------- */

static sr_status find_slot(sr__loader *ld, const char *name, int32_t buffer, int64_t occurrence, int32_t *out) {
    sr_description *d = ld->d;
    sr_status status = SR_OK;
    sr__str key = {0};
    sr__str_printf(&key, "%d %lld ", (int)buffer, (long long)occurrence);
    sr__str_puts(&key, name);
    if (key.failed) {
        SR_TRY(sr__no_memory(ld));
    }
    *out = sr__map_get_n(&ld->slot_index, key.data, key.length, -1);
    if (*out >= 0) {
        goto done;
    }
    if (!sr__grow(&d->slots, &d->slots_cap, d->n_slots + 1, sizeof(*d->slots))) {
        SR_TRY(sr__no_memory(ld));
    }
    sr__slot *slot = &d->slots[d->n_slots];
    *slot = (sr__slot){.buffer = buffer};
    SR_TRY(sr__keep(ld, key.data, &slot->key));
    slot->name = slot->key + (key.length - strlen(name));
    if (!sr__map_put(&ld->slot_index, slot->key, (int32_t)d->n_slots)) {
        SR_TRY(sr__no_memory(ld));
    }
    *out = (int32_t)d->n_slots++;
done:
    sr__str_free(&key);
    return status;
}

sr_status sr__put_in_buffer(sr__loader *ld, sr__variant *v, int32_t tensor, const char *name, int32_t buffer) {
    sr_status status;
    int32_t slot;
    SR_TRY(find_slot(ld, name, buffer, 0, &slot));
    sr__slot *first = &ld->d->slots[slot];
    if (first->user == v) {
        SR_TRY(find_slot(ld, name, buffer, first->n_user++, &slot));
    } else {
        first->user = v;
        first->n_user = 1;
    }
    if (!sr__grow(&v->placed, &v->placed_cap, v->n_placed + 1, sizeof(*v->placed))) {
        SR_TRY(sr__no_memory(ld));
    }
    v->placed[v->n_placed++] = (sr__placed){tensor, slot};
done:
    return status;
}

/* ---- sizes and contents ------------------------------------------------------------------------------------------ */

const sr__data *sr__data_of(const sr__variant *v, int32_t tensor) {
    size_t low = 0, high = v->n_data;
    while (low < high) { /* in the order of the tensors */
        size_t middle = low + (high - low) / 2;
        if (v->data[middle].tensor < tensor) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < v->n_data && v->data[low].tensor == tensor ? v->data[low].data : NULL;
}

/* Contents are given once: by the first leaf that says what they are, else by the leaf of the first run that has one;
 * the rest of a larger slot is zero, as where a program fills a tensor when it meets it. */
static void offer_contents(sr__slot *slot, const sr__variant *v, int32_t tensor, const sr__data *data) {
    if (slot->holder && (slot->holder_data || !data)) {
        return;
    }
    slot->holder = v;
    slot->holder_tensor = tensor;
    slot->holder_data = data;
}

static void measure(sr_description *d, const sr__variant *v) {
    sr_graph_view view = sr_graph_whole(v->graph);
    for (size_t i = 0; i < v->n_placed; i++) {
        sr__slot *slot = &d->slots[v->placed[i].slot];
        size_t size = sr_buffer_type_alloc_size(d->buffers[slot->buffer].type, &view, v->placed[i].tensor);
        slot->size = size > slot->size ? size : slot->size;
        offer_contents(slot, v, v->placed[i].tensor, sr__data_of(v, v->placed[i].tensor));
    }
}

/* ---- offsets and memory ------------------------------------------------------------------------------------------ */

/* How much of each of a buffer's physical buffers is taken. */
typedef struct filling { size_t *sizes; size_t n, cap; } filling;

static sr_status too_large(sr__loader *ld, const sr__buffer_entry *entry, const char *name) {
    sr_status status =
        sr__fail(ld->err, SR_ALLOCATION, "the buffer '%s' is too large for this machine at '%s'", entry->name, name);
    sr__error_text(ld->err, "buffer_type", entry->type->name);
    return status;
}

/* The next place in the last physical buffer, or the first place of a new one where that would be overfull.  A tensor
 * beyond the limit has one of its own, as in compute buffers: whether that can be made is the type's to say. */
static sr_status put_slot(sr__loader *ld, const sr__buffer_entry *entry, filling *f, sr__slot *slot) {
    size_t offset = 0, end = 0;
    if (f->n > 0 && (!sr__align_up(f->sizes[f->n - 1], entry->type->alignment, &offset) ||
                     !sr__add_size(offset, slot->size, &end))) {
        return too_large(ld, entry, slot->name);
    }
    if (f->n == 0 || end > entry->type->max_size) {
        if (f->n == 0 || f->sizes[f->n - 1] > 0) {
            if (!sr__grow(&f->sizes, &f->cap, f->n + 1, sizeof(*f->sizes))) {
                return sr__no_memory(ld);
            }
            f->n++;
        }
        offset = 0;
        end = slot->size;
    }
    slot->offset = offset;
    slot->physical = (int32_t)f->n - 1;
    f->sizes[f->n - 1] = end;
    return SR_OK;
}

/* Without memory the buffers still say whose they are. */
static sr_status allocate(sr__loader *ld, sr__buffer_entry *entry, const filling *f) {
    sr_status status = SR_OK;
    entry->physical = sr__calloc(f->n + 1, sizeof(*entry->physical));
    if (!entry->physical) {
        SR_TRY(sr__no_memory(ld));
    }
    for (size_t i = 0; i < f->n; i++) {
        size_t size = ld->options->no_memory ? 0 : f->sizes[i];
        status = sr_buffer_type_alloc(entry->type, size, &entry->physical[i], ld->err);
        if (status != SR_OK) {
            sr__error_prefix(ld->err, "the buffer '%s': ", entry->name);
            goto done;
        }
        entry->n_physical++;
        entry->physical[i]->name = entry->name;
        sr_buffer_set_usage(entry->physical[i], entry->usage);
    }
done:
    return status;
}

/* Slots are in order of first appearance over all buffers; each buffer takes its own. */
static sr_status lay_out_buffers(sr__loader *ld) {
    sr_description *d = ld->d;
    sr_status status = SR_OK;
    filling *fillings = sr__calloc(d->n_buffers + 1, sizeof(*fillings));
    if (!fillings) {
        return sr__no_memory(ld);
    }
    for (size_t i = 0; i < d->n_slots; i++) {
        int32_t buffer = d->slots[i].buffer;
        SR_TRY(put_slot(ld, &d->buffers[buffer], &fillings[buffer], &d->slots[i]));
    }
    for (size_t i = 0; i < d->n_buffers; i++) {
        SR_TRY(allocate(ld, &d->buffers[i], &fillings[i]));
    }
done:
    for (size_t i = 0; i < d->n_buffers; i++) {
        sr__free(fillings[i].sizes);
    }
    sr__free(fillings);
    return status;
}

sr_status sr__lay_out(sr__loader *ld) {
    sr_description *d = ld->d;
    sr_status status;
    for (size_t i = 0; i < d->n_variants; i++) {
        measure(d, d->variants[i]);
    }
    SR_TRY(lay_out_buffers(ld));
    for (size_t i = 0; i < d->n_variants; i++) {
        sr__variant *v = d->variants[i];
        for (size_t k = 0; k < v->n_placed; k++) {
            const sr__slot *slot = &d->slots[v->placed[k].slot];
            sr_buffer *buffer = d->buffers[slot->buffer].physical[slot->physical];
            sr_graph_place(v->graph, v->placed[k].tensor, buffer, slot->offset);
        }
        SR_TRY(sr_graph_finish(v->graph, ld->err));
    }
done:
    return status;
}
