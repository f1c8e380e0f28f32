/*
 * quantize.h - blocks of 32 values into q4_0, q4_1, q5_0, q5_1, q8_0, iq4_nl: the reference quantizers to the bit; and
 * CPY between plain types and blocks.
 *
 * Layer: backends.  Kernel code.  What the CPU does is in src/graph/quant_*.c.
 */
#ifndef SR_GPU_QUANTIZE_H
#define SR_GPU_QUANTIZE_H

enum { QUANT_BLOCK = 32 };

DEVICE float reciprocal(float d) { return d != 0.0f ? exact_quotient(1.0f, d) : 0.0f; }

/* The value of the largest magnitude with its sign, the first of equals. */
DEVICE float signed_extreme(const float *x) {
    float largest = 0.0f, extreme = 0.0f;
    for (gpu_int i = 0; i < QUANT_BLOCK; i++) {
        if (fabs(x[i]) > largest) {
            largest = fabs(x[i]);
            extreme = x[i];
        }
    }
    return extreme;
}

/* The low eight bits of a number cut or rounded to a whole one, at most `most`. */
DEVICE gpu_uint code_of(float x, gpu_uint most) {
    const gpu_uint code = (gpu_uint)whole_number(x) & 255u;
    return code < most ? code : most;
}

/* Four bits a value, the fifth in a word. */
DEVICE void put_codes(const gpu_byte *codes, gpu_int five, GLOBAL gpu_byte *to) {
    gpu_uint high = 0;
    GLOBAL gpu_byte *low = five ? to + 4 : to;
    for (gpu_int i = 0; i < QUANT_BLOCK / 2; i++) {
        low[i] = (gpu_byte)((codes[i] & 15) | (codes[i + 16] & 15) << 4);
        high |= (gpu_uint)(codes[i] >> 4) << i | (gpu_uint)(codes[i + 16] >> 4) << (i + 16);
    }
    for (gpu_int i = 0; five && i < 4; i++) {
        to[i] = (gpu_byte)(high >> 8 * i);
    }
}

/* q4_0 and q5_0: multiples of a scale, with the extreme value at the lowest code. */
DEVICE void store_centred(const float *x, gpu_int five, GLOBAL gpu_byte *to) {
    gpu_byte codes[QUANT_BLOCK];
    const float middle = five ? 16.0f : 8.0f, d = signed_extreme(x) / -middle, inverse = reciprocal(d);
    STORE_HALF(to, d);
    for (gpu_int i = 0; i < QUANT_BLOCK; i++) {
        codes[i] = (gpu_byte)code_of(PRODUCT(x[i], inverse) + (middle + 0.5f), five ? 31 : 15);
    }
    put_codes(codes, five, to + 2);
}

/* q4_1 and q5_1: multiples of a scale above the least value. */
DEVICE void store_ranged(const float *x, gpu_int five, GLOBAL gpu_byte *to) {
    gpu_byte codes[QUANT_BLOCK];
    float low = 3.40282347e+38f, high = -3.40282347e+38f;
    for (gpu_int i = 0; i < QUANT_BLOCK; i++) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    const float d = exact_quotient(high - low, five ? 31.0f : 15.0f), inverse = reciprocal(d);
    STORE_HALF(to, d);
    STORE_HALF(to + 2, low);
    for (gpu_int i = 0; i < QUANT_BLOCK; i++) {
        codes[i] = (gpu_byte)code_of(PRODUCT(x[i] - low, inverse) + 0.5f, five ? 255 : 15);
    }
    put_codes(codes, five, to + 4);
}

DEVICE void store_q8_0(const float *x, GLOBAL gpu_byte *to) {
    const float d = exact_quotient(fabs(signed_extreme(x)), 127.0f), inverse = reciprocal(d);
    STORE_HALF(to, d);
    for (gpu_int i = 0; i < QUANT_BLOCK; i++) {
        to[2 + i] = (gpu_byte)code_of(round(PRODUCT(x[i], inverse)), 255);
    }
}

CONSTANT float IQ4_LEVELS[16] = {-127.0f, -104.0f, -83.0f, -65.0f, -49.0f, -35.0f, -22.0f, -10.0f,
                                 1.0f,    13.0f,   25.0f,  38.0f,  53.0f,  69.0f,  89.0f,  113.0f};

/* The nearest level; a tie goes to the larger one, NaN to the last. */
DEVICE gpu_int nearest_level(float v) {
    if (v <= IQ4_LEVELS[0]) {
        return 0;
    }
    if (!(v < IQ4_LEVELS[15])) {
        return 15;
    }
    gpu_int u = 1;
    while (v >= IQ4_LEVELS[u]) {
        u++;
    }
    return v - IQ4_LEVELS[u - 1] < IQ4_LEVELS[u] - v ? u - 1 : u;
}

/* The levels are no multiples of a scale: the one stored fits the chosen ones best. */
DEVICE void store_iq4_nl(const float *x, GLOBAL gpu_byte *to) {
    gpu_byte codes[QUANT_BLOCK];
    const float extreme = signed_extreme(x);
    float products = 0.0f, squares = 0.0f;
    const gpu_int empty = fabs(extreme) < 1e-15f;
    const float inverse = empty ? 0.0f : exact_quotient(1.0f, exact_quotient(extreme, -127.0f));
    for (gpu_int i = 0; i < QUANT_BLOCK; i++) {
        const gpu_int code = empty ? 0 : nearest_level(PRODUCT(inverse, x[i]));
        const float q = IQ4_LEVELS[code], weighted = PRODUCT(PRODUCT(x[i], x[i]), q);
        codes[i] = (gpu_byte)code;
        products += PRODUCT(weighted, x[i]);
        squares += PRODUCT(weighted, q);
    }
    STORE_HALF(to, !empty && squares > 0.0f ? exact_quotient(products, squares) : 0.0f);
    put_codes(codes, 0, to + 2);
}

DEVICE void store_block(gpu_int type, const float *x, GLOBAL gpu_byte *to) {
    switch (type) {
    case GPU_Q4_0: store_centred(x, 0, to); break;
    case GPU_Q5_0: store_centred(x, 1, to); break;
    case GPU_Q4_1: store_ranged(x, 0, to); break;
    case GPU_Q5_1: store_ranged(x, 1, to); break;
    case GPU_Q8_0: store_q8_0(x, to); break;
    case GPU_IQ4_NL: store_iq4_nl(x, to); break;
    default: break;
    }
}

/* Eight values of a dense row of blocks. */
DEVICE void store_values_8(gpu_int type, GLOBAL const gpu_byte *row, gpu_long i, GLOBAL float *to) {
    const gpu_codes codes = codes_at(type, row, i);
    for (gpu_int e = 0; e < 8; e++) {
        to[e] = code_value(&codes, e);
    }
}

/* A block of elements of a plain type, each nb0 bytes after the one before. */
DEVICE void load_block(gpu_int type, GLOBAL const gpu_byte *from, gpu_long nb0, float *x) {
    for (gpu_int i = 0; i < QUANT_BLOCK; i++) {
        x[i] = load_element(type, from + i * nb0);
    }
}

/* Rows of a, one after the other, into a contiguous dst of blocks of `size` bytes. */
KERNEL(gpu_quantize)(OPERAND(dst), OPERAND(a), const gpu_int size) {
    const gpu_long per_row = a.ne[0] / QUANT_BLOCK;
    EACH_ITEM(i, per_row * N_ROWS(a)) {
        const gpu_index at = index_of(i, per_row, a.ne[1], a.ne[2]);
        float x[QUANT_BLOCK];
        load_block(a.type, ELEMENT(a, at.i0 * QUANT_BLOCK, at.i1, at.i2, at.i3), a.nb[0], x);
        store_block(dst.type, x, dst_memory + dst.offset + i * size);
    }
}

/* Values of blocks into f32, eight an item; both sides are counted in logical order and break at eights at most.
 * block: values of one; blocks of a row may be apart. */
KERNEL(gpu_dequantize)(OPERAND(dst), OPERAND(a), const gpu_int block) {
    EACH_ITEM(i, N_ELEMENTS(dst) / 8) {
        const gpu_index to = INDEX_IN(dst, 8 * i), from = INDEX_IN(a, 8 * i);
        const gpu_long before = quotient(from.i0, block);
        store_values_8(a.type, ROW_AT(a, from) + before * a.nb[0], from.i0 - before * block,
                       (GLOBAL float *)ELEMENT_AT(dst, to));
    }
}

#endif
