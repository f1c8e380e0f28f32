/*
 * flash_attn.h - FLASH_ATTN_EXT: attention without the matrix of weights.
 *
 * Layer: backends.  Kernel code.  Answers to ggml_compute_forward_flash_attn_ext of the reference; sums are f32.  A key
 * whose mask is -infinity takes no part, whatever its values hold: unused places of a cache may hold anything.
 */
#ifndef SR_GPU_FLASH_ATTN_H
#define SR_GPU_FLASH_ATTN_H

#define MINUS_INFINITY BITS_FLOAT(0xff800000u)

enum { FLASH_STRIDE = GPU_FLASH_WIDTH + 1, FLASH_SCORES = GPU_FLASH_KEYS + 1 };
enum { FLASH_PIECES = GPU_FLASH_MOST_VALUE / GPU_FLASH_WIDTH };

/* Elements d0 to d0 + GPU_FLASH_WIDTH of keys first to first + n of a head, zeros beyond n and ne[0]. */
DEVICE_CALLED void stage_rows(LOCAL_POINTER float *stage, GLOBAL gpu_byte *x_memory, const gpu_tensor x, gpu_long first,
                       gpu_int n, gpu_long head, gpu_long i3, gpu_long d0, gpu_int t) {
    for (gpu_int i = t; i < GPU_FLASH_KEYS * GPU_FLASH_WIDTH / 8; i += GPU_FLASH_ITEMS) {
        const gpu_int key = i / (GPU_FLASH_WIDTH / 8), d = i % (GPU_FLASH_WIDTH / 8) * 8;
        float values[8];
        UNROLL for (gpu_int e = 0; e < 8; e++) {
            values[e] = 0.0f;
        }
        if (key < n && d0 + d < x.ne[0]) {
            weights_8(x.type, ELEMENT(x, 0, first + key, head, i3), d0 + d, x.ne[0], values);
        }
        UNROLL for (gpu_int e = 0; e < 8; e++) {
            stage[key * FLASH_STRIDE + d + e] = values[e];
        }
    }
}

/* What the mask adds to the score of a key for a column; -infinity: the key takes no part. */
DEVICE float mask_value(GLOBAL gpu_byte *mask_memory, const gpu_tensor mask, float slope, gpu_long key, gpu_long query,
                        gpu_long head, gpu_long i3) {
    if (!mask.given) {
        return 0.0f;
    }
    const float m = LOAD_HALF(ELEMENT(mask, key, query, head % mask.ne[2], i3 % mask.ne[3]));
    return m == MINUS_INFINITY ? m : slope * m;
}

/* The factor of the sums, in which a sink takes part. */
DEVICE float sum_factor(GLOBAL gpu_byte *sinks_memory, const gpu_tensor sinks, gpu_long head, float most, float sum) {
    float shrink = 1.0f;
    if (sinks.given) {
        const float sink = *(GLOBAL const float *)ELEMENT(sinks, head, 0, 0, 0);
        if (sink > most) {
            shrink = exp(most - sink);
            sum = sum * shrink + 1.0f;
        } else if (sink > MINUS_INFINITY) {
            sum += exp(sink - most);
        }
    }
    return sum == 0.0f ? 0.0f : shrink / sum;
}

/*
 * A group: GPU_FLASH_COLUMNS columns over one part of the keys; groups[0]: column blocks, then groups of heads, then
 * i3; groups[1]: parts.  partials: for each part and each column (query, head, i3 as y has them) ne[0] sums, the
 * maximum and the sum of the weights; not used with one part.
 *
 * Work-item t has the scores of key t % 32 for two columns, and the sums of elements t % 64, t % 64 + 64.. of four.
 */
KERNEL(gpu_flash_attn)(OPERAND(y), OPERAND(q), OPERAND(k), OPERAND(v), OPERAND(mask), OPERAND(sinks),
                       GLOBAL float *partials, const gpu_flash p) {
    LOCAL_ARRAY float queries[GPU_FLASH_MOST_KEY * GPU_FLASH_COLUMNS]; /* [element][column] */
    LOCAL_ARRAY float stage[GPU_FLASH_KEYS * FLASH_STRIDE];            /* [key][element] */
    LOCAL_ARRAY float scores[GPU_FLASH_COLUMNS * FLASH_SCORES];        /* [column][key] */
    LOCAL_ARRAY float shrinks[GPU_FLASH_COLUMNS], maxima[GPU_FLASH_COLUMNS], totals[GPU_FLASH_COLUMNS];
    LOCAL_ARRAY gpu_int open_keys[1];
    const gpu_int t = LOCAL_ID(0), key = t % GPU_FLASH_KEYS, pair = t / GPU_FLASH_KEYS * 2;
    const gpu_int lane = t % GPU_FLASH_WIDTH, four = t / GPU_FLASH_WIDTH * 4;
    const gpu_long first = GROUP_ID(0) % p.blocks * GPU_FLASH_COLUMNS, place = GROUP_ID(0) / p.blocks;
    const gpu_long head_groups = q.ne[2] / p.group, head0 = place % head_groups * p.group, i3 = place / head_groups;
    const gpu_long k_head = head0 / (q.ne[2] / k.ne[2]), v_head = head0 / (q.ne[2] / v.ne[2]);
    const gpu_long begin = GROUP_ID(1) * p.part;
    const gpu_long end = begin + p.part < k.ne[1] ? begin + p.part : k.ne[1];
    float most[2], total[2], slope[2], sums[FLASH_PIECES][4];
    gpu_long query[2], head[2];
    UNROLL for (gpu_int c = 0; c < 2; c++) {
        const gpu_long column = first + pair + c < p.columns ? first + pair + c : p.columns - 1;
        query[c] = column / p.group;
        head[c] = head0 + column % p.group;
        slope[c] = alibi_slope(p.max_bias, head[c], q.ne[2]);
        most[c] = MINUS_INFINITY;
        total[c] = 0.0f;
    }
    UNROLL for (gpu_int x = 0; x < FLASH_PIECES; x++) {
        UNROLL for (gpu_int c = 0; c < 4; c++) {
            sums[x][c] = 0.0f;
        }
    }
    for (gpu_int c = 0; c < GPU_FLASH_COLUMNS; c++) {
        const gpu_long column = first + c;
        for (gpu_int d = t; d < (gpu_int)q.ne[0]; d += GPU_FLASH_ITEMS) {
            queries[d * GPU_FLASH_COLUMNS + c] =
                column < p.columns
                    ? *(GLOBAL const float *)ELEMENT(q, d, column / p.group, head0 + column % p.group, i3)
                    : 0.0f;
        }
    }
    for (gpu_long j0 = begin; j0 < end; j0 += GPU_FLASH_KEYS) {
        const gpu_int n = (gpu_int)(end - j0 < GPU_FLASH_KEYS ? end - j0 : GPU_FLASH_KEYS);
        float z[2], bias[2];
        if (t == 0) {
            open_keys[0] = 0;
        }
        BARRIER();
        UNROLL for (gpu_int c = 0; c < 2; c++) {
            z[c] = 0.0f;
            bias[c] = key < n && first + pair + c < p.columns
                          ? mask_value(mask_memory, mask, slope[c], j0 + key, query[c], head[c], i3)
                          : MINUS_INFINITY;
            if (bias[c] != MINUS_INFINITY) {
                open_keys[0] = 1;
            }
        }
        BARRIER();
        const gpu_int is_open = open_keys[0];
        for (gpu_long d0 = 0; d0 < (is_open ? k.ne[0] : 0); d0 += GPU_FLASH_WIDTH) {
            const gpu_int width = (gpu_int)(k.ne[0] - d0 < GPU_FLASH_WIDTH ? k.ne[0] - d0 : GPU_FLASH_WIDTH);
            stage_rows(stage, k_memory, k, j0, n, k_head, i3, d0, t);
            BARRIER();
            for (gpu_int d = 0; d < width; d++) {
                const float x = stage[key * FLASH_STRIDE + d];
                z[0] += x * queries[(d0 + d) * GPU_FLASH_COLUMNS + pair];
                z[1] += x * queries[(d0 + d) * GPU_FLASH_COLUMNS + pair + 1];
            }
            BARRIER();
        }
        UNROLL for (gpu_int c = 0; c < 2; c++) {
            float score = p.scale * z[c];
            score = p.softcap != 0.0f ? p.softcap * tanh(score) : score;
            scores[(pair + c) * FLASH_SCORES + key] = bias[c] == MINUS_INFINITY ? bias[c] : score + bias[c];
        }
        BARRIER();
        UNROLL for (gpu_int c = 0; c < 2; c++) { /* all work-items of a column find the same maximum */
            float higher = most[c];
            for (gpu_int j = 0; j < GPU_FLASH_KEYS; j++) {
                higher = fmax(higher, scores[(pair + c) * FLASH_SCORES + j]);
            }
            const float shrink = higher > most[c] ? exp(most[c] - higher) : 1.0f;
            total[c] *= shrink;
            most[c] = higher;
            if (key == 0) {
                shrinks[pair + c] = shrink;
            }
        }
        BARRIER();
        UNROLL for (gpu_int c = 0; c < 2; c++) {
            const gpu_int at = (pair + c) * FLASH_SCORES + key;
            scores[at] = scores[at] == MINUS_INFINITY ? 0.0f : exp(scores[at] - most[c]);
        }
        BARRIER();
        UNROLL for (gpu_int c = 0; c < 2; c++) {
            for (gpu_int j = 0; j < GPU_FLASH_KEYS; j++) {
                total[c] += scores[(pair + c) * FLASH_SCORES + j];
            }
        }
        UNROLL_LARGE for (gpu_int x = 0; x < FLASH_PIECES; x++) {
            if (is_open && x * GPU_FLASH_WIDTH < v.ne[0]) {
                stage_rows(stage, v_memory, v, j0, n, v_head, i3, x * GPU_FLASH_WIDTH, t);
                BARRIER();
                UNROLL for (gpu_int c = 0; c < 4; c++) {
                    sums[x][c] *= shrinks[four + c];
                }
                for (gpu_int j = 0; j < n; j++) {
                    const float value = stage[j * FLASH_STRIDE + lane];
                    UNROLL for (gpu_int c = 0; c < 4; c++) {
                        const float weight = scores[(four + c) * FLASH_SCORES + j];
                        sums[x][c] += weight == 0.0f ? 0.0f : weight * value;
                    }
                }
                BARRIER();
            }
        }
    }
    UNROLL for (gpu_int c = 0; c < 2; c++) {
        if (key == 0) {
            maxima[pair + c] = most[c];
            totals[pair + c] = total[c];
        }
    }
    BARRIER();
    for (gpu_int c = 0; c < 4; c++) {
        const gpu_long column = first + four + c;
        if (column < p.columns) {
            const gpu_long i1 = head0 + column % p.group, i2 = column / p.group;
            const gpu_long record = ((GROUP_ID(1) * y.ne[3] + i3) * y.ne[2] + i2) * y.ne[1] + i1;
            GLOBAL float *out = partials + record * (y.ne[0] + 2);
            const float factor = sum_factor(sinks_memory, sinks, i1, maxima[four + c], totals[four + c]);
            UNROLL for (gpu_int x = 0; x < FLASH_PIECES; x++) {
                const gpu_long d = x * GPU_FLASH_WIDTH + lane;
                if (d < y.ne[0] && p.parts == 1) {
                    *(GLOBAL float *)ELEMENT(y, d, i1, i2, i3) = sums[x][c] * factor;
                } else if (d < y.ne[0]) {
                    out[d] = sums[x][c];
                }
            }
            if (p.parts > 1 && lane == 0) {
                out[y.ne[0]] = maxima[four + c];
                out[y.ne[0] + 1] = totals[four + c];
            }
        }
    }
}

/* The parts of a column together; a group a row of y. */
KERNEL(gpu_flash_combine)(OPERAND(y), OPERAND(sinks), GLOBAL const float *partials, const gpu_int parts) {
    const gpu_long row = GROUP_ID(0), i1 = row % y.ne[1], i2 = row / y.ne[1] % y.ne[2], i3 = row / y.ne[1] / y.ne[2];
    const gpu_long size = y.ne[0] + 2, step = y.ne[1] * y.ne[2] * y.ne[3] * size;
    GLOBAL const float *part = partials + row * size;
    float most = MINUS_INFINITY, total = 0.0f;
    for (gpu_int i = 0; i < parts; i++) {
        most = fmax(most, part[i * step + y.ne[0]]);
    }
    for (gpu_int i = 0; i < parts; i++) {
        const float maximum = part[i * step + y.ne[0]];
        total += maximum == MINUS_INFINITY ? 0.0f : part[i * step + y.ne[0] + 1] * exp(maximum - most);
    }
    const float factor = sum_factor(sinks_memory, sinks, i1, most, total);
    for (gpu_long d = LOCAL_ID(0); d < y.ne[0]; d += LOCAL_SIZE(0)) {
        float sum = 0.0f;
        for (gpu_int i = 0; i < parts; i++) {
            const float maximum = part[i * step + y.ne[0]];
            sum += maximum == MINUS_INFINITY ? 0.0f : part[i * step + d] * exp(maximum - most);
        }
        *(GLOBAL float *)ELEMENT(y, d, i1, i2, i3) = sum * factor;
    }
}

#endif
