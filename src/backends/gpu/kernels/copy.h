/*
 * copy.h - CPY, DUP, CONT, CONCAT, REPEAT, REPEAT_BACK, SET, ACC: elements laid out anew.
 *
 * Layer: backends.  Kernel code.  Both sides of a copy are counted in logical order, each in its own extents.
 */
#ifndef SR_GPU_COPY_H
#define SR_GPU_COPY_H

/* One unit of `size` bytes, which may be a block; step: what both addresses and the size are multiples of, 1 or 2,
 * where the size is none of 1, 2, 4, 8. */
DEVICE void copy_unit(GLOBAL gpu_byte *to, GLOBAL const gpu_byte *from, gpu_int size, gpu_int step) {
    switch (size) {
    case 1: *to = *from; break;
    case 2: *(GLOBAL gpu_ushort *)to = *(GLOBAL const gpu_ushort *)from; break;
    case 4: *(GLOBAL gpu_uint *)to = *(GLOBAL const gpu_uint *)from; break;
    case 8: *(GLOBAL gpu_long *)to = *(GLOBAL const gpu_long *)from; break;
    default:
        for (gpu_int i = 0; i < size; i += step) {
            if (step == 2) {
                *(GLOBAL gpu_ushort *)(to + i) = *(GLOBAL const gpu_ushort *)(from + i);
            } else {
                to[i] = from[i];
            }
        }
    }
}

/* Extents count units here. */
KERNEL(gpu_copy_units)(OPERAND(dst), OPERAND(a), const gpu_int size, const gpu_int step) {
    EACH_ITEM(i, N_ELEMENTS(dst)) {
        const gpu_index to = INDEX_IN(dst, i), from = INDEX_IN(a, i);
        copy_unit(ELEMENT_AT(dst, to), ELEMENT_AT(a, from), size, step);
    }
}

/* Between plain types. */
KERNEL(gpu_convert)(OPERAND(dst), OPERAND(a)) {
    EACH_ITEM(i, N_ELEMENTS(dst)) {
        const gpu_index to = INDEX_IN(dst, i), from = INDEX_IN(a, i);
        store_element(dst.type, ELEMENT_AT(dst, to), load_element(a.type, ELEMENT_AT(a, from)));
    }
}

/* a, and from place n of dimension dim on b; size: bytes of an element. */
KERNEL(gpu_concat)(OPERAND(dst), OPERAND(a), OPERAND(b), const gpu_int dim, const gpu_long n, const gpu_int size) {
    EACH_ITEM(i, N_ELEMENTS(dst)) {
        const gpu_index to = INDEX_IN(dst, i);
        gpu_index at = to;
        const gpu_long place = dim == 0 ? at.i0 : dim == 1 ? at.i1 : dim == 2 ? at.i2 : at.i3;
        if (place < n) {
            copy_unit(ELEMENT_AT(dst, to), ELEMENT_AT(a, at), size, 1);
            continue;
        }
        at.i0 -= dim == 0 ? n : 0;
        at.i1 -= dim == 1 ? n : 0;
        at.i2 -= dim == 2 ? n : 0;
        at.i3 -= dim == 3 ? n : 0;
        copy_unit(ELEMENT_AT(dst, to), ELEMENT_AT(b, at), size, 1);
    }
}

KERNEL(gpu_repeat)(OPERAND(dst), OPERAND(a), const gpu_int size) {
    EACH_ITEM(i, N_ELEMENTS(dst)) {
        const gpu_index at = INDEX_IN(dst, i);
        copy_unit(ELEMENT_AT(dst, at), ELEMENT(a, wrapped(at.i0, a.ne[0]), wrapped(at.i1, a.ne[1]),
                                               wrapped(at.i2, a.ne[2]), wrapped(at.i3, a.ne[3])), size, 1);
    }
}

/* Each element is the sum of those of a that would come from it. */
KERNEL(gpu_repeat_back)(OPERAND(dst), OPERAND(a)) {
    EACH_ITEM(i, N_ELEMENTS(dst)) {
        const gpu_index at = INDEX_IN(dst, i);
        float sum = 0.0f;
        for (gpu_long i3 = at.i3; i3 < a.ne[3]; i3 += dst.ne[3]) {
            for (gpu_long i2 = at.i2; i2 < a.ne[2]; i2 += dst.ne[2]) {
                for (gpu_long i1 = at.i1; i1 < a.ne[1]; i1 += dst.ne[1]) {
                    for (gpu_long i0 = at.i0; i0 < a.ne[0]; i0 += dst.ne[0]) {
                        sum += *(GLOBAL const float *)ELEMENT(a, i0, i1, i2, i3);
                    }
                }
            }
        }
        *(GLOBAL float *)ELEMENT_AT(dst, at) = sum;
    }
}

/* dst: the part of the result; with one item only where its rows may overlap, so that the order is the CPU's. */
KERNEL(gpu_accumulate)(OPERAND(dst), OPERAND(b)) {
    EACH_ITEM(i, N_ELEMENTS(dst)) {
        const gpu_index at = INDEX_IN(dst, i);
        *(GLOBAL float *)ELEMENT_AT(dst, at) += *(GLOBAL const float *)ELEMENT_AT(b, at);
    }
}

#endif
