/*
 * test_machine.c - tests of src/backend/machine.c, registry.c and config.c.
 *
 * Layer: tests.
 */
#include <stdio.h>

#include "support/backend_fixture.h"

static sr_status try_backend(sr_machine *machine, sr_backend_config config, sr_error *err) {
    const sr_status status = sr_machine_add_backend(machine, &config, err);
    sr_backend_config_clear(&config);
    return status;
}

static sr_machine *machine_new(void) {
    sr_error err = {0};
    sr_machine *machine;
    bf_ok(sr_machine_new(&machine, &err), &err);
    return machine;
}

static void test_devices(void **state) {
    (void)state;
    sr_error err = {0};
    sr_machine *m = machine_new();
    bf_fails(try_backend(m, bf_config("X", "vulkan"), &err), SR_UNAVAILABLE, &err,
             "no device 'vulkan' in this build; devices: cpu, sim");
    bf_fails(try_backend(m, bf_config("X", "smi"), &err), SR_UNAVAILABLE, &err, "did you mean 'sim'?");
    bf_fails(try_backend(m, bf_config("X", "vulkan:3"), &err), SR_UNAVAILABLE, &err, "no device 'vulkan' in");
    bf_fails(try_backend(m, bf_config("X", "cpu:1"), &err), SR_UNAVAILABLE, &err, "has 1, numbered from 0");
    bf_fails(try_backend(m, bf_config("X", "cpu:"), &err), SR_INVALID, &err, "no device number");
    bf_fails(try_backend(m, bf_config("X", "cpu:1x"), &err), SR_INVALID, &err, "no device number");
    bf_fails(try_backend(m, bf_config("X", "cpu:99999999999999999999"), &err), SR_INVALID, &err, "no device number");
    bf_fails(try_backend(m, bf_config("X", NULL), &err), SR_INVALID, &err, "needs a device");
    bf_fails(try_backend(m, bf_config("", "cpu"), &err), SR_INVALID, &err, "name");
    assert_int_equal(m->n_backends, 0);
    bf_ok(try_backend(m, bf_config(NULL, "cpu:0"), &err), &err);
    assert_string_equal(m->backends[0]->name, "cpu:0");
    sr_machine_free(m);
    /* every driver of the build describes its devices */
    for (const sr_driver *const *d = sr_drivers(); *d; d++) {
        const char *why = NULL, *description = NULL;
        size_t free_bytes, total;
        if ((*d)->device_count(&why) == 0) {
            assert_non_null(why);
            continue;
        }
        assert_int_equal((*d)->device_describe(0, &description, &free_bytes, &total), SR_OK);
        assert_non_null(description);
        assert_non_null((*d)->summary);
    }
}

static void test_names(void **state) {
    (void)state;
    sr_error err = {0};
    sr_machine *m = bf_gpu_and_cpu();
    bf_fails(try_backend(m, bf_config("CPU", "sim"), &err), SR_INVALID, &err, "'CPU': there is one");
    assert_int_equal(sr_machine_backend(m, "GPU0"), 0);
    assert_int_equal(sr_machine_backend(m, "CPU"), 1);
    assert_int_equal(sr_machine_backend(m, "GPU"), -1);
    assert_int_equal(m->n_buffer_types, 2);
    assert_ptr_equal(m->buffer_types[0], sr_host_buffer_type());
    assert_ptr_equal(sr_machine_buffer_type(m, "GPU0"), m->backends[0]->buffer_type);
    assert_ptr_equal(m->backends[1]->buffer_type, sr_host_buffer_type());
    assert_null(sr_machine_buffer_type(m, "GPU1"));
    sr_machine_free(m);
}

static void test_finish(void **state) {
    (void)state;
    sr_error err = {0};
    sr_machine *m = machine_new();
    const char *accepts[] = {"GPU1"}, *wrong[] = {"GPU11"};
    bf_fails(sr_machine_finish(m, &err), SR_INVALID, &err, "no backends");
    sr_backend_config gpu = bf_config("GPU0", "sim");
    gpu.accepts = accepts; /* of a backend that comes later */
    gpu.n_accepts = 1;
    bf_ok(try_backend(m, gpu, &err), &err);
    bf_fails(sr_machine_finish(m, &err), SR_INVALID, &err, "last backend must be a cpu, 'GPU0' is of type gpu");
    bf_ok(try_backend(m, bf_config("GPU1", "sim"), &err), &err);
    sr_backend_config cpu = bf_config("CPU", "sim");
    cpu.type = SR_DEVICE_CPU;
    bf_ok(try_backend(m, cpu, &err), &err);
    assert_ptr_equal(m->backends[2]->buffer_type, sr_host_buffer_type()); /* a type of its name exists */
    bf_ok(sr_machine_finish(m, &err), &err);
    assert_ptr_equal(m->backends[0]->accepts[0], m->backends[1]->buffer_type);
    sr_backend_config last = bf_config("LAST", "cpu");
    last.accepts = wrong;
    last.n_accepts = 1;
    bf_ok(try_backend(m, last, &err), &err);
    bf_fails(sr_machine_finish(m, &err), SR_INVALID, &err,
             "backend 'LAST': unknown buffer type 'GPU11', did you mean 'GPU");
    sr_machine_free(m);
}

static void test_buffer_types(void **state) {
    (void)state;
    sr_error err = {0};
    sr_machine *m = machine_new();
    bf_ok(sr_machine_add_buffer_type(m, "MAPPED", 32, SIZE_MAX, true, &err), &err);
    bf_ok(sr_machine_add_buffer_type(m, "REPACK", 64, 1000, false, &err), &err);
    bf_fails(sr_machine_add_buffer_type(m, "CPU", 32, 1, true, &err), SR_INVALID, &err, "'CPU': there is one");
    bf_fails(sr_machine_add_buffer_type(m, "ODD", 48, 1, true, &err), SR_INVALID, &err, "48 is not a power of two");
    bf_fails(sr_machine_add_buffer_type(m, "ZERO", 0, 1, true, &err), SR_INVALID, &err, "0 is not a power of two");
    bf_fails(sr_machine_add_buffer_type(m, "NONE", 1, 0, true, &err), SR_INVALID, &err, "0 bytes");
    bf_fails(sr_machine_add_buffer_type(m, "", 1, 1, true, &err), SR_INVALID, &err, "name");
    sr_backend_config config = bf_config("BAD", "sim");
    config.alignment = 100;
    bf_fails(try_backend(m, config, &err), SR_INVALID, &err, "backend 'BAD': buffer type 'BAD': its alignment 100");
    config = bf_config("BAD", "cpu");
    config.buffer_type = "REPACK";
    bf_fails(try_backend(m, config, &err), SR_INVALID, &err, "host memory, 'REPACK' is not");
    config.buffer_type = "MAPED";
    bf_fails(try_backend(m, config, &err), SR_INVALID, &err, "unknown buffer type 'MAPED', did you mean 'MAPPED'?");
    config.buffer_type = "MAPPED";
    bf_ok(try_backend(m, config, &err), &err);
    assert_string_equal(m->backends[0]->buffer_type->name, "MAPPED");
    /* simulated devices may share a type, whoever comes first makes it */
    config = bf_config("GPU0", "sim");
    config.buffer_type = "POOL";
    config.alignment = 256;
    bf_ok(try_backend(m, config, &err), &err);
    config = bf_config("GPU1", "sim");
    config.buffer_type = "POOL";
    bf_ok(try_backend(m, config, &err), &err);
    assert_ptr_equal(m->backends[1]->buffer_type, m->backends[2]->buffer_type);
    assert_int_equal(m->backends[2]->buffer_type->alignment, 256);
    assert_int_equal(m->n_buffer_types, 4);
    sr_machine_free(m);
}

static void test_keys(void **state) {
    (void)state;
    sr_error err = {0};
    sr_machine *m = machine_new();
    sr_backend_config config = bf_config("CPU", "cpu");
    config.has_memory = true;
    bf_fails(try_backend(m, config, &err), SR_INVALID, &err, "device 'cpu' takes no 'memory'");
    config = bf_config("CPU", "cpu");
    config.async = false;
    bf_fails(try_backend(m, config, &err), SR_INVALID, &err, "takes no 'async'");
    config = bf_config("CPU", "cpu");
    config.offload_min_batch = 1;
    config.offload_ops = bf_rules(bf_rule(SR_OP_ADD, "ADD"));
    bf_fails(try_backend(m, config, &err), SR_INVALID, &err, "takes no 'offload'");
    config = bf_config("CPU", "cpu");
    config.speed.flops = 1e12;
    bf_ok(try_backend(m, config, &err), &err);
    assert_true(m->backends[0]->speed.flops > 0.9e12);
    sr_machine_free(m);
}

/* Rules leave the configuration, whatever comes of it. */
static void test_ownership(void **state) {
    (void)state;
    sr_error err = {0};
    sr_machine *m = machine_new();
    static const char *const devices[] = {"sim", "nothing", "sim"};
    for (int i = 0; i < 3; i++) {
        sr_backend_config config = bf_config("GPU0", devices[i]); /* the third finds its name taken */
        config.has_rules = true;
        config.deny = bf_rules(bf_rule(SR_OP_ADD, "ADD"));
        config.allow = bf_rules(bf_rule(SR_OP_MUL, "MUL"));
        config.has_offload_ops = true;
        config.offload_ops = bf_rules(bf_rule(SR_OP_MUL, "MUL"));
        config.alloc_extra = sr__calloc(1, sizeof(*config.alloc_extra));
        config.alloc_extra[0] = (sr_alloc_extra){bf_rule(SR_OP_MUL, "MUL"), sr__strdup("nbytes")};
        config.n_alloc_extra = 1;
        config.fail.given = config.fail.has_compute_op = true;
        config.fail.compute_op = bf_rule(SR_OP_SUB, "SUB");
        const sr_status status = sr_machine_add_backend(m, &config, &err);
        assert_int_equal(status == SR_OK, i == 0);
        assert_null(config.deny.rules);
        assert_null(config.allow.rules);
        assert_null(config.offload_ops.rules);
        assert_null(config.alloc_extra);
        assert_null(config.fail.compute_op.text);
        sr_error_clear(&err);
    }
    assert_int_equal(m->backends[0]->deny.n, 1);
    sr_machine_free(m);
    sr_machine_free(NULL);
}

/* Many backends: there is no limit here. */
static void test_many(void **state) {
    (void)state;
    enum { N = 100 };
    sr_error err = {0};
    sr_machine *m = machine_new();
    for (int i = 0; i < N; i++) {
        char name[16];
        snprintf(name, sizeof(name), "GPU%d", i);
        bf_ok(try_backend(m, bf_config(name, "sim"), &err), &err);
    }
    bf_ok(try_backend(m, bf_config("CPU", "cpu"), &err), &err);
    bf_ok(sr_machine_finish(m, &err), &err);
    assert_int_equal(m->n_backends, N + 1);
    assert_int_equal(sr_machine_backend(m, "GPU99"), 99);
    sr_machine_free(m);
}

static sr_status build(sr_machine **out, sr_error *err) {
    const char *accepts[] = {"MAPPED"};
    sr_status status;
    *out = NULL;
    SR_TRY(sr_machine_new(out, err));
    SR_TRY(sr_machine_add_buffer_type(*out, "MAPPED", 32, SIZE_MAX, true, err));
    sr_backend_config gpu = bf_config("GPU0", "sim"), blank = bf_config("N", "null"), cpu = bf_config("CPU", "cpu");
    gpu.accepts = accepts;
    gpu.n_accepts = 1;
    SR_TRY(sr_machine_add_backend(*out, &gpu, err));
    SR_TRY(sr_machine_add_backend(*out, &blank, err));
    SR_TRY(sr_machine_add_backend(*out, &cpu, err));
    SR_TRY(sr_machine_finish(*out, err));
done:
    return status;
}

static void test_out_of_memory(void **state) {
    (void)state;
    sr_error err = {0};
    sr_machine *m;
    sr_status status;
    long n = 1;
    do {
        sr__fail_allocations(n++, true);
        status = build(&m, &err);
        sr__fail_allocations(0, false);
        assert_true(status == SR_OK || status == SR_MEMORY);
        sr_error_clear(&err);
        sr_machine_free(m);
    } while (status != SR_OK);
    assert_true(n > 10);
    /* the texts of errors need memory too */
    m = machine_new();
    for (n = 1; n < 12; n++) {
        sr__fail_allocations(n, true);
        status = try_backend(m, bf_config("X", "vulkan"), &err);
        sr__fail_allocations(0, false);
        assert_true(status == SR_UNAVAILABLE || status == SR_MEMORY);
        sr_error_clear(&err);
    }
    sr_machine_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_devices),      cmocka_unit_test(test_names), cmocka_unit_test(test_finish),
        cmocka_unit_test(test_buffer_types), cmocka_unit_test(test_keys),  cmocka_unit_test(test_ownership),
        cmocka_unit_test(test_many),         cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
