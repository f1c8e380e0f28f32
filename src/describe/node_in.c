/*
 * node_in.c - the parameters of a node: named ones, or the raw words of a recording.
 *
 * Layer: describe.  Answers to the ggml_set_op_params calls of the builders in ggml.c.
 */
#include "describe/loader.h"

/* Integers in the range of int32 or of uint32, as recordings have them. */
static sr_status load_words(sr__loader *ld, const cJSON *json, const sr__at *at, sr_tensor_spec *spec) {
    sr_status status;
    int n = 0;
    SR_TRY(sr__want_array(ld, json, at));
    for (const cJSON *child = json->child; child; child = child->next, n++) {
        sr__at element = sr__at_index(at, n);
        int64_t value;
        if (n == SR_MAX_OP_PARAMS) {
            SR_TRY(sr__wrong(ld, at, "an op has at most %d words of parameters", SR_MAX_OP_PARAMS));
        }
        SR_TRY(sr__int_in(ld, child, &element, INT32_MIN, UINT32_MAX, &value));
        uint32_t word = (uint32_t)value;
        memcpy(&spec->op_params[n], &word, sizeof(word));
    }
done:
    return status;
}

static const sr_param_info *find_param_info(const sr_op_info *info, const char *name) {
    for (int i = 0; i < info->n_params; i++) {
        if (strcmp(info->params[i].name, name) == 0) {
            return &info->params[i];
        }
    }
    return NULL;
}

static sr_status unknown_param(sr__loader *ld, const sr_op_info *info, const char *name, const sr__at *at) {
    const char *names[64];
    int n = info->n_params < SR_COUNT(names) ? info->n_params : SR_COUNT(names);
    for (int i = 0; i < n; i++) {
        names[i] = info->params[i].name;
    }
    const char *near = sr__nearest(name, names, n);
    if (near) {
        return sr__wrong_key(ld, at, "unknown parameter of %s, did you mean \"%s\"?", info->name, near);
    }
    sr__str list = {0};
    for (int i = 0; i < n; i++) {
        sr__str_printf(&list, "%s%s", i ? ", " : ": it takes ", names[i]);
    }
    sr_status status =
        sr__wrong_key(ld, at, "unknown parameter of %s%s", info->name, n ? sr__str_text(&list) : ", which has none");
    sr__str_free(&list);
    return status;
}

static sr_status load_four(sr__loader *ld, const cJSON *json, const sr__at *at, int32_t four[4]) {
    sr_status status;
    int n = 0;
    SR_TRY(sr__want_array(ld, json, at));
    for (const cJSON *child = json->child; child; child = child->next, n++) {
        sr__at element = sr__at_index(at, n);
        int64_t value;
        if (n == 4) {
            break;
        }
        SR_TRY(sr__int_in(ld, child, &element, INT32_MIN, INT32_MAX, &value));
        four[n] = (int32_t)value;
    }
    if (n != 4 || cJSON_GetArraySize(json) != 4) {
        SR_TRY(sr__wrong(ld, at, "expected four integers"));
    }
done:
    return status;
}

static sr_status load_param(sr__loader *ld, const sr_op_info *info, const cJSON *json, const sr__at *at,
                            sr_param_value *out) {
    const sr_param_info *param = find_param_info(info, json->string);
    sr_status status = SR_OK;
    *out = (sr_param_value){.name = json->string};
    if (!param) {
        return unknown_param(ld, info, json->string, at);
    }
    int64_t integer;
    bool truth;
    switch (param->kind) {
        case SR_PARAM_INT:
            SR_TRY(sr__int(ld, json, at, &integer));
            out->number = (double)integer;
            break;
        case SR_PARAM_FLOAT:
            SR_TRY(sr__double(ld, json, at, &out->number));
            break;
        case SR_PARAM_BOOL:
            SR_TRY(sr__bool(ld, json, at, &truth));
            out->number = truth;
            break;
        case SR_PARAM_ENUM:
            out->is_text = sr__is_string(json);
            if (out->is_text) {
                SR_TRY(sr__string(ld, json, at, &out->text));
            } else {
                SR_TRY(sr__int(ld, json, at, &integer));
                out->number = (double)integer;
            }
            break;
        case SR_PARAM_INT4:
            SR_TRY(load_four(ld, json, at, out->four));
            break;
    }
done:
    return status;
}

static sr_status load_named(sr__loader *ld, const sr_graph *graph, sr_tensor_spec *spec, int kind, const cJSON *json,
                            const sr__at *at) {
    const sr_op_info *info = sr_op_get(spec->op);
    sr_status status;
    sr_param_value *values;
    int n = 0;
    SR_TRY(sr__no_repeats(ld, json, at));
    if (!info) {
        SR_TRY(sr__wrong(ld, at, "an op that this program does not know has no named parameters: give \"op_params\""));
    }
    values = sr__arena_alloc(&ld->scratch, ((size_t)cJSON_GetArraySize(json) + 1) * sizeof(*values));
    if (!values) {
        SR_TRY(sr__no_memory(ld));
    }
    for (const cJSON *child = json->child; child; child = child->next) {
        if (!sr__is_comment(child->string)) {
            sr__at member = sr__at_key(at, child->string);
            SR_TRY(load_param(ld, info, child, &member, &values[n]));
            n++;
        }
    }
    SR_TRY(sr__wrong_there(ld, at, sr_op_set_params(graph, spec, kind, values, n, ld->err)));
done:
    return status;
}

/*
 * Nothing is given.  A recording leaves the words out where all are zero, so that a node with extents has zeros where
 * a named parameter would be required; without extents somebody forgot it.
 */
static sr_status load_nothing(sr__loader *ld, const sr_graph *graph, sr_tensor_spec *spec, int kind, const sr__at *at) {
    const sr_op_info *info = sr_op_get(spec->op);
    bool required = false;
    for (int i = 0; info && i < info->n_params; i++) {
        required = required || info->params[i].required;
    }
    if (!info || info->n_params == 0 || (required && spec->n_dims > 0)) {
        return SR_OK;
    }
    return sr__wrong_there(ld, at, sr_op_set_params(graph, spec, kind, NULL, 0, ld->err));
}

/* An op named by its description (SILU, SWIGLU) has the code in its first word. */
static sr_status set_kind(sr__loader *ld, sr_tensor_spec *spec, int kind, bool given, const sr__at *at) {
    if (kind < 0) {
        return SR_OK;
    }
    if (given && spec->op_params[0] != 0 && spec->op_params[0] != kind) {
        return sr__wrong(ld, at, "the first word is %d, but the op's name stands for %d", spec->op_params[0], kind);
    }
    spec->op_params[0] = kind;
    return SR_OK;
}

sr_status sr__node_words(sr__loader *ld, const sr_graph *graph, sr_tensor_spec *spec, int kind, const cJSON *params,
                         const cJSON *op_params, const sr__at *at) {
    sr_status status;
    sr__at params_at = sr__at_key(at, "params"), words_at = sr__at_key(at, "op_params");
    if (params && op_params) {
        SR_TRY(sr__wrong_key(ld, &words_at, "\"params\" and \"op_params\" in one node"));
    }
    if (op_params) {
        SR_TRY(load_words(ld, op_params, &words_at, spec));
    } else if (params) {
        SR_TRY(load_named(ld, graph, spec, kind, params, &params_at));
    } else {
        SR_TRY(load_nothing(ld, graph, spec, kind, at));
    }
    SR_TRY(set_kind(ld, spec, kind, op_params != NULL, &words_at));
done:
    return status;
}
