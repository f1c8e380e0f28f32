/*
 * k_im2col.c - IM2COL, IM2COL_3D: patches of an image as the rows of a matrix; IM2COL_BACK: their sum back into one.
 *
 * Layer: kernels.  Answers to ggml_compute_forward_im2col and its relatives (spec: ops-2, section 1).  All forms are
 * one computation over three axes, of which the lower forms leave some at extent 1.
 */
#include "kernels/k_operand.h"
#include "kernels/k_taps.h"

typedef struct patches {
    sr__axis axis[3];        /* width, height, depth */
    int64_t channels, batches;
    int64_t channel_dim;     /* of the image; the next dimension holds the batches */
    bool shared_dim;         /* batches and channels share that one */
} patches;

/* The forms with two axes or one; `image` has the image's shape, `columns` the extents of the patches. */
static void patches_2d(const sr__kernel_args *args, const sr_tensor *kernel, const sr_tensor *image,
                       const sr_tensor *columns, patches *out) {
    const int32_t *w = args->params;
    const bool two = w[6] != 0;
    memset(out, 0, sizeof(*out));
    sr__axis_set(&out->axis[0], kernel->ne[0], image->ne[0], columns->ne[1], w[0], w[2], w[4]);
    sr__axis_unit(&out->axis[1]);
    sr__axis_unit(&out->axis[2]);
    if (two) {
        sr__axis_set(&out->axis[1], kernel->ne[1], image->ne[1], columns->ne[2], w[1], w[3], w[5]);
    }
    out->channel_dim = two ? 2 : 1;
    out->channels = image->ne[out->channel_dim];
    out->batches = image->ne[out->channel_dim + 1];
}

static void patches_3d(const sr__kernel_args *args, patches *out) {
    const int32_t *w = args->params;
    const sr_tensor *kernel = args->src[0].tensor, *image = args->src[1].tensor, *columns = args->dst.tensor;
    memset(out, 0, sizeof(*out));
    out->channels = w[9];
    out->batches = w[9] > 0 ? image->ne[3] / w[9] : 0;
    out->channel_dim = 3;
    out->shared_dim = true;
    for (int d = 0; d < 3; d++) {
        sr__axis_set(&out->axis[d], kernel->ne[d], image->ne[d], columns->ne[d + 1], w[d], w[3 + d], w[6 + d]);
    }
    out->axis[2].out = out->batches > 0 ? columns->ne[3] / out->batches : 0;
}

/* ---- patches of an image ----------------------------------------------------------------------------------------- */

static const char *refuse_types(const sr__kernel_args *args) {
    static const sr__want wants[] = {
        {0, SR__EXTENTS_ONLY, SR__STRIDED},
        {1, SR__TYPE(F32) | SR__TYPE(F16), SR__STRIDED},
        {SR__DST, SR__TYPE(F32) | SR__TYPE(F16), SR__CONTIGUOUS},
    };
    const char *why = sr__operands_refuse(args, wants, SR_COUNT(wants));
    if (why != NULL) {
        return why;
    }
    if (args->dst.tensor->type == SR_TYPE_F32 && args->src[1].tensor->type != SR_TYPE_F32) {
        return "an f32 result takes an f32 image";
    }
    if (args->dst.tensor->type == SR_TYPE_F16 && args->src[0].tensor->type != SR_TYPE_F16) {
        return "an f16 result takes an f16 kernel";
    }
    return NULL;
}

static int64_t row_length(const patches *p) {
    return sr__times(p->channels, sr__times(p->axis[2].kernel, sr__times(p->axis[1].kernel, p->axis[0].kernel)));
}

static const char *refuse_im2col(const sr__kernel_args *args) {
    const char *why = refuse_types(args);
    if (why != NULL) {
        return why;
    }
    const sr_tensor *kernel = args->src[0].tensor, *image = args->src[1].tensor, *y = args->dst.tensor;
    patches p;
    patches_2d(args, kernel, image, y, &p);
    if (!sr__axis_fits(&p.axis[0]) || !sr__axis_fits(&p.axis[1])) {
        return "steps, pads and extents do not agree with the result";
    }
    if (kernel->ne[p.channel_dim] != p.channels) {
        return "the kernel and the image have different numbers of channels";
    }
    const bool two = p.channel_dim == 2;
    if (!sr__has_extents(y, row_length(&p), p.axis[0].out, two ? p.axis[1].out : p.batches, two ? p.batches : 1) ||
        (!two && image->ne[3] != 1)) {
        return "the result has other extents than the patches";
    }
    return NULL;
}

static const char *refuse_im2col_3d(const sr__kernel_args *args) {
    const char *why = refuse_types(args);
    if (why != NULL) {
        return why;
    }
    const sr_tensor *y = args->dst.tensor;
    patches p;
    patches_3d(args, &p);
    if (args->src[1].tensor->type != SR_TYPE_F32) {
        return "source 1 must be f32";
    }
    if (p.channels <= 0 || p.batches <= 0) {
        return "the number of channels is not in the image";
    }
    if (!sr__axis_fits(&p.axis[0]) || !sr__axis_fits(&p.axis[1]) || !sr__axis_fits(&p.axis[2])) {
        return "steps, pads and extents do not agree with the result";
    }
    if (!sr__has_extents(y, row_length(&p), p.axis[0].out, p.axis[1].out, p.axis[2].out * p.batches)) {
        return "the result has other extents than the patches";
    }
    return NULL;
}

typedef struct image_line { const char *data; size_t step; int type; } image_line;

/* One line of one patch: the taps of axis 0 at output x, out of an image line. */
static void line_out(const sr__axis *axis, int64_t x, image_line from, int to_type, char *to) {
    const size_t bytes = (size_t)sr_type_get(to_type)->bytes;
    const int64_t first = sr__axis_at(axis, x, 0);
    if (axis->dilation == 1 && from.type == to_type && from.step == bytes) {
        const int64_t begin = first < 0 ? (-first < axis->kernel ? -first : axis->kernel) : 0;
        int64_t end = axis->in - first < axis->kernel ? axis->in - first : axis->kernel;
        end = end > begin ? end : begin;
        memset(to, 0, (size_t)begin * bytes);
        if (end > begin) {
            memcpy(to + (size_t)begin * bytes, from.data + (size_t)(first + begin) * bytes,
                   (size_t)(end - begin) * bytes);
        }
        memset(to + (size_t)end * bytes, 0, (size_t)(axis->kernel - end) * bytes);
        return;
    }
    for (int64_t k = 0; k < axis->kernel; k++, to += bytes) {
        const int64_t at = first + k * axis->dilation;
        if (!sr__axis_inside(axis, at)) {
            memset(to, 0, bytes);
        } else if (from.type == to_type) {
            memcpy(to, from.data + (size_t)at * from.step, bytes);
        } else {
            const uint16_t h = sr__f32_to_f16(sr__load(from.type, from.data + (size_t)at * from.step));
            memcpy(to, &h, bytes);
        }
    }
}

/* Row r of the result: one patch, at width x, height y, depth z of batch n. */
static void patch_out(const sr__kernel_args *args, const patches *p, int64_t r, char *to) {
    const sr__operand *image = &args->src[1];
    const size_t *nb = image->tensor->nb;
    const int type = args->dst.tensor->type;
    const size_t line_bytes = (size_t)p->axis[0].kernel * (size_t)sr_type_get(type)->bytes;
    const int64_t x = r % p->axis[0].out, y = r / p->axis[0].out % p->axis[1].out;
    const int64_t z = r / p->axis[0].out / p->axis[1].out % p->axis[2].out;
    const int64_t n = r / p->axis[0].out / p->axis[1].out / p->axis[2].out;
    const size_t channel_step = nb[p->channel_dim];
    const size_t batch_step = p->shared_dim ? channel_step * (size_t)p->channels : nb[p->channel_dim + 1];
    for (int64_t c = 0; c < p->channels; c++) {
        for (int64_t kz = 0; kz < p->axis[2].kernel; kz++) {
            const int64_t iz = sr__axis_at(&p->axis[2], z, kz);
            for (int64_t ky = 0; ky < p->axis[1].kernel; ky++, to += line_bytes) {
                const int64_t iy = sr__axis_at(&p->axis[1], y, ky);
                if (!sr__axis_inside(&p->axis[2], iz) || !sr__axis_inside(&p->axis[1], iy)) {
                    memset(to, 0, line_bytes);
                    continue;
                }
                const size_t at = (size_t)n * batch_step + (size_t)c * channel_step + (size_t)iy * nb[1] +
                                  (p->axis[2].in > 1 ? (size_t)iz * nb[2] : 0);
                line_out(&p->axis[0], x, (image_line){image->data + at, nb[0], image->tensor->type}, type, to);
            }
        }
    }
}

static void run_patches(const sr__kernel_args *args, const sr__task *task, const patches *p) {
    const sr_tensor *y = args->dst.tensor;
    const size_t row_bytes = (size_t)y->ne[0] * (size_t)sr_type_get(y->type)->bytes;
    int64_t begin, end;
    sr__task_range(task, y->ne[1] * y->ne[2] * y->ne[3], &begin, &end);
    for (int64_t r = begin; r < end; r++) {
        patch_out(args, p, r, args->dst.data + (size_t)r * row_bytes);
    }
}

static void run_im2col(const sr__kernel_args *args, const sr__task *task) {
    patches p;
    patches_2d(args, args->src[0].tensor, args->src[1].tensor, args->dst.tensor, &p);
    run_patches(args, task, &p);
}

static void run_im2col_3d(const sr__kernel_args *args, const sr__task *task) {
    patches p;
    patches_3d(args, &p);
    run_patches(args, task, &p);
}

/* ---- and back ---------------------------------------------------------------------------------------------------- */

static const char *refuse_im2col_back(const sr__kernel_args *args) {
    static const sr__want wants[] = {
        {0, SR__TYPE(F32), SR__CONTIGUOUS},
        {1, SR__TYPE(F32), SR__STRIDED},
        {SR__DST, SR__TYPE(F32), SR__CONTIGUOUS},
    };
    const char *why = sr__operands_refuse(args, wants, SR_COUNT(wants));
    if (why != NULL) {
        return why;
    }
    const sr_tensor *columns = args->src[0].tensor, *kernel = args->src[1].tensor, *y = args->dst.tensor;
    patches p;
    patches_2d(args, kernel, y, columns, &p);
    const bool two = p.channel_dim == 2;
    if (p.axis[0].stride <= 0 || p.axis[1].stride <= 0) {
        return "a step must be positive";
    }
    if (!sr__has_extents(columns, row_length(&p), p.axis[0].out, two ? p.axis[1].out : p.batches,
                         two ? p.batches : 1) || (!two && y->ne[3] != 1)) {
        return "the patches have other extents than the kernel and the result";
    }
    return NULL;
}

/* One plane of the image: every patch adds its taps to it. */
static void plane_back(const sr__kernel_args *args, const patches *p, int64_t n, int64_t c, float *plane) {
    const sr__axis *ax = &p->axis[0], *ay = &p->axis[1];
    const int64_t row = args->src[0].tensor->ne[0];
    memset(plane, 0, (size_t)(ax->in * ay->in) * sizeof(*plane));
    for (int64_t oy = 0; oy < ay->out; oy++) {
        for (int64_t ox = 0; ox < ax->out; ox++) {
            const float *patch = sr__f32(&args->src[0]) + ((n * ay->out + oy) * ax->out + ox) * row +
                                 c * ay->kernel * ax->kernel;
            for (int64_t ky = 0; ky < ay->kernel; ky++) {
                const int64_t y = sr__axis_at(ay, oy, ky);
                for (int64_t kx = 0; kx < ax->kernel && sr__axis_inside(ay, y); kx++) {
                    const int64_t x = sr__axis_at(ax, ox, kx);
                    if (sr__axis_inside(ax, x)) {
                        plane[y * ax->in + x] += patch[ky * ax->kernel + kx];
                    }
                }
            }
        }
    }
}

static void run_im2col_back(const sr__kernel_args *args, const sr__task *task) {
    patches p;
    int64_t begin, end;
    patches_2d(args, args->src[1].tensor, args->dst.tensor, args->src[0].tensor, &p);
    sr__task_range(task, p.channels * p.batches, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        plane_back(args, &p, i / p.channels, i % p.channels, sr__f32(&args->dst) + i * p.axis[0].in * p.axis[1].in);
    }
}

const sr__kernel_info sr__kernel_IM2COL = {
    .run = run_im2col, .refuse = refuse_im2col, .max_threads = sr__threads_rows};
const sr__kernel_info sr__kernel_IM2COL_3D = {
    .run = run_im2col_3d, .refuse = refuse_im2col_3d, .max_threads = sr__threads_rows};
const sr__kernel_info sr__kernel_IM2COL_BACK = {.run = run_im2col_back, .refuse = refuse_im2col_back};
