/*
 * recurrent.h - SSM_CONV, SSM_SCAN, RWKV_WKV6, RWKV_WKV7, GATED_LINEAR_ATTN, GATED_DELTA_NET.
 *
 * Layer: backends.  Kernel code.  A recurrence is sequential in its tokens; the columns (or rows) of a state do not
 * touch each other, so an item takes one through all tokens.  States lie in the tail of the result.
 */
#ifndef SR_GPU_RECURRENT_H
#define SR_GPU_RECURRENT_H

#define FLOATS_OF(name) ((GLOBAL float *)((name##_memory) + (name).offset))

KERNEL(gpu_ssm_conv)(OPERAND(dst), OPERAND(a), OPERAND(b)) {
    EACH_ITEM(i, N_ELEMENTS(dst)) {
        const gpu_index at = INDEX_IN(dst, i); /* channel, token, sequence */
        GLOBAL const float *x = (GLOBAL const float *)ELEMENT(a, 0, at.i0, at.i2, 0) + at.i1;
        GLOBAL const float *weights = (GLOBAL const float *)ELEMENT(b, 0, at.i0, 0, 0);
        float sum = 0.0f;
        for (gpu_long k = 0; k < b.ne[0]; k++) {
            sum += x[k] * weights[k];
        }
        *(GLOBAL float *)ELEMENT_AT(dst, at) = sum;
    }
}

/* store, x, dt, a, b, c, ids: the op's sources in order.  An item takes one row of a head's state. */
KERNEL(gpu_ssm_scan)(OPERAND(dst), OPERAND(store), OPERAND(x), OPERAND(dt), OPERAND(a), OPERAND(b), OPERAND(c),
                     OPERAND(ids), FAULT) {
    const gpu_long ds = store.ne[0], hd = store.ne[1], nh = store.ne[2], tokens = x.ne[2], sequences = x.ne[3];
    GLOBAL float *y = FLOATS_OF(dst);
    GLOBAL float *states = y + hd * nh * tokens * sequences;
    EACH_ITEM(item, hd * nh * sequences) {
        const gpu_index at = index_of(item, hd, nh, sequences); /* row, head, sequence */
        const gpu_long id = *(GLOBAL const gpu_int *)ELEMENT(ids, at.i2, 0, 0, 0);
        if (id < 0 || id >= store.ne[3]) {
            RAISE_FAULT();
            continue;
        }
        GLOBAL const float *before = FLOATS_OF(store) + ((id * nh + at.i1) * hd + at.i0) * ds;
        GLOBAL float *state = states + item * ds;
        GLOBAL const float *decays = FLOATS_OF(a) + (a.ne[0] == 1 ? at.i1 : at.i1 * ds);
        const gpu_long group = at.i1 / (nh / b.ne[1]);
        for (gpu_long n = 0; n < ds && tokens > 0; n++) {
            state[n] = before[n];
        }
        for (gpu_long t = 0; t < tokens; t++) {
            GLOBAL const float *in = (GLOBAL const float *)ELEMENT(b, 0, group, t, at.i2);
            GLOBAL const float *out = (GLOBAL const float *)ELEMENT(c, 0, group, t, at.i2);
            const float raw = *(GLOBAL const float *)ELEMENT(dt, at.i1, t, at.i2, 0);
            const float step = raw > 20.0f ? raw : log1p(exp(raw));
            const float value = *(GLOBAL const float *)ELEMENT(x, at.i0, at.i1, t, at.i2) * step;
            const float decay = exp(step * decays[0]);
            float sum = 0.0f;
            for (gpu_long n = 0; n < ds; n++) {
                state[n] = state[n] * (a.ne[0] == 1 || n == 0 ? decay : exp(step * decays[n])) + in[n] * value;
                sum += state[n] * out[n];
            }
            y[((at.i2 * tokens + t) * nh + at.i1) * hd + at.i0] = sum;
        }
    }
}

/*
 * RWKV_WKV6 (gla = 0) and GATED_LINEAR_ATTN: k, v, r (or q) and decay by token, first by head (WKV6 only).  Rows of a
 * state belong to keys; an item takes a column, a value.
 */
KERNEL(gpu_wkv6)(OPERAND(dst), OPERAND(k), OPERAND(v), OPERAND(r), OPERAND(first), OPERAND(decay), OPERAND(state),
                 const gpu_int gla, const gpu_float scale) {
    const gpu_long size = k.ne[0], heads = k.ne[1], tokens = k.ne[2], sequences = state.ne[1];
    const gpu_long each = tokens / sequences;
    GLOBAL float *y = FLOATS_OF(dst);
    EACH_ITEM(item, size * heads * sequences) {
        const gpu_index at = index_of(item, size, heads, sequences); /* column, head, sequence */
        const gpu_long matrix = (at.i2 * heads + at.i1) * size * size + at.i0;
        GLOBAL const float *before = FLOATS_OF(state) + matrix;
        GLOBAL float *now = y + size * heads * tokens + matrix;
        for (gpu_long i = 0; i < size; i++) {
            now[i * size] = before[i * size];
        }
        for (gpu_long t = at.i2 * each; t < (at.i2 + 1) * each; t++) {
            const gpu_long base = (t * heads + at.i1) * size;
            const float value = FLOATS_OF(v)[base + at.i0];
            float sum = 0.0f;
            for (gpu_long i = 0; i < size; i++) {
                const float key_value = FLOATS_OF(k)[base + i] * value, old = now[i * size];
                const float updated = FLOATS_OF(decay)[base + i] * old + key_value;
                const float seen = gla ? scale * updated : FLOATS_OF(first)[at.i1 * size + i] * key_value + old;
                sum += FLOATS_OF(r)[base + i] * seen;
                now[i * size] = updated;
            }
            y[base + at.i0] = sum;
        }
    }
}

/* Rows of a state belong to values here; an item takes a row. */
KERNEL(gpu_wkv7)(OPERAND(dst), OPERAND(r), OPERAND(w), OPERAND(k), OPERAND(v), OPERAND(a), OPERAND(b),
                 OPERAND(state)) {
    const gpu_long size = r.ne[0], heads = r.ne[1], tokens = r.ne[2], sequences = state.ne[1];
    const gpu_long each = tokens / sequences;
    GLOBAL float *y = FLOATS_OF(dst);
    EACH_ITEM(item, size * heads * sequences) {
        const gpu_index at = index_of(item, size, heads, sequences); /* row, head, sequence */
        GLOBAL const float *before = FLOATS_OF(state) + item * size;
        GLOBAL float *now = y + size * heads * tokens + item * size;
        for (gpu_long j = 0; j < size; j++) {
            now[j] = before[j];
        }
        for (gpu_long t = at.i2 * each; t < (at.i2 + 1) * each; t++) {
            const gpu_long base = (t * heads + at.i1) * size;
            const float value = FLOATS_OF(v)[base + at.i0];
            float seen = 0.0f, sum = 0.0f;
            for (gpu_long j = 0; j < size; j++) {
                seen += FLOATS_OF(a)[base + j] * now[j];
            }
            for (gpu_long j = 0; j < size; j++) {
                now[j] = FLOATS_OF(w)[base + j] * now[j] + value * FLOATS_OF(k)[base + j] +
                         seen * FLOATS_OF(b)[base + j];
                sum += FLOATS_OF(r)[base + j] * now[j];
            }
            y[base + at.i0] = sum;
        }
    }
}

/* q, k, v, g, beta, state: the op's sources in order.  Rows of a state belong to values; an item takes a row. */
KERNEL(gpu_delta_net)(OPERAND(dst), OPERAND(q), OPERAND(k), OPERAND(v), OPERAND(g), OPERAND(beta), OPERAND(state)) {
    const gpu_long size = v.ne[0], heads = v.ne[1], tokens = v.ne[2], batches = v.ne[3];
    const float scale = 1.0f / sqrt((float)size);
    GLOBAL float *y = FLOATS_OF(dst);
    EACH_ITEM(item, size * heads * batches) {
        const gpu_index at = index_of(item, size, heads, batches); /* row, head, batch */
        GLOBAL const float *before = FLOATS_OF(state) + item * size;
        GLOBAL float *now = y + size * heads * tokens * batches + item * size;
        const gpu_long q3 = at.i2 / (batches / q.ne[3]), k3 = at.i2 / (batches / k.ne[3]);
        for (gpu_long i = 0; i < size; i++) {
            now[i] = before[i];
        }
        for (gpu_long t = 0; t < tokens; t++) {
            GLOBAL const float *query = (GLOBAL const float *)ELEMENT(q, 0, at.i1 % q.ne[1], t, q3);
            GLOBAL const float *key = (GLOBAL const float *)ELEMENT(k, 0, at.i1 % k.ne[1], t, k3);
            const gpu_long token = (at.i2 * tokens + t) * heads + at.i1;
            GLOBAL const float *gates = FLOATS_OF(g) + token * g.ne[0];
            const float decay = exp(gates[0]);
            float seen = 0.0f, sum = 0.0f;
            for (gpu_long i = 0; i < size; i++) {
                now[i] *= g.ne[0] == 1 || i == 0 ? decay : exp(gates[i]);
                seen += now[i] * key[i];
            }
            const float value = *(GLOBAL const float *)ELEMENT(v, at.i0, at.i1, t, at.i2);
            const float change = FLOATS_OF(beta)[token] * (value - seen);
            for (gpu_long i = 0; i < size; i++) {
                now[i] += change * key[i];
                sum += now[i] * query[i];
            }
            y[token * size + at.i0] = scale * sum;
        }
    }
}

#endif
