/*
 * test_buffer.c - tests of src/backend/buffer.c: ranges, 2-d forms, copies, over a buffer with gaps in its interface.
 *
 * Layer: tests.
 */
#include "support/backend_fixture.h"

/* A buffer outside host memory that counts what is asked of it; its interface is changed by each test. */
typedef struct fake {
    sr_buffer buffer;
    sr_buffer_i iface;
    sr_buffer_type type;
    uint8_t *bytes;
    int sets, gets, sets_2d, gets_2d, copies;
} fake;

static sr_status fake_set(sr_buffer *buffer, const void *data, size_t offset, size_t size, sr_error *err) {
    (void)err;
    fake *f = buffer->context;
    f->sets++;
    memcpy(f->bytes + offset, data, size);
    return SR_OK;
}

static sr_status fake_get(const sr_buffer *buffer, void *data, size_t offset, size_t size, sr_error *err) {
    (void)err;
    fake *f = buffer->context;
    f->gets++;
    memcpy(data, f->bytes + offset, size);
    return SR_OK;
}

static sr_status fake_set_2d(sr_buffer *buffer, const void *data, size_t offset, size_t size, size_t n,
                             size_t stride_buffer, size_t stride_data, sr_error *err) {
    (void)data, (void)offset, (void)size, (void)n, (void)stride_buffer, (void)stride_data, (void)err;
    ((fake *)buffer->context)->sets_2d++;
    return SR_OK;
}

static sr_status fake_get_2d(const sr_buffer *buffer, void *data, size_t offset, size_t size, size_t n,
                             size_t stride_buffer, size_t stride_data, sr_error *err) {
    (void)data, (void)offset, (void)size, (void)n, (void)stride_buffer, (void)stride_data, (void)err;
    ((fake *)buffer->context)->gets_2d++;
    return SR_OK;
}

static sr_status fake_copy_from(sr_buffer *dst, size_t dst_offset, const sr_buffer *src, size_t src_offset, size_t size,
                                bool *done, sr_error *err) {
    fake *f = dst->context;
    const fake *from = src->context;
    (void)err;
    f->copies++;
    *done = src->iface->set == fake_set && from->type.name[0] == 'n'; /* from "near" only */
    if (*done) {
        memmove(f->bytes + dst_offset, from->bytes + src_offset, size);
    }
    return SR_OK;
}

static sr_status broken_get(const sr_buffer *buffer, void *data, size_t offset, size_t size, sr_error *err) {
    (void)buffer, (void)data, (void)offset, (void)size;
    return sr__fail(err, SR_COMPUTE, "broken");
}

static void fake_free(sr_buffer *buffer) {
    sr__free(((fake *)buffer->context)->bytes);
}

static void fake_init(fake *f, const char *name, size_t size) {
    *f = (fake){0};
    f->iface = (sr_buffer_i){.free = fake_free, .set = fake_set, .get = fake_get};
    f->type = (sr_buffer_type){.name = name, .alignment = 1, .max_size = SIZE_MAX};
    f->bytes = sr__calloc(1, size);
    assert_non_null(f->bytes);
    f->buffer = (sr_buffer){.iface = &f->iface, .type = &f->type, .size = size, .context = f};
}

static void test_2d_looks_for_itself(void **state) {
    (void)state;
    sr_error err = {0};
    uint8_t data[64] = {0};
    fake f;
    fake_init(&f, "far", 256);
    /* neither form: pieces */
    bf_ok(sr_buffer_set_2d(&f.buffer, data, 0, 4, 3, 16, 8, &err), &err);
    bf_ok(sr_buffer_get_2d(&f.buffer, data, 0, 4, 3, 16, 8, &err), &err);
    assert_int_equal(f.sets, 3);
    assert_int_equal(f.gets, 3);
    /* a write only: reads must not go through a form that is not there */
    f.iface.set_2d = fake_set_2d;
    bf_ok(sr_buffer_set_2d(&f.buffer, data, 0, 4, 3, 16, 8, &err), &err);
    bf_ok(sr_buffer_get_2d(&f.buffer, data, 0, 4, 3, 16, 8, &err), &err);
    assert_int_equal(f.sets_2d, 1);
    assert_int_equal(f.gets, 6);
    /* a read only: it must be used */
    f.iface.set_2d = NULL;
    f.iface.get_2d = fake_get_2d;
    bf_ok(sr_buffer_get_2d(&f.buffer, data, 0, 4, 3, 16, 8, &err), &err);
    assert_int_equal(f.gets_2d, 1);
    /* one piece is no matter of two dimensions */
    bf_ok(sr_buffer_get_2d(&f.buffer, data, 0, 4, 1, 0, 0, &err), &err);
    assert_int_equal(f.gets_2d, 1);
    assert_int_equal(f.gets, 7);
    sr_buffer_free(&f.buffer);
}

static void test_copy_paths(void **state) {
    (void)state;
    sr_error err = {0};
    fake near, far, here;
    bool bounced = true;
    fake_init(&near, "near", 128);
    fake_init(&far, "far", 128);
    fake_init(&here, "here", 128);
    here.iface.copy_from = fake_copy_from;
    near.bytes[5] = 1;
    far.bytes[5] = 2;
    bf_ok(sr_buffer_copy(&here.buffer, 0, &near.buffer, 5, 1, &bounced, &err), &err);
    assert_false(bounced);
    assert_int_equal(here.bytes[0], 1);
    bf_ok(sr_buffer_copy(&here.buffer, 0, &far.buffer, 5, 1, &bounced, &err), &err);
    assert_true(bounced);
    assert_int_equal(here.bytes[0], 2);
    assert_int_equal(here.copies, 2);
    bf_ok(sr_buffer_copy(&here.buffer, 0, &far.buffer, 5, 0, &bounced, &err), &err);
    assert_false(bounced);
    /* host memory on either side: one call, no bounce */
    sr_buffer *host;
    bf_ok(sr_buffer_type_alloc(sr_host_buffer_type(), 64, &host, &err), &err);
    const int gets = far.gets, sets = here.sets;
    bf_ok(sr_buffer_copy(host, 3, &far.buffer, 5, 1, &bounced, &err), &err);
    assert_false(bounced);
    assert_int_equal(far.gets, gets + 1);
    bf_ok(sr_buffer_copy(&here.buffer, 9, host, 3, 1, &bounced, &err), &err);
    assert_false(bounced);
    assert_int_equal(here.sets, sets + 1);
    assert_int_equal(here.bytes[9], 2);
    far.iface.get = broken_get;
    bf_fails(sr_buffer_copy(&here.buffer, 0, &far.buffer, 5, 1, NULL, &err), SR_COMPUTE, &err, "broken");
    sr_buffer_free(host);
    sr_buffer_free(&near.buffer);
    sr_buffer_free(&far.buffer);
    sr_buffer_free(&here.buffer);
}

/* Larger than one piece of the bounce, overlapping, in both directions. */
static void test_bounce_overlap(void **state) {
    (void)state;
    enum { SIZE = 11 << 20, SHIFT = 1 << 20, MOVED = 9 << 20 };
    sr_error err = {0};
    fake f;
    bool bounced;
    fake_init(&f, "far", SIZE);
    for (size_t i = 0; i < SIZE; i++) {
        f.bytes[i] = (uint8_t)(i * 31 + i / 4096);
    }
    uint8_t *before = sr__malloc(SIZE);
    assert_non_null(before);
    memcpy(before, f.bytes, SIZE);
    bf_ok(sr_buffer_copy(&f.buffer, SHIFT, &f.buffer, 0, MOVED, &bounced, &err), &err);
    assert_true(bounced);
    assert_memory_equal(f.bytes + SHIFT, before, MOVED);
    bf_ok(sr_buffer_copy(&f.buffer, 0, &f.buffer, SHIFT, MOVED, &bounced, &err), &err);
    assert_memory_equal(f.bytes, before, MOVED);
    sr__fail_allocations(1, true);
    assert_int_equal(sr_buffer_copy(&f.buffer, 0, &f.buffer, 8, 16, NULL, &err), SR_MEMORY);
    sr__fail_allocations(0, false);
    sr_error_clear(&err);
    sr__free(before);
    sr_buffer_free(&f.buffer);
}

static void test_ranges_overflow(void **state) {
    (void)state;
    sr_error err = {0};
    uint8_t byte = 0;
    fake f;
    fake_init(&f, "far", 100);
    bf_fails(sr_buffer_set(&f.buffer, &byte, SIZE_MAX, 1, &err), SR_INVALID, &err, "'far' buffer of 100 bytes");
    bf_fails(sr_buffer_set(&f.buffer, &byte, 1, SIZE_MAX, &err), SR_INVALID, &err, "outside");
    bf_fails(sr_buffer_set_2d(&f.buffer, &byte, 0, 2, SIZE_MAX, 2, 0, &err), SR_INVALID, &err, "too large");
    bf_ok(sr_buffer_set(&f.buffer, &byte, 100, 0, &err), &err);
    assert_int_equal(f.sets, 0);
    assert_int_equal(sr_buffer_set(&f.buffer, &byte, 1, 100, NULL), SR_INVALID); /* the error is nullable */
    sr_buffer_free(&f.buffer);
    sr_buffer_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_2d_looks_for_itself),
        cmocka_unit_test(test_copy_paths),
        cmocka_unit_test(test_bounce_overlap),
        cmocka_unit_test(test_ranges_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
