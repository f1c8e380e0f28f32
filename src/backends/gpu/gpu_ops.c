/*
 * gpu_ops.c - which ops the kernels compute: one line an op, its family in a gpu_ops_NAME.c.
 *
 * Layer: backends.  Answers to the switches over ops in supports_op and graph_compute of the reference's GPU backends.
 */
#include "backends/gpu/gpu_launch.h"

#include "backend/reach.h"

/* op, family: sr__gpu_op_FAMILY computes it.  Whatever is not listed is refused. */
#define SR_GPU_OPS(X)                    \
    X(ADD, binary)                       \
    X(SUB, binary)                       \
    X(MUL, binary)                       \
    X(DIV, binary)                       \
    X(ADD1, binary)                      \
    X(SILU_BACK, binary)                 \
    X(MUL_MAT, mul_mat)                  \
    X(MUL_MAT_ID, mul_mat_id)            \
    X(OUT_PROD, out_prod)                \
    X(FLASH_ATTN_EXT, flash_attn)        \
    X(ADD_ID, add_id)                    \
    X(SQR, unary)                        \
    X(SQRT, unary)                       \
    X(LOG, unary)                        \
    X(SIN, unary)                        \
    X(COS, unary)                        \
    X(UNARY, unary)                      \
    X(LEAKY_RELU, unary)                 \
    X(CLAMP, unary)                      \
    X(SCALE, unary)                      \
    X(FILL, unary)                       \
    X(GLU, glu)                          \
    X(NORM, norm)                        \
    X(RMS_NORM, norm)                    \
    X(L2_NORM, norm)                     \
    X(GROUP_NORM, group_norm)            \
    X(RMS_NORM_BACK, norm_back)          \
    X(SOFT_MAX_BACK, norm_back)          \
    X(SOFT_MAX, soft_max)                \
    X(ROPE, rope)                        \
    X(ROPE_BACK, rope)                   \
    X(CPY, copy)                         \
    X(DUP, copy)                         \
    X(CONT, copy)                        \
    X(CONCAT, concat)                    \
    X(REPEAT, repeat)                    \
    X(REPEAT_BACK, repeat)               \
    X(SET, set)                          \
    X(ACC, set)                          \
    X(GET_ROWS, get_rows)                \
    X(SET_ROWS, set_rows)                \
    X(GET_ROWS_BACK, get_rows_back)      \
    X(SUM, sum)                          \
    X(COUNT_EQUAL, count_equal)          \
    X(SUM_ROWS, sum_rows)                \
    X(MEAN, sum_rows)                    \
    X(CUMSUM, cumsum)                    \
    X(ARGMAX, argmax)                    \
    X(ARGSORT, argsort)                  \
    X(TOP_K, top_k)                      \
    X(DIAG, triangle)                    \
    X(DIAG_MASK_INF, triangle)           \
    X(DIAG_MASK_ZERO, triangle)          \
    X(TRI, triangle)                     \
    X(IM2COL, im2col)                    \
    X(IM2COL_3D, im2col)                 \
    X(IM2COL_BACK, im2col_back)          \
    X(CONV_2D, conv)                     \
    X(CONV_3D, conv)                     \
    X(CONV_2D_DW, conv)                  \
    X(CONV_TRANSPOSE_1D, conv_transpose) \
    X(CONV_TRANSPOSE_2D, conv_transpose) \
    X(POOL_1D, pool)                     \
    X(POOL_2D, pool)                     \
    X(POOL_2D_BACK, pool_back)           \
    X(UPSCALE, upscale)                  \
    X(PAD, pad)                          \
    X(PAD_REFLECT_1D, pad)               \
    X(ROLL, pad)                         \
    X(ARANGE, arange)                    \
    X(TIMESTEP_EMBEDDING, timestep)      \
    X(SSM_CONV, ssm_conv)                \
    X(SSM_SCAN, ssm_scan)                \
    X(RWKV_WKV6, wkv6)                   \
    X(GATED_LINEAR_ATTN, wkv6)           \
    X(RWKV_WKV7, wkv7)                   \
    X(GATED_DELTA_NET, delta_net)        \
    X(CROSS_ENTROPY_LOSS, loss)          \
    X(CROSS_ENTROPY_LOSS_BACK, loss_back)\
    X(OPT_STEP_ADAMW, step)              \
    X(OPT_STEP_SGD, step)                \
    X(WIN_PART, windows)                 \
    X(WIN_UNPART, windows)               \
    X(GET_REL_POS, get_rel_pos)          \
    X(ADD_REL_POS, add_rel_pos)          \
    X(SOLVE_TRI, solve_tri)

#define SR_GPU_OP_DECLARE(op, family) extern const sr__gpu_op sr__gpu_op_##family;
SR_GPU_OPS(SR_GPU_OP_DECLARE)
#undef SR_GPU_OP_DECLARE

const sr__gpu_op *sr__gpu_op_get(int op) {
    static const sr__gpu_op none = {0};
    static const sr__gpu_op *const ops[SR_OP_COUNT] = {
#define SR_GPU_OP_ENTRY(op, family) [SR_OP_##op] = &sr__gpu_op_##family,
        SR_GPU_OPS(SR_GPU_OP_ENTRY)
#undef SR_GPU_OP_ENTRY
    };
    return op >= 0 && op < SR_OP_COUNT && ops[op] ? ops[op] : &none;
}

const char *sr__gpu_refuse(const sr__gpu_device *device, const sr_graph_view *view, int32_t node) {
    const int op = sr_view_op(view, node);
    if (op == SR_OP_NONE || sr_op_is_view(op)) {
        return NULL;
    }
    const sr__gpu_op *entry = sr__gpu_op_get(op);
    if (!entry->compute) {
        return "the device has no kernel for this op";
    }
    return entry->refuse ? entry->refuse(device, view, sr_view_tensor(view, node)) : NULL;
}

sr_status sr__gpu_compute_node(const sr__gpu_node *node, sr_error *err) {
    return sr__gpu_op_get(node->tensor->op)->compute(node, err);
}
