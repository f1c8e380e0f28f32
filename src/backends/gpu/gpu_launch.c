/*
 * gpu_launch.c - building launches argument by argument.
 *
 * Layer: backends.
 */
#include "backends/gpu/gpu_launch.h"

static void add(sr__gpu_launch *launch, sr__gpu_arg arg) {
    if (launch->n_args < SR_GPU_MAX_ARGS) {
        launch->args[launch->n_args] = arg;
    }
    launch->n_args++; /* one too many is told by sr__gpu_launch_run */
}

void sr__gpu_add_memory(sr__gpu_launch *launch, sr__gpu_memory *memory) {
    add(launch, (sr__gpu_arg){.memory = memory});
}

void sr__gpu_add_value(sr__gpu_launch *launch, const void *value, size_t size) {
    add(launch, (sr__gpu_arg){.value = value, .size = size});
}

void sr__gpu_add_operand(sr__gpu_launch *launch, const gpu_tensor *place, sr__gpu_memory *memory) {
    sr__gpu_add_memory(launch, memory);
    sr__gpu_add_value(launch, place, sizeof(*place));
}

void sr__gpu_add_dst(sr__gpu_launch *launch, const sr__gpu_node *node) {
    sr__gpu_add_operand(launch, &node->dst_place, node->dst_memory);
}

void sr__gpu_add_src(sr__gpu_launch *launch, const sr__gpu_node *node, int j) {
    sr__gpu_add_operand(launch, &node->src_place[j], node->src_memory[j]);
}

sr_status sr__gpu_launch_run(const sr__gpu_node *node, const sr__gpu_launch *launch, sr_error *err) {
    if (launch->n_args > SR_GPU_MAX_ARGS) {
        return sr__fail(err, SR_INTERNAL, "a launch of %d arguments, at most %d can be handed over", launch->n_args,
                        (int)SR_GPU_MAX_ARGS);
    }
    for (int d = 0; d < 3; d++) {
        if (launch->groups[d] == 0 || launch->group[d] == 0) {
            return SR_OK;
        }
    }
    return node->stream->device->runtime->launch(node->stream, launch, err);
}
