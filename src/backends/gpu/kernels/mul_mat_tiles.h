/*
 * mul_mat_tiles.h - MUL_MAT and MUL_MAT_ID for many columns, and OUT_PROD: tiles of 64 by 64 results.
 *
 * Layer: backends.  Kernel code.  A slice of 32 inner values of 64 rows and 64 columns lies in local memory; each
 * work-item keeps four by four results.
 */
#ifndef SR_GPU_MUL_MAT_TILES_H
#define SR_GPU_MUL_MAT_TILES_H

typedef struct gpu_tile_sums {
    float4 column[4];
} gpu_tile_sums;

DEVICE void clear_sums(gpu_tile_sums *s) {
    UNROLL for (gpu_int c = 0; c < 4; c++) {
        s->column[c].x = s->column[c].y = s->column[c].z = s->column[c].w = 0.0f;
    }
}

DEVICE void add_scaled(float4 *sum, const float4 a, float b) {
    sum->x += a.x * b;
    sum->y += a.y * b;
    sum->z += a.z * b;
    sum->w += a.w * b;
}

/* A slice: rows[k][64], columns[k][64]. */
DEVICE void add_slice(LOCAL_POINTER const float4 *rows, LOCAL_POINTER const float4 *columns, gpu_int t,
                      gpu_tile_sums *s) {
    UNROLL for (gpu_int k = 0; k < GPU_TILE_K; k++) {
        const float4 a = rows[k * (GPU_TILE / 4) + t % 16], b = columns[k * (GPU_TILE / 4) + t / 16];
        add_scaled(&s->column[0], a, b.x);
        add_scaled(&s->column[1], a, b.y);
        add_scaled(&s->column[2], a, b.z);
        add_scaled(&s->column[3], a, b.w);
    }
}

/* Four results of a column from row m on. */
DEVICE void store_sums(GLOBAL float *column, gpu_long m, gpu_long rows, const float4 sum) {
    if (m < rows) { column[m] = sum.x; }
    if (m + 1 < rows) { column[m + 1] = sum.y; }
    if (m + 2 < rows) { column[m + 2] = sum.z; }
    if (m + 3 < rows) { column[m + 3] = sum.w; }
}

/*
 * Groups: row blocks, then column blocks, then planes; with experts (lists is what gpu_sort_experts left) row blocks,
 * then tiles, of which there may be fewer than groups.
 */
KERNEL(gpu_mul_mat_tiles)(OPERAND(y), OPERAND(a), OPERAND(b), GLOBAL const gpu_int *lists, const gpu_int experts,
                          const gpu_int most_tiles) {
    LOCAL_ARRAY float4 rows[GPU_TILE_K * GPU_TILE / 4];
    LOCAL_ARRAY float4 columns[GPU_TILE_K * GPU_TILE / 4];
    LOCAL_ARRAY gpu_long y_at[GPU_TILE], b_at[GPU_TILE]; /* offsets of the tile's columns */
    const gpu_long row_blocks = (y.ne[0] + GPU_TILE - 1) / GPU_TILE;
    const gpu_long row0 = GROUP_ID(0) % row_blocks * GPU_TILE, place = GROUP_ID(0) / row_blocks, k = a.ne[0];
    const gpu_int t = LOCAL_ID(0), lane = t % GPU_TILE, part = t / GPU_TILE * 8;
    gpu_long a2 = 0, a3 = 0;
    gpu_int n = 0;
    if (experts > 0) {
        GLOBAL const gpu_int *tile = lists + GPU_EXPERT_TILES_AT(experts) + 3 * place;
        const gpu_int exists = place < lists[experts];
        n = exists ? tile[2] : 0;
        a2 = exists ? tile[0] : 0;
        if (t < n) {
            const gpu_int i = lists[GPU_EXPERT_COLUMNS_AT(experts, most_tiles) + tile[1] + t];
            const gpu_long slot = i % (gpu_int)y.ne[1], token = i / (gpu_int)y.ne[1];
            y_at[t] = y.offset + slot * y.nb[1] + token * y.nb[2];
            b_at[t] = b.offset + slot % b.ne[1] * b.nb[1] + token * b.nb[2];
        }
    } else {
        const gpu_long column_blocks = (y.ne[1] + GPU_TILE - 1) / GPU_TILE;
        const gpu_long column0 = place % column_blocks * GPU_TILE, plane = place / column_blocks;
        const gpu_long i2 = plane % y.ne[2], i3 = plane / y.ne[2];
        n = (gpu_int)(y.ne[1] - column0 < GPU_TILE ? y.ne[1] - column0 : GPU_TILE);
        a2 = i2 / (b.ne[2] / a.ne[2]);
        a3 = i3 / (b.ne[3] / a.ne[3]);
        if (t < n) {
            y_at[t] = y.offset + (column0 + t) * y.nb[1] + i2 * y.nb[2] + i3 * y.nb[3];
            b_at[t] = b.offset + (column0 + t) * b.nb[1] + i2 * b.nb[2] + i3 * b.nb[3];
        }
    }
    BARRIER();
    gpu_tile_sums sums;
    clear_sums(&sums);
    const gpu_long row = row0 + lane < y.ne[0] ? row0 + lane : y.ne[0] - 1;
    GLOBAL const gpu_byte *a_row = ELEMENT(a, 0, row, a2, a3);
    for (gpu_long k0 = 0; k0 < (n > 0 ? k : 0); k0 += GPU_TILE_K) {
        float w[8], x[8];
        UNROLL for (gpu_int e = 0; e < 8; e++) {
            w[e] = x[e] = 0.0f;
        }
        if (k0 + part < k) {
            weights_8(a.type, a_row, k0 + part, k, w);
            if (lane < n) {
                floats_8((GLOBAL const float *)(b_memory + b_at[lane]), k0 + part, k, x);
            }
        }
        UNROLL for (gpu_int e = 0; e < 8; e++) {
            ((LOCAL_POINTER float *)rows)[(part + e) * GPU_TILE + lane] = w[e];
            ((LOCAL_POINTER float *)columns)[(part + e) * GPU_TILE + lane] = x[e];
        }
        BARRIER();
        add_slice(rows, columns, t, &sums);
        BARRIER();
    }
    UNROLL for (gpu_int c = 0; c < 4; c++) {
        const gpu_int column = t / 16 * 4 + c;
        if (column < n) {
            store_sums((GLOBAL float *)(y_memory + y_at[column]), row0 + t % 16 * 4, y.ne[0], sums.column[c]);
        }
    }
}

/* y[m, n] = sum over k of a[m, k] * b[n, k].  Groups: row blocks, then column blocks, then planes. */
KERNEL(gpu_out_prod)(OPERAND(y), OPERAND(a), OPERAND(b)) {
    LOCAL_ARRAY float4 rows[GPU_TILE_K * GPU_TILE / 4];
    LOCAL_ARRAY float4 columns[GPU_TILE_K * GPU_TILE / 4];
    const gpu_long row_blocks = (y.ne[0] + GPU_TILE - 1) / GPU_TILE;
    const gpu_long column_blocks = (y.ne[1] + GPU_TILE - 1) / GPU_TILE;
    const gpu_long row0 = GROUP_ID(0) % row_blocks * GPU_TILE, place = GROUP_ID(0) / row_blocks, k = a.ne[1];
    const gpu_long column0 = place % column_blocks * GPU_TILE, plane = place / column_blocks;
    const gpu_long i2 = plane % y.ne[2], i3 = plane / y.ne[2];
    const gpu_int t = LOCAL_ID(0), lane = t % GPU_TILE, part = t / GPU_TILE * 8;
    const gpu_long column = column0 + lane, m = row0 + t % 8 * 8;
    gpu_tile_sums sums;
    clear_sums(&sums);
    for (gpu_long k0 = 0; k0 < k; k0 += GPU_TILE_K) {
        float w[8], x[8];
        UNROLL for (gpu_int e = 0; e < 8; e++) {
            const gpu_long at = k0 + part + e;
            w[e] = 0.0f;
            x[e] = column < y.ne[1] && at < k ? *(GLOBAL const float *)ELEMENT(b, column, at, i2, i3) : 0.0f;
        }
        if (k0 + t / 8 < k && m < y.ne[0]) {
            weights_8(a.type, ELEMENT(a, 0, k0 + t / 8, i2 / (b.ne[2] / a.ne[2]), i3 / (b.ne[3] / a.ne[3])), m, y.ne[0],
                      w);
        }
        UNROLL for (gpu_int e = 0; e < 8; e++) {
            ((LOCAL_POINTER float *)rows)[t / 8 * GPU_TILE + t % 8 * 8 + e] = w[e];
            ((LOCAL_POINTER float *)columns)[(part + e) * GPU_TILE + lane] = x[e];
        }
        BARRIER();
        add_slice(rows, columns, t, &sums);
        BARRIER();
    }
    UNROLL for (gpu_int c = 0; c < 4; c++) {
        const gpu_long i1 = column0 + t / 16 * 4 + c;
        if (i1 < y.ne[1]) {
            store_sums((GLOBAL float *)ELEMENT(y, 0, i1, i2, i3), row0 + t % 16 * 4, y.ne[0], sums.column[c]);
        }
    }
}

#endif
