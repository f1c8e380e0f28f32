/*
 * dequantize.h - values of rows of every type that can be read, eight at a time or one.
 *
 * Layer: backends.  Kernel code.  Answers to the dequantizers of ggml-quants.c of the reference; src/graph/quant_*.c
 * says the same for the host.  Every quantized type has the form value = scale * (code - bias) - min, and eight values
 * that begin at a multiple of eight share scale and min in all of them.  Rows must be dense and begin at a multiple of
 * two bytes (mxfp4: at any), plain rows at a multiple of their element.
 */
#ifndef SR_GPU_DEQUANTIZE_H
#define SR_GPU_DEQUANTIZE_H

enum {
    GPU_Q4_0 = 2, GPU_Q4_1 = 3, GPU_Q5_0 = 6, GPU_Q5_1 = 7, GPU_Q8_0 = 8, GPU_Q8_1 = 9, GPU_Q2_K = 10, GPU_Q3_K = 11,
    GPU_Q4_K = 12, GPU_Q5_K = 13, GPU_Q6_K = 14, GPU_Q8_K = 15, GPU_IQ4_NL = 20, GPU_IQ4_XS = 23, GPU_TQ1_0 = 34,
    GPU_TQ2_0 = 35, GPU_MXFP4 = 39, GPU_NVFP4 = 40, GPU_Q1_0 = 41
};

/* Eight codes, a byte each, the first in the lowest byte of low. */
typedef struct gpu_codes {
    gpu_uint low, high;
    gpu_int bias;
    float scale, min;
} gpu_codes;

/* Four-bit codes that stand for entries of a table, as bytes above a bias. */
enum { K4_BIAS = 128, E2_BIAS = 12 };
CONSTANT gpu_byte K4_CODES[16] = {1, 24, 45, 63, 79, 93, 106, 118, 129, 141, 153, 166, 181, 197, 217, 241};
CONSTANT gpu_byte E2_CODES[16] = {12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0};

DEVICE gpu_uint word_at(GLOBAL const gpu_byte *p) {
    return (gpu_uint)((GLOBAL const gpu_ushort *)p)[0] | (gpu_uint)((GLOBAL const gpu_ushort *)p)[1] << 16;
}

/* Eight bytes, each shifted right and masked. */
DEVICE gpu_codes bytes_at(GLOBAL const gpu_byte *p, gpu_int shift, gpu_uint mask) {
    gpu_codes c = {(word_at(p) >> shift) & mask, (word_at(p + 4) >> shift) & mask, 0, 0.0f, 0.0f};
    return c;
}

/* The same at any address. */
DEVICE gpu_codes odd_bytes_at(GLOBAL const gpu_byte *p, gpu_int shift, gpu_uint mask) {
    gpu_uint low = 0, high = 0;
    for (gpu_int e = 0; e < 4; e++) {
        low |= (gpu_uint)p[e] << 8 * e;
        high |= (gpu_uint)p[e + 4] << 8 * e;
    }
    gpu_codes c = {(low >> shift) & mask, (high >> shift) & mask, 0, 0.0f, 0.0f};
    return c;
}

/* Nibbles of a 32-value block: value j < 16 is the low half of byte j, value j + 16 the high half. */
DEVICE gpu_codes nibbles_at(GLOBAL const gpu_byte *qs, gpu_int j) {
    return bytes_at(qs + (j & 15), j < 16 ? 0 : 4, 0x0f0f0f0fu);
}

/* The lowest four bits as the lowest bits of four bytes. */
DEVICE gpu_uint spread_bits(gpu_uint bits) { return ((bits & 15u) * 0x00204081u) & 0x01010101u; }

/* Bits j to j + 7 of a word, as bit `at` of the codes. */
DEVICE void add_bits(gpu_codes *c, gpu_uint word, gpu_int j, gpu_int at) {
    c->low |= spread_bits(word >> j) << at;
    c->high |= spread_bits(word >> (j + 4)) << at;
}

/* Bit `bit` of eight bytes, as bits at `at` and above of the codes; mask says how many. */
DEVICE void add_planes(gpu_codes *c, GLOBAL const gpu_byte *p, gpu_int bit, gpu_uint mask, gpu_int at) {
    const gpu_codes h = bytes_at(p, bit, mask);
    c->low |= h.low << at;
    c->high |= h.high << at;
}

DEVICE gpu_uint look_up(CONSTANT_POINTER gpu_byte *table, gpu_uint codes) {
    return (gpu_uint)table[codes & 15u] | (gpu_uint)table[(codes >> 8) & 15u] << 8 |
           (gpu_uint)table[(codes >> 16) & 15u] << 16 | (gpu_uint)table[(codes >> 24) & 15u] << 24;
}

DEVICE void look_up_k4(gpu_codes *c, float scale) {
    c->low = look_up(K4_CODES, c->low);
    c->high = look_up(K4_CODES, c->high);
    c->bias = K4_BIAS;
    c->scale = scale;
}

DEVICE void look_up_e2(gpu_codes *c, float scale) {
    c->low = look_up(E2_CODES, c->low);
    c->high = look_up(E2_CODES, c->high);
    c->bias = E2_BIAS;
    c->scale = scale;
}

/* ---- blocks of 32, 64 and 128 ---------------------------------------------------------------------------------- */

DEVICE gpu_codes codes_q4_0(GLOBAL const gpu_byte *row, gpu_long i) {
    GLOBAL const gpu_byte *p = row + (i >> 5) * 18;
    gpu_codes c = nibbles_at(p + 2, (gpu_int)(i & 31));
    c.bias = 8;
    c.scale = LOAD_HALF(p);
    return c;
}

DEVICE gpu_codes codes_q4_1(GLOBAL const gpu_byte *row, gpu_long i) {
    GLOBAL const gpu_byte *p = row + (i >> 5) * 20;
    gpu_codes c = nibbles_at(p + 4, (gpu_int)(i & 31));
    c.scale = LOAD_HALF(p);
    c.min = -LOAD_HALF(p + 2);
    return c;
}

DEVICE gpu_codes codes_q5_0(GLOBAL const gpu_byte *row, gpu_long i) {
    GLOBAL const gpu_byte *p = row + (i >> 5) * 22;
    gpu_codes c = nibbles_at(p + 6, (gpu_int)(i & 31));
    add_bits(&c, word_at(p + 2), (gpu_int)(i & 31), 4);
    c.bias = 16;
    c.scale = LOAD_HALF(p);
    return c;
}

DEVICE gpu_codes codes_q5_1(GLOBAL const gpu_byte *row, gpu_long i) {
    GLOBAL const gpu_byte *p = row + (i >> 5) * 24;
    gpu_codes c = nibbles_at(p + 8, (gpu_int)(i & 31));
    add_bits(&c, word_at(p + 4), (gpu_int)(i & 31), 4);
    c.scale = LOAD_HALF(p);
    c.min = -LOAD_HALF(p + 2);
    return c;
}

/* Signed bytes as unsigned ones above 128. */
DEVICE gpu_codes signed_bytes_at(GLOBAL const gpu_byte *p, float scale) {
    gpu_codes c = {word_at(p) ^ 0x80808080u, word_at(p + 4) ^ 0x80808080u, 128, scale, 0.0f};
    return c;
}

DEVICE gpu_codes codes_q8(gpu_int type, GLOBAL const gpu_byte *row, gpu_long i) {
    if (type == GPU_Q8_K) {
        GLOBAL const gpu_byte *super = row + (i >> 8) * 292;
        return signed_bytes_at(super + 4 + (i & 255), BITS_FLOAT(word_at(super)));
    }
    const gpu_int header = type == GPU_Q8_0 ? 2 : 4;
    GLOBAL const gpu_byte *p = row + (i >> 5) * (32 + header);
    return signed_bytes_at(p + header + (i & 31), LOAD_HALF(p));
}

DEVICE gpu_codes codes_iq4_nl(GLOBAL const gpu_byte *row, gpu_long i) {
    GLOBAL const gpu_byte *p = row + (i >> 5) * 18;
    gpu_codes c = nibbles_at(p + 2, (gpu_int)(i & 31));
    look_up_k4(&c, LOAD_HALF(p));
    return c;
}

DEVICE gpu_codes codes_mxfp4(GLOBAL const gpu_byte *row, gpu_long i) {
    GLOBAL const gpu_byte *p = row + (i >> 5) * 17;
    const gpu_uint e = p[0];
    gpu_codes c = odd_bytes_at(p + 1 + (i & 15), (i & 31) < 16 ? 0 : 4, 0x0f0f0f0fu);
    look_up_e2(&c, BITS_FLOAT(e < 2u ? 0x00200000u << e : (e - 1u) << 23));
    return c;
}

/* Half of an unsigned e4m3 scale; bit 7 counts in 0xff alone. */
DEVICE float e4m3_half(gpu_uint b) {
    const gpu_uint e = (b >> 3) & 15u, m = b & 7u;
    if (b == 0u || b == 0x7fu) {
        return 0.0f;
    }
    return e == 0u ? (float)m * 0.0009765625f : BITS_FLOAT((e + 119u) << 23 | m << 20);
}

DEVICE gpu_codes codes_nvfp4(GLOBAL const gpu_byte *row, gpu_long i) {
    GLOBAL const gpu_byte *p = row + (i >> 6) * 36;
    const gpu_int s = (gpu_int)((i & 63) >> 4);
    gpu_codes c = bytes_at(p + 4 + 8 * s, (i & 15) < 8 ? 0 : 4, 0x0f0f0f0fu);
    look_up_e2(&c, e4m3_half(p[s]));
    return c;
}

DEVICE gpu_codes codes_q1_0(GLOBAL const gpu_byte *row, gpu_long i) {
    GLOBAL const gpu_byte *p = row + (i >> 7) * 18;
    gpu_codes c = {0u, 0u, 1, LOAD_HALF(p), 0.0f};
    add_bits(&c, p[2 + ((i & 127) >> 3)], 0, 1);
    return c;
}

/* ---- super-blocks of 256 --------------------------------------------------------------------------------------- */

DEVICE gpu_codes codes_q2_K(GLOBAL const gpu_byte *row, gpu_long i) {
    GLOBAL const gpu_byte *p = row + (i >> 8) * 84;
    const gpu_int j = (gpu_int)(i & 255), scales = p[j >> 4];
    gpu_codes c = bytes_at(p + 16 + 32 * (j >> 7) + (j & 31), 2 * ((j & 127) >> 5), 0x03030303u);
    c.scale = LOAD_HALF(p + 80) * (float)(scales & 15);
    c.min = LOAD_HALF(p + 82) * (float)(scales >> 4);
    return c;
}

DEVICE gpu_codes codes_q3_K(GLOBAL const gpu_byte *row, gpu_long i) {
    GLOBAL const gpu_byte *p = row + (i >> 8) * 110;
    const gpu_int j = (gpu_int)(i & 255), s = j >> 4;
    const gpu_int low = s < 8 ? p[96 + s] & 15 : p[96 + s - 8] >> 4;
    const gpu_int high = (p[104 + (s & 3)] >> 2 * (s >> 2)) & 3;
    gpu_codes c = bytes_at(p + 32 + 32 * (j >> 7) + (j & 31), 2 * ((j & 127) >> 5), 0x03030303u);
    add_planes(&c, p + (j & 31), j >> 5, 0x01010101u, 2);
    c.bias = 4;
    c.scale = LOAD_HALF(p + 108) * (float)(low + 16 * high - 32);
    return c;
}

/* The scale and the minimum (six bits each) of sub-block s of q4_K and q5_K. */
DEVICE void add_scale_min(gpu_codes *c, GLOBAL const gpu_byte *p, gpu_int s) {
    GLOBAL const gpu_byte *sc = p + 4;
    const gpu_int scale = s < 4 ? sc[s] & 63 : (sc[s + 4] & 15) + 16 * (sc[s - 4] >> 6);
    const gpu_int min = s < 4 ? sc[s + 4] & 63 : (sc[s + 4] >> 4) + 16 * (sc[s] >> 6);
    c->scale = LOAD_HALF(p) * (float)scale;
    c->min = LOAD_HALF(p + 2) * (float)min;
}

DEVICE gpu_codes codes_q4_K(GLOBAL const gpu_byte *row, gpu_long i) {
    GLOBAL const gpu_byte *p = row + (i >> 8) * 144;
    const gpu_int j = (gpu_int)(i & 255);
    gpu_codes c = bytes_at(p + 16 + 32 * (j >> 6) + (j & 31), (j & 32) >> 3, 0x0f0f0f0fu);
    add_scale_min(&c, p, j >> 5);
    return c;
}

DEVICE gpu_codes codes_q5_K(GLOBAL const gpu_byte *row, gpu_long i) {
    GLOBAL const gpu_byte *p = row + (i >> 8) * 176;
    const gpu_int j = (gpu_int)(i & 255);
    gpu_codes c = bytes_at(p + 48 + 32 * (j >> 6) + (j & 31), (j & 32) >> 3, 0x0f0f0f0fu);
    add_planes(&c, p + 16 + (j & 31), j >> 5, 0x01010101u, 4);
    add_scale_min(&c, p, j >> 5);
    return c;
}

DEVICE gpu_codes codes_q6_K(GLOBAL const gpu_byte *row, gpu_long i) {
    GLOBAL const gpu_byte *p = row + (i >> 8) * 210;
    const gpu_int j = (gpu_int)(i & 255), part = (j & 127) >> 5;
    const gpu_int scale = p[192 + (j >> 4)];
    gpu_codes c = bytes_at(p + 64 * (j >> 7) + 32 * (part & 1) + (j & 31), part < 2 ? 0 : 4, 0x0f0f0f0fu);
    add_planes(&c, p + 128 + 32 * (j >> 7) + (j & 31), 2 * part, 0x03030303u, 4);
    c.bias = 32;
    c.scale = LOAD_HALF(p + 208) * (float)(scale < 128 ? scale : scale - 256);
    return c;
}

DEVICE gpu_codes codes_iq4_xs(GLOBAL const gpu_byte *row, gpu_long i) {
    GLOBAL const gpu_byte *p = row + (i >> 8) * 136;
    const gpu_int j = (gpu_int)(i & 255), s = j >> 5;
    const gpu_int low = (p[4 + (s >> 1)] >> 4 * (s & 1)) & 15;
    const gpu_int high = (*(GLOBAL const gpu_ushort *)(p + 2) >> 2 * s) & 3;
    gpu_codes c = nibbles_at(p + 8 + 16 * s, j & 31);
    look_up_k4(&c, LOAD_HALF(p) * (float)(low + 16 * high - 32));
    return c;
}

CONSTANT gpu_byte THREE_POWERS[5] = {1, 3, 9, 27, 81};

DEVICE gpu_uint tq1_0_digit(GLOBAL const gpu_byte *p, gpu_int j) {
    const gpu_int byte = j < 160 ? j & 31 : j < 240 ? 32 + ((j - 160) & 15) : 48 + (j & 3);
    const gpu_int digit = j < 160 ? j >> 5 : j < 240 ? (j - 160) >> 4 : (j - 240) >> 2;
    return (((gpu_uint)p[byte] * THREE_POWERS[digit] & 255u) * 3u) >> 8;
}

DEVICE gpu_codes codes_tq1_0(GLOBAL const gpu_byte *row, gpu_long i) {
    GLOBAL const gpu_byte *p = row + (i >> 8) * 54;
    const gpu_int j = (gpu_int)(i & 255);
    gpu_codes c = {0u, 0u, 1, LOAD_HALF(p + 52), 0.0f};
    for (gpu_int e = 0; e < 4; e++) {
        c.low |= tq1_0_digit(p, j + e) << 8 * e;
        c.high |= tq1_0_digit(p, j + e + 4) << 8 * e;
    }
    return c;
}

DEVICE gpu_codes codes_tq2_0(GLOBAL const gpu_byte *row, gpu_long i) {
    GLOBAL const gpu_byte *p = row + (i >> 8) * 66;
    const gpu_int j = (gpu_int)(i & 255);
    gpu_codes c = bytes_at(p + 32 * (j >> 7) + (j & 31), 2 * ((j & 127) >> 5), 0x03030303u);
    c.bias = 1;
    c.scale = LOAD_HALF(p + 64);
    return c;
}

/* ---- any type -------------------------------------------------------------------------------------------------- */

/* Codes of values i to i + 7 of a row of a quantized type; i is a multiple of eight. */
DEVICE gpu_codes codes_at(gpu_int type, GLOBAL const gpu_byte *row, gpu_long i) {
    switch (type) {
    case GPU_Q4_0: return codes_q4_0(row, i);
    case GPU_Q4_1: return codes_q4_1(row, i);
    case GPU_Q5_0: return codes_q5_0(row, i);
    case GPU_Q5_1: return codes_q5_1(row, i);
    case GPU_Q2_K: return codes_q2_K(row, i);
    case GPU_Q3_K: return codes_q3_K(row, i);
    case GPU_Q4_K: return codes_q4_K(row, i);
    case GPU_Q5_K: return codes_q5_K(row, i);
    case GPU_Q6_K: return codes_q6_K(row, i);
    case GPU_IQ4_NL: return codes_iq4_nl(row, i);
    case GPU_IQ4_XS: return codes_iq4_xs(row, i);
    case GPU_TQ1_0: return codes_tq1_0(row, i);
    case GPU_TQ2_0: return codes_tq2_0(row, i);
    case GPU_MXFP4: return codes_mxfp4(row, i);
    case GPU_NVFP4: return codes_nvfp4(row, i);
    case GPU_Q1_0: return codes_q1_0(row, i);
    default: return codes_q8(type, row, i);
    }
}

/* Value e of eight. */
DEVICE float code_value(const gpu_codes *c, gpu_int e) {
    const gpu_uint code = ((e < 4 ? c->low : c->high) >> 8 * (e & 3)) & 255u;
    return c->scale * (float)((gpu_int)code - c->bias) - c->min;
}

/* A type whose elements load_element does not read. */
DEVICE gpu_int is_quantized(gpu_int type) { return type != GPU_F32 && type != GPU_F16 && type != GPU_BF16; }

/* Value i of a dense row of f32, f16, bf16 or a quantized type. */
DEVICE float row_value(gpu_int type, GLOBAL const gpu_byte *row, gpu_long i) {
    if (!is_quantized(type)) {
        return load_element(type, row + i * (type == GPU_F32 ? 4 : 2));
    }
    const gpu_codes c = codes_at(type, row, i & ~(gpu_long)7);
    return code_value(&c, (gpu_int)(i & 7));
}

DEVICE_CALLED void quantized_values_8(gpu_int type, GLOBAL const gpu_byte *row, gpu_long i, float *out) {
    const gpu_codes c = codes_at(type, row, i);
    for (gpu_int e = 0; e < 8; e++) {
        out[e] = code_value(&c, e);
    }
}

/* Values i to i + 7 of a dense row of n values of these types, zeros from n on; i is a multiple of eight. */
DEVICE void row_values_8(gpu_int type, GLOBAL const gpu_byte *row, gpu_long i, gpu_long n, float *out) {
    if (is_quantized(type)) {
        quantized_values_8(type, row, i, out);
        return;
    }
    for (gpu_int e = 0; e < 8; e++) {
        out[e] = i + e < n ? load_element(type, row + (i + e) * (type == GPU_F32 ? 4 : 2)) : 0.0f;
    }
}

#endif
