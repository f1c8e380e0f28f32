/*
 * op_shapes_image.c - shape rules of convolution, pooling, resampling, padding and generators.
 *
 * Layer: graph.  Answers to ggml_calc_conv_output_size, ggml_calc_pool_output_size and the builders of ggml.c that use
 * them.  Some results are computed in binary32 because the builders do, which decides the extent at the edges.
 */
#include <math.h>

#include "graph/op_shapes.h"

/* ---- convolution ---- */

/* One dimension of a convolution: words of step, padding and dilation. */
typedef struct conv_words { int step, padding, dilation; } conv_words;

/* (in + 2 padding - dilation (kernel - 1) - 1) / step + 1, truncating toward zero as the builder's division does. */
static int64_t conv_extent(sr__shape *shape, int64_t in, int64_t kernel, conv_words w) {
    int32_t step = sr__shape_word(shape, w.step);
    int64_t padding = 2 * (int64_t)sr__shape_word(shape, w.padding);
    int64_t reach = sr__shape_mul(shape, sr__shape_word(shape, w.dilation), kernel - 1);
    int64_t n = sr__shape_add(shape, sr__shape_add(shape, in, padding), sr__shape_mul(shape, reach, -1));
    return sr__shape_add(shape, n, -1) / (step == 0 ? 1 : step) + 1;
}

static sr_status check_step(sr__shape *shape, const char *name, int word) {
    int32_t step = sr__shape_word(shape, word);
    return step > 0 ? SR_OK : sr__shape_param(shape, name, step, "positive");
}

/* No convolution makes a negative extent of a non-negative one, but a kernel larger than its image tries to. */
static sr_status check_result(sr__shape *shape, int64_t least) {
    for (int d = 0; d < SR_MAX_DIMS && !shape->overflow; d++) {
        if (shape->ne[d] < least) {
            return sr__shape_clash(shape, 0, 1, "the kernel is larger than the padded image");
        }
    }
    return SR_OK;
}

sr_status sr__shape_conv_transpose_1d(sr__shape *shape) {
    const sr_tensor *a = shape->src[0], *b = shape->src[1];
    sr_status status;
    SR_TRY(check_step(shape, "s0", 0));
    if (!sr__is_matrix(b) || a->ne[3] != 1) {
        return sr__shape_wrong(shape, a->ne[3] != 1 ? 0 : 1, a->ne[3] != 1 ? "must have ne3 = 1" : "must be a matrix");
    }
    if (a->ne[2] != b->ne[1]) {
        return sr__shape_clash(shape, 0, 1, "the input channels (ne2 of the kernel, ne1) differ");
    }
    if (sr__shape_word(shape, 1) != 0) {
        return sr__shape_param(shape, "p0", sr__shape_word(shape, 1), "0");
    }
    if (sr__shape_word(shape, 2) != 1) {
        return sr__shape_param(shape, "d0", sr__shape_word(shape, 2), "1");
    }
    int64_t n = sr__shape_add(shape, sr__shape_mul(shape, b->ne[0] - 1, sr__shape_word(shape, 0)), a->ne[0]);
    sr__shape_set(shape, SR_TYPE_F32, n, a->ne[1], b->ne[2], 1);
    status = check_result(shape, 0);
done:
    return status;
}

static sr_status im2col_1d(sr__shape *shape) {
    const sr_tensor *a = shape->src[0], *b = shape->src[1];
    if (a->ne[1] != b->ne[1] || b->ne[3] != 1) {
        return sr__shape_clash(shape, 0, 1, "the input channels (ne1) differ, or ne3 of the second is not 1");
    }
    int64_t ow = conv_extent(shape, b->ne[0], a->ne[0], (conv_words){0, 2, 4});
    return sr__shape_set(shape, SR_TYPE_F32, sr__shape_mul(shape, a->ne[1], a->ne[0]), ow, b->ne[2], 1);
}

static sr_status im2col_2d(sr__shape *shape) {
    const sr_tensor *a = shape->src[0], *b = shape->src[1];
    if (a->ne[2] != b->ne[2]) {
        return sr__shape_clash(shape, 0, 1, "the input channels (ne2) differ");
    }
    sr_status status = check_step(shape, "s1", 1);
    int64_t ow = conv_extent(shape, b->ne[0], a->ne[0], (conv_words){0, 2, 4});
    int64_t oh = conv_extent(shape, b->ne[1], a->ne[1], (conv_words){1, 3, 5});
    int64_t taps = sr__shape_mul(shape, sr__shape_mul(shape, a->ne[2], a->ne[1]), a->ne[0]);
    sr__shape_set(shape, SR_TYPE_F32, taps, ow, oh, b->ne[3]);
    return status;
}

sr_status sr__shape_im2col(sr__shape *shape) {
    sr_status status;
    SR_TRY(check_step(shape, "s0", 0));
    SR_TRY(sr__shape_word(shape, 6) == 1 ? im2col_2d(shape) : im2col_1d(shape));
    if (!shape->overflow && (shape->ne[1] <= 0 || (sr__shape_word(shape, 6) == 1 && shape->ne[2] <= 0))) {
        return sr__shape_clash(shape, 0, 1, "the kernel is larger than the padded image");
    }
done:
    return status;
}

sr_status sr__shape_im2col_back(sr__shape *shape) { return sr__shape_take_given(shape, SR_TYPE_F32); }

sr_status sr__shape_im2col_3d(sr__shape *shape) {
    const sr_tensor *a = shape->src[0], *b = shape->src[1];
    int64_t ic = sr__shape_word(shape, 9);
    sr_status status;
    SR_TRY(check_step(shape, "s0", 0));
    SR_TRY(check_step(shape, "s1", 1));
    SR_TRY(check_step(shape, "s2", 2));
    if (ic <= 0) {
        return sr__shape_param(shape, "ic", ic, "positive");
    }
    int64_t ow = conv_extent(shape, b->ne[0], a->ne[0], (conv_words){0, 3, 6});
    int64_t oh = conv_extent(shape, b->ne[1], a->ne[1], (conv_words){1, 4, 7});
    int64_t od = conv_extent(shape, b->ne[2], a->ne[2], (conv_words){2, 5, 8});
    if (!shape->overflow && (ow <= 0 || oh <= 0 || od <= 0)) {
        return sr__shape_clash(shape, 0, 1, "the kernel is larger than the padded image");
    }
    int64_t taps = sr__shape_mul(shape, sr__shape_mul(shape, a->ne[2], a->ne[1]), sr__shape_mul(shape, a->ne[0], ic));
    sr__shape_set(shape, SR_TYPE_F32, taps, ow, oh, sr__shape_mul(shape, od, b->ne[3] / ic));
done:
    return status;
}

static sr_status conv_2d(sr__shape *shape, const char *step0, const char *step1, int64_t channels) {
    const sr_tensor *a = shape->src[0], *b = shape->src[1];
    sr_status status;
    SR_TRY(check_step(shape, step0, 0));
    SR_TRY(check_step(shape, step1, 1));
    int64_t ow = conv_extent(shape, b->ne[0], a->ne[0], (conv_words){0, 2, 4});
    int64_t oh = conv_extent(shape, b->ne[1], a->ne[1], (conv_words){1, 3, 5});
    sr__shape_set(shape, b->type, ow, oh, channels, b->ne[3]);
    status = check_result(shape, 0);
done:
    return status;
}

sr_status sr__shape_conv_2d(sr__shape *shape) {
    const sr_tensor *a = shape->src[0], *b = shape->src[1];
    if (a->ne[2] != b->ne[2]) {
        return sr__shape_clash(shape, 0, 1, "the input channels (ne2) differ");
    }
    return conv_2d(shape, "s0", "s1", a->ne[3]);
}

sr_status sr__shape_conv_2d_dw(sr__shape *shape) {
    const sr_tensor *a = shape->src[0], *b = shape->src[1];
    if (a->ne[2] != 1 || a->ne[3] != b->ne[2]) {
        return sr__shape_clash(shape, 0, 1, "the kernel must be [KW, KH, 1, ne2 of the image]");
    }
    return conv_2d(shape, "stride0", "stride1", b->ne[2]);
}

sr_status sr__shape_conv_3d(sr__shape *shape) {
    const sr_tensor *a = shape->src[0], *b = shape->src[1];
    int64_t c = sr__shape_word(shape, 9), n = sr__shape_word(shape, 10), oc = sr__shape_word(shape, 11);
    sr_status status;
    SR_TRY(check_step(shape, "s0", 0));
    SR_TRY(check_step(shape, "s1", 1));
    SR_TRY(check_step(shape, "s2", 2));
    if (a->ne[3] != c * oc) {
        return sr__shape_wrong(shape, 0, "must have ne3 = c * oc");
    }
    if (b->ne[3] != c * n) {
        return sr__shape_wrong(shape, 1, "must have ne3 = c * n");
    }
    int64_t ow = conv_extent(shape, b->ne[0], a->ne[0], (conv_words){0, 3, 6});
    int64_t oh = conv_extent(shape, b->ne[1], a->ne[1], (conv_words){1, 4, 7});
    int64_t od = conv_extent(shape, b->ne[2], a->ne[2], (conv_words){2, 5, 8});
    sr__shape_set(shape, SR_TYPE_F32, ow, oh, od, oc * n);
    status = check_result(shape, 0);
done:
    return status;
}

sr_status sr__shape_conv_transpose_2d(sr__shape *shape) {
    const sr_tensor *a = shape->src[0], *b = shape->src[1];
    int64_t step = sr__shape_word(shape, 0);
    sr_status status;
    SR_TRY(check_step(shape, "stride", 0));
    if (a->ne[3] != b->ne[2]) {
        return sr__shape_clash(shape, 0, 1, "the input channels (ne3 of the kernel, ne2) differ");
    }
    int64_t w = sr__shape_add(shape, sr__shape_mul(shape, b->ne[0] - 1, step), a->ne[0]);
    int64_t h = sr__shape_add(shape, sr__shape_mul(shape, b->ne[1] - 1, step), a->ne[1]);
    sr__shape_set(shape, SR_TYPE_F32, w, h, a->ne[2], b->ne[3]);
    status = check_result(shape, 0);
done:
    return status;
}

/* ---- pooling ---- */

int64_t sr__pool_extent(int64_t in, int32_t window, int32_t step, float padding) {
    float extent = ((float)in + 2.0f * padding - (float)window) / (float)step + 1.0f;
    return extent > 0.0f && extent < 9.0e18f ? (int64_t)extent : 0;
}

static sr_status too_small(sr__shape *shape) {
    return sr__shape_wrong(shape, 0, "is smaller, with its padding, than the window");
}

sr_status sr__shape_pool_1d(sr__shape *shape) {
    const sr_tensor *a = shape->src[0];
    sr_status status = check_step(shape, "s0", 2);
    if (status == SR_OK) {
        int64_t w = sr__pool_extent(a->ne[0], sr__shape_word(shape, 1), sr__shape_word(shape, 2),
                                    (float)sr__shape_word(shape, 3));
        sr__shape_set(shape, SR_TYPE_F32, w, a->ne[1], a->ne[2], a->ne[3]);
        status = w > 0 ? SR_OK : too_small(shape);
    }
    return status;
}

/*
 * The builder takes the padding as a fraction and keeps its whole part: an extent that some fraction of the stored
 * number gives is as right as the one of the number itself.
 */
static int64_t pool_2d_extent(const sr__shape *shape, int d) {
    int64_t in = shape->src[0]->ne[d];
    int32_t window = sr__shape_word(shape, 1 + d), step = sr__shape_word(shape, 3 + d);
    float padding = (float)sr__shape_word(shape, 5 + d);
    int64_t least = sr__pool_extent(in, window, step, padding);
    if (shape->given && shape->want[d] > least && shape->want[d] <= sr__pool_extent(in, window, step, padding + 1.0f)) {
        return shape->want[d];
    }
    return least;
}

sr_status sr__shape_pool_2d(sr__shape *shape) {
    const sr_tensor *a = shape->src[0];
    sr_status status;
    SR_TRY(check_step(shape, "s0", 3));
    SR_TRY(check_step(shape, "s1", 4));
    sr__shape_set(shape, SR_TYPE_F32, pool_2d_extent(shape, 0), pool_2d_extent(shape, 1), a->ne[2], a->ne[3]);
    status = shape->ne[0] > 0 && shape->ne[1] > 0 ? SR_OK : too_small(shape);
done:
    return status;
}

sr_status sr__shape_pool_2d_back(sr__shape *shape) {
    const sr_tensor *a = shape->src[0], *b = shape->src[1];
    if (a->ne[2] != b->ne[2] || a->ne[3] != b->ne[3]) {
        return sr__shape_clash(shape, 0, 1, "ne2 or ne3 differs");
    }
    return sr__shape_set(shape, SR_TYPE_F32, b->ne[0], b->ne[1], b->ne[2], b->ne[3]);
}

/* ---- resampling, padding, shifting ---- */

sr_status sr__shape_upscale(sr__shape *shape) { return sr__shape_take_given(shape, SR_TYPE_F32); }

sr_status sr__shape_pad(sr__shape *shape) {
    const sr_tensor *a = shape->src[0];
    shape->type = a->type;
    for (int d = 0; d < SR_MAX_DIMS; d++) {
        int64_t more = (int64_t)sr__shape_word(shape, 2 * d) + sr__shape_word(shape, 2 * d + 1);
        shape->ne[d] = sr__shape_add(shape, a->ne[d], more);
        if (shape->ne[d] < 0) {
            return sr__shape_wrong(shape, 0, "has not as many elements as the negative padding takes away");
        }
    }
    return SR_OK;
}

sr_status sr__shape_pad_reflect_1d(sr__shape *shape) {
    const sr_tensor *a = shape->src[0];
    static const char *const names[] = {"p0", "p1"};
    for (int i = 0; i < 2; i++) {
        if (sr__shape_word(shape, i) < 0 || sr__shape_word(shape, i) >= a->ne[0]) {
            return sr__shape_param(shape, names[i], sr__shape_word(shape, i), "0 or more and less than ne0");
        }
    }
    int64_t n = sr__shape_add(shape, a->ne[0], (int64_t)sr__shape_word(shape, 0) + sr__shape_word(shape, 1));
    return sr__shape_set(shape, SR_TYPE_F32, n, a->ne[1], a->ne[2], a->ne[3]);
}

sr_status sr__shape_roll(sr__shape *shape) {
    const sr_tensor *a = shape->src[0];
    static const char *const names[] = {"shift0", "shift1", "shift2", "shift3"};
    for (int d = 0; d < SR_MAX_DIMS; d++) {
        int64_t shift = sr__shape_word(shape, d);
        /* An empty dimension has nothing to shift, but its shift is given as 0. */
        if (shift != 0 && (shift >= a->ne[d] || -shift >= a->ne[d])) {
            return sr__shape_param(shape, names[d], shift, "less than the extent");
        }
    }
    return sr__shape_like(shape, a);
}

/* ---- generators ---- */

sr_status sr__shape_arange(sr__shape *shape) {
    float start = sr__shape_float(shape, 0), stop = sr__shape_float(shape, 1), step = sr__shape_float(shape, 2);
    float count = ceilf((stop - start) / step);
    if (!(stop > start)) {
        return sr__fail(shape->err, SR_INVALID, "parameter 'stop' of ARANGE is %g, must be above 'start', %g",
                        (double)stop, (double)start);
    }
    if (!(step > 0.0f) || !(count < 9.0e18f)) {
        return sr__fail(shape->err, SR_INVALID, "parameter 'step' of ARANGE is %g, must be positive and not too small",
                        (double)step);
    }
    return sr__shape_set(shape, SR_TYPE_F32, (int64_t)count, 1, 1, 1);
}

sr_status sr__shape_timestep_embedding(sr__shape *shape) {
    int32_t dim = sr__shape_word(shape, 0);
    if (dim < 0) {
        return sr__shape_param(shape, "dim", dim, "0 or more");
    }
    return sr__shape_set(shape, SR_TYPE_F32, dim, shape->src[0]->ne[0], 1, 1);
}
