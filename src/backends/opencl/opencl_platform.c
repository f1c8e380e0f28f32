/*
 * opencl_platform.c - finding the platforms and devices of this machine; one context a platform.
 *
 * Layer: backends.  What was found stays for the life of the process, as the vendors' libraries themselves do; so do
 * contexts and programs, because a process that opens a device once often opens it again.
 */
#include "backends/opencl/opencl.h"

pthread_mutex_t sr__ocl_lock = PTHREAD_MUTEX_INITIALIZER;

/* All under the lock until `known`. */
static struct {
    bool known;
    const char *why_none;
    sr__ocl_platform *platforms;
    sr__ocl_entry *entries;
    int n;
} found;

/* ---- texts ------------------------------------------------------------------------------------------------------- */

/* Ends of a text without blanks and end. */
static char *trimmed(char *text) {
    size_t n = strlen(text);
    while (n > 0 && (text[n - 1] == ' ' || text[n - 1] == '\n')) {
        text[--n] = '\0';
    }
    const size_t front = strspn(text, " ");
    memmove(text, text + front, n - front + 1);
    return text;
}

static char *device_text(cl_device_id id, cl_device_info what) {
    size_t size = 0;
    if (clGetDeviceInfo(id, what, 0, NULL, &size) != CL_SUCCESS) {
        return NULL;
    }
    char *text = sr__calloc(1, size + 1);
    if (text && clGetDeviceInfo(id, what, size, text, NULL) != CL_SUCCESS) {
        *text = '\0';
    }
    return text ? trimmed(text) : NULL;
}

static char *platform_text(cl_platform_id id, cl_platform_info what) {
    size_t size = 0;
    if (clGetPlatformInfo(id, what, 0, NULL, &size) != CL_SUCCESS) {
        return NULL;
    }
    char *text = sr__calloc(1, size + 1);
    if (text && clGetPlatformInfo(id, what, size, text, NULL) != CL_SUCCESS) {
        *text = '\0';
    }
    return text ? trimmed(text) : NULL;
}

/* "NAME (PLATFORM)" */
static char *describe(const sr__ocl_platform *platform, cl_device_id id) {
    char *device = device_text(id, CL_DEVICE_NAME), *name = platform_text(platform->id, CL_PLATFORM_NAME);
    sr__str s = {0};
    if (device && name) {
        sr__str_printf(&s, "%s (%s)", device, name);
    }
    sr__free(device);
    sr__free(name);
    return s.data;
}

/* ---- looking ----------------------------------------------------------------------------------------------------- */

/* What the kernels count on: a compiler, and addresses that hold a size_t. */
static bool is_usable(cl_device_id id) {
    cl_bool compiler = CL_FALSE, available = CL_FALSE, little = CL_FALSE;
    cl_uint bits = 0;
    return clGetDeviceInfo(id, CL_DEVICE_COMPILER_AVAILABLE, sizeof(compiler), &compiler, NULL) == CL_SUCCESS &&
           clGetDeviceInfo(id, CL_DEVICE_AVAILABLE, sizeof(available), &available, NULL) == CL_SUCCESS &&
           clGetDeviceInfo(id, CL_DEVICE_ENDIAN_LITTLE, sizeof(little), &little, NULL) == CL_SUCCESS &&
           clGetDeviceInfo(id, CL_DEVICE_ADDRESS_BITS, sizeof(bits), &bits, NULL) == CL_SUCCESS && compiler &&
           available && little && bits == 64;
}

/* false: out of memory. */
static bool add_device(sr__ocl_platform *platform, cl_device_id id, size_t *cap) {
    cl_device_type type = 0;
    cl_ulong total = 0;
    if (!is_usable(id) || clGetDeviceInfo(id, CL_DEVICE_TYPE, sizeof(type), &type, NULL) != CL_SUCCESS ||
        clGetDeviceInfo(id, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(total), &total, NULL) != CL_SUCCESS) {
        return true;
    }
    char *description = describe(platform, id);
    if (!description || !sr__grow(&found.entries, cap, (size_t)found.n + 1, sizeof(*found.entries))) {
        sr__free(description);
        return false;
    }
    found.entries[found.n++] = (sr__ocl_entry){.platform = platform, .id = id,
                                               .is_cpu = (type & CL_DEVICE_TYPE_CPU) != 0,
                                               .description = description, .total_memory = (size_t)total};
    return true;
}

static bool add_devices(sr__ocl_platform *platform, size_t *cap) {
    cl_uint n = 0;
    if (clGetDeviceIDs(platform->id, CL_DEVICE_TYPE_ALL, 0, NULL, &n) != CL_SUCCESS || n == 0) {
        return true;
    }
    cl_device_id *ids = sr__calloc(n, sizeof(*ids));
    bool ok = ids != NULL;
    if (ok && clGetDeviceIDs(platform->id, CL_DEVICE_TYPE_ALL, n, ids, NULL) == CL_SUCCESS) {
        for (cl_uint i = 0; i < n && ok; i++) {
            ok = add_device(platform, ids[i], cap);
        }
    }
    sr__free(ids);
    return ok;
}

/* GPUs before CPUs, each in the order in which they were found. */
static void sort_entries(void) {
    for (int i = 1; i < found.n; i++) {
        for (int j = i; j > 0 && found.entries[j - 1].is_cpu && !found.entries[j].is_cpu; j--) {
            const sr__ocl_entry moved = found.entries[j];
            found.entries[j] = found.entries[j - 1];
            found.entries[j - 1] = moved;
        }
    }
}

static void forget(void) {
    for (int i = 0; i < found.n; i++) {
        sr__free(found.entries[i].description);
    }
    sr__free(found.entries);
    sr__free(found.platforms);
    memset(&found, 0, sizeof(found));
    found.why_none = "there is no memory to look for OpenCL devices";
}

/* The lock is held. */
static void look(void) {
    cl_uint n = 0;
    size_t cap = 0;
    if (clGetPlatformIDs(0, NULL, &n) != CL_SUCCESS || n == 0) {
        found.known = true;
        found.why_none = "no OpenCL platform was found (no vendor's driver is installed)";
        return;
    }
    cl_platform_id *ids = sr__calloc(n, sizeof(*ids));
    found.platforms = sr__calloc(n, sizeof(*found.platforms));
    bool ok = ids && found.platforms;
    if (ok && clGetPlatformIDs(n, ids, NULL) == CL_SUCCESS) {
        for (cl_uint i = 0; i < n && ok; i++) {
            found.platforms[i].id = ids[i];
            ok = add_devices(&found.platforms[i], &cap);
        }
    }
    sr__free(ids);
    if (!ok) {
        forget();
        return;
    }
    sort_entries();
    found.known = true;
    found.why_none = "the OpenCL platforms have no device with a compiler and 64-bit addresses";
}

int sr__ocl_count(const char **out_why_none) {
    pthread_mutex_lock(&sr__ocl_lock);
    if (!found.known) {
        look();
    }
    const int n = found.n;
    if (n == 0 && out_why_none) {
        *out_why_none = found.why_none;
    }
    pthread_mutex_unlock(&sr__ocl_lock);
    return n;
}

sr__ocl_entry *sr__ocl_entry_get(int index) {
    return index >= 0 && index < sr__ocl_count(NULL) ? &found.entries[index] : NULL;
}

/* ---- contexts ---------------------------------------------------------------------------------------------------- */

/* The driver's own words, from any of its threads. */
static void CL_CALLBACK on_words(const char *words, const void *info, size_t size, void *user) {
    sr__ocl_platform *platform = user;
    (void)info;
    (void)size;
    if (pthread_mutex_trylock(&sr__ocl_lock) == 0) {
        size_t n = strnlen(words, sizeof(platform->last_words) - 1);
        memcpy(platform->last_words, words, n);
        platform->last_words[n] = '\0';
        pthread_mutex_unlock(&sr__ocl_lock);
    }
}

/* The lock is held. */
static sr_status context_new(sr__ocl_platform *platform, cl_int *out_code, sr_error *err) {
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)platform->id, 0};
    cl_device_id *ids = sr__calloc((size_t)found.n, sizeof(*ids));
    cl_uint n = 0;
    if (!ids) {
        return sr__fail_memory(err);
    }
    for (int i = 0; i < found.n; i++) {
        if (found.entries[i].platform == platform) {
            ids[n++] = found.entries[i].id;
        }
    }
    platform->context = clCreateContext(properties, n, ids, on_words, platform, out_code);
    sr__free(ids);
    return SR_OK;
}

sr_status sr__ocl_platform_open(sr__ocl_platform *platform, sr_error *err) {
    cl_int code = CL_SUCCESS;
    sr_status status = SR_OK;
    pthread_mutex_lock(&sr__ocl_lock);
    if (!platform->context) {
        platform->last_words[0] = '\0';
        status = context_new(platform, &code, err);
    }
    pthread_mutex_unlock(&sr__ocl_lock);
    if (status == SR_OK && code != CL_SUCCESS) {
        status = sr__ocl_fail(err, platform, "clCreateContext", code);
    }
    return status;
}
