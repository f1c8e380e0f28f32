/*
 * gelu.c - GELU and GELU_QUICK over every f16.
 *
 * Layer: kernels.  Answers to the tables that the reference's ggml-cpu fills when it starts.
 */
#include "kernels/gelu.h"

#include <pthread.h>

enum { N_F16 = 65536 };

static float gelu_values[N_F16], gelu_quick_values[N_F16];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static float gelu_tanh(float x) {
    return 0.5f * x * (1.0f + tanhf(0.79788456080286535588f * x * (1.0f + 0.044715f * x * x)));
}

static float gelu_quick(float x) { return x / (1.0f + expf(-1.702f * x)); }

static void fill_tables(void) {
    for (int i = 0; i < N_F16; i++) {
        const float x = sr__f16_to_f32((uint16_t)i);
        gelu_values[i] = sr__round_f16(gelu_tanh(x));
        gelu_quick_values[i] = sr__round_f16(gelu_quick(x));
    }
}

const float *sr__gelu_table(void) {
    pthread_once(&once, fill_tables);
    return gelu_values;
}

const float *sr__gelu_quick_table(void) {
    pthread_once(&once, fill_tables);
    return gelu_quick_values;
}
