/*
 * images.h - IM2COL, IM2COL_3D, CONV_2D, CONV_3D, CONV_2D_DW, CONV_TRANSPOSE_1D and _2D, POOL_1D, POOL_2D and their
 * gradients: an item computes an element of the result.
 *
 * Layer: backends.  Kernel code.  Results are contiguous but where OPERAND strides are followed.
 */
#ifndef SR_GPU_IMAGES_H
#define SR_GPU_IMAGES_H

DEVICE gpu_long axis_at(const gpu_axis axis, gpu_long out, gpu_long tap) {
    return out * axis.stride + tap * axis.dilation - axis.pad;
}

DEVICE gpu_int axis_inside(const gpu_axis axis, gpu_long at) { return at >= 0 && at < axis.in; }

/* Byte offset of a pixel of a channel and batch, or -1 outside the image. */
DEVICE gpu_long pixel_at(const gpu_image m, gpu_long x, gpu_long y, gpu_long z, gpu_long channel, gpu_long batch) {
    if (!axis_inside(m.axis[0], x) || !axis_inside(m.axis[1], y) || !axis_inside(m.axis[2], z)) {
        return -1;
    }
    return x * m.step[0] + y * m.step[1] + z * m.step[2] + channel * m.channel_step + batch * m.batch_step;
}

/* Rows are patches, elements of a row taps by channel, depth, height, width. */
KERNEL(gpu_im2col)(OPERAND(dst), OPERAND(b), const gpu_image m) {
    const gpu_long kx = m.axis[0].taps, ky = m.axis[1].taps, kz = m.axis[2].taps;
    EACH_ITEM(i, N_ELEMENTS(dst)) {
        const gpu_long row = quotient(i, dst.ne[0]);
        const gpu_index tap = index_of(i - row * dst.ne[0], kx, ky, kz);
        const gpu_index out = index_of(row, m.axis[0].out, m.axis[1].out, m.axis[2].out);
        const gpu_long at = pixel_at(m, axis_at(m.axis[0], out.i0, tap.i0), axis_at(m.axis[1], out.i1, tap.i1),
                                     axis_at(m.axis[2], out.i2, tap.i2), tap.i3, out.i3);
        const float value = at < 0 ? 0.0f : load_element(b.type, b_memory + b.offset + at);
        store_element(dst.type, dst_memory + dst.offset + i * (dst.type == GPU_F32 ? 4 : 2), value);
    }
}

/* The gradient of an image, a: of its patches; m.axis[].out are those of the patches. */
KERNEL(gpu_im2col_back)(OPERAND(dst), OPERAND(a), const gpu_image m) {
    const gpu_long kx = m.axis[0].taps, ky = m.axis[1].taps;
    GLOBAL const float *patches = (GLOBAL const float *)(a_memory + a.offset);
    EACH_ITEM(i, N_ELEMENTS(dst)) {
        const gpu_index at = index_of(i, m.axis[0].in, m.axis[1].in, m.channels);
        float sum = 0.0f;
        for (gpu_long ty = 0; ty < ky; ty++) {
            const gpu_long h = at.i1 + m.axis[1].pad - ty * m.axis[1].dilation, oy = h / m.axis[1].stride;
            if (h < 0 || oy * m.axis[1].stride != h || oy >= m.axis[1].out) {
                continue;
            }
            for (gpu_long tx = 0; tx < kx; tx++) {
                const gpu_long w = at.i0 + m.axis[0].pad - tx * m.axis[0].dilation, ox = w / m.axis[0].stride;
                if (w >= 0 && ox * m.axis[0].stride == w && ox < m.axis[0].out) {
                    const gpu_long patch = (at.i3 * m.axis[1].out + oy) * m.axis[0].out + ox;
                    sum += patches[patch * a.ne[0] + (at.i2 * ky + ty) * kx + tx];
                }
            }
        }
        ((GLOBAL float *)(dst_memory + dst.offset))[i] = sum;
    }
}

/* One filter over one window of an image: all its channels. */
DEVICE float filter_sum(GLOBAL const gpu_byte *filter, gpu_int type, GLOBAL const gpu_byte *image, const gpu_image m,
                        const gpu_index out, gpu_long batch) {
    const gpu_long bytes = type == GPU_F16 ? 2 : 4;
    float sum = 0.0f;
    for (gpu_long c = 0; c < m.channels; c++) {
        for (gpu_long kz = 0; kz < m.axis[2].taps; kz++) {
            for (gpu_long ky = 0; ky < m.axis[1].taps; ky++) {
                for (gpu_long kx = 0; kx < m.axis[0].taps; kx++, filter += bytes) {
                    const gpu_long at =
                        pixel_at(m, axis_at(m.axis[0], out.i0, kx), axis_at(m.axis[1], out.i1, ky),
                                 axis_at(m.axis[2], out.i2, kz), c, batch);
                    if (at >= 0) {
                        const float pixel = *(GLOBAL const float *)(image + at);
                        sum += load_element(type, filter) * (type == GPU_F16 ? ROUND_HALF(pixel) : pixel);
                    }
                }
            }
        }
    }
    return sum;
}

/* a: filters, contiguous; an f16 filter multiplies an image rounded to f16. */
KERNEL(gpu_conv)(OPERAND(dst), OPERAND(a), OPERAND(b), const gpu_image m) {
    const gpu_long taps = m.axis[0].taps * m.axis[1].taps * m.axis[2].taps;
    EACH_ITEM(i, N_ELEMENTS(dst)) {
        const gpu_index out = index_of(i, m.axis[0].out, m.axis[1].out, m.axis[2].out);
        const gpu_long batch = quotient(out.i3, m.filters), filter = out.i3 - batch * m.filters;
        GLOBAL const gpu_byte *weights =
            a_memory + a.offset + filter * m.channels * taps * (a.type == GPU_F16 ? 2 : 4);
        ((GLOBAL float *)(dst_memory + dst.offset))[i] =
            filter_sum(weights, a.type, b_memory + b.offset, m, out, batch);
    }
}

/* A filter for each channel. */
KERNEL(gpu_conv_depthwise)(OPERAND(dst), OPERAND(a), OPERAND(b), const gpu_image m) {
    EACH_ITEM(i, N_ELEMENTS(dst)) {
        const gpu_index at = INDEX_IN(dst, i);
        float sum = 0.0f;
        for (gpu_long ky = 0; ky < m.axis[1].taps; ky++) {
            for (gpu_long kx = 0; kx < m.axis[0].taps; kx++) {
                const gpu_long pixel = pixel_at(m, axis_at(m.axis[0], at.i0, kx), axis_at(m.axis[1], at.i1, ky), 0,
                                                at.i2, at.i3);
                if (pixel >= 0) {
                    sum += *(GLOBAL const float *)ELEMENT(a, kx, ky, 0, at.i2) *
                           *(GLOBAL const float *)(b_memory + b.offset + pixel);
                }
            }
        }
        *(GLOBAL float *)ELEMENT_AT(dst, at) = sum;
    }
}

/*
 * Every input spreads the filter over the result: an element gathers the inputs that reach it.  a is [width, height,
 * filters, channels]; batches of the result from the second on are 0, as the reference leaves them.
 */
KERNEL(gpu_conv_transpose)(OPERAND(dst), OPERAND(a), OPERAND(b), const gpu_long stride) {
    const gpu_int rounds = a.type == GPU_F16;
    EACH_ITEM(i, N_ELEMENTS(dst)) {
        const gpu_index at = INDEX_IN(dst, i);
        float sum = 0.0f;
        for (gpu_long ky = 0; ky < a.ne[1] && at.i3 == 0; ky++) {
            const gpu_long h = at.i1 - ky, iy = h / stride;
            if (h < 0 || iy * stride != h || iy >= b.ne[1]) {
                continue;
            }
            for (gpu_long kx = 0; kx < a.ne[0]; kx++) {
                const gpu_long w = at.i0 - kx, ix = w / stride;
                if (w < 0 || ix * stride != w || ix >= b.ne[0]) {
                    continue;
                }
                for (gpu_long c = 0; c < a.ne[3]; c++) {
                    const float pixel = *(GLOBAL const float *)ELEMENT(b, ix, iy, c, 0);
                    sum += load_element(a.type, ELEMENT(a, kx, ky, at.i2, c)) * (rounds ? ROUND_HALF(pixel) : pixel);
                }
            }
        }
        *(GLOBAL float *)ELEMENT_AT(dst, at) = sum;
    }
}

/* m.axis[0..1]: windows; average: divide by the window's size in two dimensions, by what lies inside in one. */
KERNEL(gpu_pool)(OPERAND(dst), OPERAND(a), const gpu_image m, const gpu_int average, const gpu_int two) {
    EACH_ITEM(i, N_ELEMENTS(dst)) {
        const gpu_index at = INDEX_IN(dst, i);
        float largest = -3.40282347e+38f, sum = 0.0f;
        gpu_long inside = 0;
        for (gpu_long ky = 0; ky < m.axis[1].taps; ky++) {
            const gpu_long y = two ? axis_at(m.axis[1], at.i1, ky) : at.i1;
            for (gpu_long kx = 0; kx < m.axis[0].taps && (!two || axis_inside(m.axis[1], y)); kx++) {
                const gpu_long x = axis_at(m.axis[0], at.i0, kx);
                if (axis_inside(m.axis[0], x)) {
                    const float v = load_element(a.type, ELEMENT(a, x, y, at.i2, at.i3));
                    largest = v > largest ? v : largest;
                    sum += v;
                    inside++;
                }
            }
        }
        const float divisor = (float)(two ? m.axis[0].taps * m.axis[1].taps : inside);
        *(GLOBAL float *)ELEMENT_AT(dst, at) = !average ? largest : divisor > 0.0f ? sum / divisor : 0.0f;
    }
}

/* The place of the first of the largest values of a window in the plane at `plane`, or -1 where none is a number. */
DEVICE gpu_long window_largest(GLOBAL const float *plane, const gpu_image m, gpu_long ox, gpu_long oy) {
    float largest = -3.40282347e+38f;
    gpu_long place = -1;
    for (gpu_long ky = 0; ky < m.axis[1].taps; ky++) {
        const gpu_long y = axis_at(m.axis[1], oy, ky);
        for (gpu_long kx = 0; kx < m.axis[0].taps && axis_inside(m.axis[1], y); kx++) {
            const gpu_long x = axis_at(m.axis[0], ox, kx);
            if (axis_inside(m.axis[0], x) && plane[y * m.axis[0].in + x] > largest) {
                largest = plane[y * m.axis[0].in + x];
                place = y * m.axis[0].in + x;
            }
        }
    }
    return place;
}

/* a: gradient of the pooled result, b: what was pooled.  A pixel gathers from the windows that it lies in. */
KERNEL(gpu_pool_back)(OPERAND(dst), OPERAND(a), OPERAND(b), const gpu_image m, const gpu_int average) {
    const gpu_axis ax = m.axis[0], ay = m.axis[1];
    EACH_ITEM(i, N_ELEMENTS(dst)) {
        const gpu_index at = INDEX_IN(dst, i);
        GLOBAL const float *plane = (GLOBAL const float *)ELEMENT(b, 0, 0, at.i2, at.i3);
        const gpu_long last_x = (at.i0 + ax.pad) / ax.stride, last_y = (at.i1 + ay.pad) / ay.stride;
        float sum = 0.0f;
        for (gpu_long oy = 0; oy <= last_y && oy < ay.out; oy++) {
            for (gpu_long ox = 0; ox <= last_x && ox < ax.out; ox++) {
                if (oy * ay.stride - ay.pad + ay.taps <= at.i1 || ox * ax.stride - ax.pad + ax.taps <= at.i0) {
                    continue;
                }
                const float g = *(GLOBAL const float *)ELEMENT(a, ox, oy, at.i2, at.i3);
                if (average) {
                    sum += g / (float)(ax.taps * ay.taps);
                } else if (window_largest(plane, m, ox, oy) == at.i1 * ax.in + at.i0) {
                    sum += g;
                }
            }
        }
        *(GLOBAL float *)ELEMENT_AT(dst, at) = sum;
    }
}

#endif
