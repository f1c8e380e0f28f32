/*
 * k_conv.c - CONV_2D, CONV_3D: direct convolution; CONV_2D_DW: one kernel a channel.
 *
 * Layer: kernels.  Answers to ggml_compute_forward_conv_2d and its relatives (spec: ops-2, section 1).  A row of the
 * result is the sum of shifted rows of the image, each times one weight, so that the inner loop runs along rows and no
 * patches are laid out.  An f16 kernel multiplies an image rounded to f16, which is made once, as is a dense copy of an
 * image whose rows are not dense.
 */
#include "kernels/k_operand.h"
#include "kernels/k_taps.h"
#include "kernels/k_vector.h"

/* ---- CONV_2D, CONV_3D -------------------------------------------------------------------------------------------- */

typedef struct conv {
    sr__axis axis[3];           /* width, height, depth */
    int64_t channels, batches, filters;
    const float *image;         /* rows are dense */
    int64_t row, plane, channel, batch; /* steps of the image in elements */
} conv;

static void conv_set(const sr__kernel_args *args, conv *out) {
    const int32_t *w = args->params;
    const int64_t *kernel = args->src[0].tensor->ne, *image = args->src[1].tensor->ne, *y = args->dst.tensor->ne;
    memset(out, 0, sizeof(*out));
    if (args->op == SR_OP_CONV_3D) {
        for (int d = 0; d < 3; d++) {
            sr__axis_set(&out->axis[d], kernel[d], image[d], y[d], w[d], w[3 + d], w[6 + d]);
        }
        out->channels = w[9], out->batches = w[10], out->filters = w[11];
        return;
    }
    for (int d = 0; d < 2; d++) {
        sr__axis_set(&out->axis[d], kernel[d], image[d], y[d], w[d], w[2 + d], w[4 + d]);
    }
    sr__axis_unit(&out->axis[2]);
    out->channels = kernel[2], out->batches = image[3], out->filters = kernel[3];
}

static bool conv_copies_image(const sr__kernel_args *args) {
    return args->src[0].tensor->type == SR_TYPE_F16 || !sr_tensor_is_contiguous(args->src[1].tensor);
}

/* Steps of a contiguous image, which a copy always is. */
static void conv_place_image(const sr__kernel_args *args, conv *c) {
    c->image = conv_copies_image(args) ? args->scratch : (const void *)args->src[1].data;
    c->row = c->axis[0].in;
    c->plane = c->row * c->axis[1].in;
    c->channel = c->plane * c->axis[2].in;
    c->batch = c->channel * c->channels;
}

static const char *refuse_conv(const sr__kernel_args *args) {
    static const sr__want wants[] = {
        {0, SR__TYPE(F32) | SR__TYPE(F16), SR__CONTIGUOUS},
        {1, SR__TYPE(F32), SR__STRIDED},
        {SR__DST, SR__TYPE(F32), SR__CONTIGUOUS},
    };
    const char *why = sr__operands_refuse(args, wants, SR_COUNT(wants));
    if (why != NULL) {
        return why;
    }
    const int64_t *kernel = args->src[0].tensor->ne, *image = args->src[1].tensor->ne, *y = args->dst.tensor->ne;
    conv c;
    conv_set(args, &c);
    for (int d = 0; d < 3; d++) {
        if (!sr__axis_fits(&c.axis[d])) {
            return "steps, pads and extents do not agree with the result";
        }
    }
    if (args->op == SR_OP_CONV_2D) {
        return image[2] != c.channels || y[2] != c.filters || y[3] != c.batches
                   ? "the kernel, the image and the result differ in channels" : NULL;
    }
    if (c.channels < 0 || c.batches < 0 || c.filters < 0 || kernel[3] != c.channels * c.filters ||
        image[3] != c.channels * c.batches || y[3] != c.filters * c.batches) {
        return "the words for channels, batches and filters do not agree with the extents";
    }
    return NULL;
}

static size_t scratch_conv(const sr__kernel_args *args, int n_threads) {
    (void)n_threads;
    return conv_copies_image(args) ? (size_t)sr_tensor_nelements(args->src[1].tensor) * sizeof(float) : 0;
}

/* Adds one weight times the image line that it falls on to a row of the result. */
static void conv_line(const sr__axis *axis, int64_t tap, float weight, const float *line, float *to) {
    int64_t begin, end;
    sr__axis_range(axis, tap, &begin, &end);
    if (end <= begin) {
        return;
    }
    const float *from = line + sr__axis_at(axis, begin, tap);
    if (axis->stride == 1) {
        sr__axpy_f32(end - begin, to + begin, weight, from);
        return;
    }
    for (int64_t x = begin; x < end; x++, from += axis->stride) {
        to[x] += weight * *from;
    }
}

/* One row of the result: filter f of batch n at height y, depth z. */
static void conv_row(const sr__kernel_args *args, const conv *c, int64_t n, int64_t f, int64_t z, int64_t y,
                     float *to) {
    const sr__axis *ax = &c->axis[0], *ay = &c->axis[1], *az = &c->axis[2];
    const int type = args->src[0].tensor->type;
    const size_t bytes = (size_t)sr_type_get(type)->bytes;
    const char *weight = args->src[0].data + (size_t)(f * c->channels * az->kernel * ay->kernel * ax->kernel) * bytes;
    memset(to, 0, (size_t)ax->out * sizeof(*to));
    for (int64_t ch = 0; ch < c->channels; ch++) {
        const float *volume = c->image + n * c->batch + ch * c->channel;
        for (int64_t kz = 0; kz < az->kernel; kz++) {
            const int64_t iz = sr__axis_at(az, z, kz);
            for (int64_t ky = 0; ky < ay->kernel; ky++, weight += (size_t)ax->kernel * bytes) {
                const int64_t iy = sr__axis_at(ay, y, ky);
                if (!sr__axis_inside(az, iz) || !sr__axis_inside(ay, iy)) {
                    continue;
                }
                for (int64_t kx = 0; kx < ax->kernel; kx++) {
                    const float *line = volume + iz * c->plane + iy * c->row;
                    conv_line(ax, kx, sr__load(type, weight + (size_t)kx * bytes), line, to);
                }
            }
        }
    }
}

static void run_conv(const sr__kernel_args *args, const sr__task *task) {
    conv c;
    int64_t begin, end;
    conv_set(args, &c);
    if (conv_copies_image(args)) {
        sr__gather_f32(&args->src[1], args->src[0].tensor->type == SR_TYPE_F16, args->scratch, task);
        sr__task_barrier(task);
    }
    conv_place_image(args, &c);
    sr__task_range(task, c.axis[1].out * c.axis[2].out * c.filters * c.batches, &begin, &end);
    for (int64_t r = begin; r < end; r++) {
        const int64_t y = r % c.axis[1].out, z = r / c.axis[1].out % c.axis[2].out;
        const int64_t f = r / c.axis[1].out / c.axis[2].out % c.filters;
        const int64_t n = r / c.axis[1].out / c.axis[2].out / c.filters;
        conv_row(args, &c, n, f, z, y, sr__f32(&args->dst) + r * c.axis[0].out);
    }
}

/* ---- CONV_2D_DW -------------------------------------------------------------------------------------------------- */

/* The order that the result takes over from an image whose channels vary fastest. */
static bool has_channels_first(const sr_tensor *t) {
    const size_t e = sizeof(float), n0 = (size_t)t->ne[0], n1 = (size_t)t->ne[1], n2 = (size_t)t->ne[2];
    return t->nb[2] == e && t->nb[0] == n2 * e && t->nb[1] == n0 * n2 * e &&
           (t->ne[3] == 1 || t->nb[3] == n0 * n1 * n2 * e);
}

static void depthwise_axes(const sr__kernel_args *args, sr__axis axis[2]) {
    const int64_t *kernel = args->src[0].tensor->ne, *image = args->src[1].tensor->ne, *y = args->dst.tensor->ne;
    for (int d = 0; d < 2; d++) {
        sr__axis_set(&axis[d], kernel[d], image[d], y[d], args->params[d], args->params[2 + d], args->params[4 + d]);
    }
}

static const char *refuse_depthwise(const sr__kernel_args *args) {
    static const sr__want wants[] = {
        {0, SR__TYPE(F32), SR__STRIDED}, {1, SR__TYPE(F32), SR__STRIDED}, {SR__DST, SR__TYPE(F32), SR__STRIDED}};
    const char *why = sr__operands_refuse(args, wants, SR_COUNT(wants));
    if (why != NULL) {
        return why;
    }
    const sr_tensor *kernel = args->src[0].tensor, *image = args->src[1].tensor, *y = args->dst.tensor;
    sr__axis axis[2];
    depthwise_axes(args, axis);
    if (!sr_tensor_is_contiguous(y) && !has_channels_first(y)) {
        return "the result must be contiguous, or dense with channels first";
    }
    if (!sr__axis_fits(&axis[0]) || !sr__axis_fits(&axis[1])) {
        return "steps, pads and extents do not agree with the result";
    }
    if (kernel->ne[2] != 1 || kernel->ne[3] != image->ne[2] || y->ne[2] != image->ne[2] || y->ne[3] != image->ne[3]) {
        return "the kernel, the image and the result differ in channels";
    }
    return NULL;
}

static float *at_f32(const sr__operand *o, int64_t i0, int64_t i1, int64_t i2, int64_t i3) {
    return (float *)(void *)(sr__row(o, i1, i2, i3) + (size_t)i0 * o->tensor->nb[0]);
}

/* Channels vary fastest: one position of the result, all its channels. */
static void depthwise_channels(const sr__kernel_args *args, const sr__axis axis[2], int64_t x, int64_t y, int64_t n) {
    const sr__operand *kernel = &args->src[0], *image = &args->src[1];
    const int64_t channels = image->tensor->ne[2];
    float *to = at_f32(&args->dst, x, y, 0, n);
    memset(to, 0, (size_t)channels * sizeof(*to));
    for (int64_t ky = 0; ky < axis[1].kernel; ky++) {
        const int64_t iy = sr__axis_at(&axis[1], y, ky);
        for (int64_t kx = 0; kx < axis[0].kernel && sr__axis_inside(&axis[1], iy); kx++) {
            const int64_t ix = sr__axis_at(&axis[0], x, kx);
            if (!sr__axis_inside(&axis[0], ix)) {
                continue;
            }
            const float *from = at_f32(image, ix, iy, 0, n);
            const char *weight = (const char *)at_f32(kernel, kx, ky, 0, 0);
            for (int64_t c = 0; c < channels; c++) {
                to[c] += sr__load(SR_TYPE_F32, weight + (size_t)c * kernel->tensor->nb[3]) * from[c];
            }
        }
    }
}

/* Any strides: one row of the result. */
static void depthwise_row(const sr__kernel_args *args, const sr__axis axis[2], int64_t y, int64_t c, int64_t n) {
    const sr__operand *kernel = &args->src[0], *image = &args->src[1], *dst = &args->dst;
    const size_t to_step = dst->tensor->nb[0] / sizeof(float), from_step = image->tensor->nb[0] / sizeof(float);
    float *to = at_f32(dst, 0, y, c, n);
    for (int64_t x = 0; x < axis[0].out; x++) {
        to[(size_t)x * to_step] = 0;
    }
    for (int64_t ky = 0; ky < axis[1].kernel; ky++) {
        const int64_t iy = sr__axis_at(&axis[1], y, ky);
        for (int64_t kx = 0; kx < axis[0].kernel && sr__axis_inside(&axis[1], iy); kx++) {
            const float weight = *at_f32(kernel, kx, ky, 0, c);
            int64_t begin, end;
            if (to_step == 1 && from_step == 1) {
                conv_line(&axis[0], kx, weight, at_f32(image, 0, iy, c, n), to);
                continue;
            }
            sr__axis_range(&axis[0], kx, &begin, &end);
            for (int64_t x = begin; x < end; x++) {
                to[(size_t)x * to_step] += weight * *at_f32(image, sr__axis_at(&axis[0], x, kx), iy, c, n);
            }
        }
    }
}

static void run_depthwise(const sr__kernel_args *args, const sr__task *task) {
    const sr_tensor *t = args->dst.tensor;
    const bool channels_first = t->nb[2] == sizeof(float) && args->src[1].tensor->nb[2] == sizeof(float);
    const int64_t inner = channels_first ? t->ne[0] : t->ne[2];
    sr__axis axis[2];
    int64_t begin, end;
    depthwise_axes(args, axis);
    sr__task_range(task, t->ne[1] * inner * t->ne[3], &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        if (channels_first) {
            depthwise_channels(args, axis, i % inner, i / inner % t->ne[1], i / inner / t->ne[1]);
        } else {
            depthwise_row(args, axis, i % t->ne[1], i / t->ne[1] % inner, i / t->ne[1] / inner);
        }
    }
}

const sr__kernel_info sr__kernel_CONV_2D = {.run = run_conv, .refuse = refuse_conv, .scratch = scratch_conv};
const sr__kernel_info sr__kernel_CONV_3D = {.run = run_conv, .refuse = refuse_conv, .scratch = scratch_conv};
const sr__kernel_info sr__kernel_CONV_2D_DW = {.run = run_depthwise, .refuse = refuse_depthwise};
