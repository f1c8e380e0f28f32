/*
 * work.c - how much work a node is, by the extents of its operands.
 *
 * Layer: graph.  Estimates: products and attention are exact up to masks, recurrences count the operations on their
 * state, everything else one operation an element.
 */
#include <math.h>

#include "graph/work.h"

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

/* ---- bytes ----------------------------------------------------------------------------------------------------- */

double sr__experts_used(int64_t n_expert, int64_t n_used, int64_t n_tokens) {
    if (n_expert <= 0 || n_used <= 0 || n_tokens <= 0) {
        return 0;
    }
    if (n_used >= n_expert) {
        return (double)n_expert;
    }
    const double n = (double)n_expert;
    return n * (1.0 - pow(1.0 - (double)n_used / n, (double)n_tokens));
}

/* What its elements take, packed: a view may span more than it reads, and a repeated one less. */
static double bytes_of(const sr_tensor *t) {
    if (!t || sr_tensor_is_empty(t)) {
        return 0;
    }
    const double packed = (double)sr_row_size(t->type, t->ne[0]) * (double)sr_tensor_nrows(t);
    return packed < (double)t->nbytes ? packed : (double)t->nbytes;
}

/* So many rows of a tensor. */
static double rows_of(const sr_tensor *t, double n_rows) {
    return t ? (double)sr_row_size(t->type, t->ne[0]) * n_rows : 0;
}

/* Every source once, but for those whose place is in `without`, a bit each. */
static double sources(const sr_graph *graph, int32_t node, unsigned without) {
    const sr_tensor *t = &graph->tensors[node];
    const int32_t *srcs = &graph->srcs[t->src_begin];
    double bytes = 0;
    for (int j = 0; j < t->n_src; j++) {
        bool again = srcs[j] == node || (without >> j & 1u) != 0;
        for (int i = 0; i < j && !again; i++) {
            again = srcs[i] == srcs[j];
        }
        bytes += again || srcs[j] < 0 ? 0 : bytes_of(&graph->tensors[srcs[j]]);
    }
    return bytes;
}

double sr__node_bytes(const sr_graph *graph, int32_t node) {
    const sr_tensor *t = &graph->tensors[node];
    const sr_tensor *a = source(graph, t, 0), *b = source(graph, t, 1), *ids = source(graph, t, 2);
    if (sr_op_is_view(t->op) || t->op == SR_OP_NONE) {
        return 0;
    }
    switch (t->op) {
        case SR_OP_GET_ROWS: return rows_of(a, elements(b)) + sources(graph, node, 1) + bytes_of(t);
        case SR_OP_SET_ROWS: return sources(graph, node, 4) + rows_of(t, a ? (double)sr_tensor_nrows(a) : 0);
        case SR_OP_CPY: return sources(graph, node, 2) + bytes_of(t);
        case SR_OP_FILL:
        case SR_OP_IM2COL:
        case SR_OP_IM2COL_3D: return sources(graph, node, 1) + bytes_of(t); /* of the first only the extents matter */
        case SR_OP_SET:
        case SR_OP_ACC:
            if (t->view_src >= 0) {
                return 2 * bytes_of(b) + (t->op == SR_OP_ACC ? bytes_of(b) : 0);
            }
            return sources(graph, node, 0) + bytes_of(t);
        case SR_OP_MUL_MAT_ID:
            if (a && ids) {
                return sr__experts_used(a->ne[2], ids->ne[0], ids->ne[1]) * (double)a->nb[2] +
                       sources(graph, node, 1) + bytes_of(t);
            }
            return sources(graph, node, 0) + bytes_of(t);
        default: return sources(graph, node, 0) + bytes_of(t);
    }
}
