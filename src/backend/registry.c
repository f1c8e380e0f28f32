/*
 * registry.c - finding a device by the text that a description names it with.
 *
 * Layer: backend.  Answers to ggml_backend_reg_* of the reference.  The list of drivers is src/backends/backends.c.
 */
#include "backend/registry.h"

#include "base/base.h"

enum { MAX_DEVICE_NUMBER = 1000000 };

/* Appends the names of the devices that this build and machine have: "cpu, sim, opencl (2)". */
static void list_devices(sr__str *out) {
    const char *separator = "";
    for (const sr_driver *const *d = sr_drivers(); *d; d++) {
        const int n = (*d)->device_count(NULL);
        if (n > 0) {
            sr__str_printf(out, n > 1 ? "%s%s (%d)" : "%s%s", separator, (*d)->name, n);
            separator = ", ";
        }
    }
}

static const sr_driver *find_driver(const char *name, size_t length) {
    for (const sr_driver *const *d = sr_drivers(); *d; d++) {
        if (strlen((*d)->name) == length && memcmp((*d)->name, name, length) == 0) {
            return *d;
        }
    }
    return NULL;
}

static sr_status fail_unknown(const char *text, size_t length, sr_error *err) {
    const sr_driver *const *drivers = sr_drivers();
    int n = 0;
    while (drivers[n]) {
        n++;
    }
    char *name = sr__strndup(text, length);
    const char **names = sr__malloc((size_t)n * sizeof(*names) + 1);
    sr__str list = {0};
    sr_status status = SR_MEMORY;
    if (name && names) {
        for (int i = 0; i < n; i++) {
            names[i] = drivers[i]->name;
        }
        const char *near = sr__nearest(name, names, n);
        list_devices(&list);
        status = sr__fail(err, SR_UNAVAILABLE, "no device '%s' in this build%s%s%s; devices: %s", name,
                          near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "", sr__str_text(&list));
        sr__error_text(err, "device", name);
    } else {
        status = sr__fail_memory(err);
    }
    sr__str_free(&list);
    sr__free(names);
    sr__free(name);
    return status;
}

static sr_status fail_absent(const char *text, const sr_driver *driver, int count, const char *why, sr_error *err) {
    sr__str list = {0};
    sr_status status;
    list_devices(&list);
    if (count > 0) {
        status = sr__fail(err, SR_UNAVAILABLE, "no device '%s': '%s' has %d, numbered from 0; devices: %s", text,
                          driver->name, count, sr__str_text(&list));
    } else {
        status = sr__fail(err, SR_UNAVAILABLE, "no device '%s' on this machine: %s; devices: %s", text,
                          why ? why : "none was found", sr__str_text(&list));
    }
    sr__error_text(err, "device", text);
    sr__str_free(&list);
    return status;
}

/* The digits after the colon; -1: they are none. */
static int parse_index(const char *digits) {
    int index = 0;
    if (!*digits) {
        return -1;
    }
    for (const char *c = digits; *c; c++) {
        if (*c < '0' || *c > '9' || index > MAX_DEVICE_NUMBER) {
            return -1;
        }
        index = index * 10 + (*c - '0');
    }
    return index;
}

sr_status sr__device_find(const char *text, const sr_driver **out_driver, int *out_index, sr_error *err) {
    const char *colon = strchr(text, ':');
    const size_t length = colon ? (size_t)(colon - text) : strlen(text);
    const sr_driver *driver = find_driver(text, length);
    if (!driver) {
        return fail_unknown(text, length, err);
    }
    const int index = colon ? parse_index(colon + 1) : 0;
    if (index < 0) {
        return sr__fail(err, SR_INVALID, "device '%s': what follows the colon is no device number", text);
    }
    const char *why = NULL;
    const int count = driver->device_count(&why);
    if (index >= count) {
        return fail_absent(text, driver, count, why, err);
    }
    *out_driver = driver;
    *out_index = index;
    return SR_OK;
}
