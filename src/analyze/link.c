/*
 * link.c - how bytes get from one backend to another.
 *
 * Layer: analyze.  Answers to what cpy_tensor_async of the reference's backends accept: their own devices.
 */
#include <string.h>

#include "analyze/link.h"

bool sr__queues(const sr_backend *backend) {
    const sr_backend_i *iface = backend->iface;
    return iface && iface->synchronize && (iface->set_async || iface->copy_async);
}

/* A name without the number at its end. */
static size_t stem_length(const char *name) {
    size_t n = strlen(name);
    while (n > 0 && name[n - 1] >= '0' && name[n - 1] <= '9') {
        n--;
    }
    return n;
}

bool sr__copies_directly(const sr_backend *from, const sr_backend *to) {
    if (!to->iface || to->iface != from->iface || !to->iface->copy_async) {
        return false;
    }
    if (strcmp(to->device->name, "sim") != 0) {
        return true;
    }
    const size_t n = stem_length(from->name);
    return n == stem_length(to->name) && strncmp(from->name, to->name, n) == 0;
}
