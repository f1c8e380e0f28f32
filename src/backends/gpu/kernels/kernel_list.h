/*
 * kernel_list.h - every kernel by name: the only place that lists them.
 *
 * Layer: backends.
 */
#ifndef SR_GPU_KERNEL_LIST_H
#define SR_GPU_KERNEL_LIST_H

/* One a line, so that a change touches its own line. */
#define SR_GPU_KERNELS(X) \
    X(gpu_binary) \
    X(gpu_round_columns) \
    X(gpu_mul_mat_vec) \
    X(gpu_mul_mat_tiles) \
    X(gpu_sort_experts) \
    X(gpu_hadamard) \
    X(gpu_out_prod) \
    X(gpu_flash_attn) \
    X(gpu_flash_combine) \
    X(gpu_add_id) \
    X(gpu_unary) \
    X(gpu_glu) \
    X(gpu_norm) \
    X(gpu_group_norm) \
    X(gpu_rms_norm_back) \
    X(gpu_soft_max) \
    X(gpu_soft_max_back) \
    X(gpu_triangle) \
    X(gpu_rope) \
    X(gpu_copy_units) \
    X(gpu_convert) \
    X(gpu_concat) \
    X(gpu_repeat) \
    X(gpu_repeat_back) \
    X(gpu_accumulate) \
    X(gpu_quantize) \
    X(gpu_dequantize) \
    X(gpu_get_rows) \
    X(gpu_set_rows) \
    X(gpu_get_rows_back) \
    X(gpu_sum) \
    X(gpu_count_equal) \
    X(gpu_sum_counts) \
    X(gpu_sum_rows) \
    X(gpu_cumsum) \
    X(gpu_argmax) \
    X(gpu_argsort) \
    X(gpu_top_k) \
    X(gpu_im2col) \
    X(gpu_im2col_back) \
    X(gpu_conv) \
    X(gpu_conv_depthwise) \
    X(gpu_conv_transpose) \
    X(gpu_pool) \
    X(gpu_pool_back) \
    X(gpu_upscale) \
    X(gpu_pad) \
    X(gpu_arange) \
    X(gpu_timestep_embedding) \
    X(gpu_ssm_conv) \
    X(gpu_ssm_scan) \
    X(gpu_wkv6) \
    X(gpu_wkv7) \
    X(gpu_delta_net) \
    X(gpu_cross_entropy) \
    X(gpu_cross_entropy_back) \
    X(gpu_adamw) \
    X(gpu_sgd) \
    X(gpu_windows) \
    X(gpu_relative_rows) \
    X(gpu_add_positions) \
    X(gpu_solve_tri)

#endif
