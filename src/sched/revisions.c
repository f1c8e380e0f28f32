/*
 * revisions.c - the scheduler's rules by date: one table of what changed when.
 *
 * Layer: sched.  Answers to the history of ggml-backend.cpp; the reference is one row of it.  Each row repeats the rules
 * of the row before but for what its change names.
 */
#include <ctype.h>

#include "sched/sched_internal.h"

static const sr_revision revisions[] = {
    {"2024-01", "start", "the oldest rules known here: 4 inputs a split, 256 splits, one copy",
     {.max_splits = 256, .max_split_inputs = 4, .reserve_keeps_users = false}},
    {"2024-03", "copies", "pipeline copies, up to 4",
     {.pipeline_copies = true, .max_splits = 256, .max_split_inputs = 4}},
    {"2024-03-27", "splits-2048", "up to 2048 splits of 10 inputs",
     {.pipeline_copies = true, .max_splits = 2048, .max_split_inputs = 10}},
    {"2024-08-27", "dynamic-splits", "as many splits as the graph has nodes",
     {.pipeline_copies = true, .max_split_inputs = 10}},
    {"2024-11-20", "views", "views are assigned in pass 1 too",
     {.pipeline_copies = true, .max_split_inputs = 10, .views_in_pass_1 = true}},
    {"2025-01-14", "host-offload", "an op is offloaded only from host buffers",
     {.pipeline_copies = true, .max_split_inputs = 10, .views_in_pass_1 = true, .offload_host_only = true}},
    {"2025-05-13", "op-offload", "offloading can be switched off",
     {.pipeline_copies = true, .max_split_inputs = 10, .views_in_pass_1 = true, .offload_host_only = true,
      .op_offload_switch = true}},
    {"2025-08", "used-experts", "of expert weights only the used ones are copied",
     {.pipeline_copies = true, .max_split_inputs = 10, .views_in_pass_1 = true, .offload_host_only = true,
      .op_offload_switch = true, .used_experts_only = true}},
    {"2025-09-05", "inputs-30", "30 inputs a split",
     {.pipeline_copies = true, .max_split_inputs = 30, .views_in_pass_1 = true, .offload_host_only = true,
      .op_offload_switch = true, .used_experts_only = true}},
    {"2025-11-17", "reserve-users", "a reserve keeps user assignments",
     {.pipeline_copies = true, .max_split_inputs = 30, .views_in_pass_1 = true, .offload_host_only = true,
      .op_offload_switch = true, .used_experts_only = true, .reserve_keeps_users = true}},
    {"2026-05-10", "reference", "the reference revision; the rules are those before",
     {.pipeline_copies = true, .max_split_inputs = 30, .views_in_pass_1 = true, .offload_host_only = true,
      .op_offload_switch = true, .used_experts_only = true, .reserve_keeps_users = true}},
    {"2026-07-30", "attention", "FLASH_ATTN_EXT is not placed or offloaded by a weight, as ROPE",
     {.pipeline_copies = true, .max_split_inputs = 30, .views_in_pass_1 = true, .offload_host_only = true,
      .op_offload_switch = true, .used_experts_only = true, .reserve_keeps_users = true,
      .attention_ignores_weights = true}},
    {"2026-08-04", "dynamic-inputs", "a split's inputs grow without limit; the graph's size counts real inputs",
     {.pipeline_copies = true, .max_split_inputs = 30, .views_in_pass_1 = true, .offload_host_only = true,
      .op_offload_switch = true, .used_experts_only = true, .reserve_keeps_users = true,
      .attention_ignores_weights = true, .inputs_grow = true}},
    {"2026-08-21", "empty-wait", "a split without inputs waits for the backend of the split before",
     {.pipeline_copies = true, .max_split_inputs = 30, .views_in_pass_1 = true, .offload_host_only = true,
      .op_offload_switch = true, .used_experts_only = true, .reserve_keeps_users = true,
      .attention_ignores_weights = true, .inputs_grow = true, .empty_split_waits = true}},
    {"2026-09-04", "full-splits", "too many inputs no longer start a split",
     {.pipeline_copies = true, .max_split_inputs = 30, .views_in_pass_1 = true, .offload_host_only = true,
      .op_offload_switch = true, .used_experts_only = true, .reserve_keeps_users = true,
      .attention_ignores_weights = true, .inputs_grow = true, .empty_split_waits = true,
      .full_split_goes_on = true}},
};

const sr_revision *sr_revisions(int *out_n) {
    *out_n = SR_COUNT(revisions);
    return revisions;
}

/* YYYY, YYYY-MM or YYYY-MM-DD. */
static bool is_date(const char *text) {
    const size_t n = strlen(text);
    if (n != 4 && n != 7 && n != 10) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (i == 4 || i == 7 ? text[i] != '-' : !isdigit((unsigned char)text[i])) {
            return false;
        }
    }
    return true;
}

/* A date that leaves out the day means the end of that month, so that a change of that month counts. */
static bool is_in_force(const char *date, const char *at) {
    const size_t n = strlen(at) < strlen(date) ? strlen(at) : strlen(date);
    return strncmp(date, at, n) <= 0;
}

const sr_revision *sr_revision_find(const char *text) {
    const sr_revision *found = NULL;
    if (strcmp(text, "latest") == 0) {
        return &revisions[SR_COUNT(revisions) - 1];
    }
    for (int i = 0; i < SR_COUNT(revisions); i++) {
        if (strcmp(text, revisions[i].name) == 0 || strcmp(text, revisions[i].date) == 0) {
            return &revisions[i];
        }
        if (is_date(text) && is_in_force(revisions[i].date, text)) {
            found = &revisions[i];
        }
    }
    return found;
}

void sr_sched_params_set_rules(sr_sched_params *params, const sr_revision *revision) {
    params->rules = revision->rules;
    params->max_split_inputs = revision->rules.max_split_inputs;
}
