/*
 * graph_layout.c - a tensor's extents, what it is a view of, its strides and its size.
 *
 * Layer: graph.  Answers to ggml_new_tensor_impl and the view builders of ggml.c.  Every product is checked: no
 * tensor is larger than SIZE_MAX / 2, and no view reaches past the end of its root, neither with the strides it has
 * nor (as the reference demands) if it were contiguous.
 */
#include <inttypes.h>

#include "graph/graph_impl.h"
#include "graph/op_shapes.h"

#define SIZE_LIMIT (SIZE_MAX / 2)

/* ---- extents ---- */

static sr_status check_extents(const sr__draft *draft, const int64_t *ne, int n) {
    int64_t count = 1;
    for (int d = 0; d < n; d++) {
        if (ne[d] < 0) {
            return sr__fail(draft->err, SR_INVALID, "ne%d of '%s' is %" PRId64 ", extents cannot be negative", d,
                            draft->id, ne[d]);
        }
        if (ne[d] > 1 && __builtin_mul_overflow(count, ne[d], &count)) {
            return sr__fail(draft->err, SR_INVALID, "the extents of '%s' overflow: too many elements", draft->id);
        }
    }
    return SR_OK;
}

static void fill_shape(const sr__draft *draft, sr__shape *shape, const char *op) {
    const sr_tensor_spec *spec = draft->spec;
    shape->spec = spec;
    shape->op = op;
    shape->n_src = draft->t.n_src;
    shape->self = false;
    shape->given = spec->n_dims > 0;
    shape->err = draft->err;
    shape->overflow = false;
    shape->type = -1;
    for (int j = 0; j < SR_MAX_SRC; j++) {
        int32_t s = j < shape->n_src ? draft->srcs[j] : -1;
        shape->self = shape->self || s == draft->graph->n_tensors;
        shape->src[j] = s >= 0 && s < draft->graph->n_tensors ? &draft->graph->tensors[s] : NULL;
    }
    for (int d = 0; d < SR_MAX_DIMS; d++) {
        shape->want[d] = d < spec->n_dims ? spec->ne[d] : 1;
        shape->ne[d] = shape->want[d];
    }
}

static sr_status check_given(const sr__draft *draft, const sr__shape *shape, bool type_fixed) {
    if (shape->given && memcmp(shape->ne, shape->want, sizeof shape->ne) != 0) {
        return sr__fail(draft->err, SR_INVALID, "ne %s does not agree with the rule of %s: %s",
                        sr__extents_text(shape->want).text, shape->op, sr__extents_text(shape->ne).text);
    }
    if (type_fixed && draft->spec->type >= 0 && draft->spec->type != shape->type) {
        return sr__fail(draft->err, SR_INVALID, "type %s does not agree with the rule of %s: %s",
                        sr_type_get(draft->spec->type)->name, shape->op, sr_type_get(shape->type)->name);
    }
    return SR_OK;
}

sr_status sr__draft_shape(sr__draft *draft) {
    const sr_tensor_spec *spec = draft->spec;
    const sr__op *op = spec->op == SR_OP_NONE ? NULL : sr__op_get(spec->op);
    sr_status status;
    sr__shape shape;
    SR_TRY(check_extents(draft, spec->ne, spec->n_dims));
    fill_shape(draft, &shape, op != NULL ? op->info.name : spec->op_name);
    if (op != NULL && op->rule != NULL) {
        SR_TRY(op->rule(&shape));
        if (shape.overflow) {
            return sr__fail(draft->err, SR_INVALID, "the extents of the result of %s overflow", shape.op);
        }
        SR_TRY(check_given(draft, &shape, op->type_fixed));
        SR_TRY(check_extents(draft, shape.ne, SR_MAX_DIMS));
    } else if (!shape.given) {
        return sr__fail(draft->err, SR_INVALID, "'%s' needs its extents (ne)", draft->id);
    }
    int type = spec->type >= 0 ? spec->type : shape.type >= 0 ? shape.type : SR_TYPE_F32;
    draft->t.type = (uint8_t)type;
    memcpy(draft->t.ne, shape.ne, sizeof draft->t.ne);
done:
    return status;
}

/* ---- views ---- */

static int32_t root_of(const sr_graph *graph, int32_t tensor) {
    return graph->tensors[tensor].view_src >= 0 ? graph->tensors[tensor].view_src : tensor;
}

sr_status sr__draft_view(sr__draft *draft) {
    const sr_graph *graph = draft->graph;
    const sr_tensor_spec *spec = draft->spec;
    int32_t of = spec->view_of >= 0 ? spec->view_of : draft->follows;
    size_t offset = spec->view_offset;
    draft->t.view_src = -1;
    draft->t.view_offs = 0;
    if (of < 0) {
        return SR_OK;
    }
    if (of >= graph->n_tensors) {
        return sr__fail(draft->err, SR_INVALID, "'%s' is a view of tensor %d, which is not there yet", draft->id, of);
    }
    int32_t root = root_of(graph, of);
    if (draft->follows >= 0 && root_of(graph, draft->follows) != root) {
        return sr__fail(draft->err, SR_INVALID, "view of '%s', but %s shares the memory of '%s'",
                        graph->tensors[of].id, sr_tensor_op_name(&draft->t), graph->tensors[draft->follows].id);
    }
    if (spec->op == SR_OP_VIEW && spec->view_of < 0) {
        uint64_t words = (uint32_t)spec->op_params[0] | (uint64_t)(uint32_t)spec->op_params[1] << 32;
        offset = (size_t)words;
    }
    if (!sr__add_size(offset, graph->tensors[of].view_offs, &draft->t.view_offs) || draft->t.view_offs > SIZE_LIMIT) {
        return sr__fail(draft->err, SR_INVALID, "the offset of '%s' in '%s' overflows", draft->id,
                        graph->tensors[of].id);
    }
    draft->t.view_src = root;
    if (spec->buffer != NULL) {
        return sr__fail(draft->err, SR_INVALID, "'%s' is a view of '%s' and cannot have a buffer of its own", draft->id,
                        graph->tensors[root].id);
    }
    return SR_OK;
}

/* ---- strides and sizes ---- */

static sr_status too_large(const sr__draft *draft) {
    return sr__fail(draft->err, SR_INVALID, "the size of '%s' %s overflows", draft->id,
                    sr__extents_text(draft->t.ne).text);
}

/* Contiguous strides for the extents, and the size they give (0 if any extent is 0). */
static bool contiguous(const sr_tensor *t, size_t nb[SR_MAX_DIMS], size_t *out_size) {
    const sr_type_info *info = sr_type_get(t->type);
    nb[0] = (size_t)info->bytes;
    if (!sr__mul_size(nb[0], (size_t)(t->ne[0] / info->block), &nb[1])) {
        return false;
    }
    for (int d = 2; d < SR_MAX_DIMS; d++) {
        if (!sr__mul_size(nb[d - 1], (size_t)t->ne[d - 1], &nb[d])) {
            return false;
        }
    }
    return sr__mul_size(nb[3], (size_t)t->ne[3], out_size) && *out_size <= SIZE_LIMIT;
}

/* From the first to the last byte with the strides it has. */
static bool span(const sr_tensor *t, size_t *out_size) {
    const sr_type_info *info = sr_type_get(t->type);
    size_t size, part;
    int first = info->block == 1 ? 0 : 1;
    *out_size = 0;
    if (sr_tensor_is_empty(t)) {
        return true;
    }
    if (info->block == 1) {
        size = (size_t)info->bytes;
    } else {
        if (!sr__mul_size((size_t)t->ne[0], t->nb[0], &size)) {
            return false;
        }
        size /= (size_t)info->block;
    }
    for (int d = first; d < SR_MAX_DIMS; d++) {
        if (!sr__mul_size((size_t)(t->ne[d] - 1), t->nb[d], &part) || !sr__add_size(size, part, &size)) {
            return false;
        }
    }
    *out_size = size;
    return size <= SIZE_LIMIT;
}

/* Depth-wise convolution keeps the order of a channels-first image (spec: CONV_2D_DW). */
static void depthwise_strides(const sr__draft *draft, sr_tensor *t) {
    const sr_tensor *b = &draft->graph->tensors[draft->srcs[1]];
    size_t e = (size_t)sr_type_get(t->type)->bytes;
    if (b->nb[2] == (size_t)sr_type_get(b->type)->bytes && b->nb[0] > b->nb[2] && b->nb[1] > b->nb[0]) {
        t->nb[0] = (size_t)t->ne[2] * e;
        t->nb[1] = (size_t)t->ne[0] * t->nb[0];
        t->nb[2] = e;
        t->nb[3] = (size_t)t->ne[1] * t->nb[1];
    }
}

/* Strides that the caller left out, where they are not the contiguous ones in t->nb. */
static void default_strides(const sr__draft *draft, sr_tensor *t) {
    int op = draft->spec->op, axes[SR_MAX_DIMS];
    if (op == SR_OP_CONV_2D_DW) {
        depthwise_strides(draft, t);
        return;
    }
    if (draft->follows < 0 || op == SR_OP_RESHAPE || op == SR_OP_VIEW) {
        return;
    }
    const sr_tensor *of = &draft->graph->tensors[draft->follows];
    if (op == SR_OP_TRANSPOSE) {
        t->nb[0] = of->nb[1];
        t->nb[1] = of->nb[0];
        t->nb[2] = of->nb[2];
        t->nb[3] = of->nb[3];
    } else if (op == SR_OP_PERMUTE) {
        if (sr__permute_axes(draft->spec, of, axes)) {
            for (int d = 0; d < SR_MAX_DIMS; d++) {
                t->nb[axes[d]] = of->nb[d];
            }
        }
    } else if (t->type == of->type && sr_tensor_same_shape(t, of)) {
        memcpy(t->nb, of->nb, sizeof t->nb);
    }
}

/* An element may not lie across the alignment of its type: kernels read elements through pointers of their type. */
static sr_status check_alignment(const sr__draft *draft) {
    const sr_tensor *t = &draft->t;
    const sr_type_info *info = sr_type_get(t->type);
    if (info->block != 1 || sr_tensor_is_empty(t)) {
        return SR_OK;
    }
    for (int d = 0; d < SR_MAX_DIMS; d++) {
        if (t->ne[d] > 1 && t->nb[d] % (size_t)info->bytes != 0) {
            return sr__fail(draft->err, SR_INVALID, "stride nb%d of '%s' is %zu, not a multiple of the %d bytes of %s",
                            d, draft->id, t->nb[d], info->bytes, info->name);
        }
    }
    if (t->view_offs % (size_t)info->bytes != 0) {
        return sr__fail(draft->err, SR_INVALID, "the offset %zu of '%s' is not a multiple of the %d bytes of %s",
                        t->view_offs, draft->id, info->bytes, info->name);
    }
    return SR_OK;
}

static sr_status check_view(const sr__draft *draft, size_t contiguous_size) {
    const sr_tensor *t = &draft->t;
    if (t->view_src < 0 || sr_tensor_is_empty(t)) {
        return SR_OK;
    }
    const sr_tensor *root = &draft->graph->tensors[t->view_src];
    size_t size = t->nbytes > contiguous_size ? t->nbytes : contiguous_size;
    size_t end = t->view_offs + size; /* both at most SIZE_LIMIT */
    if (end > root->nbytes) {
        return sr__fail(draft->err, SR_INVALID, "view of '%s' ends at byte %zu, past the %zu bytes of its root",
                        root->id, end, root->nbytes);
    }
    return SR_OK;
}

sr_status sr__draft_layout(sr__draft *draft) {
    sr_tensor *t = &draft->t;
    const sr_type_info *info = sr_type_get(t->type);
    int op = draft->spec->op;
    size_t size;
    sr_status status;
    /* Blocks lie along dimension 0 as long as no one permuted it. */
    if (t->ne[0] % info->block != 0 && op != SR_OP_PERMUTE && op != SR_OP_TRANSPOSE) {
        return sr__fail(draft->err, SR_INVALID, "ne0 of '%s' is %" PRId64
                        ", not a multiple of the %d elements of a block of %s", draft->id, t->ne[0], info->block,
                        info->name);
    }
    if (!contiguous(t, t->nb, &size)) {
        return too_large(draft);
    }
    if (draft->spec->has_nb) {
        memcpy(t->nb, draft->spec->nb, sizeof t->nb);
    } else {
        default_strides(draft, t);
    }
    if (!span(t, &t->nbytes)) {
        return too_large(draft);
    }
    SR_TRY(check_alignment(draft));
    SR_TRY(check_view(draft, size));
done:
    return status;
}
