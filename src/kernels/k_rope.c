/*
 * k_rope.c - ROPE ROPE_BACK: pairs of elements turned by an angle that grows with the position.
 *
 * Layer: kernels.  Answers to ggml_compute_forward_rope (spec: ops-1, section 7).  The angle of a pair is that of the
 * one before times a factor, in f32, as the reference multiplies; sines and cosines are made once for each token.
 */
#include <math.h>

#include "kernels/mm_isa.h"
#include "kernels/rows.h"

enum { MODE_NORMAL = 0, MODE_NEOX = 2, MODE_MROPE = 8, MODE_VISION = 24, MODE_IMROPE = 40 };
enum { WORD_N_DIMS = 1, WORD_MODE = 2, WORD_N_CTX = 4, WORD_SECTIONS = 11 };

/* The parameters by name. */
typedef struct rope {
    int64_t n_dims, n_pairs;
    int64_t first_step, distance; /* pair j is elements j * first_step and j * first_step + distance */
    int mode, n_ctx_orig;
    float freq_base, freq_scale, ext_factor, attn_factor, beta_fast, beta_slow;
    int64_t sections[4];
} rope;

/* What a member works with, in its part of the scratch memory. */
typedef struct rope_work {
    float *divisor; /* of a pair's angle */
    float *blend;   /* how much of the angle is not scaled (YaRN) */
    float *cosine, *sine;
    float *row; /* of an f16 source */
} rope_work;

static bool has_components(int mode) { return (mode & MODE_MROPE) != 0; }

static rope rope_of(const sr__kernel_args *args) {
    const int32_t *w = args->params;
    rope p = {
        .n_dims = w[WORD_N_DIMS],
        .mode = w[WORD_MODE],
        .n_ctx_orig = w[WORD_N_CTX],
        .freq_base = sr__param_f32(w, 5),
        .freq_scale = sr__param_f32(w, 6),
        .ext_factor = sr__param_f32(w, 7),
        .attn_factor = sr__param_f32(w, 8),
        .beta_fast = sr__param_f32(w, 9),
        .beta_slow = sr__param_f32(w, 10),
    };
    p.n_pairs = p.mode == MODE_VISION ? p.n_dims : p.n_dims / 2;
    p.first_step = p.mode == MODE_NORMAL ? 2 : 1;
    p.distance = p.mode == MODE_NORMAL ? 1 : p.n_pairs;
    for (int k = 0; k < 4; k++) {
        p.sections[k] = w[WORD_SECTIONS + k];
    }
    return p;
}

/* ---- angles ------------------------------------------------------------------------------------------------------ */

/* Which of the four components of a position turns pair j. */
static int component_of(const rope *p, int64_t j) {
    const int64_t *s = p->sections;
    if (!has_components(p->mode)) {
        return 0;
    }
    const int64_t at = j % (s[0] + s[1] + s[2] + s[3]);
    if (p->mode == MODE_IMROPE) {
        return at < 3 * s[at % 3] ? (int)(at % 3) : 3; /* s[0], s[1], s[2] take turns */
    }
    return at < s[0] ? 0 : at < s[0] + s[1] ? 1 : at < s[0] + s[1] + s[2] ? 2 : 3;
}

/* The angles of vision ropes begin anew in each section: the component whose section begins at pair j, or -1. */
static int begins_anew(const rope *p, int64_t j) {
    const int64_t *s = p->sections;
    if (p->mode != MODE_VISION) {
        return -1;
    }
    const int64_t at = j % (s[0] + s[1] + s[2] + s[3]);
    int64_t begin = 0;
    for (int k = 0; k < 4; k++) {
        if (at == begin) {
            return k;
        }
        begin += s[k];
    }
    return -1;
}

/* The pair that turns beta times within the original context (YaRN). */
static float correction_dim(const rope *p, float beta) {
    const float pi = 3.14159265358979323846f;
    return (float)p->n_dims * logf((float)p->n_ctx_orig / (beta * 2.0f * pi)) / (2.0f * logf(p->freq_base));
}

/* Divisors of the angles; and between pairs lo and hi scaled angles pass over into unscaled ones. */
static void make_factors(const rope *p, const sr__operand *freq_factors, const rope_work *work) {
    const bool blends = p->ext_factor != 0;
    const float lo = blends ? fmaxf(0.0f, floorf(correction_dim(p, p->beta_fast))) : 0.0f;
    const float hi = blends ? fminf((float)(p->n_dims - 1), ceilf(correction_dim(p, p->beta_slow))) : 0.0f;
    for (int64_t j = 0; j < p->n_pairs; j++) {
        const float ramp = fminf(1.0f, fmaxf(0.0f, ((float)j - lo) / fmaxf(0.001f, hi - lo)));
        work->blend[j] = (1.0f - ramp) * p->ext_factor;
        work->divisor[j] = 1.0f;
        if (freq_factors->tensor != NULL) {
            const char *at = freq_factors->data + (size_t)j * freq_factors->tensor->nb[0];
            memcpy(&work->divisor[j], at, sizeof(float));
        }
    }
}

/* Sines and cosines of a token; `sign` is -1 for the gradient. */
static void turn_token(const rope *p, const sr__operand *positions, int64_t token, int64_t n_tokens, float sign,
                       const rope_work *work) {
    const float step = powf(p->freq_base, -2.0f / (float)p->n_dims);
    const float grown = 1.0f + 0.1f * logf(1.0f / p->freq_scale);
    const float size = p->ext_factor != 0 ? p->attn_factor * grown : p->attn_factor;
    float position[4] = {0}, angle[4];
    for (int c = 0; c < (has_components(p->mode) ? 4 : 1); c++) {
        int32_t at;
        memcpy(&at, positions->data + (size_t)(token + c * n_tokens) * positions->tensor->nb[0], sizeof(at));
        position[c] = (float)at;
    }
    memcpy(angle, position, sizeof(angle));
    for (int64_t j = 0; j < p->n_pairs; j++) {
        const int anew = begins_anew(p, j);
        if (anew >= 0) {
            angle[anew] = position[anew];
        }
        const float whole = angle[component_of(p, j)] / work->divisor[j], scaled = p->freq_scale * whole;
        const float turn = p->ext_factor != 0 ? scaled * (1.0f - work->blend[j]) + whole * work->blend[j] : scaled;
        work->cosine[j] = cosf(turn) * size;
        work->sine[j] = sinf(turn) * size * sign;
        for (int c = 0; c < 4; c++) {
            angle[c] *= step;
        }
    }
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* Each number is one product and one fused multiply-add, as where the reference's compiler has them. */
static inline __attribute__((always_inline)) void turn_pairs(const rope *p, const rope_work *work, const float *x,
                                                             float *y) {
    for (int64_t j = 0; j < p->n_pairs; j++) {
        const int64_t first = j * p->first_step, second = first + p->distance;
        const float x0 = x[first], x1 = x[second];
        y[first] = fmaf(x0, work->cosine[j], -(x1 * work->sine[j]));
        y[second] = fmaf(x0, work->sine[j], x1 * work->cosine[j]);
    }
}

static void turn_plain(const rope *p, const rope_work *work, const float *x, float *y) { turn_pairs(p, work, x, y); }

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) static void turn_fma(const rope *p, const rope_work *work, const float *x,
                                                         float *y) {
    turn_pairs(p, work, x, y);
}
#else
#define turn_fma turn_plain
#endif

/* x and y may be the same row. */
static void turn_row(const rope *p, const rope_work *work, const float *x, float *y, int64_t n) {
    const int64_t turned = 2 * p->n_pairs;
    (sr__mm_isa_get() != &sr__mm_plain ? turn_fma : turn_plain)(p, work, x, y);
    if (x != y) {
        memcpy(y + turned, x + turned, (size_t)(n - turned) * sizeof(*y));
    }
}

/* Bytes for one member: four numbers a pair, and a row. */
static size_t work_size(const sr__kernel_args *args) {
    const size_t row = (size_t)args->dst.tensor->ne[0];
    const size_t pairs = row / 2 + 1;
    return ((4 * pairs + row) * sizeof(float) + 63) / 64 * 64;
}

static size_t scratch_rope(const sr__kernel_args *args, int n_threads) { return work_size(args) * (size_t)n_threads; }

static rope_work work_of(const sr__kernel_args *args, const sr__task *task) {
    const size_t pairs = (size_t)args->dst.tensor->ne[0] / 2 + 1;
    char *memory = (char *)args->scratch + work_size(args) * (size_t)task->ith;
    rope_work work;
    work.divisor = (float *)(void *)memory;
    work.blend = work.divisor + pairs;
    work.cosine = work.blend + pairs;
    work.sine = work.cosine + pairs;
    work.row = work.sine + pairs;
    return work;
}

/* The factors are read before anything is written: a result of one row may lie where they do. */
static void run_sign(const sr__kernel_args *args, const sr__task *task, float sign) {
    const sr_tensor *y_tensor = args->dst.tensor;
    const int type = y_tensor->type;
    const rope p = rope_of(args);
    const rope_work work = work_of(args, task);
    int64_t token = -1;
    SR_EACH_ROW(task, y_tensor, r) {
        char *x = sr__row_here(&args->src[0], &r), *y = sr__row_here(&args->dst, &r);
        if (token < 0) {
            make_factors(&p, &args->src[2], &work);
        }
        if (token != r.i2) {
            token = r.i2;
            turn_token(&p, &args->src[1], token, y_tensor->ne[2], sign, &work);
        }
        if (type == SR_TYPE_F32) {
            turn_row(&p, &work, (const float *)(const void *)x, (float *)(void *)y, r.n);
        } else {
            sr__row_to_f32(type, x, work.row, r.n);
            turn_row(&p, &work, work.row, work.row, r.n);
            sr__row_from_f32(type, work.row, y, r.n);
        }
    }
}

static void run_rope(const sr__kernel_args *args, const sr__task *task) { run_sign(args, task, 1.0f); }
static void run_rope_back(const sr__kernel_args *args, const sr__task *task) { run_sign(args, task, -1.0f); }

/* ---- what they take ---------------------------------------------------------------------------------------------- */

static const char *refuse_params(const sr__kernel_args *args, const rope *p) {
    const int64_t ne0 = args->dst.tensor->ne[0];
    switch (p->mode) {
        case MODE_NORMAL:
        case MODE_NEOX:
        case MODE_MROPE:
        case MODE_VISION:
        case MODE_IMROPE: break;
        default: return "there is no such mode of rotation";
    }
    if (p->n_dims < 0 || p->n_dims % 2 != 0 || p->n_dims > ne0) {
        return "the number of dimensions to turn must be even and at most the length of a row";
    }
    if (p->mode == MODE_VISION && 2 * p->n_dims != ne0) {
        return "in vision mode the number of dimensions must be half the length of a row";
    }
    if (has_components(p->mode)) {
        int64_t sum = 0;
        for (int k = 0; k < 4; k++) {
            if (p->sections[k] < 0) {
                return "sections must not be negative";
            }
            sum += p->sections[k];
        }
        if (sum == 0) {
            return "one of the sections must not be empty";
        }
    }
    return NULL;
}

static const char *refuse_rope(const sr__kernel_args *args) {
    static const uint64_t types = SR__TYPE(F32) | SR__TYPE(F16);
    const sr_tensor *factors = args->src[2].tensor;
    const sr__want wants[] = {
        {SR__DST, types, SR__ROWS},
        {0, types, SR__ROWS},
        {1, SR__TYPE(I32), SR__STRIDED},
        {2, SR__TYPE(F32), SR__STRIDED},
    };
    const rope p = rope_of(args);
    const char *why = sr__refuse_unlike(args, wants, factors != NULL ? 4 : 3);
    if (why == NULL && args->dst.tensor->type != args->src[0].tensor->type) {
        why = "the result must be of the type of source 0";
    }
    if (why == NULL) {
        why = refuse_params(args, &p);
    }
    const int64_t n_positions = sr__times(args->dst.tensor->ne[2], has_components(p.mode) ? 4 : 1);
    if (why == NULL && args->src[1].tensor->ne[0] < n_positions) {
        why = "there are fewer positions than tokens";
    }
    if (why == NULL && factors != NULL && factors->ne[0] < p.n_pairs) {
        why = "there are fewer frequency factors than pairs";
    }
    return why;
}

const sr__kernel_info sr__kernel_ROPE = {
    .run = run_rope, .refuse = refuse_rope, .scratch = scratch_rope, .max_threads = sr__threads_rows};
const sr__kernel_info sr__kernel_ROPE_BACK = {
    .run = run_rope_back, .refuse = refuse_rope, .scratch = scratch_rope, .max_threads = sr__threads_rows};
