/*
 * rope.h - ROPE and ROPE_BACK: pairs of elements turned by an angle that grows with the position.
 *
 * Layer: backends.  Kernel code.  The angle of a pair is a position times a factor again and again, in f32, as the
 * CPU multiplies it; an item works it out once for several heads.
 */
#ifndef SR_GPU_ROPE_H
#define SR_GPU_ROPE_H

enum { ROPE_MROPE = 8, ROPE_VISION = 24, ROPE_IMROPE = 40 };
enum { ROPE_HEADS = 8 }; /* that share the angles of an item */

/* Which of the four components of a position turns a pair; place: the pair's in the cycle of sections. */
DEVICE gpu_int rope_component(const gpu_rope_params p, gpu_long place) {
    if ((p.mode & ROPE_MROPE) == 0) {
        return 0;
    }
    if (p.mode == ROPE_IMROPE) { /* the first three take turns */
        const gpu_int turn = (gpu_int)(place % 3);
        const gpu_long size = turn == 0 ? p.section[0] : turn == 1 ? p.section[1] : p.section[2];
        return place < 3 * size ? turn : 3;
    }
    return place < p.section[0] ? 0 : place < p.section[0] + p.section[1] ? 1
           : place < p.section[0] + p.section[1] + p.section[2] ? 2 : 3;
}

/* How often pair j's position is multiplied.  In vision mode angles begin anew in each section, but for one that
 * follows an empty one. */
DEVICE gpu_long rope_steps(const gpu_rope_params p, gpu_long j, gpu_long place, gpu_int component) {
    if (p.mode != ROPE_VISION) {
        return j;
    }
    const gpu_long s0 = p.section[0], s1 = p.section[1], s2 = p.section[2];
    switch (component) {
    case 0: return place;
    case 1: return s0 > 0 ? place - s0 : j;
    case 2: return s1 > 0 ? place - s0 - s1 : j;
    default: return s2 > 0 ? place - s0 - s1 - s2 : j;
    }
}

DEVICE float rope_turn(const gpu_rope_params p, float angle, float divisor, gpu_long j) {
    const float whole = angle / divisor, scaled = p.freq_scale * whole;
    if (p.ext_factor == 0.0f) {
        return scaled;
    }
    const float ramp = fmin(1.0f, fmax(0.0f, ((float)j - p.low) / fmax(0.001f, p.high - p.low)));
    const float blend = (1.0f - ramp) * p.ext_factor;
    return PRODUCT(scaled, 1.0f - blend) + PRODUCT(whole, blend); /* angles are large: other roundings would be seen */
}

/* A group turns ROPE_HEADS heads of one token; factors: divisors of the angles, or none. */
KERNEL(gpu_rope)(OPERAND(dst), OPERAND(a), OPERAND(positions), OPERAND(factors), const gpu_rope_params p) {
    const gpu_long chunks = (dst.ne[1] + ROPE_HEADS - 1) / ROPE_HEADS, tokens = dst.ne[2];
    const gpu_long cycle = p.section[0] + p.section[1] + p.section[2] + p.section[3];
    EACH_GROUP(g, chunks * tokens * dst.ne[3]) {
        const gpu_index at = index_of(g, chunks, tokens, dst.ne[3]);
        const gpu_long first_head = at.i0 * ROPE_HEADS, token = at.i1, i3 = at.i2;
        const gpu_long end = first_head + ROPE_HEADS < dst.ne[1] ? first_head + ROPE_HEADS : dst.ne[1];
        EACH_IN_GROUP(j, p.n_pairs) {
            const gpu_long place = (p.mode & ROPE_MROPE) != 0 ? wrapped(j, cycle) : j;
            const gpu_int component = rope_component(p, place);
            const gpu_long steps = rope_steps(p, j, place, component);
            float angle = (float)*(GLOBAL const gpu_int *)ELEMENT(positions, token + component * tokens, 0, 0, 0);
            for (gpu_long k = 0; k < steps; k++) {
                angle *= p.step;
            }
            const float divisor = factors.given ? *(GLOBAL const float *)ELEMENT(factors, j, 0, 0, 0) : 1.0f;
            const float turn = rope_turn(p, angle, divisor, j);
            const float cosine = cos(turn) * p.size, sine = sin(turn) * p.size * p.sign;
            const gpu_long first = j * p.first_step, second = first + p.distance;
            for (gpu_long i1 = first_head; i1 < end; i1++) {
                const float x0 = load_element(a.type, ELEMENT(a, first, i1, token, i3));
                const float x1 = load_element(a.type, ELEMENT(a, second, i1, token, i3));
                store_element(dst.type, ELEMENT(dst, first, i1, token, i3), fma(x0, cosine, -PRODUCT(x1, sine)));
                store_element(dst.type, ELEMENT(dst, second, i1, token, i3), fma(x0, sine, PRODUCT(x1, cosine)));
            }
        }
        for (gpu_long i = p.n_turned + LOCAL_ID(0); i < dst.ne[0]; i += LOCAL_SIZE(0)) {
            for (gpu_long i1 = first_head; i1 < end; i1++) {
                store_element(dst.type, ELEMENT(dst, i, i1, token, i3),
                              load_element(a.type, ELEMENT(a, i, i1, token, i3)));
            }
        }
    }
}

#endif
