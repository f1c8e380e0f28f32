/*
 * op_shapes.h - shape rules: what extents and type a result has, and what sources an op takes.
 *
 * Layer: graph.  Internal.  Answers to the asserts and the result shapes of the builder functions of ggml.c.  A rule
 * refuses what the builder refuses for its extents, its index types and its parameters; whether a kernel exists for
 * the types and strides is a question for the backend that shall run the node.
 */
#ifndef SR_OP_SHAPES_H
#define SR_OP_SHAPES_H

#include "base/base.h"
#include "sched_run/graph.h"

/* What a rule reads (above the line) and what it answers (below). */
typedef struct sr__shape {
    const sr_tensor_spec *spec;
    const char *op;                      /* name, for messages */
    int n_src;
    const sr_tensor *src[SR_MAX_SRC];    /* NULL: an empty place, or the tensor itself */
    bool self;                           /* the second source is the tensor itself: a CPY that casts */
    bool given;                          /* the caller gave extents */
    int64_t want[SR_MAX_DIMS];           /* those, filled up with ones */
    sr_error *err;

    int64_t ne[SR_MAX_DIMS];
    int type;
    bool overflow;                       /* an extent does not fit: the caller of the rule says so */
} sr__shape;

typedef sr_status (*sr__shape_rule)(sr__shape *shape);

/* An op as this room sees it: the public facts and its rule (NULL: nothing to check, extents must be given). */
typedef struct sr__op {
    sr_op_info info;
    sr__shape_rule rule;
    bool type_fixed;                     /* another result type than the rule's is an error */
} sr__op;

/* op from 0 to SR_OP_COUNT - 1; NULL outside. */
const sr__op *sr__op_get(int op);
/* SILU, SWIGLU: the description for op UNARY or GLU and a code, or NULL. */
const char *sr__op_kind_name(int op, int kind);

/* ---- for rules: results ---- */

sr_status sr__shape_set(sr__shape *shape, int type, int64_t ne0, int64_t ne1, int64_t ne2, int64_t ne3);
sr_status sr__shape_like(sr__shape *shape, const sr_tensor *tensor);
/* The extents that the caller gave; an error when there are none. */
sr_status sr__shape_take_given(sr__shape *shape, int type);

/* ---- for rules: arithmetic on extents; on overflow the shape is marked ---- */

int64_t sr__shape_add(sr__shape *shape, int64_t a, int64_t b);
int64_t sr__shape_mul(sr__shape *shape, int64_t a, int64_t b);
/* n is a multiple of d; only 0 is a multiple of 0. */
bool sr__divides(int64_t d, int64_t n);
/* b, repeated, fills a. */
bool sr__repeats(const sr_tensor *b, const int64_t ne[SR_MAX_DIMS]);
int64_t sr__count(const int64_t ne[SR_MAX_DIMS]);
bool sr__is_vector(const sr_tensor *tensor);
bool sr__is_matrix(const sr_tensor *tensor);
bool sr__is_transposed(const sr_tensor *tensor);

static inline int32_t sr__shape_word(const sr__shape *shape, int i) { return shape->spec->op_params[i]; }
float sr__shape_float(const sr__shape *shape, int i);

/* ---- for rules: refusals, all SR_INVALID ---- */

/* "[64,32]" without trailing ones. */
typedef struct sr__extents { char text[96]; } sr__extents;
sr__extents sr__extents_text(const int64_t ne[SR_MAX_DIMS]);

/* "source 1 'x' [64,32] of ARGMAX must be a matrix" */
sr_status sr__shape_wrong(sr__shape *shape, int j, const char *what);
/* "sources 0 'w' [64,32] and 1 'x' [48,4] of MUL_MAT do not fit: their inner extents differ" */
sr_status sr__shape_clash(sr__shape *shape, int j, int k, const char *why);
/* "parameter 'n_groups' of GROUP_NORM is 0, must be positive" */
sr_status sr__shape_param(sr__shape *shape, const char *name, int64_t value, const char *what);

/* ---- the rules ---- */

/* op_shapes_element.c */
sr_status sr__shape_of_source(sr__shape *shape);
sr_status sr__shape_same_two(sr__shape *shape);
sr_status sr__shape_repeating(sr__shape *shape);
sr_status sr__shape_add1(sr__shape *shape);
sr_status sr__shape_add_id(sr__shape *shape);
sr_status sr__shape_acc(sr__shape *shape);
sr_status sr__shape_glu(sr__shape *shape);
sr_status sr__shape_sum(sr__shape *shape);
sr_status sr__shape_sum_rows(sr__shape *shape);
sr_status sr__shape_mean(sr__shape *shape);
sr_status sr__shape_argmax(sr__shape *shape);
sr_status sr__shape_count_equal(sr__shape *shape);
sr_status sr__shape_group_norm(sr__shape *shape);
sr_status sr__shape_argsort(sr__shape *shape);
sr_status sr__shape_top_k(sr__shape *shape);
sr_status sr__shape_loss(sr__shape *shape);
sr_status sr__shape_loss_back(sr__shape *shape);
sr_status sr__shape_opt_step(sr__shape *shape);
sr_status sr__shape_custom(sr__shape *shape);

/* op_shapes_move.c */
sr_status sr__shape_repeat(sr__shape *shape);
sr_status sr__shape_repeat_back(sr__shape *shape);
sr_status sr__shape_concat(sr__shape *shape);
sr_status sr__shape_cpy(sr__shape *shape);
sr_status sr__shape_cont(sr__shape *shape);
sr_status sr__shape_reshape(sr__shape *shape);
sr_status sr__shape_view(sr__shape *shape);
sr_status sr__shape_permute(sr__shape *shape);
sr_status sr__shape_transpose(sr__shape *shape);
sr_status sr__shape_get_rows(sr__shape *shape);
sr_status sr__shape_get_rows_back(sr__shape *shape);
sr_status sr__shape_set_rows(sr__shape *shape);
sr_status sr__shape_diag(sr__shape *shape);
sr_status sr__shape_diag_mask(sr__shape *shape);
sr_status sr__shape_tri(sr__shape *shape);
/* The axes of a PERMUTE, from its words or, where a recording dropped them, from the extents and strides given. */
bool sr__permute_axes(const sr_tensor_spec *spec, const sr_tensor *source, int axes[SR_MAX_DIMS]);

/* op_shapes_matrix.c */
sr_status sr__shape_mul_mat(sr__shape *shape);
sr_status sr__shape_mul_mat_id(sr__shape *shape);
sr_status sr__shape_out_prod(sr__shape *shape);
sr_status sr__shape_soft_max(sr__shape *shape);
sr_status sr__shape_rope(sr__shape *shape);
sr_status sr__shape_flash_attn(sr__shape *shape);
sr_status sr__shape_flash_attn_back(sr__shape *shape);
sr_status sr__shape_solve_tri(sr__shape *shape);

/* op_shapes_image.c */
sr_status sr__shape_conv_transpose_1d(sr__shape *shape);
sr_status sr__shape_im2col(sr__shape *shape);
sr_status sr__shape_im2col_back(sr__shape *shape);
sr_status sr__shape_im2col_3d(sr__shape *shape);
sr_status sr__shape_conv_2d(sr__shape *shape);
sr_status sr__shape_conv_3d(sr__shape *shape);
sr_status sr__shape_conv_2d_dw(sr__shape *shape);
sr_status sr__shape_conv_transpose_2d(sr__shape *shape);
sr_status sr__shape_pool_1d(sr__shape *shape);
sr_status sr__shape_pool_2d(sr__shape *shape);
sr_status sr__shape_pool_2d_back(sr__shape *shape);
sr_status sr__shape_upscale(sr__shape *shape);
sr_status sr__shape_pad(sr__shape *shape);
sr_status sr__shape_pad_reflect_1d(sr__shape *shape);
sr_status sr__shape_roll(sr__shape *shape);
sr_status sr__shape_arange(sr__shape *shape);
sr_status sr__shape_timestep_embedding(sr__shape *shape);
/* The extent of a pooled dimension, in the arithmetic of the builder: window, step and padding may be fractional. */
int64_t sr__pool_extent(int64_t in, int32_t window, int32_t step, float padding);

/* op_shapes_state.c */
sr_status sr__shape_ssm_conv(sr__shape *shape);
sr_status sr__shape_ssm_scan(sr__shape *shape);
sr_status sr__shape_wkv6(sr__shape *shape);
sr_status sr__shape_gated_linear_attn(sr__shape *shape);
sr_status sr__shape_wkv7(sr__shape *shape);
sr_status sr__shape_gated_delta_net(sr__shape *shape);
sr_status sr__shape_win_part(sr__shape *shape);
sr_status sr__shape_win_unpart(sr__shape *shape);
sr_status sr__shape_get_rel_pos(sr__shape *shape);
sr_status sr__shape_add_rel_pos(sr__shape *shape);

#endif
