/*
 * quant_fp4.c - rows of iq4_nl, mxfp4 and nvfp4: four-bit codes that stand for entries of a table of values.
 *
 * Layer: graph.  Answers to ggml-quants.c and ggml-impl.h of the reference.
 */
#include "graph/quant_rows.h"

#include "graph/quant_nearest.h"

const int8_t sr__quant_k4[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
const int8_t sr__quant_e2[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

float sr__e4m3_half(uint8_t b) {
    if (b == 0 || b == 0x7F) {
        return 0.0f;
    }
    const int e = b >> 3 & 15, m = b & 7;
    return e == 0 ? (float)m * 0x1p-10f : sr__f32_of_bits((uint32_t)(e - 8 + 127) << 23 | (uint32_t)m << 20);
}

/* ---- iq4_nl ------------------------------------------------------------------------------------------------------ */

void sr__row_read_iq4_nl(const uint8_t *src, float *dst, int64_t n) {
    for (int64_t b = 0; b < n / 32; b++, src += 18, dst += 32) {
        const float d = sr__get_f16(src);
        for (int i = 0; i < 16; i++) {
            dst[i] = d * (float)sr__quant_k4[src[2 + i] & 15];
            dst[i + 16] = d * (float)sr__quant_k4[src[2 + i] >> 4];
        }
    }
}

static void write_iq4_nl_block(const float *x, uint8_t *dst) {
    uint8_t codes[32] = {0};
    float amax, d = 0.0f;
    const float extreme = sr__signed_extreme(x, 32, &amax);
    if (!(amax < 1e-15f)) {
        const float id = 1.0f / (extreme / -127.0f);
        float sx = 0.0f, s2 = 0.0f;
        for (int i = 0; i < 32; i++) {
            codes[i] = (uint8_t)sr__quant_nearest_k4(id * x[i]);
            const float q = (float)sr__quant_k4[codes[i]];
            const float w = x[i] * x[i];
            sx += w * q * x[i];
            s2 += w * q * q;
        }
        d = s2 > 0.0f ? sx / s2 : 0.0f;
    }
    sr__put_f16(dst, d);
    for (int i = 0; i < 16; i++) {
        dst[2 + i] = (uint8_t)(codes[i] | codes[i + 16] << 4);
    }
}

void sr__row_write_iq4_nl(const float *src, uint8_t *dst, int64_t n) {
    for (int64_t b = 0; b < n / 32; b++, src += 32, dst += 18) {
        write_iq4_nl_block(src, dst);
    }
}

/* ---- mxfp4 and nvfp4 --------------------------------------------------------------------------------------------- */

/* The first code whose value times scale is nearest to v. */
static uint8_t nearest_e2(float v, float scale) {
    int best = 0;
    float least = fabsf((float)sr__quant_e2[0] * scale - v);
    for (int u = 1; u < 16; u++) {
        const float err = fabsf((float)sr__quant_e2[u] * scale - v);
        if (err < least) {
            least = err;
            best = u;
        }
    }
    return (uint8_t)best;
}

void sr__row_read_mxfp4(const uint8_t *src, float *dst, int64_t n) {
    for (int64_t b = 0; b < n / 32; b++, src += 17, dst += 32) {
        const float d = sr__e8m0_half(src[0]);
        for (int i = 0; i < 16; i++) {
            dst[i] = (float)sr__quant_e2[src[1 + i] & 15] * d;
            dst[i + 16] = (float)sr__quant_e2[src[1 + i] >> 4] * d;
        }
    }
}

void sr__row_write_mxfp4(const float *src, uint8_t *dst, int64_t n) {
    for (int64_t b = 0; b < n / 32; b++, src += 32, dst += 17) {
        float amax;
        (void)sr__signed_extreme(src, 32, &amax);
        const uint8_t e = amax > 0.0f ? (uint8_t)sr__trunc_i32(floorf(log2f(amax)) + 125.0f) : 0;
        const float d = sr__e8m0_half(e);
        dst[0] = e;
        for (int i = 0; i < 16; i++) {
            dst[1 + i] = (uint8_t)(nearest_e2(src[i], d) | nearest_e2(src[i + 16], d) << 4);
        }
    }
}

void sr__row_read_nvfp4(const uint8_t *src, float *dst, int64_t n) {
    for (int64_t b = 0; b < n / 64; b++, src += 36, dst += 64) {
        for (int s = 0; s < 4; s++) {
            const float d = sr__e4m3_half(src[s]);
            const uint8_t *qs = src + 4 + 8 * s;
            for (int j = 0; j < 8; j++) {
                dst[16 * s + j] = (float)sr__quant_e2[qs[j] & 15] * d;
                dst[16 * s + 8 + j] = (float)sr__quant_e2[qs[j] >> 4] * d;
            }
        }
    }
}

/* f32 to unsigned e4m3, halves up; 448 and all from 256 up become the largest. */
static uint8_t to_e4m3(float v) {
    if (!(v > 0.0f)) {
        return 0;
    }
    const float capped = v < 448.0f ? v : 448.0f;
    const uint32_t bits = sr__bits_of_f32(capped);
    int e = (int)(bits >> 23) - 127 + 7;
    if (e <= 0) {
        const int m = sr__trunc_i32(capped * 512.0f + 0.5f);
        return (uint8_t)(m < 7 ? m : 7);
    }
    if (e >= 15) {
        return 0x7E;
    }
    int m = (int)(bits >> 20 & 7) + (int)(bits >> 19 & 1);
    if (m == 8) {
        m = 0;
        e++;
        if (e == 15) {
            return 0x7E;
        }
    }
    return (uint8_t)(e << 3 | m);
}

void sr__row_write_nvfp4(const float *src, uint8_t *dst, int64_t n) {
    for (int64_t b = 0; b < n / 64; b++, src += 64, dst += 36) {
        for (int s = 0; s < 4; s++) {
            const float *x = src + 16 * s;
            float amax;
            (void)sr__signed_extreme(x, 16, &amax);
            dst[s] = to_e4m3(amax / 6.0f);
            const float d = sr__e4m3_half(dst[s]);
            for (int j = 0; j < 8; j++) {
                dst[4 + 8 * s + j] = (uint8_t)(nearest_e2(x[j], d) | nearest_e2(x[j + 8], d) << 4);
            }
        }
    }
}
