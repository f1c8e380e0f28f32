/*
 * k_custom.c - MAP_CUSTOM1 .. 3 and CUSTOM: functions of the caller, called only if this process has allowed them.
 *
 * Layer: kernels.  Answers to ggml_compute_forward_map_custom1 and its relatives (spec: ops-2, section 8).  Words 0 and
 * 1 hold the function's address, word 2 the number of tasks, words 4 and 5 the address of its user data.
 */
#include "sched_run/custom.h"

#include <limits.h>
#include <pthread.h>

#include "kernels/kernels.h"

enum { WORD_FUNCTION = 0, WORD_TASKS = 2, WORD_USER = 4 };

typedef struct allowed { uint64_t function, user; int count; } allowed;

/* Functions of this process: few, and asked for once a node. */
static struct {
    pthread_mutex_t mutex;
    allowed *items;
    size_t n, cap;
} registry = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static uint64_t function_address(sr_custom_fn fn) {
    uintptr_t address = 0;
    _Static_assert(sizeof(fn) == sizeof(address), "functions have addresses like data");
    memcpy(&address, &fn, sizeof(address));
    return address;
}

static uint64_t words_address(const int32_t *params, int word) {
    return (uint64_t)(uint32_t)params[word] | (uint64_t)(uint32_t)params[word + 1] << 32;
}

static void put_address(int32_t *params, int word, uint64_t address) {
    params[word] = (int32_t)(uint32_t)address;
    params[word + 1] = (int32_t)(uint32_t)(address >> 32);
}

/* With the registry locked. */
static allowed *find(uint64_t function, uint64_t user) {
    for (size_t i = 0; i < registry.n; i++) {
        if (registry.items[i].function == function && registry.items[i].user == user) {
            return &registry.items[i];
        }
    }
    return NULL;
}

sr_status sr_custom_set_params(sr_tensor_spec *spec, sr_custom_fn fn, void *user, int n_tasks, sr_error *err) {
    if (fn == NULL || (n_tasks <= 0 && n_tasks != SR_CUSTOM_ALL_THREADS)) {
        return sr__fail(err, SR_INVALID,
                        "a custom op needs a function, and a positive number of tasks or -1 for all threads");
    }
    put_address(spec->op_params, WORD_FUNCTION, function_address(fn));
    put_address(spec->op_params, WORD_USER, (uintptr_t)user);
    spec->op_params[WORD_TASKS] = n_tasks;
    return SR_OK;
}

sr_status sr_custom_allow(sr_custom_fn fn, void *user, sr_error *err) {
    sr_status status = SR_OK;
    if (fn == NULL) {
        return sr__fail(err, SR_INVALID, "a custom op needs a function");
    }
    pthread_mutex_lock(&registry.mutex);
    allowed *item = find(function_address(fn), (uintptr_t)user);
    if (item != NULL) {
        item->count++;
    } else if (!sr__grow(&registry.items, &registry.cap, registry.n + 1, sizeof(*registry.items))) {
        status = sr__fail_memory(err);
    } else {
        registry.items[registry.n++] = (allowed){function_address(fn), (uintptr_t)user, 1};
    }
    pthread_mutex_unlock(&registry.mutex);
    return status;
}

void sr_custom_forget(sr_custom_fn fn, void *user) {
    pthread_mutex_lock(&registry.mutex);
    allowed *item = find(function_address(fn), (uintptr_t)user);
    if (item != NULL && --item->count == 0) {
        *item = registry.items[--registry.n];
    }
    if (registry.n == 0) {
        sr__free(registry.items);
        registry.items = NULL;
        registry.cap = 0;
    }
    pthread_mutex_unlock(&registry.mutex);
}

static bool is_allowed(const int32_t *params) {
    pthread_mutex_lock(&registry.mutex);
    const bool found = find(words_address(params, WORD_FUNCTION), words_address(params, WORD_USER)) != NULL;
    pthread_mutex_unlock(&registry.mutex);
    return found;
}

static const char *refuse_custom(const sr__kernel_args *args) {
    if (!is_allowed(args->params)) {
        return "its function is none that this program has allowed";
    }
    const int32_t n_tasks = args->params[WORD_TASKS];
    return n_tasks > 0 || n_tasks == SR_CUSTOM_ALL_THREADS ? NULL : "the number of tasks must be positive or -1";
}

static int threads_custom(const sr__kernel_args *args) {
    return args->params[WORD_TASKS] > 0 ? args->params[WORD_TASKS] : INT_MAX;
}

static void run_custom(const sr__kernel_args *args, const sr__task *task) {
    sr_custom_call call = {.ith = task->ith, .nth = task->nth};
    const uintptr_t address = (uintptr_t)words_address(args->params, WORD_FUNCTION);
    sr_custom_fn fn;
    memcpy(&fn, &address, sizeof(fn));
    call.dst = (sr_custom_operand){args->dst.tensor, args->dst.data};
    for (int j = 0; j < SR_MAX_SRC; j++) {
        call.src[j] = (sr_custom_operand){args->src[j].tensor, args->src[j].data};
    }
    const uintptr_t user = (uintptr_t)words_address(args->params, WORD_USER);
    memcpy(&call.user, &user, sizeof(call.user));
    const char *why = fn(&call);
    if (why != NULL) {
        sr__task_fail(task, "%s", why);
    }
}

const sr__kernel_info sr__kernel_MAP_CUSTOM1 = {run_custom, refuse_custom, NULL, threads_custom};
const sr__kernel_info sr__kernel_MAP_CUSTOM2 = {run_custom, refuse_custom, NULL, threads_custom};
const sr__kernel_info sr__kernel_MAP_CUSTOM3 = {run_custom, refuse_custom, NULL, threads_custom};
const sr__kernel_info sr__kernel_CUSTOM = {run_custom, refuse_custom, NULL, threads_custom};
