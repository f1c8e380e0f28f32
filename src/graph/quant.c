/*
 * quant.c - the table of row converters by type, and which type a matrix product turns its second source into.
 *
 * Layer: graph.  Answers to the type traits of ggml.c and ggml-cpu.c of the reference.
 */
#include "graph/quant_rows.h"

typedef struct row_codec {
    sr__row_reader *read;
    sr__row_writer *write;
    int companion;
} row_codec;

static void read_f32(const uint8_t *src, float *dst, int64_t n) { memcpy(dst, src, (size_t)n * sizeof(float)); }
static void write_f32(const float *src, uint8_t *dst, int64_t n) { memcpy(dst, src, (size_t)n * sizeof(float)); }

#define BOTH(name, to) {sr__row_read_##name, sr__row_write_##name, SR_TYPE_##to}
#define CODEBOOK {NULL, NULL, SR_TYPE_Q8_K}

static const row_codec CODECS[SR_TYPE_COUNT] = {
    [SR_TYPE_F32] = {read_f32, write_f32, SR_TYPE_F32},
    [SR_TYPE_F16] = BOTH(f16, F16),
    [SR_TYPE_BF16] = BOTH(bf16, BF16),
    [SR_TYPE_Q1_0] = BOTH(q1_0, Q8_0),
    [SR_TYPE_Q4_0] = BOTH(q4_0, Q8_0),
    [SR_TYPE_Q4_1] = BOTH(q4_1, Q8_1),
    [SR_TYPE_Q5_0] = BOTH(q5_0, Q8_0),
    [SR_TYPE_Q5_1] = BOTH(q5_1, Q8_1),
    [SR_TYPE_Q8_0] = BOTH(q8_0, Q8_0),
    [SR_TYPE_Q8_1] = {NULL, sr__row_write_q8_1, SR_TYPE_Q8_1},
    [SR_TYPE_IQ4_NL] = BOTH(iq4_nl, Q8_0),
    [SR_TYPE_MXFP4] = BOTH(mxfp4, Q8_0),
    [SR_TYPE_NVFP4] = BOTH(nvfp4, Q8_0),
    [SR_TYPE_Q2_K] = BOTH(q2_K, Q8_K),
    [SR_TYPE_Q3_K] = BOTH(q3_K, Q8_K),
    [SR_TYPE_Q4_K] = BOTH(q4_K, Q8_K),
    [SR_TYPE_Q5_K] = BOTH(q5_K, Q8_K),
    [SR_TYPE_Q6_K] = BOTH(q6_K, Q8_K),
    [SR_TYPE_Q8_K] = {NULL, sr__row_write_q8_K, -1},
    [SR_TYPE_IQ4_XS] = BOTH(iq4_xs, Q8_K),
    [SR_TYPE_TQ1_0] = BOTH(tq1_0, Q8_K),
    [SR_TYPE_TQ2_0] = BOTH(tq2_0, Q8_K),
    [SR_TYPE_IQ2_XXS] = CODEBOOK,
    [SR_TYPE_IQ2_XS] = CODEBOOK,
    [SR_TYPE_IQ2_S] = CODEBOOK,
    [SR_TYPE_IQ3_XXS] = CODEBOOK,
    [SR_TYPE_IQ3_S] = CODEBOOK,
    [SR_TYPE_IQ1_S] = CODEBOOK,
    [SR_TYPE_IQ1_M] = CODEBOOK,
    [SR_TYPE_I8] = {NULL, NULL, -1},
    [SR_TYPE_I16] = {NULL, NULL, -1},
    [SR_TYPE_I32] = {NULL, NULL, -1},
    [SR_TYPE_I64] = {NULL, NULL, -1},
    [SR_TYPE_F64] = {NULL, NULL, -1},
};

static bool in_table(int type) { return type >= 0 && type < SR_TYPE_COUNT; }

bool sr__type_can_read(int type) { return in_table(type) && CODECS[type].read != NULL; }
bool sr__type_can_write(int type) { return in_table(type) && CODECS[type].write != NULL; }

void sr__row_to_f32(int type, const void *src, float *dst, int64_t n) { CODECS[type].read(src, dst, n); }
void sr__row_from_f32(int type, const float *src, void *dst, int64_t n) { CODECS[type].write(src, dst, n); }

int sr__type_companion(int type) {
    /* a number that is not in use reads as f32 in a zeroed record: only f32 itself and types with an entry count */
    if (!in_table(type) || (CODECS[type].companion == SR_TYPE_F32 && type != SR_TYPE_F32)) {
        return -1;
    }
    return CODECS[type].companion;
}
