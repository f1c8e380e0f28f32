/*
 * row_access.h - GET_ROWS, SET_ROWS, GET_ROWS_BACK: rows by an index, which must lie within the table.
 *
 * Layer: backends.  Kernel code.
 */
#ifndef SR_GPU_ROW_ACCESS_H
#define SR_GPU_ROW_ACCESS_H

DEVICE gpu_long load_index(gpu_int type, GLOBAL const gpu_byte *p) {
    return type == GPU_I64 ? *(GLOBAL const gpu_long *)p : (gpu_long)*(GLOBAL const gpu_int *)p;
}

/* An item reads an element of a table of plain type, i32 as i32, or eight values of blocks. */
KERNEL(gpu_get_rows)(OPERAND(dst), OPERAND(a), OPERAND(b), const gpu_int eights, FAULT) {
    const gpu_long unit = eights ? 8 : 1, per_row = dst.ne[0] / unit;
    EACH_ITEM(i, per_row * N_ROWS(dst)) {
        const gpu_index at = index_of(i, per_row, dst.ne[1], dst.ne[2]);
        const gpu_long row = load_index(b.type, ELEMENT(b, at.i1, at.i2, at.i3, 0));
        if (row < 0 || row >= a.ne[1]) {
            RAISE_FAULT();
            continue;
        }
        GLOBAL gpu_byte *to = ELEMENT(dst, at.i0 * unit, at.i1, at.i2, at.i3);
        if (eights) {
            store_values_8(a.type, ELEMENT(a, 0, row, at.i2, at.i3), at.i0 * unit, (GLOBAL float *)to);
        } else if (a.type == GPU_I32) {
            *(GLOBAL gpu_int *)to = *(GLOBAL const gpu_int *)ELEMENT(a, at.i0, row, at.i2, at.i3);
        } else {
            *(GLOBAL float *)to = load_element(a.type, ELEMENT(a, at.i0, row, at.i2, at.i3));
        }
    }
}

/* An item stores an element, or a block of `size` bytes. */
KERNEL(gpu_set_rows)(OPERAND(dst), OPERAND(a), OPERAND(b), const gpu_int block, const gpu_int size, FAULT) {
    const gpu_long per_row = a.ne[0] / block;
    EACH_ITEM(i, per_row * N_ROWS(a)) {
        const gpu_index at = index_of(i, per_row, a.ne[1], a.ne[2]);
        const gpu_long row =
            load_index(b.type, ELEMENT(b, at.i1, wrapped(at.i2, b.ne[1]), wrapped(at.i3, b.ne[2]), 0));
        if (row < 0 || row >= dst.ne[1]) {
            RAISE_FAULT();
            continue;
        }
        GLOBAL const float *from = (GLOBAL const float *)ELEMENT(a, at.i0 * block, at.i1, at.i2, at.i3);
        GLOBAL gpu_byte *to = ELEMENT(dst, 0, row, at.i2, at.i3) + at.i0 * size;
        if (block == 1) {
            store_element(dst.type, to, *from);
        } else {
            float x[QUANT_BLOCK];
            load_block(GPU_F32, (GLOBAL const gpu_byte *)from, 4, x);
            store_block(dst.type, x, to);
        }
    }
}

/* Gradients are added to the rows that they came from, in order: an item takes an element of the table. */
KERNEL(gpu_get_rows_back)(OPERAND(dst), OPERAND(a), OPERAND(b), FAULT) {
    EACH_ITEM(i, dst.ne[0] * dst.ne[1]) {
        const gpu_index at = INDEX_IN(dst, i);
        float sum = 0.0f;
        for (gpu_long j = 0; j < b.ne[0]; j++) {
            const gpu_long row = load_index(b.type, ELEMENT(b, j, 0, 0, 0));
            if (row < 0 || row >= dst.ne[1]) {
                RAISE_FAULT();
            } else if (row == at.i1) {
                sum += load_element(a.type, ELEMENT(a, at.i0, j, 0, 0));
            }
        }
        *(GLOBAL float *)ELEMENT_AT(dst, at) = sum;
    }
}

#endif
