/*
 * quant_k_write.c - f32 rows to the super-blocks of 256 values: q2_K, q3_K, q4_K, q5_K, q6_K, q8_K, iq4_xs.
 *
 * Layer: graph.  Answers to the quantize_row_*_ref functions of ggml-quants.c of the reference.  Sub-block scales are
 * found first, rounded to codes of a common f16 scale, and the values are then coded against what was stored.
 */
#include "graph/quant_nearest.h"
#include "graph/quant_search.h"

/* A scale of first largest magnitude, with its sign. */
static float largest_scale(const float *scales, int n) {
    float amax;
    return sr__signed_extreme(scales, n, &amax);
}

static float largest_or_zero(const float *v, int n) {
    float most = 0.0f;
    for (int i = 0; i < n; i++) {
        most = v[i] > most ? v[i] : most;
    }
    return most;
}

/* Codes of one sub-block against its stored scale and minimum; a scale of 0 leaves what the search found. */
static void recode(const float *x, int n, float scale, float min, int nmax, uint8_t *codes) {
    if (scale == 0.0f) {
        return;
    }
    for (int i = 0; i < n; i++) {
        codes[i] = (uint8_t)sr__clamp_int(sr__nearest_i32((x[i] + min) / scale), 0, nmax);
    }
}

/* Two bits of each of 256 codes: byte l of a half holds those of l, l+32, l+64, l+96. */
static void put_two_bits(const uint8_t *codes, int shift, uint8_t *qs) {
    for (int i = 0; i < 64; i++) {
        const uint8_t *c = codes + 128 * (i / 32) + i % 32;
        qs[i] = (uint8_t)((c[0] >> shift & 3) | (c[32] >> shift & 3) << 2 | (c[64] >> shift & 3) << 4 |
                          (c[96] >> shift & 3) << 6);
    }
}

/* ---- q2_K -------------------------------------------------------------------------------------------------------- */

static void write_q2_K_block(const float *x, uint8_t *dst) {
    static const sr__min_search HOW = {3, -0.5f, 0.1f, 15, false};
    uint8_t codes[256];
    float scales[16], mins[16], w[16];
    for (int s = 0; s < 16; s++) {
        for (int l = 0; l < 16; l++) {
            w[l] = fabsf(x[16 * s + l]);
        }
        scales[s] = sr__search_scale_min(&HOW, 16, x + 16 * s, w, codes + 16 * s, &mins[s]);
    }
    const float most_scale = largest_or_zero(scales, 16), most_min = largest_or_zero(mins, 16);
    const float iscale = most_scale > 0.0f ? 15.0f / most_scale : 0.0f;
    const float imin = most_min > 0.0f ? 15.0f / most_min : 0.0f;
    for (int s = 0; s < 16; s++) {
        const int scale = most_scale > 0.0f ? sr__nearest_i32(iscale * scales[s]) : 0;
        const int min = most_min > 0.0f ? sr__nearest_i32(imin * mins[s]) : 0;
        dst[s] = (uint8_t)((unsigned)scale | (unsigned)min << 4);
    }
    sr__put_f16(dst + 80, most_scale > 0.0f ? most_scale / 15.0f : 0.0f);
    sr__put_f16(dst + 82, most_min > 0.0f ? most_min / 15.0f : 0.0f);
    const float d = sr__get_f16(dst + 80), dmin = sr__get_f16(dst + 82);
    for (int s = 0; s < 16; s++) {
        recode(x + 16 * s, 16, d * (float)(dst[s] & 15), dmin * (float)(dst[s] >> 4), 3, codes + 16 * s);
    }
    put_two_bits(codes, 0, dst + 16);
}

void sr__row_write_q2_K(const float *src, uint8_t *dst, int64_t n) {
    for (int64_t b = 0; b < n / 256; b++, src += 256, dst += 84) {
        write_q2_K_block(src, dst);
    }
}

/* ---- q3_K -------------------------------------------------------------------------------------------------------- */

static void write_q3_K_block(const float *x, uint8_t *dst) {
    int8_t found[256];
    uint8_t codes[256];
    float scales[16];
    int fields[16] = {0};
    for (int s = 0; s < 16; s++) {
        scales[s] = sr__search_q3(x + 16 * s, found + 16 * s);
    }
    const float most = largest_scale(scales, 16);
    uint8_t *sc = dst + 96;
    memset(sc, 0, 12);
    sr__put_f16(dst + 108, 0.0f);
    if (most != 0.0f) {
        const float iscale = -32.0f / most;
        for (int s = 0; s < 16; s++) {
            fields[s] = sr__clamp_int((int8_t)sr__nearest_i32(iscale * scales[s]), -32, 31) + 32;
            sc[s % 8] = (uint8_t)(sc[s % 8] | (fields[s] & 15) << (s < 8 ? 0 : 4));
            sc[8 + s % 4] = (uint8_t)(sc[8 + s % 4] | (fields[s] >> 4) << 2 * (s / 4));
        }
        sr__put_f16(dst + 108, 1.0f / iscale);
    }
    const float d = sr__get_f16(dst + 108);
    memset(dst, 0, 32);
    for (int i = 0; i < 256; i++) {
        const float e = d * (float)(fields[i / 16] - 32);
        codes[i] = (uint8_t)found[i];
        if (e != 0.0f) {
            codes[i] = (uint8_t)(sr__clamp_int(sr__nearest_i32(x[i] / e), -4, 3) + 4);
        }
        dst[i % 32] = (uint8_t)(dst[i % 32] | (codes[i] > 3 ? 1 : 0) << i / 32);
    }
    put_two_bits(codes, 0, dst + 32);
}

void sr__row_write_q3_K(const float *src, uint8_t *dst, int64_t n) {
    for (int64_t b = 0; b < n / 256; b++, src += 256, dst += 110) {
        write_q3_K_block(src, dst);
    }
}

/* ---- q4_K and q5_K ----------------------------------------------------------------------------------------------- */

/* Scales and minima of both types at dst (d, dmin, 12 bytes), codes 0 .. how->nmax at codes. */
static void write_scales_mins(const float *x, const sr__min_search *how, uint8_t *dst, uint8_t *codes) {
    float scales[8], mins[8], w[32];
    for (int s = 0; s < 8; s++) {
        float sum = 0.0f;
        for (int l = 0; l < 32; l++) {
            sum += x[32 * s + l] * x[32 * s + l];
        }
        const float average = sqrtf(sum / 32.0f);
        for (int l = 0; l < 32; l++) {
            w[l] = average + fabsf(x[32 * s + l]);
        }
        scales[s] = sr__search_scale_min(how, 32, x + 32 * s, w, codes + 32 * s, &mins[s]);
    }
    const float most_scale = largest_or_zero(scales, 8), most_min = largest_or_zero(mins, 8);
    const float iscale = most_scale > 0.0f ? 63.0f / most_scale : 0.0f;
    const float imin = most_min > 0.0f ? 63.0f / most_min : 0.0f;
    uint8_t *sc = dst + 4;
    memset(sc, 0, 12);
    for (int s = 0; s < 8; s++) {
        const uint8_t scale_low = (uint8_t)sr__nearest_i32(iscale * scales[s]);
        const uint8_t min_low = (uint8_t)sr__nearest_i32(imin * mins[s]);
        const int scale = scale_low < 63 ? scale_low : 63, min = min_low < 63 ? min_low : 63;
        if (s < 4) {
            sc[s] = (uint8_t)scale;
            sc[s + 4] = (uint8_t)min;
        } else {
            sc[s + 4] = (uint8_t)((scale & 15) | (min & 15) << 4);
            sc[s - 4] = (uint8_t)(sc[s - 4] | scale >> 4 << 6);
            sc[s] = (uint8_t)(sc[s] | min >> 4 << 6);
        }
    }
    sr__put_f16(dst, most_scale / 63.0f);
    sr__put_f16(dst + 2, most_min / 63.0f);
    const float d = sr__get_f16(dst), dmin = sr__get_f16(dst + 2);
    for (int s = 0; s < 8; s++) {
        int scale, min;
        sr__k_scale_min(sc, s, &scale, &min);
        recode(x + 32 * s, 32, d * (float)scale, dmin * (float)min, how->nmax, codes + 32 * s);
    }
}

/* The low four bits of 256 codes: byte l of a group of 64 holds those of l and l+32. */
static void put_nibbles(const uint8_t *codes, uint8_t *qs) {
    for (int i = 0; i < 128; i++) {
        const uint8_t *c = codes + 64 * (i / 32) + i % 32;
        qs[i] = (uint8_t)((c[0] & 15) | (c[32] & 15) << 4);
    }
}

void sr__row_write_q4_K(const float *src, uint8_t *dst, int64_t n) {
    static const sr__min_search HOW = {15, -1.0f, 0.1f, 20, true};
    for (int64_t b = 0; b < n / 256; b++, src += 256, dst += 144) {
        uint8_t codes[256];
        write_scales_mins(src, &HOW, dst, codes);
        put_nibbles(codes, dst + 16);
    }
}

void sr__row_write_q5_K(const float *src, uint8_t *dst, int64_t n) {
    static const sr__min_search HOW = {31, -0.5f, 0.1f, 15, true};
    for (int64_t b = 0; b < n / 256; b++, src += 256, dst += 176) {
        uint8_t codes[256];
        write_scales_mins(src, &HOW, dst, codes);
        put_nibbles(codes, dst + 48);
        memset(dst + 16, 0, 32);
        for (int i = 0; i < 256; i++) {
            dst[16 + i % 32] = (uint8_t)(dst[16 + i % 32] | (codes[i] >> 4) << i / 32);
        }
    }
}

/* ---- q6_K -------------------------------------------------------------------------------------------------------- */

static void write_q6_K_block(const float *x, uint8_t *dst) {
    int8_t codes[256];
    float scales[16];
    for (int s = 0; s < 16; s++) {
        scales[s] = sr__search_q6(x + 16 * s, codes + 16 * s);
    }
    const float most = largest_scale(scales, 16);
    if (fabsf(most) < 1e-15f) {
        memset(dst, 0, 210);
        return;
    }
    const float iscale = -128.0f / most;
    sr__put_f16(dst + 208, 1.0f / iscale);
    const float d = sr__get_f16(dst + 208);
    for (int s = 0; s < 16; s++) {
        const int field = sr__nearest_i32(iscale * scales[s]);
        dst[192 + s] = (uint8_t)(int8_t)(field < 127 ? field : 127);
        const float e = d * (float)(int8_t)dst[192 + s];
        for (int l = 16 * s; e != 0.0f && l < 16 * s + 16; l++) {
            codes[l] = (int8_t)(sr__clamp_int(sr__nearest_i32(x[l] / e), -32, 31) + 32);
        }
    }
    for (int i = 0; i < 128; i++) { /* byte l of a half and of j % 2 holds j and j + 2 */
        const int8_t *c = codes + 128 * (i / 64) + i % 64;
        dst[i] = (uint8_t)((c[0] & 15) | (c[64] & 15) << 4);
    }
    put_two_bits((const uint8_t *)codes, 4, dst + 128);
}

void sr__row_write_q6_K(const float *src, uint8_t *dst, int64_t n) {
    for (int64_t b = 0; b < n / 256; b++, src += 256, dst += 210) {
        write_q6_K_block(src, dst);
    }
}

/* ---- q8_K -------------------------------------------------------------------------------------------------------- */

void sr__row_write_q8_K(const float *src, uint8_t *dst, int64_t n) {
    for (int64_t b = 0; b < n / 256; b++, src += 256, dst += 292) {
        float amax;
        const float extreme = sr__signed_extreme(src, 256, &amax);
        if (amax == 0.0f) {
            memset(dst, 0, 292);
            continue;
        }
        const float iscale = -127.0f / extreme;
        sr__put_u32(dst, sr__bits_of_f32(1.0f / iscale));
        for (int s = 0; s < 16; s++) {
            int sum = 0;
            for (int l = 16 * s; l < 16 * s + 16; l++) {
                const int code = sr__nearest_i32(iscale * src[l]);
                dst[4 + l] = (uint8_t)(code < 127 ? code : 127);
                sum += (int8_t)dst[4 + l];
            }
            sr__put_u16(dst + 260 + 2 * s, (uint16_t)sum);
        }
    }
}

/* ---- iq4_xs ------------------------------------------------------------------------------------------------------ */

/* sum x^3 q and sum x^2 q^2 for the codes of an inverse scale */
static void weigh_iq4(const float *x, float id, float *out_sx, float *out_s2) {
    float sx = 0.0f, s2 = 0.0f;
    for (int i = 0; i < 32; i++) {
        const float q = (float)sr__quant_k4[sr__quant_nearest_k4(id * x[i])];
        const float w = x[i] * x[i];
        sx += w * q * x[i];
        s2 += w * q * q;
    }
    *out_sx = sx;
    *out_s2 = s2;
}

static float search_iq4(const float *x) {
    float amax, sx, s2;
    const float extreme = sr__signed_extreme(x, 32, &amax);
    if (amax < 1e-15f) {
        return 0.0f;
    }
    weigh_iq4(x, 1.0f / (-extreme / -127.0f), &sx, &s2);
    float d = s2 > 0.0f ? sx / s2 : 0.0f;
    float best = d * sx;
    for (int k = -7; k <= 7; k++) {
        weigh_iq4(x, ((float)k - 127.0f) / extreme, &sx, &s2);
        if (s2 > 0.0f && sx * sx > best * s2) {
            d = sx / s2;
            best = d * sx;
        }
    }
    return d;
}

static void write_iq4_xs_block(const float *x, uint8_t *dst) {
    float scales[8];
    for (int s = 0; s < 8; s++) {
        scales[s] = search_iq4(x + 32 * s);
    }
    const float d = -largest_scale(scales, 8) / 32.0f;
    const float id = sr__reciprocal(d);
    unsigned high = 0;
    sr__put_f16(dst, d);
    memset(dst + 4, 0, 4);
    for (int s = 0; s < 8; s++) {
        const int field = sr__clamp_int(sr__nearest_i32(id * scales[s]), -32, 31);
        const float idl = sr__reciprocal(d * (float)field);
        const float *xs = x + 32 * s;
        for (int l = 0; l < 16; l++) {
            const int lo = sr__quant_nearest_k4(idl * xs[l]), hi = sr__quant_nearest_k4(idl * xs[l + 16]);
            dst[8 + 16 * s + l] = (uint8_t)(lo | hi << 4);
        }
        dst[4 + s / 2] = (uint8_t)(dst[4 + s / 2] | ((field + 32) & 15) << 4 * (s % 2));
        high |= (unsigned)(field + 32) >> 4 << 2 * s;
    }
    sr__put_u16(dst + 2, (uint16_t)high);
}

void sr__row_write_iq4_xs(const float *src, uint8_t *dst, int64_t n) {
    for (int64_t b = 0; b < n / 256; b++, src += 256, dst += 136) {
        write_iq4_xs_block(src, dst);
    }
}
