/*
 * fill.c - the contents of leafs: of pre-allocated ones once, of the others before every run.
 *
 * Layer: describe.  Answers to what the reference's test program fills tensors with.
 *
 * Element i of a tensor counts in the order of its extents, whatever its strides are.  Contiguous tensors are made and
 * written a piece at a time, others as a whole.
 */
#include "describe/gguf.h"
#include "describe/loader.h"
#include "graph/quant.h"

enum { PIECE = 1 << 20 };

static bool is_integer_type(int type) {
    return type == SR_TYPE_I8 || type == SR_TYPE_I16 || type == SR_TYPE_I32 || type == SR_TYPE_I64;
}

static bool is_writable(int type) {
    return is_integer_type(type) || type == SR_TYPE_F64 || sr__type_can_write(type);
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* SplitMix64: its finaliser over a counter. */
static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static uint64_t random_bits(const sr__data *data, int64_t i) {
    return mix(data->seed + ((uint64_t)i + 1) * UINT64_C(0x9E3779B97F4A7C15));
}

static double float_value(const sr__data *data, int64_t i) {
    switch (data->kind) {
        case SR__DATA_VALUES: return data->values[i];
        case SR__DATA_RANDOM:
            return data->min + (data->max - data->min) * (double)(random_bits(data, i) >> 40) / 16777216.0;
        default: return data->fill;
    }
}

static int64_t integer_value(const sr__data *data, int64_t i) {
    switch (data->kind) {
        case SR__DATA_VALUES: return (int64_t)data->values[i];
        case SR__DATA_RANDOM: {
            uint64_t range = (uint64_t)(int64_t)data->max - (uint64_t)(int64_t)data->min + 1;
            return (int64_t)((uint64_t)(int64_t)data->min + random_bits(data, i) % range);
        }
        default: return (int64_t)data->fill;
    }
}

static void put_integer(int type, int64_t value, uint8_t *out) {
    int8_t i8 = (int8_t)value;
    int16_t i16 = (int16_t)value;
    int32_t i32 = (int32_t)value;
    switch (type) {
        case SR_TYPE_I8: memcpy(out, &i8, sizeof(i8)); break;
        case SR_TYPE_I16: memcpy(out, &i16, sizeof(i16)); break;
        case SR_TYPE_I32: memcpy(out, &i32, sizeof(i32)); break;
        default: memcpy(out, &value, sizeof(value)); break;
    }
}

/* n elements from element `first` on, packed, in the tensor's type; floats has room for n. */
static void make_row(int type, const sr__data *data, int64_t first, int64_t n, float *floats, uint8_t *out) {
    size_t bytes = (size_t)sr_type_get(type)->bytes;
    if (is_integer_type(type)) {
        for (int64_t i = 0; i < n; i++) {
            put_integer(type, integer_value(data, first + i), out + (size_t)i * bytes);
        }
    } else if (type == SR_TYPE_F64) {
        for (int64_t i = 0; i < n; i++) {
            double value = float_value(data, first + i);
            memcpy(out + (size_t)i * bytes, &value, sizeof(value));
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            floats[i] = (float)float_value(data, first + i);
        }
        sr__row_from_f32(type, floats, out, n);
    }
}

/* ---- writing a tensor -------------------------------------------------------------------------------------------- */

/* A tensor, where it lies, and what to write. */
typedef struct job {
    const sr_tensor *t;
    sr_storage at;
    const sr__data *data;
    sr_error *err;
} job;

static sr_status fill_contiguous(const job *j) {
    const sr_tensor *t = j->t;
    const sr_type_info *info = sr_type_get(t->type);
    int64_t n = sr_tensor_nelements(t), piece = (int64_t)PIECE / info->block * info->block;
    piece = piece < n ? piece : n;
    size_t piece_bytes = sr_row_size(t->type, piece);
    float *floats = sr__malloc((size_t)piece * sizeof(*floats));
    uint8_t *bytes = sr__malloc(piece_bytes);
    sr_status status = floats && bytes ? SR_OK : sr__fail_memory(j->err);
    size_t offset = j->at.offset;
    for (int64_t first = 0; first < n && status == SR_OK; first += piece) {
        int64_t count = n - first < piece ? n - first : piece;
        make_row(t->type, j->data, first, count, floats, bytes);
        size_t size = sr_row_size(t->type, count);
        status = sr_buffer_set(j->at.buffer, bytes, offset, size, j->err);
        offset += size;
    }
    sr__free(floats);
    sr__free(bytes);
    return status;
}

/* Row by row into an image of the tensor's span; gaps are zero. */
static void make_image(const job *j, float *floats, uint8_t *row, uint8_t *image) {
    const sr_tensor *t = j->t;
    size_t bytes = (size_t)sr_type_get(t->type)->bytes, row_size = sr_row_size(t->type, t->ne[0]);
    bool dense = sr_tensor_has_contiguous_rows(t);
    int64_t first = 0;
    for (int64_t i3 = 0; i3 < t->ne[3]; i3++) {
        for (int64_t i2 = 0; i2 < t->ne[2]; i2++) {
            for (int64_t i1 = 0; i1 < t->ne[1]; i1++, first += t->ne[0]) {
                uint8_t *to = image + (size_t)i1 * t->nb[1] + (size_t)i2 * t->nb[2] + (size_t)i3 * t->nb[3];
                make_row(t->type, j->data, first, t->ne[0], floats, row);
                if (dense) {
                    memcpy(to, row, row_size);
                }
                for (int64_t i0 = 0; !dense && (size_t)i0 * bytes < row_size; i0++) {
                    memcpy(to + (size_t)i0 * t->nb[0], row + (size_t)i0 * bytes, bytes);
                }
            }
        }
    }
}

static sr_status fill_strided(const job *j) {
    const sr_tensor *t = j->t;
    float *floats = sr__malloc((size_t)t->ne[0] * sizeof(*floats));
    uint8_t *row = sr__malloc(sr_row_size(t->type, t->ne[0])), *image = sr__calloc(1, t->nbytes);
    sr_status status = floats && row && image ? SR_OK : sr__fail_memory(j->err);
    if (status == SR_OK) {
        make_image(j, floats, row, image);
        status = sr_buffer_set(j->at.buffer, image, j->at.offset, t->nbytes, j->err);
    }
    sr__free(floats);
    sr__free(row);
    sr__free(image);
    return status;
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static sr_status write_part(void *user, const char *bytes, size_t at, size_t n, sr_error *err) {
    const job *j = user;
    return sr_buffer_set(j->at.buffer, bytes, j->at.offset + at, n, err);
}

static sr_status fill_from_file(job *j) {
    sr_status status = sr__read_part(j->data->path, (size_t)j->data->offset, j->t->nbytes, write_part, j, j->err);
    if (status == SR_DESCRIPTION) {
        sr__error_prefix(j->err, "the data of '%s': ", j->t->id);
    }
    return status;
}

static sr_status fill_from_tensor(const job *j, const sr__gguf *gguf, const sr__gguf_tensor *from) {
    if (from->type != j->t->type) {
        return sr__fail(j->err, SR_DESCRIPTION, "'%s' is %s, but '%s' in '%s' is %s", j->t->id,
                        sr_type_get(j->t->type)->name, from->name, sr__gguf_path(gguf), sr_type_get(from->type)->name);
    }
    if (from->size != j->t->nbytes) {
        return sr__fail(j->err, SR_DESCRIPTION, "'%s' has %zu bytes, but '%s' in '%s' has %zu", j->t->id, j->t->nbytes,
                        from->name, sr__gguf_path(gguf), from->size);
    }
    return sr_buffer_set(j->at.buffer, from->data, j->at.offset, from->size, j->err);
}

static sr_status fill_from_gguf(sr_description *d, const job *j) {
    sr__gguf *gguf;
    sr_status status = sr__open_data_file(d, j->data->path, &gguf, j->err);
    if (status != SR_OK) {
        return status;
    }
    const sr__gguf_tensor *from = sr__gguf_find(gguf, j->data->tensor);
    return from ? fill_from_tensor(j, gguf, from)
                : sr__fail(j->err, SR_DESCRIPTION, "'%s' has no tensor '%s', which '%s' is to come from", j->data->path,
                           j->data->tensor, j->t->id);
}

/* ---- what a leaf gets -------------------------------------------------------------------------------------------- */

static sr_status fill_given(sr_description *d, job *j) {
    switch (j->data->kind) {
        case SR__DATA_BYTES: return sr_buffer_set(j->at.buffer, j->data->bytes, j->at.offset, j->t->nbytes, j->err);
        case SR__DATA_FILE: return fill_from_file(j);
        case SR__DATA_GGUF: return fill_from_gguf(d, j);
        default: return sr_tensor_is_contiguous(j->t) ? fill_contiguous(j) : fill_strided(j);
    }
}

/* What the description says, else the tensor of its name and type in the weights file, else random or zero bytes. */
static sr_status fill_leaf(sr_description *d, job *j, bool random) {
    const sr_tensor *t = j->t;
    if (t->nbytes == 0) {
        return SR_OK;
    }
    if (j->data) {
        return fill_given(d, j);
    }
    const sr__gguf_tensor *from = d->gguf ? sr__gguf_find(d->gguf, t->name) : NULL;
    if (from && from->type == t->type) {
        return fill_from_tensor(j, d->gguf, from);
    }
    if (random && !is_integer_type(t->type) && is_writable(t->type)) {
        const sr__data data = {.kind = SR__DATA_RANDOM, .seed = sr__fnv1a64(t->name), .min = -1, .max = 1};
        j->data = &data;
        return fill_given(d, j);
    }
    return sr_buffer_memset(j->at.buffer, 0, j->at.offset, t->nbytes, j->err);
}

sr_status sr_description_set_buffers(sr_description *d, sr_error *err) {
    sr_status status = SR_OK;
    if (d->buffers_set) {
        return SR_OK;
    }
    SR_TRY(sr__open_weights(d, err));
    for (size_t i = 0; i < d->n_slots; i++) {
        const sr__slot *slot = &d->slots[i];
        const sr__buffer_entry *entry = &d->buffers[slot->buffer];
        const sr_tensor *t = &slot->holder->graph->tensors[slot->holder_tensor];
        sr_buffer *buffer = entry->physical[slot->physical];
        if (slot->size > 0) {
            SR_TRY(sr_buffer_memset(buffer, 0, slot->offset, slot->size, err));
        }
        if (t->op == SR_OP_NONE) {
            job j = {t, {buffer, slot->offset}, slot->holder_data, err};
            SR_TRY(fill_leaf(d, &j, entry->usage == SR_USAGE_WEIGHTS));
        }
    }
    d->buffers_set = true;
done:
    return status;
}

sr_status sr_description_set_inputs(sr_description *d, const sr_run *run, const sr_graph_view *view, sr_error *err) {
    const sr__variant *v = d->run_variants[run->index];
    sr_status status;
    SR_TRY(sr__open_weights(d, err));
    for (int32_t i = 0; i < v->graph->n_tensors; i++) {
        const sr_tensor *t = &v->graph->tensors[i];
        if (t->op == SR_OP_NONE && !t->buffer && t->view_src < 0 && view->storage[i].buffer) {
            job j = {t, view->storage[i], sr__data_of(v, i), err};
            SR_TRY(fill_leaf(d, &j, (t->flags & SR_FLAG_INPUT) != 0));
        }
    }
done:
    return status;
}
