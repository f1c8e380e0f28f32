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

/* Elements d0 to d0 + GPU_FLASH_WIDTH of n keys, zeros beyond n and ne0. */
DEVICE_LARGE void stage_rows(LOCAL_POINTER float *stage, GLOBAL gpu_byte *row0, gpu_long nb1, gpu_int type,
                             gpu_long ne0, gpu_int n, gpu_int d0, gpu_int t) {
    for (gpu_int i = t; i < GPU_FLASH_KEYS * GPU_FLASH_WIDTH / 8; i += GPU_FLASH_ITEMS) {
        const gpu_int key = i / (GPU_FLASH_WIDTH / 8), d = i % (GPU_FLASH_WIDTH / 8) * 8;
        float values[8];
        UNROLL for (gpu_int e = 0; e < 8; e++) {
            values[e] = 0.0f;
        }
        if (key < n && d0 + d < ne0) {
            weights_8(type, row0 + key * nb1, d0 + d, ne0, values);
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

/* Of a work-item: the scores of key t % 32 for two columns, the sums of elements t % 64, t % 64 + 64.. for four. */
typedef struct flash_item {
    gpu_int t, key, pair, lane, four;
    gpu_long first, head0, i3; /* of the group: its first column, of which heads */
    gpu_long query[2], head[2];
    float slope[2], bias[2], z[2], most[2], total[2];
    float sums[FLASH_PIECES][4];
} flash_item;

DEVICE void flash_begin(flash_item *w, const gpu_flash *p, gpu_long heads) {
    const gpu_long place = GROUP_ID(0) / p->blocks;
    w->t = LOCAL_ID(0);
    w->key = w->t % GPU_FLASH_KEYS;
    w->pair = w->t / GPU_FLASH_KEYS * 2;
    w->lane = w->t % GPU_FLASH_WIDTH;
    w->four = w->t / GPU_FLASH_WIDTH * 4;
    w->first = GROUP_ID(0) % p->blocks * GPU_FLASH_COLUMNS;
    w->head0 = place % (heads / p->group) * p->group;
    w->i3 = place / (heads / p->group);
    UNROLL for (gpu_int c = 0; c < 2; c++) {
        const gpu_long column = w->first + w->pair + c < p->columns ? w->first + w->pair + c : p->columns - 1;
        w->query[c] = column / p->group;
        w->head[c] = w->head0 + column % p->group;
        w->slope[c] = alibi_slope(p->max_bias, w->head[c], heads);
        w->most[c] = MINUS_INFINITY;
        w->total[c] = 0.0f;
    }
    UNROLL for (gpu_int x = 0; x < FLASH_PIECES; x++) {
        UNROLL for (gpu_int c = 0; c < 4; c++) {
            w->sums[x][c] = 0.0f;
        }
    }
}

/* queries[element][column], zeros for columns that there are not. */
DEVICE void flash_load_queries(LOCAL_POINTER float *queries, const flash_item *w, const gpu_flash *p,
                               GLOBAL gpu_byte *q_memory, const gpu_tensor q) {
    for (gpu_int c = 0; c < GPU_FLASH_COLUMNS; c++) {
        const gpu_long column = w->first + c;
        for (gpu_int d = w->t; d < (gpu_int)q.ne[0]; d += GPU_FLASH_ITEMS) {
            queries[d * GPU_FLASH_COLUMNS + c] =
                column < p->columns ? *(GLOBAL const float *)ELEMENT(q, d, column / p->group,
                                                                     w->head0 + column % p->group, w->i3)
                                    : 0.0f;
        }
    }
}

/* scores[column][key] out of the products. */
DEVICE void flash_store_scores(LOCAL_POINTER float *scores, const flash_item *w, const gpu_flash *p) {
    UNROLL for (gpu_int c = 0; c < 2; c++) {
        float score = p->scale * w->z[c];
        score = p->softcap != 0.0f ? p->softcap * tanh(score) : score;
        scores[(w->pair + c) * FLASH_SCORES + w->key] =
            w->bias[c] == MINUS_INFINITY ? MINUS_INFINITY : score + w->bias[c];
    }
}

/* The new maximum of a column, which all its work-items find; what was summed before shrinks to it. */
DEVICE void flash_raise(LOCAL_POINTER const float *scores, LOCAL_POINTER float *shrinks, flash_item *w) {
    UNROLL for (gpu_int c = 0; c < 2; c++) {
        float higher = w->most[c];
        for (gpu_int j = 0; j < GPU_FLASH_KEYS; j++) {
            higher = fmax(higher, scores[(w->pair + c) * FLASH_SCORES + j]);
        }
        const float shrink = higher > w->most[c] ? exp(w->most[c] - higher) : 1.0f;
        w->total[c] *= shrink;
        w->most[c] = higher;
        if (w->key == 0) {
            shrinks[w->pair + c] = shrink;
        }
    }
}

/* Scores become weights. */
DEVICE void flash_weigh(LOCAL_POINTER float *scores, const flash_item *w) {
    UNROLL for (gpu_int c = 0; c < 2; c++) {
        const gpu_int at = (w->pair + c) * FLASH_SCORES + w->key;
        scores[at] = scores[at] == MINUS_INFINITY ? 0.0f : exp(scores[at] - w->most[c]);
    }
}

/* One piece of the values, n keys of it; a weight of 0 takes no part, whatever the value is. */
DEVICE void flash_add_values(LOCAL_POINTER const float *stage, LOCAL_POINTER const float *weights,
                             LOCAL_POINTER const float *shrinks, gpu_int n, const flash_item *w, float *sums) {
    UNROLL for (gpu_int c = 0; c < 4; c++) {
        sums[c] *= shrinks[w->four + c];
    }
    for (gpu_int j = 0; j < n; j++) {
        const float value = stage[j * FLASH_STRIDE + w->lane];
        UNROLL for (gpu_int c = 0; c < 4; c++) {
            const float weight = weights[(w->four + c) * FLASH_SCORES + j];
            sums[c] += weight == 0.0f ? 0.0f : weight * value;
        }
    }
}

/* The results of a column, or with several parts its record: ne[0] sums, the maximum and the sum of the weights. */
DEVICE void flash_store(const flash_item *w, const gpu_flash *p, gpu_int c, float most, float total,
                        GLOBAL gpu_byte *y_memory, const gpu_tensor y, GLOBAL gpu_byte *sinks_memory,
                        const gpu_tensor sinks, GLOBAL float *partials) {
    const gpu_long column = w->first + w->four + c, i1 = w->head0 + column % p->group, i2 = column / p->group;
    if (column >= p->columns) {
        return;
    }
    const float factor = sum_factor(sinks_memory, sinks, i1, most, total);
    GLOBAL float *record =
        partials + (((GROUP_ID(1) * y.ne[3] + w->i3) * y.ne[2] + i2) * y.ne[1] + i1) * (y.ne[0] + 2);
    UNROLL for (gpu_int x = 0; x < FLASH_PIECES; x++) {
        const gpu_long d = x * GPU_FLASH_WIDTH + w->lane;
        if (d < y.ne[0] && p->parts == 1) {
            *(GLOBAL float *)ELEMENT(y, d, i1, i2, w->i3) = w->sums[x][c] * factor;
        } else if (d < y.ne[0]) {
            record[d] = w->sums[x][c];
        }
    }
    if (p->parts > 1 && w->lane == 0) {
        record[y.ne[0]] = most;
        record[y.ne[0] + 1] = total;
    }
}

/*
 * A group: GPU_FLASH_COLUMNS columns over one part of the keys; groups[0]: column blocks, then groups of heads, then
 * i3; groups[1]: parts.  partials: with several parts a record for each part and row of y.
 */
KERNEL(gpu_flash_attn)(OPERAND(y), OPERAND(q), OPERAND(k), OPERAND(v), OPERAND(mask), OPERAND(sinks),
                       GLOBAL float *partials, const gpu_flash p) {
    LOCAL_ARRAY float queries[GPU_FLASH_MOST_KEY * GPU_FLASH_COLUMNS]; /* [element][column] */
    LOCAL_ARRAY float stage[GPU_FLASH_KEYS * FLASH_STRIDE];            /* [key][element] */
    LOCAL_ARRAY float scores[GPU_FLASH_COLUMNS * FLASH_SCORES];        /* [column][key] */
    LOCAL_ARRAY float shrinks[GPU_FLASH_COLUMNS], maxima[GPU_FLASH_COLUMNS], totals[GPU_FLASH_COLUMNS];
    LOCAL_ARRAY gpu_int open_keys[1];
    flash_item w;
    flash_begin(&w, &p, q.ne[2]);
    flash_load_queries(queries, &w, &p, q_memory, q);
    const gpu_long begin = GROUP_ID(1) * p.part, end = begin + p.part < k.ne[1] ? begin + p.part : k.ne[1];
    for (gpu_long j0 = begin; j0 < end; j0 += GPU_FLASH_KEYS) {
        const gpu_int n = (gpu_int)(end - j0 < GPU_FLASH_KEYS ? end - j0 : GPU_FLASH_KEYS);
        if (w.t == 0) {
            open_keys[0] = 0;
        }
        BARRIER();
        UNROLL for (gpu_int c = 0; c < 2; c++) {
            w.z[c] = 0.0f;
            w.bias[c] = w.key < n && w.first + w.pair + c < p.columns
                            ? mask_value(mask_memory, mask, w.slope[c], j0 + w.key, w.query[c], w.head[c], w.i3)
                            : MINUS_INFINITY;
            if (w.bias[c] != MINUS_INFINITY) {
                MARK(open_keys);
            }
        }
        BARRIER();
        const gpu_int is_open = open_keys[0]; /* a tile that is closed to all columns costs little */
        for (gpu_long d0 = 0; d0 < (is_open ? k.ne[0] : 0); d0 += GPU_FLASH_WIDTH) {
            const gpu_int width = (gpu_int)(k.ne[0] - d0 < GPU_FLASH_WIDTH ? k.ne[0] - d0 : GPU_FLASH_WIDTH);
            stage_rows(stage, ELEMENT(k, 0, j0, w.head0 / (q.ne[2] / k.ne[2]), w.i3), k.nb[1], k.type, k.ne[0], n,
                       (gpu_int)d0, w.t);
            BARRIER();
            for (gpu_int d = 0; d < width; d++) {
                const float x = stage[w.key * FLASH_STRIDE + d];
                w.z[0] += x * queries[(d0 + d) * GPU_FLASH_COLUMNS + w.pair];
                w.z[1] += x * queries[(d0 + d) * GPU_FLASH_COLUMNS + w.pair + 1];
            }
            BARRIER();
        }
        flash_store_scores(scores, &w, &p);
        BARRIER();
        flash_raise(scores, shrinks, &w);
        BARRIER();
        flash_weigh(scores, &w);
        BARRIER();
        UNROLL for (gpu_int c = 0; c < 2; c++) {
            for (gpu_int j = 0; j < GPU_FLASH_KEYS; j++) {
                w.total[c] += scores[(w.pair + c) * FLASH_SCORES + j];
            }
        }
        UNROLL_LARGE for (gpu_int x = 0; x < FLASH_PIECES; x++) {
            if (is_open && x * GPU_FLASH_WIDTH < v.ne[0]) {
                stage_rows(stage, ELEMENT(v, 0, j0, w.head0 / (q.ne[2] / v.ne[2]), w.i3), v.nb[1], v.type, v.ne[0], n,
                           x * GPU_FLASH_WIDTH, w.t);
                BARRIER();
                flash_add_values(stage, scores, shrinks, n, &w, w.sums[x]);
                BARRIER();
            }
        }
    }
    if (w.key == 0) {
        maxima[w.pair] = w.most[0], maxima[w.pair + 1] = w.most[1];
        totals[w.pair] = w.total[0], totals[w.pair + 1] = w.total[1];
    }
    BARRIER();
    UNROLL for (gpu_int c = 0; c < 4; c++) {
        flash_store(&w, &p, c, maxima[w.four + c], totals[w.four + c], y_memory, y, sinks_memory, sinks, partials);
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
