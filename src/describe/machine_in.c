/*
 * machine_in.c - the `backends` and `buffer_types` of a description, made into a machine.
 *
 * Layer: describe.  Answers to what an application of the reference does before ggml_backend_sched_new.
 */
#include <stdio.h>

#include "describe/loader.h"

enum {
    B_NAME, B_DEVICE, B_TYPE, B_BUFFER_TYPE, B_ALIGNMENT, B_MAX_BUFFER_SIZE, B_HOST, B_MEMORY, B_ACCEPTS, B_OPS,
    B_OFFLOAD, B_ALLOC_EXTRA, B_EVENTS, B_ASYNC, B_SPEED, B_PACED, B_FAIL, B_COUNT
};

static const char *const backend_keys[B_COUNT] = {
    "name", "device", "type", "buffer_type", "alignment", "max_buffer_size", "host", "memory", "accepts", "ops",
    "offload", "alloc_extra", "events", "async", "speed", "paced", "fail",
};

/* ---- the values of single keys ----------------------------------------------------------------------------------- */

static sr_status load_alignment(sr__loader *ld, const cJSON *json, const sr__at *at, size_t *out) {
    int64_t value;
    sr_status status;
    SR_TRY(sr__size(ld, json, at, &value));
    if (value <= 0 || (value & (value - 1)) != 0 || value > INT64_C(1) << 40) {
        SR_TRY(sr__wrong(ld, at, "an alignment is a power of two, not %lld", (long long)value));
    }
    *out = (size_t)value;
done:
    return status;
}

static sr_status load_max_size(sr__loader *ld, const cJSON *json, const sr__at *at, size_t *out) {
    int64_t value;
    sr_status status;
    SR_TRY(sr__size(ld, json, at, &value));
    if (value == 0) {
        SR_TRY(sr__wrong(ld, at, "the largest buffer cannot have 0 bytes"));
    }
    *out = (size_t)value;
done:
    return status;
}

static sr_status load_device_type(sr__loader *ld, const cJSON *json, const sr__at *at, sr_device_type *out) {
    static const char *const names[] = {"cpu", "gpu", "igpu", "accel"};
    int place = 0;
    const sr_status status = sr__one_of(ld, json, at, "device type", names, SR_COUNT(names), &place);
    *out = (sr_device_type)place;
    return status;
}

static sr_status load_accepts(sr__loader *ld, const cJSON *json, const sr__at *at, sr_backend_config *config) {
    sr_status status;
    SR_TRY(sr__want_array(ld, json, at));
    config->accepts = sr__arena_alloc(&ld->json, ((size_t)cJSON_GetArraySize(json) + 1) * sizeof(*config->accepts));
    if (!config->accepts) {
        SR_TRY(sr__no_memory(ld));
    }
    int64_t i = 0;
    for (const cJSON *child = json->child; child; child = child->next, i++) {
        sr__at element = sr__at_index(at, i);
        SR_TRY(sr__string(ld, child, &element, &config->accepts[config->n_accepts]));
        config->n_accepts++;
    }
done:
    return status;
}

static sr_status load_ops(sr__loader *ld, const cJSON *json, const sr__at *at, sr_backend_config *config) {
    static const char *const keys[] = {"deny", "allow"};
    const cJSON *fields[2];
    sr_status status;
    SR_TRY(sr__fields(ld, json, at, keys, 2, fields));
    config->has_rules = true;
    config->has_allow = fields[1] != NULL;
    sr__at deny = sr__at_key(at, keys[0]), allow = sr__at_key(at, keys[1]);
    if (fields[0]) {
        SR_TRY(sr__load_rules(ld, fields[0], &deny, &config->deny));
    }
    if (fields[1]) {
        SR_TRY(sr__load_rules(ld, fields[1], &allow, &config->allow));
    }
done:
    return status;
}

static sr_status load_offload(sr__loader *ld, const cJSON *json, const sr__at *at, sr_backend_config *config) {
    static const char *const keys[] = {"min_batch", "ops"};
    const cJSON *fields[2];
    sr_status status;
    SR_TRY(sr__fields(ld, json, at, keys, 2, fields));
    sr__at min_batch = sr__at_key(at, keys[0]), ops = sr__at_key(at, keys[1]);
    if (!fields[0]) {
        SR_TRY(sr__wrong(ld, at, "\"min_batch\" is missing: from which batch on it asks for offload"));
    }
    SR_TRY(sr__int_in(ld, fields[0], &min_batch, 0, INT64_MAX, &config->offload_min_batch));
    if (fields[1]) {
        config->has_offload_ops = true;
        SR_TRY(sr__load_rules(ld, fields[1], &ops, &config->offload_ops));
    }
    if (ld->options->has_offload_min_batch) {
        config->offload_min_batch = ld->options->offload_min_batch;
    }
done:
    return status;
}

static bool extra_name(void *user, const char *name, size_t length, int64_t *out) {
    static const char *const names[] = {"ne0", "ne1", "ne2", "ne3", "nbytes"};
    (void)user;
    *out = 1;
    for (int i = 0; i < SR_COUNT(names); i++) {
        if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0) {
            return true;
        }
    }
    return false;
}

/* Checks the form of an expression whose values come with each tensor: as the branch of a choice that is not taken,
 * where arithmetic cannot fail. */
static sr_status check_extra(sr__loader *ld, const char *text, const sr__at *at) {
    int64_t value;
    sr__str whole = {0};
    sr__str_printf(&whole, "0 ? (%s) : 0", text);
    sr_status status = whole.failed ? sr__no_memory(ld)
                                    : sr__expr_eval(whole.data, whole.length, extra_name, NULL, &value, ld->err);
    sr__str_free(&whole);
    if (status == SR_OK || status == SR_MEMORY) {
        return status;
    }
    const char *what = ld->err ? strstr(sr_error_message(ld->err), ": ") : NULL;
    sr__str words = {0};
    sr__str_puts(&words, what ? what + 2 : "not an expression");
    status = sr__wrong(ld, at, "in the expression '%s' (of ne0 .. ne3 and nbytes): %s", text, sr__str_text(&words));
    sr__str_free(&words);
    return status;
}

static sr_status load_one_extra(sr__loader *ld, const cJSON *json, const sr__at *at, sr_alloc_extra *out) {
    static const char *const keys[] = {"op", "bytes"};
    const cJSON *fields[2];
    sr_status status;
    SR_TRY(sr__fields(ld, json, at, keys, 2, fields));
    if (!fields[0] || !fields[1]) {
        SR_TRY(sr__wrong(ld, at, "\"%s\" is missing", fields[0] ? "bytes" : "op"));
    }
    sr__at op = sr__at_key(at, keys[0]), bytes = sr__at_key(at, keys[1]);
    char number[32];
    const char *text = number;
    if (sr__is_number(fields[1])) {
        int64_t value;
        SR_TRY(sr__int_in(ld, fields[1], &bytes, 0, INT64_MAX, &value));
        snprintf(number, sizeof(number), "%lld", (long long)value);
    } else {
        SR_TRY(sr__string(ld, fields[1], &bytes, &text));
        SR_TRY(check_extra(ld, text, &bytes));
    }
    SR_TRY(sr__load_rule(ld, fields[0], &op, &out->rule));
    out->bytes = sr__strdup(text);
    if (!out->bytes) {
        sr_rule_clear(&out->rule);
        SR_TRY(sr__no_memory(ld));
    }
done:
    return status;
}

static sr_status load_alloc_extra(sr__loader *ld, const cJSON *json, const sr__at *at, sr_backend_config *config) {
    sr_status status;
    SR_TRY(sr__want_array(ld, json, at));
    config->alloc_extra = sr__calloc((size_t)cJSON_GetArraySize(json) + 1, sizeof(*config->alloc_extra));
    if (!config->alloc_extra) {
        SR_TRY(sr__no_memory(ld));
    }
    int64_t i = 0;
    for (const cJSON *child = json->child; child; child = child->next, i++) {
        sr__at element = sr__at_index(at, i);
        SR_TRY(load_one_extra(ld, child, &element, &config->alloc_extra[config->n_alloc_extra]));
        config->n_alloc_extra++;
    }
done:
    return status;
}

static sr_status load_speed(sr__loader *ld, const cJSON *json, const sr__at *at, sr_speed *out) {
    static const char *const keys[] = {"flops", "memory_bandwidth", "link_bandwidth", "latency", "peer_bandwidth"};
    double *values[] = {&out->flops, &out->memory_bandwidth, &out->link_bandwidth, &out->latency, &out->peer_bandwidth};
    const cJSON *fields[SR_COUNT(keys)];
    sr_status status;
    SR_TRY(sr__fields(ld, json, at, keys, SR_COUNT(keys), fields));
    for (int i = 0; i < SR_COUNT(keys); i++) {
        sr__at member = sr__at_key(at, keys[i]);
        if (fields[i]) {
            SR_TRY(sr__double(ld, fields[i], &member, values[i]));
            if (*values[i] < 0) {
                SR_TRY(sr__wrong(ld, &member, "a figure of speed is not negative"));
            }
        }
    }
done:
    return status;
}

/* What a simulated device is to fail at, for tests of what happens then. */
static sr_status load_fail(sr__loader *ld, const cJSON *json, const sr__at *at, sr_backend_config *config) {
    static const char *const keys[] = {"alloc_after", "compute_op", "copy_nth"};
    const cJSON *fields[SR_COUNT(keys)];
    sr_status status;
    SR_TRY(sr__fields(ld, json, at, keys, SR_COUNT(keys), fields));
    sr__at after = sr__at_key(at, keys[0]), op = sr__at_key(at, keys[1]), nth = sr__at_key(at, keys[2]);
    config->fail.given = true;
    if (fields[0]) {
        SR_TRY(sr__int_in(ld, fields[0], &after, 0, INT64_MAX, &config->fail.alloc_after));
    }
    if (fields[1]) {
        SR_TRY(sr__load_rule(ld, fields[1], &op, &config->fail.compute_op));
        config->fail.has_compute_op = true;
    }
    if (fields[2]) {
        SR_TRY(sr__int_in(ld, fields[2], &nth, 0, INT64_MAX, &config->fail.copy_nth));
    }
done:
    return status;
}

/* ---- one backend ------------------------------------------------------------------------------------------------- */

static const sr_driver *driver_of(const char *device) {
    size_t n = strcspn(device, ":");
    for (const sr_driver *const *d = sr_drivers(); *d; d++) {
        if (strlen((*d)->name) == n && memcmp((*d)->name, device, n) == 0) {
            return *d;
        }
    }
    return NULL;
}

/* Keys that only a simulated device takes are errors where they stand. */
static sr_status check_sim_keys(sr__loader *ld, const cJSON *const *fields, const sr__at *at, const char *device) {
    static const int sim_keys[] = {B_TYPE, B_ALIGNMENT, B_MAX_BUFFER_SIZE, B_HOST, B_MEMORY, B_OFFLOAD, B_ALLOC_EXTRA,
                                   B_EVENTS, B_ASYNC, B_PACED, B_FAIL};
    const sr_driver *driver = driver_of(device);
    for (int i = 0; i < SR_COUNT(sim_keys) && driver && !driver->configurable; i++) {
        if (fields[sim_keys[i]]) {
            sr__at member = sr__at_key(at, backend_keys[sim_keys[i]]);
            return sr__wrong_key(ld, &member, "a device '%s' takes no \"%s\": only a simulated one does", device,
                                 backend_keys[sim_keys[i]]);
        }
    }
    return SR_OK;
}

static sr_status load_memory_keys(sr__loader *ld, const cJSON *const *f, const sr__at *at, sr_backend_config *config) {
    sr_status status = SR_OK;
    sr__at member = sr__at_key(at, "");
#define MEMBER(which) (member.key = backend_keys[which], &member)
    if (f[B_BUFFER_TYPE]) {
        SR_TRY(sr__string(ld, f[B_BUFFER_TYPE], MEMBER(B_BUFFER_TYPE), &config->buffer_type));
    }
    if (f[B_ALIGNMENT]) {
        SR_TRY(load_alignment(ld, f[B_ALIGNMENT], MEMBER(B_ALIGNMENT), &config->alignment));
    }
    if (f[B_MAX_BUFFER_SIZE]) {
        SR_TRY(load_max_size(ld, f[B_MAX_BUFFER_SIZE], MEMBER(B_MAX_BUFFER_SIZE), &config->max_buffer_size));
    }
    if (f[B_HOST]) {
        SR_TRY(sr__bool(ld, f[B_HOST], MEMBER(B_HOST), &config->host));
    }
    if (f[B_MEMORY]) {
        int64_t memory;
        SR_TRY(sr__size(ld, f[B_MEMORY], MEMBER(B_MEMORY), &memory));
        config->has_memory = true;
        config->memory = (uint64_t)memory;
    }
    if (f[B_ACCEPTS]) {
        SR_TRY(load_accepts(ld, f[B_ACCEPTS], MEMBER(B_ACCEPTS), config));
    }
done:
    return status;
}

static sr_status load_behaviour_keys(sr__loader *ld, const cJSON *const *f, const sr__at *at,
                                     sr_backend_config *config) {
    sr_status status = SR_OK;
    sr__at member = sr__at_key(at, "");
    if (f[B_TYPE]) {
        SR_TRY(load_device_type(ld, f[B_TYPE], MEMBER(B_TYPE), &config->type));
    }
    if (f[B_OPS]) {
        SR_TRY(load_ops(ld, f[B_OPS], MEMBER(B_OPS), config));
    }
    if (f[B_OFFLOAD]) {
        SR_TRY(load_offload(ld, f[B_OFFLOAD], MEMBER(B_OFFLOAD), config));
    }
    if (f[B_ALLOC_EXTRA]) {
        SR_TRY(load_alloc_extra(ld, f[B_ALLOC_EXTRA], MEMBER(B_ALLOC_EXTRA), config));
    }
    if (f[B_EVENTS]) {
        SR_TRY(sr__bool(ld, f[B_EVENTS], MEMBER(B_EVENTS), &config->events));
    }
    if (f[B_ASYNC]) {
        SR_TRY(sr__bool(ld, f[B_ASYNC], MEMBER(B_ASYNC), &config->async));
    }
    if (f[B_SPEED]) {
        SR_TRY(load_speed(ld, f[B_SPEED], MEMBER(B_SPEED), &config->speed));
    }
    if (f[B_PACED]) {
        SR_TRY(sr__bool(ld, f[B_PACED], MEMBER(B_PACED), &config->paced));
    }
    if (f[B_FAIL]) {
        SR_TRY(load_fail(ld, f[B_FAIL], MEMBER(B_FAIL), config));
    }
#undef MEMBER
done:
    return status;
}

/* Stands in for a device that is not there. */
static void simulate(sr_backend_config *config) {
    if (strncmp(config->device, "blas", 4) == 0) {
        config->type = SR_DEVICE_ACCEL;
    } else if (strncmp(config->device, "cpu", 3) == 0) {
        config->type = SR_DEVICE_CPU;
    }
    if (config->type == SR_DEVICE_ACCEL || config->type == SR_DEVICE_CPU) {
        config->buffer_type = config->buffer_type ? config->buffer_type : "CPU";
    }
    config->device = "sim";
}

static sr_status add_backend(sr__loader *ld, const cJSON *const *f, const sr__at *at, bool simulated) {
    sr_status status;
    sr_backend_config config;
    sr_backend_config_init(&config);
    sr__at device = sr__at_key(at, "device"), name = sr__at_key(at, "name");
    SR_TRY(sr__string(ld, f[B_DEVICE], &device, &config.device));
    config.name = config.device;
    if (f[B_NAME]) {
        SR_TRY(sr__string(ld, f[B_NAME], &name, &config.name));
    }
    if (simulated) {
        simulate(&config);
    } else {
        SR_TRY(check_sim_keys(ld, f, at, config.device));
    }
    SR_TRY(load_memory_keys(ld, f, at, &config));
    SR_TRY(load_behaviour_keys(ld, f, at, &config));
    status = sr_machine_add_backend(ld->d->machine, &config, ld->err);
    if (status != SR_OK) {
        status = sr__wrong_there(ld, status == SR_UNAVAILABLE ? &device : at, status);
    }
done:
    sr_backend_config_clear(&config);
    return status;
}

static sr_status warn_simulated(sr__loader *ld, const cJSON *device) {
    if (ld->options->warn) {
        sr__str s = {0};
        sr__str_printf(&s, "device '%s' is not available, it is simulated", device->valuestring);
        if (s.failed) {
            sr__str_free(&s);
            return sr__no_memory(ld);
        }
        ld->options->warn(ld->options->warn_user, s.data);
        sr__str_free(&s);
    }
    return SR_OK;
}

static sr_status load_backend(sr__loader *ld, const cJSON *json, const sr__at *at) {
    const cJSON *fields[B_COUNT];
    sr_status status;
    SR_TRY(sr__fields(ld, json, at, backend_keys, B_COUNT, fields));
    if (!fields[B_DEVICE]) {
        SR_TRY(sr__wrong(ld, at, "\"device\" is missing"));
    }
    status = add_backend(ld, fields, at, false);
    if (status == SR_UNAVAILABLE && ld->options->simulate_missing) {
        sr_error_clear(ld->err);
        SR_TRY(warn_simulated(ld, fields[B_DEVICE]));
        status = add_backend(ld, fields, at, true);
    }
done:
    return status;
}

/* ---- the machine ------------------------------------------------------------------------------------------------- */

static sr_status load_buffer_type(sr__loader *ld, const cJSON *json, const sr__at *at, const char *name) {
    static const char *const keys[] = {"alignment", "max_size", "host"};
    const cJSON *fields[SR_COUNT(keys)];
    sr_status status;
    size_t alignment = 32, max_size = SIZE_MAX;
    bool host = false;
    SR_TRY(sr__fields(ld, json, at, keys, SR_COUNT(keys), fields));
    sr__at alignment_at = sr__at_key(at, keys[0]), max_at = sr__at_key(at, keys[1]), host_at = sr__at_key(at, keys[2]);
    if (fields[0]) {
        SR_TRY(load_alignment(ld, fields[0], &alignment_at, &alignment));
    }
    if (fields[1]) {
        SR_TRY(load_max_size(ld, fields[1], &max_at, &max_size));
    }
    if (fields[2]) {
        SR_TRY(sr__bool(ld, fields[2], &host_at, &host));
    }
    status = sr_machine_add_buffer_type(ld->d->machine, name, alignment, max_size, host, ld->err);
    status = sr__wrong_there(ld, at, status);
done:
    return status;
}

static sr_status load_buffer_types(sr__loader *ld, const cJSON *json, const sr__at *at) {
    sr_status status;
    SR_TRY(sr__no_repeats(ld, json, at));
    for (const cJSON *child = json->child; child; child = child->next) {
        if (!sr__is_comment(child->string)) {
            sr__at member = sr__at_key(at, child->string);
            SR_TRY(load_buffer_type(ld, child, &member, child->string));
        }
    }
done:
    return status;
}

/* Whether the description has backends of its own that are not those of the machine file, by name and order. */
static bool is_other_machine(const sr__loader *ld) {
    const cJSON *own = ld->has_machine_top ? ld->top.json[SR__TOP_BACKENDS] : NULL;
    const sr_machine *machine = ld->d->machine;
    if (!own || !sr__is_array(own)) {
        return false;
    }
    int i = 0;
    for (const cJSON *child = own->child; child; child = child->next, i++) {
        const cJSON *name = cJSON_GetObjectItemCaseSensitive(child, "name");
        name = name ? name : cJSON_GetObjectItemCaseSensitive(child, "device");
        if (i >= machine->n_backends || !name || !sr__is_string(name) ||
            strcmp(name->valuestring, machine->backends[i]->name) != 0) {
            return true;
        }
    }
    return i != machine->n_backends;
}

sr_status sr__load_machine(sr__loader *ld) {
    const sr__top *top = ld->has_machine_top ? &ld->machine_top : &ld->top;
    const cJSON *types = top->json[SR__TOP_BUFFER_TYPES], *backends = top->json[SR__TOP_BACKENDS];
    const sr__at *at = &top->at[SR__TOP_BACKENDS];
    sr_status status;
    ld->settle = true;
    SR_TRY(sr_machine_new(&ld->d->machine, ld->err));
    if (types) {
        SR_TRY(load_buffer_types(ld, types, &top->at[SR__TOP_BUFFER_TYPES]));
        SR_TRY(sr__copy_tree(ld, types, &ld->d->plain[SR__TOP_BUFFER_TYPES]));
    }
    if (!backends) {
        SR_TRY(sr__wrong(ld, &top->roots[0], "\"backends\" is missing"));
    }
    SR_TRY(sr__want_array(ld, backends, at));
    int64_t i = 0;
    for (const cJSON *child = backends->child; child; child = child->next, i++) {
        sr__at element = sr__at_index(at, i);
        SR_TRY(load_backend(ld, child, &element));
    }
    SR_TRY(sr__wrong_there(ld, at, sr_machine_finish(ld->d->machine, ld->err)));
    SR_TRY(sr__copy_tree(ld, backends, &ld->d->plain[SR__TOP_BACKENDS]));
    ld->other_machine = is_other_machine(ld);
done:
    ld->settle = false;
    return status;
}
