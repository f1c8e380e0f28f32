/*
 * config.c - what a description says of one backend, before there is one.
 *
 * Layer: backend.  The reference has no such object: there an application opens its devices by hand.
 */
#include "base/base.h"
#include "sched_run/backend.h"

void sr_backend_config_init(sr_backend_config *config) {
    *config = (sr_backend_config){
        .type = SR_DEVICE_GPU,
        .alignment = 128,
        .max_buffer_size = SIZE_MAX,
        .offload_min_batch = -1,
        .events = true,
        .async = true,
    };
    config->fail.alloc_after = -1;
    config->fail.copy_nth = -1;
    config->fail.compute_op.op = -1;
    config->fail.compute_op.kind = -1;
}

void sr_backend_config_clear(sr_backend_config *config) {
    sr_rules_clear(&config->deny);
    sr_rules_clear(&config->allow);
    sr_rules_clear(&config->offload_ops);
    for (int i = 0; i < config->n_alloc_extra; i++) {
        sr_rule_clear(&config->alloc_extra[i].rule);
        sr__free(config->alloc_extra[i].bytes);
    }
    sr__free(config->alloc_extra);
    config->alloc_extra = NULL;
    config->n_alloc_extra = 0;
    sr_rule_clear(&config->fail.compute_op);
    config->fail.has_compute_op = false;
}
