/*
 * work.c - how much work a node is, by the extents of its operands.
 *
 * Layer: analyze.  Estimates: products and attention are exact up to masks, recurrences count the operations on their
 * state, everything else one operation an element.
 */
#include "analyze/work.h"

static const sr_tensor *source(const sr_graph *graph, const sr_tensor *t, int j) {
    const int32_t id = j < t->n_src ? graph->srcs[t->src_begin + j] : -1;
    return id >= 0 ? &graph->tensors[id] : NULL;
}

static double elements(const sr_tensor *t) { return t ? (double)sr_tensor_nelements(t) : 0; }

/* Every query with every key, and the weighted sum of the values. */
static double attention(const sr_graph *graph, const sr_tensor *t) {
    const sr_tensor *q = source(graph, t, 0), *k = source(graph, t, 1), *v = source(graph, t, 2);
    if (!q || !k || !v || q->ne[0] == 0) {
        return 0;
    }
    return 2.0 * elements(q) / (double)q->ne[0] * (double)k->ne[1] * (double)(q->ne[0] + v->ne[0]);
}

static double convolution(const sr_graph *graph, const sr_tensor *t) {
    const sr_tensor *a = source(graph, t, 0), *b = source(graph, t, 1);
    if (!a || !b || a->ne[3] == 0 || b->ne[0] == 0) {
        return 0;
    }
    switch (t->op) {
        case SR_OP_CONV_2D: return 2.0 * elements(a) / (double)a->ne[3] * elements(t);
        case SR_OP_CONV_2D_DW: return 2.0 * (double)a->ne[0] * (double)a->ne[1] * elements(t);
        case SR_OP_CONV_3D: return 2.0 * elements(a) * (double)t->ne[0] * (double)t->ne[1] * (double)t->ne[2];
        case SR_OP_CONV_TRANSPOSE_1D: return 2.0 * elements(a) * (double)b->ne[0];
        default: return 2.0 * elements(a) * (double)b->ne[0] * (double)b->ne[1] * (double)b->ne[3];
    }
}

/* Each element meets a row of the state, some times over. */
static double recurrence(const sr_graph *graph, const sr_tensor *t, int operand, double times) {
    const sr_tensor *x = source(graph, t, operand), *first = source(graph, t, 0);
    return x && first ? times * (double)first->ne[0] * elements(x) : 0;
}

static double elementwise(const sr_graph *graph, const sr_tensor *t) {
    const double own = elements(t), first = elements(source(graph, t, 0));
    return own > first ? own : first;
}

double sr__node_flops(const sr_graph *graph, int32_t node) {
    const sr_tensor *t = &graph->tensors[node];
    const sr_tensor *a = source(graph, t, 0), *b = source(graph, t, 1);
    if (sr_op_is_view(t->op)) {
        return 0;
    }
    switch (t->op) {
        case SR_OP_NONE:
        case SR_OP_DUP:
        case SR_OP_CPY:
        case SR_OP_CONT:
        case SR_OP_SET:
        case SR_OP_CONCAT:
        case SR_OP_REPEAT:
        case SR_OP_GET_ROWS:
        case SR_OP_SET_ROWS:
        case SR_OP_IM2COL:
        case SR_OP_IM2COL_3D:
        case SR_OP_PAD:
        case SR_OP_PAD_REFLECT_1D:
        case SR_OP_ROLL:
        case SR_OP_FILL:
        case SR_OP_DIAG:
        case SR_OP_DIAG_MASK_INF:
        case SR_OP_DIAG_MASK_ZERO:
        case SR_OP_TRI:
        case SR_OP_WIN_PART:
        case SR_OP_WIN_UNPART:
        case SR_OP_GET_REL_POS: return 0;
        case SR_OP_MUL_MAT:
        case SR_OP_MUL_MAT_ID: return a ? 2.0 * (double)a->ne[0] * elements(t) : 0;
        case SR_OP_OUT_PROD: return a ? 2.0 * (double)a->ne[1] * elements(t) : 0;
        case SR_OP_FLASH_ATTN_EXT: return attention(graph, t);
        case SR_OP_FLASH_ATTN_BACK: return 2.5 * attention(graph, t);
        case SR_OP_CONV_2D:
        case SR_OP_CONV_2D_DW:
        case SR_OP_CONV_3D:
        case SR_OP_CONV_TRANSPOSE_1D:
        case SR_OP_CONV_TRANSPOSE_2D: return convolution(graph, t);
        case SR_OP_SSM_CONV: return b ? 2.0 * (double)b->ne[0] * elements(t) : 0;
        case SR_OP_SSM_SCAN: return recurrence(graph, t, 1, 5);
        case SR_OP_RWKV_WKV6:
        case SR_OP_GATED_LINEAR_ATTN: return recurrence(graph, t, 0, 5);
        case SR_OP_RWKV_WKV7:
        case SR_OP_GATED_DELTA_NET: return recurrence(graph, t, 2, 7);
        case SR_OP_SOLVE_TRI: return a ? (double)a->ne[0] * elements(t) : 0;
        case SR_OP_ACC: return elements(b);
        default: return elementwise(graph, t);
    }
}

double sr__node_bytes(const sr_graph *graph, int32_t node) {
    const sr_tensor *t = &graph->tensors[node];
    double bytes = (double)t->nbytes;
    for (int j = 0; j < t->n_src; j++) {
        const int32_t id = graph->srcs[t->src_begin + j];
        bytes += id >= 0 && id != node ? (double)graph->tensors[id].nbytes : 0;
    }
    return bytes;
}
