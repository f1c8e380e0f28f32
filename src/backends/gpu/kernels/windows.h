/*
 * windows.h - WIN_PART, WIN_UNPART, GET_REL_POS, ADD_REL_POS: an image as windows, positions in them; SOLVE_TRI.
 *
 * Layer: backends.  Kernel code.
 */
#ifndef SR_GPU_WINDOWS_H
#define SR_GPU_WINDOWS_H

/* Windows of w by w, `across` of them side by side: a is the image, or with back set the windows. */
KERNEL(gpu_windows)(OPERAND(dst), OPERAND(a), const gpu_long w, const gpu_long across, const gpu_int back) {
    EACH_ITEM(i, N_ELEMENTS(dst)) {
        const gpu_index at = INDEX_IN(dst, i);
        float value = 0.0f;
        if (back) {
            const gpu_long column = at.i1 / w, row = at.i2 / w;
            value = *(GLOBAL const float *)ELEMENT(a, at.i0, at.i1 - column * w, at.i2 - row * w,
                                                   row * across + column);
        } else {
            const gpu_long x = at.i3 % across * w + at.i1, y = at.i3 / across * w + at.i2;
            if (x < a.ne[1] && y < a.ne[2]) {
                value = *(GLOBAL const float *)ELEMENT(a, at.i0, x, y, 0);
            }
        }
        *(GLOBAL float *)ELEMENT_AT(dst, at) = value;
    }
}

/* Row (k, q) is the source's row at their distance; patterns of 16 bits go over as they are. */
KERNEL(gpu_relative_rows)(OPERAND(dst), OPERAND(a)) {
    EACH_ITEM(i, N_ELEMENTS(dst)) {
        const gpu_index at = INDEX_IN(dst, i);
        *(GLOBAL gpu_ushort *)ELEMENT_AT(dst, at) =
            *(GLOBAL const gpu_ushort *)ELEMENT(a, at.i0, dst.ne[1] - 1 - at.i1 + at.i2, 0, 0);
    }
}

/* b: what the place in a row of a window adds, c: what the row adds; all contiguous. */
KERNEL(gpu_add_positions)(OPERAND(dst), OPERAND(a), OPERAND(b), OPERAND(c)) {
    const gpu_long w = b.ne[0];
    GLOBAL const float *from = (GLOBAL const float *)(a_memory + a.offset);
    GLOBAL const float *by_column = (GLOBAL const float *)(b_memory + b.offset);
    GLOBAL const float *by_row = (GLOBAL const float *)(c_memory + c.offset);
    EACH_ITEM(i, N_ELEMENTS(dst)) {
        const gpu_long window = quotient(i, dst.ne[0]), place = i - window * dst.ne[0], y = quotient(place, w);
        ((GLOBAL float *)(dst_memory + dst.offset))[i] =
            from[i] + by_column[window * w + place - y * w] + by_row[window * w + y];
    }
}

/* Lower triangular a, right hand sides b: an item solves for a column. */
KERNEL(gpu_solve_tri)(OPERAND(dst), OPERAND(a), OPERAND(b)) {
    const gpu_long rows = dst.ne[1], columns = dst.ne[0];
    EACH_ITEM(i, columns * dst.ne[2] * dst.ne[3]) {
        const gpu_index at = index_of(i, columns, dst.ne[2], dst.ne[3]); /* column, i2, i3 */
        GLOBAL const float *matrix = (GLOBAL const float *)ELEMENT(a, 0, 0, at.i1, at.i2);
        GLOBAL const float *right = (GLOBAL const float *)ELEMENT(b, at.i0, 0, at.i1, at.i2);
        GLOBAL float *y = (GLOBAL float *)ELEMENT(dst, at.i0, 0, at.i1, at.i2);
        for (gpu_long row = 0; row < rows; row++) {
            float known = 0.0f;
            for (gpu_long t = 0; t < row; t++) {
                known += matrix[row * rows + t] * y[t * columns];
            }
            y[row * columns] = (right[row * columns] - known) / matrix[row * rows + row];
        }
    }
}

#endif
