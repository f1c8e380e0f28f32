/*
 * mul_mat.h - MUL_MAT and MUL_MAT_ID for few columns, the Hadamard product, and sorting columns by expert.
 *
 * Layer: backends.  Kernel code.  The columns are f32 here: gpu_round_columns has turned other types into it, and has
 * rounded them as the first source demands.
 */
#ifndef SR_GPU_MUL_MAT_H
#define SR_GPU_MUL_MAT_H

/* Floats i to i + 7 of a dense row of n, zeros from n on. */
DEVICE void floats_8(GLOBAL const float *row, gpu_long i, gpu_long n, float *out) {
    if (i + 8 <= n && ((gpu_long)(row + i) & 15) == 0) {
        const float4 low = *(GLOBAL const float4 *)(row + i), high = *(GLOBAL const float4 *)(row + i + 4);
        out[0] = low.x, out[1] = low.y, out[2] = low.z, out[3] = low.w;
        out[4] = high.x, out[5] = high.y, out[6] = high.z, out[7] = high.w;
        return;
    }
    UNROLL for (gpu_int e = 0; e < 8; e++) {
        out[e] = i + e < n ? row[i + e] : 0.0f;
    }
}

/* Values i to i + 7 of a row of any type. */
DEVICE void weights_8(gpu_int type, GLOBAL const gpu_byte *row, gpu_long i, gpu_long n, float *out) {
    if (type == GPU_F32) {
        floats_8((GLOBAL const float *)row, i, n, out);
    } else {
        row_values_8(type, row, i, n, out);
    }
}

/* The number of the expert of (slot, token), -1 if there is none of that number. */
DEVICE gpu_int expert_at(GLOBAL gpu_byte *ids_memory, const gpu_tensor ids, gpu_long slot, gpu_long token,
                         gpu_long experts, GLOBAL gpu_byte *fault, gpu_int number) {
    const gpu_int id = *(GLOBAL const gpu_int *)ELEMENT(ids, slot, token, 0, 0);
    if (id < 0 || id >= experts) {
        ATOMIC_FIRST(fault, number);
        return -1;
    }
    return id;
}

/*
 * A group: GPU_VEC_ROWS rows times up to GPU_VEC_COLUMNS columns of a plane, or one column with its expert.
 * Groups: row blocks, then column blocks, then planes; with experts row blocks, then columns.
 */
KERNEL(gpu_mul_mat_vec)(OPERAND(y), OPERAND(a), OPERAND(b), OPERAND(ids), GLOBAL gpu_byte *fault,
                        const gpu_int number) {
    LOCAL_ARRAY float sums[GPU_VEC_ROWS * GPU_VEC_COLUMNS * GPU_VEC_ITEMS];
    const gpu_long row_blocks = (y.ne[0] + GPU_VEC_ROWS - 1) / GPU_VEC_ROWS;
    const gpu_long row0 = GROUP_ID(0) % row_blocks * GPU_VEC_ROWS, place = GROUP_ID(0) / row_blocks;
    const gpu_long per_block = ids.given ? 1 : GPU_VEC_COLUMNS;
    const gpu_long column_blocks = (y.ne[1] + per_block - 1) / per_block;
    const gpu_long column0 = place % column_blocks * per_block, plane = place / column_blocks;
    const gpu_long i2 = plane % y.ne[2], i3 = plane / y.ne[2], k = a.ne[0];
    const gpu_long columns = y.ne[1] - column0 < per_block ? y.ne[1] - column0 : per_block;
    const gpu_int t = LOCAL_ID(0);
    gpu_long a2 = 0, a3 = 0, b1 = column0;
    gpu_int valid = 1;
    if (ids.given) {
        const gpu_int id = expert_at(ids_memory, ids, column0, i2, a.ne[2], fault, number);
        valid = id >= 0;
        a2 = valid ? id : 0;
        b1 = column0 % b.ne[1];
    } else {
        a2 = i2 / (b.ne[2] / a.ne[2]);
        a3 = i3 / (b.ne[3] / a.ne[3]);
    }
    float sum[GPU_VEC_ROWS][GPU_VEC_COLUMNS];
    UNROLL for (gpu_int r = 0; r < GPU_VEC_ROWS; r++) {
        UNROLL for (gpu_int c = 0; c < GPU_VEC_COLUMNS; c++) {
            sum[r][c] = 0.0f;
        }
    }
    for (gpu_long i = 8 * t; i < k; i += 8 * GPU_VEC_ITEMS) {
        float w[GPU_VEC_ROWS][8], x[8];
        UNROLL for (gpu_int r = 0; r < GPU_VEC_ROWS; r++) {
            const gpu_long row = row0 + r < y.ne[0] ? row0 + r : row0;
            weights_8(a.type, ELEMENT(a, 0, row, a2, a3), i, k, w[r]);
        }
        UNROLL for (gpu_int c = 0; c < GPU_VEC_COLUMNS; c++) {
            if (c < columns) {
                floats_8((GLOBAL const float *)ELEMENT(b, 0, b1 + c, i2, i3), i, k, x);
                UNROLL for (gpu_int r = 0; r < GPU_VEC_ROWS; r++) {
                    UNROLL for (gpu_int e = 0; e < 8; e++) {
                        sum[r][c] += w[r][e] * x[e];
                    }
                }
            }
        }
    }
    UNROLL for (gpu_int r = 0; r < GPU_VEC_ROWS; r++) {
        UNROLL for (gpu_int c = 0; c < GPU_VEC_COLUMNS; c++) {
            sums[(r * GPU_VEC_COLUMNS + c) * GPU_VEC_ITEMS + t] = sum[r][c];
        }
    }
    for (gpu_int half_of = GPU_VEC_ITEMS / 2; half_of > 0; half_of /= 2) {
        BARRIER();
        if (t < half_of) {
            for (gpu_int s = 0; s < GPU_VEC_ROWS * GPU_VEC_COLUMNS; s++) {
                sums[s * GPU_VEC_ITEMS + t] += sums[s * GPU_VEC_ITEMS + t + half_of];
            }
        }
    }
    BARRIER();
    const gpu_int r = t / GPU_VEC_COLUMNS, c = t % GPU_VEC_COLUMNS;
    if (valid && r < GPU_VEC_ROWS && row0 + r < y.ne[0] && c < columns) {
        *(GLOBAL float *)ELEMENT(y, row0 + r, column0 + c, i2, i3) = sums[t * GPU_VEC_ITEMS];
    }
}

/* y = K^(-1/2) * sum over k of (-1)^popcount(m and k) * b[k], by halves; a group a column. */
KERNEL(gpu_hadamard)(OPERAND(y), OPERAND(b)) {
    LOCAL_ARRAY float values[GPU_HADAMARD_MOST];
    const gpu_long row = GROUP_ID(0);
    const gpu_long i1 = row % b.ne[1], i2 = row / b.ne[1] % b.ne[2], i3 = row / b.ne[1] / b.ne[2];
    const gpu_int k = (gpu_int)b.ne[0], t = LOCAL_ID(0);
    for (gpu_int i = t; i < k; i += GPU_HADAMARD_ITEMS) {
        values[i] = *(GLOBAL const float *)ELEMENT(b, i, i1, i2, i3);
    }
    for (gpu_int step = 1; step < k; step *= 2) {
        BARRIER();
        for (gpu_int j = t; j < k / 2; j += GPU_HADAMARD_ITEMS) {
            const gpu_int at = j / step * 2 * step + j % step;
            const float u = values[at], v = values[at + step];
            values[at] = u + v;
            values[at + step] = u - v;
        }
    }
    BARRIER();
    const float scale = 1.0f / sqrt((float)k);
    for (gpu_int i = t; i < k; i += GPU_HADAMARD_ITEMS) {
        *(GLOBAL float *)ELEMENT(y, i, i1, i2, i3) = values[i] * scale;
    }
}

/*
 * One group: the columns (slot + slots * token) of each expert one after the other, and tiles of them.  Columns whose
 * expert there is not are left out: the node fails.
 */
KERNEL(gpu_sort_experts)(GLOBAL gpu_int *lists, OPERAND(ids), const gpu_int experts, const gpu_int most_tiles,
                         GLOBAL gpu_byte *fault, const gpu_int number) {
    GLOBAL gpu_int *tiles = lists + GPU_EXPERT_TILES_AT(experts);
    GLOBAL gpu_int *columns = lists + GPU_EXPERT_COLUMNS_AT(experts, most_tiles);
    const gpu_int slots = (gpu_int)ids.ne[0], n = slots * (gpu_int)ids.ne[1], t = LOCAL_ID(0);
    for (gpu_int e = t; e < experts; e += GPU_EXPERTS_ITEMS) {
        lists[e] = 0;
    }
    BARRIER_GLOBAL();
    for (gpu_int i = t; i < n; i += GPU_EXPERTS_ITEMS) {
        const gpu_int id = expert_at(ids_memory, ids, i % slots, i / slots, experts, fault, number);
        if (id >= 0) {
            ATOMIC_ADD(lists + id, 1);
        }
    }
    BARRIER_GLOBAL();
    if (t == 0) { /* counts become places */
        gpu_int begin = 0, n_tiles = 0;
        for (gpu_int e = 0; e < experts; e++) {
            const gpu_int count = lists[e];
            for (gpu_int first = 0; first < count; first += GPU_TILE) {
                tiles[3 * n_tiles] = e;
                tiles[3 * n_tiles + 1] = begin + first;
                tiles[3 * n_tiles + 2] = count - first < GPU_TILE ? count - first : GPU_TILE;
                n_tiles++;
            }
            lists[e] = begin;
            begin += count;
        }
        lists[experts] = n_tiles;
    }
    BARRIER_GLOBAL();
    for (gpu_int i = t; i < n; i += GPU_EXPERTS_ITEMS) {
        const gpu_int id = expert_at(ids_memory, ids, i % slots, i / slots, experts, fault, number);
        if (id >= 0) {
            columns[ATOMIC_ADD(lists + id, 1)] = i;
        }
    }
}

#endif
