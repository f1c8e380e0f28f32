/*
 * machine.c - the backends and buffer types of one description.
 *
 * Layer: backend.  Answers to what an application of the reference does by hand before ggml_backend_sched_new.
 */
#include "backend/hostmem.h"
#include "backend/registry.h"

/* One backend with everything it was made from. */
typedef struct machine_entry {
    sr_backend backend;
    sr_backend_config config;     /* strings in the machine's arena; rules owned */
    const sr_buffer_type **accepts; /* backend.accepts, owned */
} machine_entry;

struct sr_machine_impl {
    sr__arena arena;
    size_t types_cap, backends_cap, own_cap;
    sr_buffer_type **own; /* types made by sr_machine_add_buffer_type; the others belong to devices */
    size_t n_own;
};

/* ---- names ---------------------------------------------------------------------------------------------------- */

sr_buffer_type *sr_machine_buffer_type(const sr_machine *machine, const char *name) {
    for (int i = 0; i < machine->n_buffer_types; i++) {
        if (strcmp(machine->buffer_types[i]->name, name) == 0) {
            return machine->buffer_types[i];
        }
    }
    return NULL;
}

int sr_machine_backend(const sr_machine *machine, const char *name) {
    for (int i = 0; i < machine->n_backends; i++) {
        if (strcmp(machine->backends[i]->name, name) == 0) {
            return i;
        }
    }
    return -1;
}

static sr_status fail_unknown_type(const sr_machine *machine, const char *backend, const char *name, sr_error *err) {
    const char **names = sr__malloc(((size_t)machine->n_buffer_types + 1) * sizeof(*names));
    if (!names) {
        return sr__fail_memory(err);
    }
    for (int i = 0; i < machine->n_buffer_types; i++) {
        names[i] = machine->buffer_types[i]->name;
    }
    const char *near = sr__nearest(name, names, machine->n_buffer_types);
    sr__free(names);
    const sr_status status = sr__fail(err, SR_INVALID, "backend '%s': unknown buffer type '%s'%s%s%s", backend, name,
                                      near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
    sr__error_text(err, "buffer_type", name);
    return status;
}

/* ---- buffer types --------------------------------------------------------------------------------------------- */

static sr_status list_type(sr_machine *machine, sr_buffer_type *type, sr_error *err) {
    if (!sr__grow(&machine->buffer_types, &machine->impl->types_cap, (size_t)machine->n_buffer_types + 1,
                  sizeof(sr_buffer_type *))) {
        return sr__fail_memory(err);
    }
    machine->buffer_types[machine->n_buffer_types++] = type;
    return SR_OK;
}

static sr_status check_type(const sr_machine *machine, const char *name, size_t alignment, size_t max_size,
                            sr_error *err) {
    if (!*name) {
        return sr__fail(err, SR_INVALID, "a buffer type needs a name");
    }
    if (sr_machine_buffer_type(machine, name)) {
        return sr__fail(err, SR_INVALID, "buffer type '%s': there is one of that name already", name);
    }
    if (alignment == 0 || (alignment & (alignment - 1)) != 0) {
        return sr__fail(err, SR_INVALID, "buffer type '%s': its alignment %zu is not a power of two", name, alignment);
    }
    if (max_size == 0) {
        return sr__fail(err, SR_INVALID, "buffer type '%s': its largest buffer cannot have 0 bytes", name);
    }
    return SR_OK;
}

sr_status sr_machine_add_buffer_type(sr_machine *machine, const char *name, size_t alignment, size_t max_size,
                                     bool host, sr_error *err) {
    struct sr_machine_impl *impl = machine->impl;
    sr_buffer_type *type = NULL;
    sr_status status;
    SR_TRY(check_type(machine, name, alignment, max_size, err));
    type = sr__calloc(1, sizeof(*type));
    const char *own_name = sr__arena_strdup(&impl->arena, name);
    if (!type || !own_name || !sr__grow(&impl->own, &impl->own_cap, impl->n_own + 1, sizeof(sr_buffer_type *))) {
        SR_TRY(sr__fail_memory(err));
    }
    sr__memory_type_init(type, own_name, alignment, max_size, host);
    SR_TRY(list_type(machine, type, err));
    impl->own[impl->n_own++] = type;
    return SR_OK;
done:
    sr__free(type);
    return status;
}

/* ---- backends ------------------------------------------------------------------------------------------------- */

static void entry_free(machine_entry *entry) {
    if (!entry) {
        return;
    }
    sr_backend *backend = &entry->backend;
    if (backend->iface && backend->iface->free) {
        backend->iface->free(backend);
    }
    if (backend->device) {
        backend->device->iface->free(backend->device);
    }
    sr_rules_clear(&backend->deny);
    sr_rules_clear(&backend->allow);
    sr_backend_config_clear(&entry->config);
    sr__free(entry->accepts);
    sr__free(entry);
}

static bool keep_text(sr__arena *arena, const char **text) {
    if (!*text) {
        return true;
    }
    *text = sr__arena_strdup(arena, *text);
    return *text != NULL;
}

/* Copies what the caller owns and takes over the rules. */
static machine_entry *entry_new(sr_machine *machine, sr_backend_config *config) {
    sr__arena *arena = &machine->impl->arena;
    machine_entry *entry = sr__calloc(1, sizeof(*entry));
    if (!entry) {
        sr_backend_config_clear(config);
        return NULL;
    }
    sr_backend_config *own = &entry->config;
    *own = *config;
    config->deny = config->allow = config->offload_ops = (sr_rules){0};
    config->alloc_extra = NULL;
    config->n_alloc_extra = 0;
    config->fail.compute_op = (sr_rule){.op = -1, .kind = -1};
    config->fail.has_compute_op = false;
    if (!own->name) {
        own->name = own->device;
    }
    own->accepts = sr__arena_alloc(arena, ((size_t)own->n_accepts + 1) * sizeof(*own->accepts));
    entry->accepts = sr__calloc((size_t)own->n_accepts + 1, sizeof(*entry->accepts));
    bool ok = own->accepts && entry->accepts && keep_text(arena, &own->name) && keep_text(arena, &own->device) &&
              keep_text(arena, &own->buffer_type);
    for (int i = 0; ok && i < own->n_accepts; i++) {
        own->accepts[i] = sr__arena_strdup(arena, config->accepts[i]);
        ok = own->accepts[i] != NULL;
    }
    if (!ok) {
        entry_free(entry);
        return NULL;
    }
    return entry;
}

/* The keys that only a simulated device has must be as sr_backend_config_init left them. */
static sr_status check_keys(const sr_driver *driver, const sr_backend_config *config, sr_error *err) {
    const struct { bool given; const char *key; } keys[] = {
        {config->type != SR_DEVICE_GPU, "type"},
        {config->alignment != 128, "alignment"},
        {config->max_buffer_size != SIZE_MAX, "max_buffer_size"},
        {config->host, "host"},
        {config->has_memory, "memory"},
        {config->offload_min_batch >= 0 || config->has_offload_ops, "offload"},
        {config->n_alloc_extra > 0, "alloc_extra"},
        {!config->events, "events"},
        {!config->async, "async"},
        {config->paced, "paced"},
        {config->fail.given, "fail"},
    };
    for (int i = 0; i < SR_COUNT(keys) && !driver->configurable; i++) {
        if (keys[i].given) {
            return sr__fail(err, SR_INVALID, "backend '%s': device '%s' takes no '%s'", config->name, config->device,
                            keys[i].key);
        }
    }
    return SR_OK;
}

/* The existing type to use, or NULL where the device makes its own. */
static sr_status choose_type(const sr_machine *machine, const sr_driver *driver, const sr_backend_config *config,
                             sr_buffer_type **out_type, sr_error *err) {
    *out_type = NULL;
    if (config->buffer_type) {
        *out_type = sr_machine_buffer_type(machine, config->buffer_type);
        if (!*out_type && !driver->configurable) {
            return fail_unknown_type(machine, config->name, config->buffer_type, err);
        }
    } else if (driver->configurable) {
        *out_type = sr_machine_buffer_type(machine, config->name);
    }
    if (!*out_type && driver->configurable) {
        const char *name = config->buffer_type ? config->buffer_type : config->name;
        const sr_status status = check_type(machine, name, config->alignment, config->max_buffer_size, err);
        if (status != SR_OK) {
            sr__error_prefix(err, "backend '%s': ", config->name);
            return status;
        }
    }
    return SR_OK;
}

/* A device's own type joins the machine's, under a name that must be free. */
static sr_status adopt_type(sr_machine *machine, const sr_backend *backend, sr_error *err) {
    sr_buffer_type *type = backend->buffer_type;
    sr_buffer_type *same = sr_machine_buffer_type(machine, type->name);
    if (same == type) {
        return SR_OK;
    }
    if (same) {
        return sr__fail(err, SR_INVALID, "backend '%s': there is a buffer type called '%s' already", backend->name,
                        type->name);
    }
    return list_type(machine, type, err);
}

static sr_status open_entry(sr_machine *machine, machine_entry *entry, sr_error *err) {
    sr_backend_config *config = &entry->config;
    sr_backend *backend = &entry->backend;
    const sr_driver *driver;
    sr_buffer_type *type;
    sr_status status;
    int index;
    SR_TRY(sr__device_find(config->device, &driver, &index, err));
    SR_TRY(check_keys(driver, config, err));
    SR_TRY(choose_type(machine, driver, config, &type, err));
    SR_TRY(driver->device_new(index, config, type, &backend->device, err));
    backend->name = config->name;
    backend->buffer_type = type ? type : backend->device->buffer_type;
    backend->accepts = entry->accepts;
    backend->has_rules = config->has_rules;
    backend->has_allow = config->has_allow;
    backend->deny = config->deny;
    backend->allow = config->allow;
    config->deny = config->allow = (sr_rules){0};
    backend->speed = config->speed;
    backend->offload_min_batch = config->offload_min_batch;
    backend->offloads_listed_ops = config->has_offload_ops;
    SR_TRY(backend->device->iface->init_backend(backend->device, backend, err));
    SR_TRY(adopt_type(machine, backend, err));
done:
    return status;
}

sr_status sr_machine_add_backend(sr_machine *machine, sr_backend_config *config, sr_error *err) {
    machine_entry *entry = NULL;
    sr_status status = SR_OK;
    if (!config->device || (config->name && !*config->name)) {
        status = sr__fail(err, SR_INVALID, "a backend needs a %s",
                          config->device ? "name that is not empty" : "device");
    } else if (sr_machine_backend(machine, config->name ? config->name : config->device) >= 0) {
        status = sr__fail(err, SR_INVALID, "backend '%s': there is one of that name already",
                          config->name ? config->name : config->device);
    }
    if (status != SR_OK) {
        sr_backend_config_clear(config);
        return status;
    }
    entry = entry_new(machine, config);
    if (!entry || !sr__grow(&machine->backends, &machine->impl->backends_cap, (size_t)machine->n_backends + 1,
                            sizeof(sr_backend *))) {
        SR_TRY(sr__fail_memory(err));
    }
    SR_TRY(open_entry(machine, entry, err));
    machine->backends[machine->n_backends++] = &entry->backend;
    return SR_OK;
done:
    entry_free(entry);
    return status;
}

/* ---- the whole ------------------------------------------------------------------------------------------------ */

sr_status sr_machine_new(sr_machine **out_machine, sr_error *err) {
    *out_machine = NULL;
    sr_status status;
    sr_machine *machine = sr__calloc(1, sizeof(*machine));
    if (machine) {
        machine->impl = sr__calloc(1, sizeof(*machine->impl));
    }
    if (!machine || !machine->impl) {
        sr__free(machine);
        return sr__fail_memory(err);
    }
    sr__arena_init(&machine->impl->arena, 4096);
    SR_TRY(list_type(machine, sr_host_buffer_type(), err));
    *out_machine = machine;
    return SR_OK;
done:
    sr_machine_free(machine);
    return status;
}

static sr_status resolve_accepts(const sr_machine *machine, machine_entry *entry, sr_error *err) {
    sr_backend *backend = &entry->backend;
    backend->n_accepts = 0;
    for (int i = 0; i < entry->config.n_accepts; i++) {
        entry->accepts[i] = sr_machine_buffer_type(machine, entry->config.accepts[i]);
        if (!entry->accepts[i]) {
            return fail_unknown_type(machine, backend->name, entry->config.accepts[i], err);
        }
    }
    backend->n_accepts = entry->config.n_accepts;
    return SR_OK;
}

sr_status sr_machine_finish(sr_machine *machine, sr_error *err) {
    if (machine->n_backends == 0) {
        return sr__fail(err, SR_INVALID, "there are no backends: at least a cpu is needed");
    }
    const sr_backend *last = machine->backends[machine->n_backends - 1];
    if (last->device->type != SR_DEVICE_CPU) {
        return sr__fail(err, SR_INVALID, "the last backend must be a cpu, '%s' is of type %s", last->name,
                        sr_device_type_name(last->device->type));
    }
    for (int i = 0; i < machine->n_backends; i++) {
        /* the backend is the first member of its entry */
        const sr_status status = resolve_accepts(machine, (machine_entry *)(void *)machine->backends[i], err);
        if (status != SR_OK) {
            return status;
        }
    }
    return SR_OK;
}

void sr_machine_free(sr_machine *machine) {
    if (!machine) {
        return;
    }
    struct sr_machine_impl *impl = machine->impl;
    /* queues may hold what other backends gave them: all end before any device goes */
    for (int i = machine->n_backends - 1; i >= 0; i--) {
        sr_backend *backend = machine->backends[i];
        if (backend->iface->free) {
            backend->iface->free(backend);
        }
        backend->iface = NULL;
    }
    for (int i = machine->n_backends - 1; i >= 0; i--) {
        entry_free((machine_entry *)(void *)machine->backends[i]);
    }
    for (size_t i = 0; i < impl->n_own; i++) {
        sr__free(impl->own[i]);
    }
    sr__free(impl->own);
    sr__arena_free(&impl->arena);
    sr__free(impl);
    sr__free(machine->backends);
    sr__free(machine->buffer_types);
    sr__free(machine);
}
