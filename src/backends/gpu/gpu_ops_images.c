/*
 * gpu_ops_images.c - IM2COL*, CONV_2D, CONV_3D, CONV_2D_DW, CONV_TRANSPOSE_1D and _2D, POOL_1D, POOL_2D, POOL_2D_BACK.
 *
 * Layer: backends.  kernels/images.h computes them.
 */
#include "backends/gpu/gpu_family.h"

static const gpu_axis one_position = {.taps = 1, .in = 1, .out = 1, .stride = 1, .dilation = 1};

/* An image whose dimensions 0 to n_axes - 1 are the axes, the next one the channels, then the batches. */
static gpu_image image_of(const gpu_tensor *place, int n_axes) {
    gpu_image m = {.axis = {one_position, one_position, one_position}, .filters = 1, .batches = 1, .channels = 1};
    for (int d = 0; d < n_axes; d++) {
        m.axis[d].in = place->ne[d];
        m.step[d] = place->nb[d];
    }
    if (n_axes < SR_MAX_DIMS) {
        m.channels = place->ne[n_axes];
        m.channel_step = place->nb[n_axes];
    }
    if (n_axes + 1 < SR_MAX_DIMS) {
        m.batches = place->ne[n_axes + 1];
        m.batch_step = place->nb[n_axes + 1];
    }
    return m;
}

/* Taps from the kernel, outputs from `out`, words in groups of `group`: strides, pads, dilations. */
static void set_axes(gpu_image *m, int n_axes, const int32_t *words, int group, const gpu_long *taps,
                     const gpu_long *out) {
    for (int d = 0; d < n_axes; d++) {
        m->axis[d].taps = taps[d];
        m->axis[d].out = out[d];
        m->axis[d].stride = words[d];
        m->axis[d].pad = words[group + d];
        m->axis[d].dilation = words[2 * group + d];
    }
}

/* ---- IM2COL ------------------------------------------------------------------------------------------------------ */

static gpu_image patches_of(const sr__gpu_node *node, const gpu_tensor *image, const gpu_tensor *kernel,
                            const gpu_tensor *columns) {
    const int n_axes = node->params[6] != 0 ? 2 : 1;
    gpu_image m = image_of(image, n_axes);
    set_axes(&m, n_axes, node->params, 2, kernel->ne, columns->ne + 1);
    return m;
}

static gpu_image patches_3d(const sr__gpu_node *node) {
    const gpu_tensor *image = &node->src_place[1], *columns = &node->dst_place;
    gpu_image m = image_of(image, 3);
    set_axes(&m, 3, node->params, 3, node->src_place[0].ne, columns->ne + 1);
    m.channels = node->params[9];
    m.batches = image->ne[3] / m.channels;
    m.axis[2].out = columns->ne[3] / m.batches;
    m.batch_step = m.channel_step * m.channels;
    return m;
}

static sr_status im2col_compute(const sr__gpu_node *node, sr_error *err) {
    const gpu_image m = node->tensor->op == SR_OP_IM2COL_3D
                            ? patches_3d(node)
                            : patches_of(node, &node->src_place[1], &node->src_place[0], &node->dst_place);
    sr__gpu_launch launch =
        sr__gpu_launch_items(node, SR_GPU_KERNEL_gpu_im2col, sr__gpu_elements(&node->dst_place));
    sr__gpu_add_dst(&launch, node);
    sr__gpu_add_src(&launch, node, 1);
    SR_GPU_ADD(&launch, m);
    return sr__gpu_launch_run(node, &launch, err);
}

static sr_status im2col_back_compute(const sr__gpu_node *node, sr_error *err) {
    const gpu_image m = patches_of(node, &node->dst_place, &node->src_place[1], &node->src_place[0]);
    sr__gpu_launch launch =
        sr__gpu_launch_items(node, SR_GPU_KERNEL_gpu_im2col_back, sr__gpu_elements(&node->dst_place));
    sr__gpu_add_dst(&launch, node);
    sr__gpu_add_src(&launch, node, 0);
    SR_GPU_ADD(&launch, m);
    return sr__gpu_launch_run(node, &launch, err);
}

/* ---- convolutions ------------------------------------------------------------------------------------------------ */

static gpu_image convolution_of(const sr__gpu_node *node) {
    const gpu_tensor *kernel = &node->src_place[0], *image = &node->src_place[1];
    const bool deep = node->tensor->op == SR_OP_CONV_3D;
    gpu_image m = image_of(image, deep ? 3 : 2);
    set_axes(&m, deep ? 3 : 2, node->params, deep ? 3 : 2, kernel->ne, node->dst_place.ne);
    m.filters = kernel->ne[3];
    if (deep) { /* channels and batches share a dimension */
        m.channels = node->params[9];
        m.batches = node->params[10];
        m.filters = node->params[11];
        m.batch_step = m.channel_step * m.channels;
    }
    return m;
}

static sr_status conv_compute(const sr__gpu_node *node, sr_error *err) {
    const gpu_image m = convolution_of(node);
    const sr__gpu_kernel kernel = node->tensor->op == SR_OP_CONV_2D_DW ? SR_GPU_KERNEL_gpu_conv_depthwise
                                                                       : SR_GPU_KERNEL_gpu_conv;
    sr__gpu_launch launch = sr__gpu_launch_items(node, kernel, sr__gpu_elements(&node->dst_place));
    sr__gpu_add_dst(&launch, node);
    sr__gpu_add_src(&launch, node, 0);
    sr__gpu_add_src(&launch, node, 1);
    SR_GPU_ADD(&launch, m);
    return sr__gpu_launch_run(node, &launch, err);
}

/* [x, filters, channels] as [x, 1, filters, channels]; an input [x, channels] as [x, 1, channels]. */
static void lift(gpu_tensor *place) {
    for (int d = SR_MAX_DIMS - 1; d > 1; d--) {
        place->ne[d] = place->ne[d - 1];
        place->nb[d] = place->nb[d - 1];
    }
    place->ne[1] = 1;
}

static sr_status conv_transpose_compute(const sr__gpu_node *node, sr_error *err) {
    gpu_tensor dst = node->dst_place, a = node->src_place[0], b = node->src_place[1];
    const gpu_long stride = node->params[0];
    if (node->tensor->op == SR_OP_CONV_TRANSPOSE_1D) {
        lift(&dst);
        lift(&a);
        lift(&b);
    }
    sr__gpu_launch launch = sr__gpu_launch_items(node, SR_GPU_KERNEL_gpu_conv_transpose, sr__gpu_elements(&dst));
    sr__gpu_add_operand(&launch, &dst, node->dst_memory);
    sr__gpu_add_operand(&launch, &a, node->src_memory[0]);
    sr__gpu_add_operand(&launch, &b, node->src_memory[1]);
    SR_GPU_ADD(&launch, stride);
    return sr__gpu_launch_run(node, &launch, err);
}

/* ---- pooling ----------------------------------------------------------------------------------------------------- */

static gpu_image windows_of(const sr__gpu_node *node, const gpu_tensor *image, const gpu_tensor *pooled, int n_axes) {
    const int32_t *words = node->params + 1;
    gpu_image m = image_of(image, n_axes);
    for (int d = 0; d < n_axes; d++) {
        m.axis[d].taps = words[d];
        m.axis[d].stride = words[n_axes + d];
        m.axis[d].pad = words[2 * n_axes + d];
        m.axis[d].out = pooled->ne[d];
    }
    return m;
}

static sr_status pool_compute(const sr__gpu_node *node, sr_error *err) {
    const gpu_int average = node->params[0] == 1, two = node->tensor->op == SR_OP_POOL_2D;
    const gpu_image m = windows_of(node, &node->src_place[0], &node->dst_place, two ? 2 : 1);
    sr__gpu_launch launch =
        sr__gpu_launch_items(node, SR_GPU_KERNEL_gpu_pool, sr__gpu_elements(&node->dst_place));
    sr__gpu_add_dst(&launch, node);
    sr__gpu_add_src(&launch, node, 0);
    SR_GPU_ADD(&launch, m);
    SR_GPU_ADD(&launch, average);
    SR_GPU_ADD(&launch, two);
    return sr__gpu_launch_run(node, &launch, err);
}

static sr_status pool_back_compute(const sr__gpu_node *node, sr_error *err) {
    const gpu_int average = node->params[0] == 1;
    const gpu_image m = windows_of(node, &node->dst_place, &node->src_place[0], 2);
    sr__gpu_launch launch =
        sr__gpu_launch_items(node, SR_GPU_KERNEL_gpu_pool_back, sr__gpu_elements(&node->dst_place));
    sr__gpu_add_dst(&launch, node);
    sr__gpu_add_src(&launch, node, 0);
    sr__gpu_add_src(&launch, node, 1);
    SR_GPU_ADD(&launch, m);
    SR_GPU_ADD(&launch, average);
    return sr__gpu_launch_run(node, &launch, err);
}

const sr__gpu_op sr__gpu_op_im2col = {.refuse = sr__gpu_refuse_as_cpu, .compute = im2col_compute};
const sr__gpu_op sr__gpu_op_im2col_back = {.refuse = sr__gpu_refuse_as_cpu, .compute = im2col_back_compute};
const sr__gpu_op sr__gpu_op_conv = {.refuse = sr__gpu_refuse_as_cpu, .compute = conv_compute};
const sr__gpu_op sr__gpu_op_conv_transpose = {.refuse = sr__gpu_refuse_as_cpu, .compute = conv_transpose_compute};
const sr__gpu_op sr__gpu_op_pool = {.refuse = sr__gpu_refuse_as_cpu, .compute = pool_compute};
const sr__gpu_op sr__gpu_op_pool_back = {.refuse = sr__gpu_refuse_as_cpu, .compute = pool_back_compute};
