/*
 * ops.c - the table of ops: names, sources, parameters, what a result shares with its sources.
 *
 * Layer: graph.  Answers to GGML_OP_NAME, GGML_UNARY_OP_NAME, GGML_GLU_OP_NAME, the parameter words that the builders
 * of ggml.c store, and ggml_op_can_inplace of ggml-alloc.c.  docs/ops.md tells the same to users.
 *
 * One line an op, in the order of graph.h.  The letters: V its builder has an in-place form (the result is a view of
 * the first source), R the allocator may put the result over a dying source, S extents follow from sources and
 * parameters, T the result type is the rule's and no other.
 */
#include <math.h>

#include "graph/op_shapes.h"

/* ---- parameters ---- */

#define INT(name, word) {name, SR_PARAM_INT, word, true, 0, NULL}
#define INT_OR(name, word, value) {name, SR_PARAM_INT, word, false, value, NULL}
#define FLOAT(name, word) {name, SR_PARAM_FLOAT, word, true, 0, NULL}
#define FLOAT_OR(name, word, value) {name, SR_PARAM_FLOAT, word, false, value, NULL}
#define BOOL(name, word) BOOL_OR(name, word, 0)
#define BOOL_OR(name, word, value) {name, SR_PARAM_BOOL, word, false, value, NULL}
#define ENUM(name, word, values) {name, SR_PARAM_ENUM, word, true, 0, values}
#define ENUM_OR(name, word, value, values) {name, SR_PARAM_ENUM, word, false, value, values}
#define FROM_SOURCE ((double)NAN) /* follows from sources or other parameters: op_params.c */

static const sr_param_enum order_values[] = {{"asc", 0}, {"desc", 1}, {NULL, 0}};
static const sr_param_enum prec_values[] = {{"default", 0}, {"f32", 10}, {NULL, 0}};
static const sr_param_enum hint_values[] = {{"none", 0}, {"src0_is_hadamard", 1}, {NULL, 0}};
static const sr_param_enum rope_values[] = {
    {"normal", 0}, {"neox", 2}, {"mrope", 8}, {"vision", 24}, {"imrope", 40}, {NULL, 0},
};
static const sr_param_enum tri_values[] = {{"upper_diag", 0}, {"upper", 1}, {"lower_diag", 2}, {"lower", 3}, {NULL, 0}};
static const sr_param_enum pool_values[] = {{"max", 0}, {"avg", 1}, {NULL, 0}};
static const sr_param_enum scale_values[] = {{"nearest", 0}, {"bilinear", 1}, {"bicubic", 2}, {NULL, 0}};
static const sr_param_enum type_values[] = {
#define TYPE_VALUE(number, id, name, block, bytes, quantized) {name, number},
    SR_TYPE_LIST(TYPE_VALUE)
#undef TYPE_VALUE
    {NULL, 0},
};

static const sr_param_info acc_params[] = {
    INT_OR("nb1", 0, FROM_SOURCE), INT_OR("nb2", 1, FROM_SOURCE), INT_OR("nb3", 2, FROM_SOURCE),
    INT_OR("offset", 3, 0), BOOL("inplace", 4),
};
static const sr_param_info concat_params[] = {INT("dim", 0)};
static const sr_param_info eps_params[] = {FLOAT("eps", 0)};
static const sr_param_info group_norm_params[] = {INT("n_groups", 0), FLOAT("eps", 1)};
static const sr_param_info mul_mat_params[] = {ENUM_OR("prec", 0, 0, prec_values), ENUM_OR("hint", 1, 0, hint_values)};
static const sr_param_info scale_params[] = {FLOAT("s", 0), FLOAT_OR("b", 1, 0)};
static const sr_param_info view_params[] = {INT_OR("offset", 0, 0)};
static const sr_param_info permute_params[] = {INT("axis0", 0), INT("axis1", 1), INT("axis2", 2), INT("axis3", 3)};
static const sr_param_info diag_mask_params[] = {INT("n_past", 0)};
static const sr_param_info soft_max_params[] = {FLOAT_OR("scale", 0, 1), FLOAT_OR("max_bias", 1, 0)};
static const sr_param_info rope_params[] = {
    INT("n_dims", 1), ENUM_OR("mode", 2, 0, rope_values), INT_OR("n_ctx_orig", 4, 0), FLOAT_OR("freq_base", 5, 10000),
    FLOAT_OR("freq_scale", 6, 1), FLOAT_OR("ext_factor", 7, 0), FLOAT_OR("attn_factor", 8, 1),
    FLOAT_OR("beta_fast", 9, 0), FLOAT_OR("beta_slow", 10, 0), {"sections", SR_PARAM_INT4, 11, false, 0, NULL},
};
static const sr_param_info clamp_params[] = {FLOAT("min", 0), FLOAT("max", 1)};
static const sr_param_info conv_transpose_1d_params[] = {INT("s0", 0), INT_OR("p0", 1, 0), INT_OR("d0", 2, 1)};
static const sr_param_info im2col_params[] = {
    INT("s0", 0), INT_OR("s1", 1, FROM_SOURCE), INT_OR("p0", 2, 0), INT_OR("p1", 3, 0), INT_OR("d0", 4, 1),
    INT_OR("d1", 5, FROM_SOURCE), BOOL_OR("is_2d", 6, 1), ENUM_OR("dst_type", -1, SR_TYPE_F32, type_values),
};
static const sr_param_info im2col_back_params[] = {
    INT("s0", 0), INT_OR("s1", 1, FROM_SOURCE), INT_OR("p0", 2, 0), INT_OR("p1", 3, 0), INT_OR("d0", 4, 1),
    INT_OR("d1", 5, FROM_SOURCE), BOOL_OR("is_2d", 6, 1),
};
static const sr_param_info im2col_3d_params[] = {
    INT("s0", 0), INT("s1", 1), INT("s2", 2), INT_OR("p0", 3, 0), INT_OR("p1", 4, 0), INT_OR("p2", 5, 0),
    INT_OR("d0", 6, 1), INT_OR("d1", 7, 1), INT_OR("d2", 8, 1), INT("ic", 9),
    ENUM_OR("dst_type", -1, SR_TYPE_F32, type_values),
};
static const sr_param_info conv_2d_params[] = {
    INT("s0", 0), INT("s1", 1), INT_OR("p0", 2, 0), INT_OR("p1", 3, 0), INT_OR("d0", 4, 1), INT_OR("d1", 5, 1),
};
static const sr_param_info conv_3d_params[] = {
    INT("s0", 0), INT("s1", 1), INT("s2", 2), INT_OR("p0", 3, 0), INT_OR("p1", 4, 0), INT_OR("p2", 5, 0),
    INT_OR("d0", 6, 1), INT_OR("d1", 7, 1), INT_OR("d2", 8, 1), INT("c", 9), INT("n", 10), INT("oc", 11),
};
static const sr_param_info conv_2d_dw_params[] = {
    INT("stride0", 0), INT("stride1", 1), INT_OR("pad0", 2, 0), INT_OR("pad1", 3, 0), INT_OR("dilation0", 4, 1),
    INT_OR("dilation1", 5, 1),
};
static const sr_param_info conv_transpose_2d_params[] = {INT("stride", 0)};
static const sr_param_info pool_1d_params[] = {
    ENUM("op", 0, pool_values), INT("k0", 1), INT("s0", 2), INT_OR("p0", 3, 0),
};
static const sr_param_info pool_2d_params[] = {
    ENUM("op", 0, pool_values), INT("k0", 1), INT("k1", 2), INT("s0", 3), INT("s1", 4), FLOAT_OR("p0", 5, 0),
    FLOAT_OR("p1", 6, 0),
};
static const sr_param_info upscale_params[] = {
    ENUM_OR("mode", 0, 0, scale_values), BOOL("align_corners", 0), BOOL("antialias", 0),
    INT_OR("ne0", -1, FROM_SOURCE), INT_OR("ne1", -1, FROM_SOURCE), INT_OR("ne2", -1, FROM_SOURCE),
    INT_OR("ne3", -1, FROM_SOURCE),
};
static const sr_param_info pad_params[] = {
    INT_OR("lp0", 0, 0), INT_OR("rp0", 1, 0), INT_OR("lp1", 2, 0), INT_OR("rp1", 3, 0), INT_OR("lp2", 4, 0),
    INT_OR("rp2", 5, 0), INT_OR("lp3", 6, 0), INT_OR("rp3", 7, 0), BOOL("circular", 8), INT_OR("p0", 1, 0),
    INT_OR("p1", 3, 0), INT_OR("p2", 5, 0), INT_OR("p3", 7, 0),
};
static const sr_param_info pad_reflect_1d_params[] = {INT("p0", 0), INT("p1", 1)};
static const sr_param_info roll_params[] = {
    INT_OR("shift0", 0, 0), INT_OR("shift1", 1, 0), INT_OR("shift2", 2, 0), INT_OR("shift3", 3, 0),
};
static const sr_param_info arange_params[] = {FLOAT("start", 0), FLOAT("stop", 1), FLOAT("step", 2)};
static const sr_param_info timestep_params[] = {INT("dim", 0), INT("max_period", 1)};
static const sr_param_info argsort_params[] = {ENUM("order", 0, order_values)};
static const sr_param_info top_k_params[] = {INT("k", -1)};
static const sr_param_info leaky_relu_params[] = {FLOAT("negative_slope", 0)};
static const sr_param_info tri_params[] = {ENUM("type", 0, tri_values)};
static const sr_param_info fill_params[] = {FLOAT("c", 0)};
static const sr_param_info flash_attn_params[] = {
    FLOAT("scale", 0), FLOAT_OR("max_bias", 1, 0), FLOAT_OR("logit_softcap", 2, 0), ENUM_OR("prec", 3, 0, prec_values),
};
static const sr_param_info flash_attn_back_params[] = {BOOL("masked", 0)};
static const sr_param_info win_part_params[] = {INT("w", 2)};
static const sr_param_info win_unpart_params[] = {INT("w", 0), INT("w0", -1), INT("h0", -1)};
static const sr_param_info get_rel_pos_params[] = {
    INT_OR("qh", -1, FROM_SOURCE), INT_OR("kh", -1, FROM_SOURCE),
};
static const sr_param_info add_rel_pos_params[] = {BOOL("inplace", 0)};
static const sr_param_info gated_linear_attn_params[] = {FLOAT_OR("scale", 0, 1)};
static const sr_param_info custom_params[] = {INT_OR("n_tasks", 2, -1)};
/* UNARY: of XIELU only.  GLU: alpha and limit of SWIGLU_OAI only. */
static const sr_param_info unary_params[] = {
    FLOAT("alpha_n", 1), FLOAT("alpha_p", 2), FLOAT("beta", 3), FLOAT("eps", 4),
};
static const sr_param_info glu_params[] = {BOOL("swapped", 1), FLOAT("alpha", 2), FLOAT("limit", 3)};

/* ---- the table ---- */

enum { V = 1, R = 2, S = 4, T = 8 };

#define NONE_OF_THEM NULL, 0
#define P(list) list, SR_COUNT(list)
#define OP(id, lo, hi, view, how, rule, params, sources)                                                               \
    [SR_OP_##id] = {{#id, lo, hi, sources, view, ((how) & V) != 0, ((how) & R) != 0, ((how) & S) != 0, params}, rule,  \
                    ((how) & T) != 0}

static const sr__op ops[SR_OP_COUNT] = {
    OP(NONE, 0, 0, -1, 0, NULL, NONE_OF_THEM, ""),
    OP(DUP, 1, 1, -1, V | S, sr__shape_of_source, NONE_OF_THEM, "a"),
    OP(ADD, 2, 2, -1, V | R | S, sr__shape_repeating, NONE_OF_THEM, "a, b (repeats into a)"),
    OP(ADD_ID, 3, 3, -1, R | S, sr__shape_add_id, NONE_OF_THEM,
       "a [n,u,t,s], b [n,m], c i32 [u,t] (row of b for each row of a)"),
    OP(ADD1, 2, 2, -1, V | R | S, sr__shape_add1, NONE_OF_THEM, "a, b (scalar)"),
    OP(ACC, 2, 2, -1, V | S, sr__shape_acc, P(acc_params), "a, b (added to a part of a)"),
    OP(SUB, 2, 2, -1, V | R | S, sr__shape_repeating, NONE_OF_THEM, "a, b (repeats into a)"),
    OP(MUL, 2, 2, -1, V | R | S, sr__shape_repeating, NONE_OF_THEM, "a, b (repeats into a)"),
    OP(DIV, 2, 2, -1, V | R | S, sr__shape_repeating, NONE_OF_THEM, "a, b (repeats into a)"),
    OP(SQR, 1, 1, -1, V | R | S, sr__shape_of_source, NONE_OF_THEM, "a"),
    OP(SQRT, 1, 1, -1, V | R | S, sr__shape_of_source, NONE_OF_THEM, "a"),
    OP(LOG, 1, 1, -1, V | R | S, sr__shape_of_source, NONE_OF_THEM, "a"),
    OP(SIN, 1, 1, -1, V | S, sr__shape_of_source, NONE_OF_THEM, "a"),
    OP(COS, 1, 1, -1, V | S, sr__shape_of_source, NONE_OF_THEM, "a"),
    OP(SUM, 1, 1, -1, S, sr__shape_sum, NONE_OF_THEM, "a"),
    OP(SUM_ROWS, 1, 1, -1, S, sr__shape_sum_rows, NONE_OF_THEM, "a"),
    OP(CUMSUM, 1, 1, -1, S, sr__shape_of_source, NONE_OF_THEM, "a"),
    OP(MEAN, 1, 1, -1, S, sr__shape_mean, NONE_OF_THEM, "a"),
    OP(ARGMAX, 1, 1, -1, S | T, sr__shape_argmax, NONE_OF_THEM, "a (matrix)"),
    OP(COUNT_EQUAL, 2, 2, -1, S | T, sr__shape_count_equal, NONE_OF_THEM, "a i32, b i32 (shape of a)"),
    OP(REPEAT, 1, 1, -1, 0, sr__shape_repeat, NONE_OF_THEM, "a (repeats into the result)"),
    OP(REPEAT_BACK, 1, 1, -1, 0, sr__shape_repeat_back, NONE_OF_THEM, "a (the result repeats into it)"),
    OP(CONCAT, 2, 2, -1, S, sr__shape_concat, P(concat_params), "a, b (type of a, same extents but in dim)"),
    OP(SILU_BACK, 2, 2, -1, R | S, sr__shape_same_two, NONE_OF_THEM, "a (gradient), b (input, shape of a)"),
    OP(NORM, 1, 1, -1, V | S, sr__shape_of_source, P(eps_params), "a"),
    OP(RMS_NORM, 1, 1, -1, V | R | S, sr__shape_of_source, P(eps_params), "a"),
    OP(RMS_NORM_BACK, 2, 2, -1, R | S, sr__shape_same_two, P(eps_params), "a (gradient), b (input, shape of a)"),
    OP(GROUP_NORM, 1, 1, -1, V | S, sr__shape_group_norm, P(group_norm_params), "a"),
    OP(L2_NORM, 1, 1, -1, V | S, sr__shape_of_source, P(eps_params), "a"),
    OP(MUL_MAT, 2, 2, -1, S | T, sr__shape_mul_mat, P(mul_mat_params),
       "a [K,M,A2,A3], b [K,N,B2,B3] (B2, B3 multiples of A2, A3)"),
    OP(MUL_MAT_ID, 3, 3, -1, S | T, sr__shape_mul_mat_id, NONE_OF_THEM,
       "a [K,M,E], b [K,U',T], c i32 [U,T] (expert of each row; U a multiple of U')"),
    OP(OUT_PROD, 2, 2, -1, S | T, sr__shape_out_prod, NONE_OF_THEM,
       "a [M,K,A2,A3], b [N,K,B2,B3] (B2, B3 multiples of A2, A3)"),
    OP(SCALE, 1, 1, -1, V | R | S, sr__shape_of_source, P(scale_params), "a"),
    OP(SET, 2, 2, -1, V | S, sr__shape_acc, P(acc_params), "a, b (written over a part of a)"),
    OP(CPY, 2, 2, 1, S, sr__shape_cpy, NONE_OF_THEM, "a, b (destination, same count; the node itself: a cast)"),
    OP(CONT, 1, 1, -1, S, sr__shape_cont, NONE_OF_THEM, "a"),
    OP(RESHAPE, 1, 1, 0, T, sr__shape_reshape, NONE_OF_THEM, "a (contiguous)"),
    OP(VIEW, 1, 1, 0, 0, sr__shape_view, P(view_params), "a"),
    OP(PERMUTE, 1, 1, 0, S | T, sr__shape_permute, P(permute_params), "a"),
    OP(TRANSPOSE, 1, 1, 0, S | T, sr__shape_transpose, NONE_OF_THEM, "a"),
    OP(GET_ROWS, 2, 2, -1, S, sr__shape_get_rows, NONE_OF_THEM, "a [n,m,p,q], b i32 [r,p,q] (rows of a)"),
    OP(GET_ROWS_BACK, 2, 2, -1, 0, sr__shape_get_rows_back, NONE_OF_THEM, "a [n,r] (gradient), b i32 [r]"),
    OP(SET_ROWS, 3, 3, 2, S | T, sr__shape_set_rows, NONE_OF_THEM,
       "a [n,r,p,q], b i64 or i32 [r,p',q'] (p, q multiples of p', q'), c [n,m,p,q] (destination)"),
    OP(DIAG, 1, 1, -1, S, sr__shape_diag, NONE_OF_THEM, "a [n,1,p,q]"),
    OP(DIAG_MASK_INF, 1, 1, -1, V | R | S, sr__shape_diag_mask, P(diag_mask_params), "a"),
    OP(DIAG_MASK_ZERO, 1, 1, -1, V | R | S, sr__shape_diag_mask, P(diag_mask_params), "a"),
    OP(SOFT_MAX, 1, 3, -1, V | R | S, sr__shape_soft_max, P(soft_max_params),
       "a, b f32 or f16 (mask, optional), c f32 [ne2 of a] (sinks, optional)"),
    OP(SOFT_MAX_BACK, 2, 2, -1, V | R | S, sr__shape_same_two, P(soft_max_params),
       "a (gradient), b (result, shape of a)"),
    OP(ROPE, 2, 3, -1, V | R | S, sr__shape_rope, P(rope_params),
       "a [ne0,heads,tokens,batch], b i32 [tokens] or [4 tokens] (positions), c f32 (frequency factors, optional)"),
    OP(ROPE_BACK, 2, 3, -1, R | S, sr__shape_rope, P(rope_params),
       "a (gradient), b i32 (positions), c f32 (frequency factors, optional)"),
    /* The builder of this revision makes a view; recordings of newer ones hold results of their own. */
    OP(CLAMP, 1, 1, -1, V | S | T, sr__shape_of_source, P(clamp_params), "a"),
    OP(CONV_TRANSPOSE_1D, 2, 2, -1, S, sr__shape_conv_transpose_1d, P(conv_transpose_1d_params),
       "a f16 or f32 [K,OC,IC] (kernel), b [L,IC]"),
    OP(IM2COL, 2, 2, -1, S, sr__shape_im2col, P(im2col_params),
       "a [KW,KH,IC,OC] or [KW,IC,OC] (kernel, for its extents), b [IW,IH,IC,N] or [IW,IC,N]"),
    OP(IM2COL_BACK, 2, 2, -1, 0, sr__shape_im2col_back, P(im2col_back_params),
       "a (gradient of an IM2COL), b (kernel, for its extents)"),
    OP(IM2COL_3D, 2, 2, -1, S, sr__shape_im2col_3d, P(im2col_3d_params),
       "a [KW,KH,KD,IC*OC] (kernel, for its extents), b [IW,IH,ID,IC*N]"),
    OP(CONV_2D, 2, 2, -1, S, sr__shape_conv_2d, P(conv_2d_params),
       "a f16 or f32 [KW,KH,IC,OC] (kernel), b [IW,IH,IC,N]"),
    OP(CONV_3D, 2, 2, -1, S, sr__shape_conv_3d, P(conv_3d_params),
       "a f16 or f32 [KW,KH,KD,c*oc] (kernel), b [IW,IH,ID,c*n]"),
    OP(CONV_2D_DW, 2, 2, -1, S, sr__shape_conv_2d_dw, P(conv_2d_dw_params), "a [KW,KH,1,C] (kernel), b [IW,IH,C,N]"),
    OP(CONV_TRANSPOSE_2D, 2, 2, -1, S, sr__shape_conv_transpose_2d, P(conv_transpose_2d_params),
       "a f16 or f32 [KW,KH,OC,IC] (kernel), b [W,H,IC,N]"),
    OP(POOL_1D, 1, 1, -1, S, sr__shape_pool_1d, P(pool_1d_params), "a"),
    OP(POOL_2D, 1, 1, -1, S, sr__shape_pool_2d, P(pool_2d_params), "a [W,H,C,N]"),
    OP(POOL_2D_BACK, 2, 2, -1, S, sr__shape_pool_2d_back, P(pool_2d_params), "a (gradient), b [W,H,C,N] (input)"),
    OP(UPSCALE, 1, 1, -1, 0, sr__shape_upscale, P(upscale_params), "a"),
    OP(PAD, 1, 1, -1, S, sr__shape_pad, P(pad_params), "a"),
    OP(PAD_REFLECT_1D, 1, 1, -1, S, sr__shape_pad_reflect_1d, P(pad_reflect_1d_params), "a"),
    OP(ROLL, 1, 1, -1, S, sr__shape_roll, P(roll_params), "a"),
    OP(ARANGE, 0, 0, -1, S, sr__shape_arange, P(arange_params), ""),
    OP(TIMESTEP_EMBEDDING, 1, 1, -1, S, sr__shape_timestep_embedding, P(timestep_params), "a (vector)"),
    OP(ARGSORT, 1, 1, -1, S | T, sr__shape_argsort, P(argsort_params), "a"),
    OP(TOP_K, 1, 1, -1, T, sr__shape_top_k, P(top_k_params), "a"),
    OP(LEAKY_RELU, 1, 1, -1, V | S, sr__shape_of_source, P(leaky_relu_params), "a"),
    OP(TRI, 1, 1, -1, S, sr__shape_tri, P(tri_params), "a (ne0 = ne1)"),
    OP(FILL, 1, 1, -1, V | R | S, sr__shape_of_source, P(fill_params), "a (for its shape)"),
    OP(FLASH_ATTN_EXT, 3, 5, -1, S | T, sr__shape_flash_attn, P(flash_attn_params),
       "q [DK,N,H,B], k [DK,M,Hk,B], v [DV,M,Hv,B], mask f16 (optional), sinks f32 [H] (optional)"),
    OP(FLASH_ATTN_BACK, 4, 4, -1, S, sr__shape_flash_attn_back, P(flash_attn_back_params),
       "q [D,N,h,B], k [D,M,hk,B], v [M,D,hk,B], d [D,N,h,B] (gradient)"),
    OP(SSM_CONV, 2, 2, -1, S, sr__shape_ssm_conv, NONE_OF_THEM, "a [K-1+T,C,S], b [K,C]"),
    OP(SSM_SCAN, 7, 7, -1, S, sr__shape_ssm_scan, NONE_OF_THEM,
       "s [ds,hd,nh,slots], x [hd,nh,T,S], dt [nh,T,S], A [1 or ds,nh], B [ds,ng,T,S], C [ds,ng,T,S], ids i32 [S]"),
    OP(WIN_PART, 1, 1, -1, S, sr__shape_win_part, P(win_part_params), "a [C,W,H]"),
    OP(WIN_UNPART, 1, 1, -1, 0, sr__shape_win_unpart, P(win_unpart_params), "a [C,w,w,windows]"),
    OP(GET_REL_POS, 1, 1, -1, S, sr__shape_get_rel_pos, P(get_rel_pos_params), "a f16 or bf16 [C,2n-1]"),
    OP(ADD_REL_POS, 3, 3, -1, V | S, sr__shape_add_rel_pos, P(add_rel_pos_params),
       "a [W*W,R1*R2,Z], pw [W,R1,R2,Z], ph (shape of pw)"),
    OP(RWKV_WKV6, 6, 6, -1, S, sr__shape_wkv6, NONE_OF_THEM, "k [S,H,T], v, r, tf [S,H], td [S,H,T], state [S*S*H,Q]"),
    OP(GATED_LINEAR_ATTN, 5, 5, -1, S, sr__shape_gated_linear_attn, P(gated_linear_attn_params),
       "k [S,H,T], v, q, g, state [S*S*H,Q]"),
    OP(RWKV_WKV7, 7, 7, -1, S, sr__shape_wkv7, NONE_OF_THEM, "r [S,H,T], w, k, v, a, b, state [S*S*H,Q]"),
    OP(SOLVE_TRI, 2, 2, -1, S, sr__shape_solve_tri, NONE_OF_THEM, "a [n,n,b2,b3] (lower triangular), b [k,n,b2,b3]"),
    OP(GATED_DELTA_NET, 6, 6, -1, S, sr__shape_gated_delta_net, NONE_OF_THEM,
       "q [S,hq,T,Bq], k [S,hk,T,Bk], v [S,H,T,B], g [1 or S,H,T,B], beta [1,H,T,B], state (S*S*H*B elements)"),
    OP(UNARY, 1, 1, -1, V | R | S, sr__shape_of_source, P(unary_params), "a"),
    OP(MAP_CUSTOM1, 1, 1, -1, V | S, sr__shape_of_source, P(custom_params), "a"),
    OP(MAP_CUSTOM2, 2, 2, -1, V | S, sr__shape_of_source, P(custom_params), "a, b"),
    OP(MAP_CUSTOM3, 3, 3, -1, V | S, sr__shape_of_source, P(custom_params), "a, b, c"),
    OP(CUSTOM, 0, SR_MAX_SRC, -1, V, sr__shape_custom, P(custom_params), "up to 10, any"),
    OP(CROSS_ENTROPY_LOSS, 2, 2, -1, S, sr__shape_loss, NONE_OF_THEM, "a (logits), b (targets, shape of a)"),
    OP(CROSS_ENTROPY_LOSS_BACK, 3, 3, -1, S, sr__shape_loss_back, NONE_OF_THEM,
       "a (gradient of the loss, scalar), b (logits), c (targets, shape of b)"),
    OP(OPT_STEP_ADAMW, 5, 5, 0, S | T, sr__shape_opt_step, NONE_OF_THEM,
       "a (weights), grad, m, v (shape of a), params f32 [7] (alpha, beta1, beta2, eps, wd, beta1h, beta2h)"),
    OP(OPT_STEP_SGD, 3, 3, 0, S | T, sr__shape_opt_step, NONE_OF_THEM,
       "a (weights), grad (shape of a), params f32 [2] (alpha, wd)"),
    OP(GLU, 1, 2, -1, S, sr__shape_glu, P(glu_params), "a, b (shape of a, optional: else the halves of the rows of a)"),
};

static const char *const unary_names[SR_UNARY_COUNT] = {
#define UNARY_NAME(id) #id,
    SR_UNARY_LIST(UNARY_NAME)
#undef UNARY_NAME
};

static const char *const glu_names[SR_GLU_COUNT] = {
#define GLU_NAME(id) #id,
    SR_GLU_LIST(GLU_NAME)
#undef GLU_NAME
};

const sr__op *sr__op_get(int op) { return op >= 0 && op < SR_OP_COUNT ? &ops[op] : NULL; }

const sr_op_info *sr_op_get(int op) { return op >= 0 && op < SR_OP_COUNT ? &ops[op].info : NULL; }

bool sr_op_is_view(int op) {
    return op == SR_OP_VIEW || op == SR_OP_RESHAPE || op == SR_OP_PERMUTE || op == SR_OP_TRANSPOSE;
}

bool sr_op_can_reuse(int op) { return op >= 0 && op < SR_OP_COUNT && ops[op].info.can_reuse; }

const char *sr__op_kind_name(int op, int kind) {
    if (op == SR_OP_UNARY && kind >= 0 && kind < SR_UNARY_COUNT) {
        return unary_names[kind];
    }
    return op == SR_OP_GLU && kind >= 0 && kind < SR_GLU_COUNT ? glu_names[kind] : NULL;
}

static int find_name(const char *const *names, int n, const char *name) {
    for (int i = 0; i < n; i++) {
        if (strcmp(names[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

int sr_op_find(const char *name, int *out_kind) {
    int kind = -1, op = -1;
    for (int i = 0; i < SR_OP_COUNT && op < 0; i++) {
        op = strcmp(ops[i].info.name, name) == 0 ? i : -1;
    }
    if (op < 0) {
        kind = find_name(unary_names, SR_UNARY_COUNT, name);
        op = kind >= 0 ? SR_OP_UNARY : -1;
    }
    if (op < 0) {
        kind = find_name(glu_names, SR_GLU_COUNT, name);
        op = kind >= 0 ? SR_OP_GLU : -1;
    }
    if (out_kind != NULL) {
        *out_kind = kind;
    }
    return op;
}
