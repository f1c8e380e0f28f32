/*
 * describe.c - loading a description from first to last, freeing it, and what is asked of it.
 *
 * Layer: describe.  Answers to the set-up of an application of the reference: devices, buffers, graphs, a scheduler's
 * settings.
 */
#include "describe/gguf.h"
#include "describe/loader.h"

/* ---- the small sections ------------------------------------------------------------------------------------------ */

static sr_status load_settings(sr__loader *ld, const cJSON *json, const sr__at *at) {
    static const char *const keys[] = {"graph_size", "parallel", "copies", "op_offload", "max_split_inputs"};
    const cJSON *fields[SR_COUNT(keys)];
    sr_sched_settings *settings = &ld->d->settings;
    bool parallel = false;
    int64_t copies, inputs;
    sr_status status;
    SR_TRY(sr__fields(ld, json, at, keys, SR_COUNT(keys), fields));
    sr__at size_at = sr__at_key(at, keys[0]), parallel_at = sr__at_key(at, keys[1]);
    sr__at copies_at = sr__at_key(at, keys[2]), offload_at = sr__at_key(at, keys[3]);
    sr__at inputs_at = sr__at_key(at, keys[4]);
    if (fields[0]) {
        SR_TRY(sr__int_in(ld, fields[0], &size_at, 1, INT64_MAX, &settings->graph_size));
    }
    if (fields[1]) {
        SR_TRY(sr__bool(ld, fields[1], &parallel_at, &parallel));
        settings->n_copies = parallel ? 4 : 1;
    }
    if (fields[2]) {
        SR_TRY(sr__int_in(ld, fields[2], &copies_at, 1, INT32_MAX, &copies));
        if (fields[1] && parallel != (copies > 1)) {
            SR_TRY(sr__wrong(ld, &copies_at, "%lld copies, but \"parallel\" is %s", (long long)copies,
                             parallel ? "true" : "false"));
        }
        settings->n_copies = (int)copies;
    }
    if (fields[3]) {
        SR_TRY(sr__bool(ld, fields[3], &offload_at, &settings->op_offload));
    }
    if (fields[4]) {
        SR_TRY(sr__int_in(ld, fields[4], &inputs_at, 1, INT32_MAX, &inputs));
        settings->max_split_inputs = (int)inputs;
    }
done:
    return status;
}

static sr_status load_scheduler(sr__loader *ld) {
    const cJSON *json = ld->top.json[SR__TOP_SCHEDULER];
    sr_status status = SR_OK;
    ld->d->settings = (sr_sched_settings){.graph_size = 0, .n_copies = 1, .op_offload = true};
    if (json) {
        ld->settle = true;
        SR_TRY(load_settings(ld, json, &ld->top.at[SR__TOP_SCHEDULER]));
        SR_TRY(sr__copy_tree(ld, json, &ld->d->plain[SR__TOP_SCHEDULER]));
    }
done:
    ld->settle = false;
    return status;
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static sr_status load_texts(sr__loader *ld) {
    sr_description *d = ld->d;
    const sr__top *top = &ld->top;
    sr_status status;
    if (top->json[SR__TOP_NAME]) {
        SR_TRY(sr__kept_string(ld, top->json[SR__TOP_NAME], &top->at[SR__TOP_NAME], &d->name));
        d->has_name = true;
    } else {
        SR_TRY(sr__keep(ld, base_name(top->roots[0].source->name), &d->name));
    }
    d->text = "";
    if (top->json[SR__TOP_DESCRIPTION]) {
        SR_TRY(sr__kept_string(ld, top->json[SR__TOP_DESCRIPTION], &top->at[SR__TOP_DESCRIPTION], &d->text));
    }
    if (top->json[SR__TOP_UNKNOWN_OPS]) {
        static const char *const names[] = {"opaque", "error", "all"};
        const sr__at *at = &top->at[SR__TOP_UNKNOWN_OPS];
        const char *text;
        SR_TRY(sr__string(ld, top->json[SR__TOP_UNKNOWN_OPS], at, &text));
        d->all_opaque = strcmp(text, "all") == 0;
        d->opaque = d->all_opaque || strcmp(text, "opaque") == 0;
        if (!d->opaque && strcmp(text, "error") != 0) {
            SR_TRY(sr__unknown(ld, at, "value", text, names, SR_COUNT(names)));
        }
    }
done:
    return status;
}

static sr_status load_weights(sr__loader *ld) {
    sr_description *d = ld->d;
    const cJSON *json = ld->top.json[SR__TOP_WEIGHTS];
    const sr__at *at = &ld->top.at[SR__TOP_WEIGHTS];
    const char *path;
    sr_status status = SR_OK;
    if (json) {
        SR_TRY(sr__string(ld, json, at, &path));
        if (!*path) {
            SR_TRY(sr__wrong(ld, at, "the path is empty"));
        }
        SR_TRY(sr__resolve_path(ld, at->source, path, &d->weights, &d->shown_weights));
    }
    if (ld->options->weights) {
        SR_TRY(sr__keep(ld, ld->options->weights, &d->weights));
        d->shown_weights = d->weights;
    }
done:
    return status;
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

/* Sections in the order in which they need each other. */
static sr_status load_sections(sr__loader *ld) {
    sr_status status;
    if (ld->options->backends_file) {
        SR_TRY(sr__load_file(ld, ld->options->backends_file, &ld->machine_top));
        ld->has_machine_top = true;
    }
    SR_TRY(load_texts(ld));
    SR_TRY(load_weights(ld));
    SR_TRY(sr__load_params(ld));
    SR_TRY(load_scheduler(ld));
    SR_TRY(sr__load_machine(ld));
    SR_TRY(sr__load_buffers(ld));
    SR_TRY(sr__load_placement(ld));
    SR_TRY(sr__load_runs(ld));
    SR_TRY(sr__lay_out(ld));
done:
    return status;
}

static void loader_free(sr__loader *ld) {
    sr__free_placement(ld);
    sr__free_sources(ld);
    sr__map_free(&ld->ops);
    sr__map_free(&ld->types);
    sr__map_free(&ld->buffers);
    sr__map_free(&ld->stand_ins);
    sr__map_free(&ld->slot_index);
    sr__map_free(&ld->variant_index);
    sr__arena_free(&ld->json);
    sr__arena_free(&ld->scratch);
}

/* path: a file to read; else text. */
static sr_status load(const char *path, const char *text, size_t length, const char *name, const char *directory,
                      const sr_load_options *options, sr_description **out_description, sr_error *err) {
    static const sr_load_options defaults;
    sr__loader *ld = sr__calloc(1, sizeof(*ld));
    sr_description *d = sr__calloc(1, sizeof(*d));
    sr_status status;
    *out_description = NULL;
    if (!ld || !d) {
        sr__free(ld);
        sr__free(d);
        return sr__fail_memory(err);
    }
    sr__arena_init(&d->arena, 0);
    sr__arena_init(&ld->json, 96 * 1024); /* below what malloc maps and unmaps: pages are touched once */
    sr__arena_init(&ld->scratch, 0);
    ld->d = d;
    ld->options = options ? options : &defaults;
    ld->err = err;
    SR_TRY(path ? sr__load_file(ld, path, &ld->top) : sr__load_text(ld, text, length, name, directory, &ld->top));
    SR_TRY(load_sections(ld));
    *out_description = d;
    d = NULL;
done:
    loader_free(ld);
    sr__free(ld);
    sr_description_free(d);
    return status;
}

sr_status sr_description_load(const char *path, const sr_load_options *options, sr_description **out_description,
                              sr_error *err) {
    return load(path, NULL, 0, NULL, NULL, options, out_description, err);
}

sr_status sr_description_load_text(const char *text, size_t length, const char *name, const char *directory,
                                   const sr_load_options *options, sr_description **out_description, sr_error *err) {
    return load(NULL, text, length, name, directory, options, out_description, err);
}

void sr_description_free(sr_description *d) {
    if (!d) {
        return;
    }
    for (size_t i = 0; i < d->n_variants; i++) {
        sr_graph_free(d->variants[i]->graph);
        sr__free(d->variants[i]->placed);
        sr__free(d->variants[i]->assigned);
        sr__free(d->variants[i]->data);
    }
    for (size_t i = 0; i < d->n_buffers; i++) {
        for (int k = 0; k < d->buffers[i].n_physical; k++) {
            sr_buffer_free(d->buffers[i].physical[k]);
        }
        sr__free(d->buffers[i].physical);
    }
    for (size_t i = 0; i < d->n_data_files; i++) {
        sr__gguf_close(d->data_files[i]);
    }
    sr__gguf_close(d->gguf);
    sr__free(d->data_files);
    sr__free(d->variants);
    sr__free(d->buffers);
    sr__free(d->slots);
    sr_machine_free(d->machine);
    sr__arena_free(&d->arena);
    sr__free(d);
}

/* ---- what is asked of a description ------------------------------------------------------------------------------ */

const char *sr_description_name(const sr_description *d) { return d->name; }
const char *sr_description_text(const sr_description *d) { return d->text; }
sr_machine *sr_description_machine(const sr_description *d) { return d->machine; }
sr_sched_settings sr_description_settings(const sr_description *d) { return d->settings; }
int sr_description_n_runs(const sr_description *d) { return d->n_runs; }
const sr_run *sr_description_run(const sr_description *d, int i) {
    return i >= 0 && i < d->n_runs ? &d->runs[i] : NULL;
}
