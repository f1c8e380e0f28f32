/*
 * quant_k.c - rows of the super-blocks of 256 values, packed to f32: q2_K, q3_K, q4_K, q5_K, q6_K, iq4_xs.
 *
 * Layer: graph.  Answers to the dequantizers of ggml-quants.c of the reference.
 */
#include "graph/quant_rows.h"

void sr__row_read_q2_K(const uint8_t *src, float *dst, int64_t n) {
    for (int64_t b = 0; b < n / 256; b++, src += 84, dst += 256) {
        const float d = sr__get_f16(src + 80), dmin = sr__get_f16(src + 82);
        for (int s = 0; s < 16; s++) {
            const float scale = d * (float)(src[s] & 15), min = dmin * (float)(src[s] >> 4);
            const uint8_t *qs = src + 16 + 32 * (s / 8) + 16 * (s % 2);
            const int shift = 2 * (s % 8 / 2);
            for (int l = 0; l < 16; l++) {
                dst[16 * s + l] = scale * (float)(qs[l] >> shift & 3) - min;
            }
        }
    }
}

static int q3_K_scale(const uint8_t *sc, int s) {
    const int low = s < 8 ? sc[s] & 15 : sc[s - 8] >> 4;
    const int high = sc[8 + s % 4] >> 2 * (s / 4) & 3;
    return low + 16 * high - 32;
}

void sr__row_read_q3_K(const uint8_t *src, float *dst, int64_t n) {
    for (int64_t b = 0; b < n / 256; b++, src += 110, dst += 256) {
        const float d = sr__get_f16(src + 108);
        for (int s = 0; s < 16; s++) {
            const float scale = d * (float)q3_K_scale(src + 96, s);
            const uint8_t *qs = src + 32 + 32 * (s / 8) + 16 * (s % 2), *hm = src + 16 * (s % 2);
            const int shift = 2 * (s % 8 / 2), bit = s / 2;
            for (int l = 0; l < 16; l++) {
                const int q = (qs[l] >> shift & 3) - ((hm[l] >> bit & 1) != 0 ? 0 : 4);
                dst[16 * s + l] = scale * (float)q;
            }
        }
    }
}

void sr__row_read_q4_K(const uint8_t *src, float *dst, int64_t n) {
    for (int64_t b = 0; b < n / 256; b++, src += 144, dst += 256) {
        const float d = sr__get_f16(src), dmin = sr__get_f16(src + 2);
        for (int s = 0; s < 8; s++) {
            int scale_code, min_code;
            sr__k_scale_min(src + 4, s, &scale_code, &min_code);
            const float scale = d * (float)scale_code, min = dmin * (float)min_code;
            const uint8_t *qs = src + 16 + 32 * (s / 2);
            const int shift = 4 * (s % 2);
            for (int l = 0; l < 32; l++) {
                dst[32 * s + l] = scale * (float)(qs[l] >> shift & 15) - min;
            }
        }
    }
}

void sr__row_read_q5_K(const uint8_t *src, float *dst, int64_t n) {
    for (int64_t b = 0; b < n / 256; b++, src += 176, dst += 256) {
        const float d = sr__get_f16(src), dmin = sr__get_f16(src + 2);
        for (int s = 0; s < 8; s++) {
            int scale_code, min_code;
            sr__k_scale_min(src + 4, s, &scale_code, &min_code);
            const float scale = d * (float)scale_code, min = dmin * (float)min_code;
            const uint8_t *qh = src + 16, *qs = src + 48 + 32 * (s / 2);
            const int shift = 4 * (s % 2);
            for (int l = 0; l < 32; l++) {
                const int q = (qs[l] >> shift & 15) | (qh[l] >> s & 1) << 4;
                dst[32 * s + l] = scale * (float)q - min;
            }
        }
    }
}

void sr__row_read_q6_K(const uint8_t *src, float *dst, int64_t n) {
    for (int64_t b = 0; b < n / 256; b++, src += 210, dst += 256) {
        const float d = sr__get_f16(src + 208);
        for (int s = 0; s < 16; s++) {
            const float scale = d * (float)(int8_t)src[192 + s];
            const int half = s / 8, j = s % 8 / 2;
            const uint8_t *ql = src + 64 * half + 32 * (j % 2) + 16 * (s % 2);
            const uint8_t *qh = src + 128 + 32 * half + 16 * (s % 2);
            const int shift = j < 2 ? 0 : 4;
            for (int l = 0; l < 16; l++) {
                const int q = (ql[l] >> shift & 15) + 16 * (qh[l] >> 2 * j & 3) - 32;
                dst[16 * s + l] = scale * (float)q;
            }
        }
    }
}

void sr__row_read_iq4_xs(const uint8_t *src, float *dst, int64_t n) {
    for (int64_t b = 0; b < n / 256; b++, src += 136, dst += 256) {
        const float d = sr__get_f16(src);
        const int high = sr__get_u16(src + 2);
        for (int s = 0; s < 8; s++) {
            const int code = (src[4 + s / 2] >> 4 * (s % 2) & 15) + 16 * (high >> 2 * s & 3) - 32;
            const float scale = d * (float)code;
            const uint8_t *qs = src + 8 + 16 * s;
            for (int l = 0; l < 16; l++) {
                dst[32 * s + l] = scale * (float)sr__quant_k4[qs[l] & 15];
                dst[32 * s + 16 + l] = scale * (float)sr__quant_k4[qs[l] >> 4];
            }
        }
    }
}
