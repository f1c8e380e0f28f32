/*
 * training.h - CROSS_ENTROPY_LOSS and its gradient, OPT_STEP_ADAMW, OPT_STEP_SGD.
 *
 * Layer: backends.  Kernel code.
 */
#ifndef SR_GPU_TRAINING_H
#define SR_GPU_TRAINING_H

/* The losses of the rows of logits a and targets b, to be added up: element r of dst is that of row r. */
KERNEL(gpu_cross_entropy)(OPERAND(dst), OPERAND(a), OPERAND(b)) {
    LOCAL_ARRAY float part[GPU_GROUP];
    EACH_GROUP(r, N_ROWS(a)) {
        const gpu_index at = ROW_IN(a, r);
        GLOBAL const float *logits = (GLOBAL const float *)ROW_AT(a, at);
        GLOBAL const float *targets = (GLOBAL const float *)ROW_AT(b, at);
        float largest = -GPU_INFINITY, sum = 0.0f, loss = 0.0f;
        EACH_IN_GROUP(i, a.ne[0]) { largest = logits[i] > largest ? logits[i] : largest; }
        GROUP_MAX(part, largest);
        EACH_IN_GROUP(i, a.ne[0]) { sum += exp(logits[i] - largest); }
        GROUP_SUM(part, sum);
        const float log_sum = log(sum), scale = -1.0f / (float)N_ROWS(a);
        EACH_IN_GROUP(i, a.ne[0]) { loss += targets[i] * (logits[i] - largest - log_sum); }
        GROUP_SUM(part, loss);
        if (LOCAL_ID(0) == 0) {
            *(GLOBAL float *)ELEMENT(dst, r, 0, 0, 0) = loss * scale;
        }
    }
}

/* a: gradient of the loss, one number; b: logits, c: targets. */
KERNEL(gpu_cross_entropy_back)(OPERAND(dst), OPERAND(a), OPERAND(b), OPERAND(c)) {
    LOCAL_ARRAY float part[GPU_GROUP];
    const float factor = *(GLOBAL const float *)ELEMENT(a, 0, 0, 0, 0) / (float)N_ROWS(dst);
    EACH_GROUP(r, N_ROWS(dst)) {
        const gpu_index at = ROW_IN(dst, r);
        GLOBAL const float *logits = (GLOBAL const float *)ROW_AT(b, at);
        GLOBAL const float *targets = (GLOBAL const float *)ROW_AT(c, at);
        GLOBAL float *y = (GLOBAL float *)ROW_AT(dst, at);
        float largest = -GPU_INFINITY, sum = 0.0f;
        EACH_IN_GROUP(i, dst.ne[0]) { largest = logits[i] > largest ? logits[i] : largest; }
        GROUP_MAX(part, largest);
        EACH_IN_GROUP(i, dst.ne[0]) { sum += exp(logits[i] - largest); }
        GROUP_SUM(part, sum);
        EACH_IN_GROUP(i, dst.ne[0]) { y[i] = (exp(logits[i] - largest) / sum - targets[i]) * factor; }
    }
}

/* numbers: alpha, beta1, beta2, epsilon, weight decay, and the corrections of the moments for the first steps. */
KERNEL(gpu_adamw)(OPERAND(dst), OPERAND(weights), OPERAND(gradient), OPERAND(moment1), OPERAND(moment2),
                  OPERAND(numbers)) {
    GLOBAL const float *p = (GLOBAL const float *)ELEMENT(numbers, 0, 0, 0, 0);
    EACH_ITEM(i, N_ELEMENTS(dst)) {
        const gpu_index at = INDEX_IN(dst, i);
        GLOBAL float *m = (GLOBAL float *)ELEMENT_AT(moment1, at), *v = (GLOBAL float *)ELEMENT_AT(moment2, at);
        const float w = *(GLOBAL const float *)ELEMENT_AT(weights, at);
        const float g = *(GLOBAL const float *)ELEMENT_AT(gradient, at);
        const float m_now = *m * p[1] + g * (1.0f - p[1]), v_now = *v * p[2] + g * g * (1.0f - p[2]);
        *m = m_now;
        *v = v_now;
        *(GLOBAL float *)ELEMENT_AT(dst, at) =
            w * (1.0f - p[0] * p[4]) - p[0] * (m_now * p[5]) / (sqrt(v_now * p[6]) + p[3]);
    }
}

/* numbers: alpha, weight decay. */
KERNEL(gpu_sgd)(OPERAND(dst), OPERAND(weights), OPERAND(gradient), OPERAND(numbers)) {
    GLOBAL const float *p = (GLOBAL const float *)ELEMENT(numbers, 0, 0, 0, 0);
    EACH_ITEM(i, N_ELEMENTS(dst)) {
        const gpu_index at = INDEX_IN(dst, i);
        *(GLOBAL float *)ELEMENT_AT(dst, at) = *(GLOBAL const float *)ELEMENT_AT(weights, at) * (1.0f - p[0] * p[1]) -
                                               p[0] * *(GLOBAL const float *)ELEMENT_AT(gradient, at);
    }
}

#endif
