/*
 * operand.h - how kernels reach their operands: addresses, elements of any plain type read and written as floats.
 *
 * Layer: backends.  Kernel code, see opencl_language.h and cuda_language.h for the words.
 */
#ifndef SR_GPU_OPERAND_H
#define SR_GPU_OPERAND_H

/* The two parameters that an operand is: sr__gpu_add_operand hands them over. */
#define OPERAND(name) GLOBAL gpu_byte *name##_memory, const gpu_tensor name

/* The address of element (i0, i1, i2, i3), or of row (i1, i2, i3) with i0 = 0; nb[0] of a block type is not followed. */
#define ELEMENT(name, i0, i1, i2, i3)                                                                   \
    ((name##_memory) + (name).offset + (i0) * (name).nb[0] + (i1) * (name).nb[1] + (i2) * (name).nb[2] + \
     (i3) * (name).nb[3])

/* The two parameters by which a kernel reports wrong data (sr__gpu_fault_place), and the report. */
#define FAULT GLOBAL gpu_byte *fault_memory, const gpu_int fault_number
#define RAISE_FAULT() ((void)ATOMIC_FIRST(fault_memory, fault_number))

enum { GPU_F32 = 0, GPU_F16 = 1, GPU_I8 = 24, GPU_I16 = 25, GPU_I32 = 26, GPU_I64 = 27, GPU_BF16 = 30 };

DEVICE float load_bf16(GLOBAL const gpu_byte *p) {
    return BITS_FLOAT((gpu_uint)(*(GLOBAL const gpu_ushort *)p) << 16);
}

/* To nearest, ties to even; a NaN stays one. */
DEVICE gpu_uint bf16_bits(float x) {
    const gpu_uint bits = FLOAT_BITS(x);
    return (bits & 0x7fffffffu) > 0x7f800000u ? (bits >> 16) | 64u : (bits + (0x7fffu + ((bits >> 16) & 1u))) >> 16;
}

DEVICE float round_bf16(float x) { return BITS_FLOAT(bf16_bits(x) << 16); }

DEVICE void store_bf16(GLOBAL gpu_byte *p, float x) { *(GLOBAL gpu_ushort *)p = (gpu_ushort)bf16_bits(x); }

DEVICE float load_element(gpu_int type, GLOBAL const gpu_byte *p) {
    switch (type) {
    case GPU_F32: return *(GLOBAL const float *)p;
    case GPU_F16: return LOAD_HALF(p);
    case GPU_BF16: return load_bf16(p);
    case GPU_I32: return (float)*(GLOBAL const gpu_int *)p;
    default: return 0.0f;
    }
}

/* Toward zero; what has no place, and NaN, becomes the least. */
DEVICE gpu_int whole_number(float x) {
    return x > -2147483648.0f && x < 2147483648.0f ? (gpu_int)x : (gpu_int)0x80000000u;
}

DEVICE void store_element(gpu_int type, GLOBAL gpu_byte *p, float x) {
    switch (type) {
    case GPU_F32: *(GLOBAL float *)p = x; break;
    case GPU_F16: STORE_HALF(p, x); break;
    case GPU_BF16: store_bf16(p, x); break;
    case GPU_I32: *(GLOBAL gpu_int *)p = whole_number(x); break;
    default: break;
    }
}

#endif
