/*
 * placement.c - the `buffers` of a description and the rules that put leafs into them.
 *
 * Layer: describe.  Answers to the buffer types that an application chooses for its weights by name.
 */
#include <regex.h>

#include "describe/loader.h"

enum { GROUPS = 10 };

typedef struct sr__place_rule {
    regex_t regex;
    bool compiled;
    bool given;             /* on the command line */
    int32_t buffer;
    const cJSON *where;     /* or NULL */
    sr__at list_at, item_at, where_at;
} sr__place_rule;

/* ---- buffers ----------------------------------------------------------------------------------------------------- */

static sr_status add_buffer(sr__loader *ld, const char *name, sr_buffer_type *type, sr_usage usage, bool implicit,
                            int32_t *out) {
    sr_description *d = ld->d;
    sr_status status;
    if (!sr__grow(&d->buffers, &d->buffers_cap, d->n_buffers + 1, sizeof(*d->buffers))) {
        SR_TRY(sr__no_memory(ld));
    }
    sr__buffer_entry *entry = &d->buffers[d->n_buffers];
    *entry = (sr__buffer_entry){.type = type, .type_name = type->name, .usage = usage, .implicit = implicit};
    SR_TRY(sr__keep(ld, name, &entry->name));
    if (!sr__map_put(&ld->buffers, entry->name, (int32_t)d->n_buffers)) {
        SR_TRY(sr__no_memory(ld));
    }
    *out = (int32_t)d->n_buffers++;
done:
    return status;
}

static sr_status unknown_buffer_type(sr__loader *ld, const char *name, const sr__at *at) {
    const sr_machine *machine = ld->d->machine;
    const char **names = sr__arena_alloc(&ld->json, ((size_t)machine->n_buffer_types + 1) * sizeof(*names));
    if (!names) {
        return sr__no_memory(ld);
    }
    for (int i = 0; i < machine->n_buffer_types; i++) {
        names[i] = machine->buffer_types[i]->name;
    }
    return sr__unknown(ld, at, "buffer type", name, names, machine->n_buffer_types);
}

/* Whether the description itself says that a type is in host memory. */
static bool is_own_host_type(const sr__loader *ld, const char *name) {
    const cJSON *types = ld->top.json[SR__TOP_BUFFER_TYPES];
    const cJSON *type = types ? cJSON_GetObjectItemCaseSensitive(types, name) : NULL;
    const cJSON *host = type ? cJSON_GetObjectItemCaseSensitive(type, "host") : NULL;
    return host && cJSON_IsTrue(host);
}

/* The n-th device of the machine, its CPUs passed over; around again where there are fewer. */
static const sr_backend *device_number(const sr_machine *machine, int n) {
    int n_devices = 0;
    for (int b = 0; b < machine->n_backends; b++) {
        n_devices += machine->backends[b]->device->type != SR_DEVICE_CPU;
    }
    int left = n_devices > 0 ? n % n_devices : 0;
    for (int b = 0; b < machine->n_backends && n_devices > 0; b++) {
        if (machine->backends[b]->device->type != SR_DEVICE_CPU && left-- == 0) {
            return machine->backends[b];
        }
    }
    return machine->backends[machine->n_backends - 1];
}

/*
 * With a machine file a description's buffers may be of types that this machine lacks (a recording's Vulkan0): the first
 * such type stands for the first device, the second for the second, and what was host memory stays host memory.
 */
static sr_status find_stand_in(sr__loader *ld, const char *name, sr_buffer_type **out_type) {
    sr_status status = SR_OK;
    if (is_own_host_type(ld, name)) {
        *out_type = sr_host_buffer_type();
        return SR_OK;
    }
    int32_t number = sr__map_get(&ld->stand_ins, name, -1);
    const bool is_new = number < 0;
    if (is_new) {
        number = (int32_t)ld->stand_ins.n;
        if (!sr__map_put(&ld->stand_ins, name, number)) {
            SR_TRY(sr__no_memory(ld));
        }
    }
    const sr_backend *backend = device_number(ld->d->machine, number);
    *out_type = backend->buffer_type;
    if (is_new && ld->options->warn) {
        sr__str s = {0};
        sr__str_printf(&s, "buffer type '%s' is not on this machine: its buffers are put in '%s' of %s", name,
                       backend->buffer_type->name, backend->name);
        ld->options->warn(ld->options->warn_user, sr__str_text(&s));
        sr__str_free(&s);
    }
done:
    return status;
}

static sr_status load_usage(sr__loader *ld, const cJSON *json, const sr__at *at, sr_usage *out) {
    static const char *const names[] = {"any", "weights", "compute"};
    int place = 0;
    const sr_status status = sr__one_of(ld, json, at, "usage", names, SR_COUNT(names), &place);
    *out = (sr_usage)place;
    return status;
}

static sr_status load_buffer(sr__loader *ld, const cJSON *json, const sr__at *at, const char *name) {
    static const char *const keys[] = {"type", "usage"};
    const cJSON *fields[2];
    const char *type_name;
    sr_usage usage = SR_USAGE_ANY;
    int32_t index;
    sr_status status;
    SR_TRY(sr__fields(ld, json, at, keys, 2, fields));
    if (!fields[0]) {
        SR_TRY(sr__wrong(ld, at, "\"type\" is missing"));
    }
    sr__at type_at = sr__at_key(at, keys[0]), usage_at = sr__at_key(at, keys[1]);
    SR_TRY(sr__string(ld, fields[0], &type_at, &type_name));
    if (fields[1]) {
        SR_TRY(load_usage(ld, fields[1], &usage_at, &usage));
    }
    sr_buffer_type *type = sr_machine_buffer_type(ld->d->machine, type_name);
    if (!type && ld->has_machine_top) {
        SR_TRY(find_stand_in(ld, type_name, &type));
    }
    if (!type) {
        SR_TRY(unknown_buffer_type(ld, type_name, &type_at));
    }
    SR_TRY(add_buffer(ld, name, type, usage, false, &index));
done:
    return status;
}

/* A machine file's buffers come first: they say where things live on this machine. */
static sr_status load_buffers_of(sr__loader *ld, const sr__top *top) {
    const cJSON *json = top->json[SR__TOP_BUFFERS];
    const sr__at *at = &top->at[SR__TOP_BUFFERS];
    sr_status status = SR_OK;
    if (!json) {
        return SR_OK;
    }
    SR_TRY(sr__no_repeats(ld, json, at));
    for (const cJSON *child = json->child; child; child = child->next) {
        sr__at member = sr__at_key(at, child->string);
        if (!sr__is_comment(child->string) && sr__map_get(&ld->buffers, child->string, -1) < 0) {
            SR_TRY(load_buffer(ld, child, &member, child->string));
        }
    }
done:
    return status;
}

sr_status sr__load_buffers(sr__loader *ld) {
    sr_status status;
    if (ld->has_machine_top) {
        SR_TRY(load_buffers_of(ld, &ld->machine_top));
    }
    SR_TRY(load_buffers_of(ld, &ld->top));
done:
    return status;
}

sr_status sr__find_buffer(sr__loader *ld, const char *name, bool by_type, int32_t *out_buffer) {
    *out_buffer = sr__map_get(&ld->buffers, name, -1);
    if (*out_buffer < 0 && by_type) {
        sr_buffer_type *type = sr_machine_buffer_type(ld->d->machine, name);
        return type ? add_buffer(ld, name, type, SR_USAGE_WEIGHTS, true, out_buffer) : SR_OK;
    }
    return SR_OK;
}

static const char **buffer_names(sr__loader *ld, bool with_types, int *out_n) {
    const sr_description *d = ld->d;
    size_t n = d->n_buffers + (with_types ? (size_t)d->machine->n_buffer_types : 0);
    const char **names = sr__arena_alloc(&ld->json, (n + 1) * sizeof(*names));
    for (size_t i = 0; names && i < n; i++) {
        names[i] = i < d->n_buffers ? d->buffers[i].name : d->machine->buffer_types[i - d->n_buffers]->name;
    }
    *out_n = (int)n;
    return names;
}

sr_status sr__named_buffer(sr__loader *ld, const char *name, const sr__at *at, int32_t *out_buffer) {
    sr_status status;
    SR_TRY(sr__find_buffer(ld, name, false, out_buffer));
    if (*out_buffer < 0) {
        int n;
        const char **names = buffer_names(ld, false, &n);
        SR_TRY(names ? sr__unknown(ld, at, "buffer", name, names, n) : sr__no_memory(ld));
    }
done:
    return status;
}

/* ---- rules ------------------------------------------------------------------------------------------------------- */

static sr_status compile(sr__loader *ld, sr__place_rule *rule, const char *pattern, char why[128]) {
    int code = regcomp(&rule->regex, pattern, REG_EXTENDED);
    rule->compiled = code == 0;
    why[0] = '\0';
    if (code == REG_ESPACE) {
        return sr__no_memory(ld);
    }
    if (code != 0) {
        regerror(code, &rule->regex, why, 128);
    }
    return SR_OK;
}

static sr_status load_given_rule(sr__loader *ld, const char *text, sr__place_rule *rule) {
    sr_status status;
    char why[128];
    const char *equals = strrchr(text, '=');
    if (!equals || equals == text || !equals[1]) {
        return sr__fail(ld->err, SR_USAGE, "expected REGEX=BUFFER for a placement, not '%s'", text);
    }
    const char *pattern = sr__arena_strndup(&ld->json, text, (size_t)(equals - text));
    if (!pattern) {
        SR_TRY(sr__no_memory(ld));
    }
    SR_TRY(compile(ld, rule, pattern, why));
    if (!rule->compiled) {
        SR_TRY(sr__fail(ld->err, SR_USAGE, "the placement '%s': '%s' is no regular expression: %s", text, pattern,
                        why));
    }
    SR_TRY(sr__find_buffer(ld, equals + 1, true, &rule->buffer));
    if (rule->buffer < 0) {
        int n;
        const char **names = buffer_names(ld, true, &n);
        if (!names) {
            SR_TRY(sr__no_memory(ld));
        }
        const char *near = sr__nearest(equals + 1, names, n);
        SR_TRY(sr__fail(ld->err, SR_USAGE, "the placement '%s': no buffer or buffer type is called '%s'%s%s%s", text,
                        equals + 1, near ? ", did you mean " : "", near ? near : "", near ? "?" : ""));
    }
    rule->given = true;
done:
    return status;
}

static sr_status load_rule(sr__loader *ld, const cJSON *json, const sr__at *list_at, int64_t i, sr__place_rule *rule) {
    static const char *const keys[] = {"match", "buffer", "where"};
    const cJSON *fields[SR_COUNT(keys)];
    const char *pattern, *buffer;
    char why[128];
    sr_status status;
    rule->list_at = *list_at;
    rule->item_at = sr__at_index(&rule->list_at, i);
    rule->where_at = sr__at_key(&rule->item_at, "where");
    sr__at match_at = sr__at_key(&rule->item_at, "match"), buffer_at = sr__at_key(&rule->item_at, "buffer");
    SR_TRY(sr__fields(ld, json, &rule->item_at, keys, SR_COUNT(keys), fields));
    if (!fields[0] || !fields[1]) {
        SR_TRY(sr__wrong(ld, &rule->item_at, "\"%s\" is missing", fields[0] ? "buffer" : "match"));
    }
    SR_TRY(sr__string(ld, fields[0], &match_at, &pattern));
    SR_TRY(compile(ld, rule, pattern, why));
    if (!rule->compiled) {
        SR_TRY(sr__wrong(ld, &match_at, "'%s' is no regular expression: %s", pattern, why));
    }
    SR_TRY(sr__string(ld, fields[1], &buffer_at, &buffer));
    SR_TRY(sr__find_buffer(ld, buffer, true, &rule->buffer));
    if (rule->buffer < 0) {
        int n;
        const char **names = buffer_names(ld, true, &n);
        SR_TRY(names ? sr__unknown(ld, &buffer_at, "buffer", buffer, names, n) : sr__no_memory(ld));
    }
    rule->where = fields[2];
done:
    return status;
}

sr_status sr__load_placement(sr__loader *ld) {
    const sr__top *top = ld->has_machine_top && ld->machine_top.json[SR__TOP_PLACEMENT] ? &ld->machine_top : &ld->top;
    const cJSON *json = top->json[SR__TOP_PLACEMENT];
    const sr__at *at = &top->at[SR__TOP_PLACEMENT];
    sr_status status;
    if (json) {
        SR_TRY(sr__want_array(ld, json, at));
    }
    size_t n = (size_t)ld->options->n_places + (json ? (size_t)cJSON_GetArraySize(json) : 0);
    ld->places = sr__arena_zalloc(&ld->json, (n + 1) * sizeof(*ld->places));
    if (!ld->places) {
        SR_TRY(sr__no_memory(ld));
    }
    for (int i = 0; i < ld->options->n_places; i++) {
        sr__place_rule *rule = &ld->places[ld->n_places++];
        SR_TRY(load_given_rule(ld, ld->options->places[i], rule));
    }
    int64_t i = 0;
    for (const cJSON *child = json ? json->child : NULL; child; child = child->next, i++) {
        sr__place_rule *rule = &ld->places[ld->n_places++];
        SR_TRY(load_rule(ld, child, at, i, rule));
    }
done:
    return status;
}

void sr__free_placement(sr__loader *ld) {
    for (int i = 0; i < ld->n_places; i++) {
        if (ld->places[i].compiled) {
            regfree(&ld->places[i].regex);
        }
    }
    ld->n_places = 0;
}

/* m1 .. m9: what the groups matched, where that is a number. */
static unsigned take_groups(const char *name, const regmatch_t *matches, int64_t groups[GROUPS]) {
    unsigned given = 0;
    for (int k = 1; k < GROUPS; k++) {
        int64_t value = 0;
        bool fine = matches[k].rm_so >= 0 && matches[k].rm_eo > matches[k].rm_so;
        for (regoff_t i = matches[k].rm_so; fine && i < matches[k].rm_eo; i++) {
            fine = name[i] >= '0' && name[i] <= '9' && !__builtin_mul_overflow(value, 10, &value) &&
                   !__builtin_add_overflow(value, name[i] - '0', &value);
        }
        groups[k] = value;
        given |= fine ? 1u << k : 0;
    }
    return given;
}

static sr_status condition_holds(sr__loader *ld, const sr__place_rule *rule, const char *name,
                                 const regmatch_t *matches, bool *out) {
    int64_t groups[GROUPS] = {0}, value;
    *out = true;
    if (!rule->where) {
        return SR_OK;
    }
    sr__scope outer = ld->scope;
    ld->scope =
        (sr__scope){.params = outer.params, .groups = groups, .groups_given = take_groups(name, matches, groups)};
    sr_status status = sr__int(ld, rule->where, &rule->where_at, &value);
    ld->scope = outer;
    if (status == SR_DESCRIPTION) {
        sr__error_prefix(ld->err, "for the tensor '%s': ", name);
    }
    *out = status == SR_OK && value != 0;
    return status;
}

sr_status sr__place_leaf(sr__loader *ld, const char *name, bool from_command_line, int32_t *out_buffer) {
    *out_buffer = -1;
    for (int i = 0; i < ld->n_places; i++) {
        const sr__place_rule *rule = &ld->places[i];
        regmatch_t matches[GROUPS];
        if (rule->given != from_command_line || regexec(&rule->regex, name, GROUPS, matches, 0) != 0) {
            continue;
        }
        bool holds;
        sr_status status = condition_holds(ld, rule, name, matches, &holds);
        if (status != SR_OK) {
            return status;
        }
        if (holds) {
            *out_buffer = rule->buffer;
            return SR_OK;
        }
    }
    return SR_OK;
}
