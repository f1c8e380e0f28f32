/*
 * cmd_ops.c - sched-run ops: the table of ops, and who executes each.
 *
 * Layer: cli.  Host kernels, which the cpu and sim drivers share, are known by op; other drivers know by op, too, or are
 * asked about one node of the op over small f32 matrices, where such a node can be made.
 */
#include <math.h>

#include "cli/cli.h"
#include "kernels/kernels.h"

enum { EXTENT = 64, TEXT_COLUMN = 66 };

/* ---- one node to ask about -------------------------------------------------------------------------------------- */

/* A node of the op over f32 matrices; NULL: its rules want other operands. */
static sr_graph *example(int op, const char *opaque_name, int32_t *out_node) {
    sr_graph *graph = NULL;
    sr_tensor_spec spec;
    int32_t srcs[SR_MAX_SRC];
    const int n_src = op < SR_OP_COUNT ? sr_op_get(op)->min_src : 1;
    if (sr_graph_new("example", &graph, NULL) != SR_OK) {
        return NULL;
    }
    for (int j = 0; j < n_src; j++) {
        char id[16];
        snprintf(id, sizeof(id), "s%d", j);
        sr_tensor_spec_init(&spec);
        spec.id = id;
        spec.n_dims = 2;
        spec.ne[0] = spec.ne[1] = EXTENT;
        if (sr_graph_add(graph, &spec, &srcs[j], NULL) != SR_OK) {
            goto none;
        }
    }
    sr_tensor_spec_init(&spec);
    spec.id = "node";
    spec.op = op;
    spec.op_name = opaque_name;
    spec.srcs = srcs;
    spec.n_src = n_src;
    if (op == SR_OP_OPAQUE) {
        spec.type = SR_TYPE_F32;
        spec.n_dims = 1;
        spec.ne[0] = EXTENT;
    } else if (sr_op_set_params(graph, &spec, -1, NULL, 0, NULL) != SR_OK) {
        goto none;
    }
    if (sr_graph_add(graph, &spec, out_node, NULL) == SR_OK && sr_graph_finish(graph, NULL) == SR_OK) {
        return graph;
    }
none:
    sr_graph_free(graph);
    return NULL;
}

static bool executes(const sr_backend *backend, const sr_graph *graph, int32_t node) {
    const sr_graph_view view = sr_graph_whole(graph);
    return graph != NULL && sr_backend_supports_op(backend, &view, node, NULL) &&
           sr_backend_can_execute(backend, &view, node, NULL);
}

/* ---- the machine that is asked ---------------------------------------------------------------------------------- */

/* A backend of every driver that has a device, the CPU last; NULL: it could not be made. */
static sr_machine *every_device(void) {
    sr_machine *machine = NULL;
    if (sr_machine_new(&machine, NULL) != SR_OK) {
        return NULL;
    }
    for (int last = 0; last < 2; last++) {
        for (const sr_driver *const *d = sr_drivers(); *d != NULL; d++) {
            const char *why = NULL;
            if ((strcmp((*d)->name, "cpu") == 0) != (last == 1) || (*d)->device_count(&why) <= 0) {
                continue;
            }
            sr_backend_config config;
            sr_backend_config_init(&config);
            config.name = (*d)->name;
            config.device = (*d)->name;
            (void)sr_machine_add_backend(machine, &config, NULL); /* a device that cannot be opened executes nothing */
            config.name = config.device = NULL;
        }
    }
    if (sr_machine_finish(machine, NULL) != SR_OK) {
        sr_machine_free(machine);
        return NULL;
    }
    return machine;
}

static bool has_host_kernels(const char *driver) { return strcmp(driver, "cpu") == 0 || strcmp(driver, "sim") == 0; }

/* A device that would execute what nobody knows (null) does not execute anything. */
static bool is_real(const sr_backend *backend, const sr_graph *unknown, int32_t node) {
    return !executes(backend, unknown, node);
}

static bool has_kernel(const sr_backend *backend, int op, const sr_graph *graph, int32_t node,
                       const sr_graph *unknown, int32_t unknown_node) {
    const sr_device_i *iface = backend->device->iface;
    if (has_host_kernels(backend->name)) {
        return sr__kernel_get(op)->run != NULL;
    }
    return iface->has_kernel ? iface->has_kernel(backend->device, op)
                             : graph && executes(backend, graph, node) && is_real(backend, unknown, unknown_node);
}

static void put_executors(sr__str *s, int op, const sr_machine *machine, const sr_graph *unknown,
                          int32_t unknown_node) {
    if (op == SR_OP_NONE || sr_op_is_view(op)) {
        sr__str_puts(s, "nothing to do");
        return;
    }
    int32_t node = -1;
    sr_graph *graph = example(op, NULL, &node);
    const size_t start = s->length;
    for (int b = machine != NULL ? machine->n_backends - 1 : -1; b >= 0; b--) { /* the CPU first */
        const sr_backend *backend = machine->backends[b];
        if (has_kernel(backend, op, graph, node, unknown, unknown_node)) {
            sr__str_printf(s, "%s%s", s->length > start ? " " : "", backend->name);
        }
    }
    if (s->length == start) {
        sr__str_puts(s, "nobody");
    }
    sr_graph_free(graph);
}

/* ---- the table -------------------------------------------------------------------------------------------------- */

static void put_param(sr__str *s, const sr_param_info *param) {
    static const char *const kinds[] = {"integer", "number", "true or false", "", "four integers"};
    sr__str_printf(s, "%*s%s: %s", TEXT_COLUMN, "", param->name, kinds[param->kind]);
    for (const sr_param_enum *v = param->values; param->kind == SR_PARAM_ENUM && v != NULL && v->name != NULL; v++) {
        sr__str_printf(s, "%s%s", v == param->values ? "" : "|", v->name);
    }
    if (param->required) {
        sr__str_puts(s, ", required");
    } else if (isnan(param->fallback)) {
        sr__str_puts(s, ", default: from the sources");
    } else if (param->kind != SR_PARAM_INT4) {
        const char *name = NULL;
        for (const sr_param_enum *v = param->values; v != NULL && v->name != NULL && name == NULL; v++) {
            name = (double)v->value == param->fallback ? v->name : NULL;
        }
        if (name != NULL) {
            sr__str_printf(s, ", default %s", name);
        } else {
            sr__str_printf(s, ", default %g", param->fallback);
        }
    }
    sr__str_puts(s, "\n");
}

static void put_op(sr__str *s, int op, const sr_machine *machine, const sr_graph *unknown, int32_t unknown_node) {
    const sr_op_info *info = sr_op_get(op);
    sr__str executors = {0};
    put_executors(&executors, op, machine, unknown, unknown_node);
    sr__str_printf(s, "%-24s%-10s%-7s%-*s%s\n", info->name, info->can_inplace ? "yes" : "-",
                   info->can_reuse ? "yes" : "-", TEXT_COLUMN - 41, sr__str_text(&executors),
                   info->sources[0] != '\0' ? info->sources : "no sources");
    for (int i = 0; i < info->n_params; i++) {
        put_param(s, &info->params[i]);
    }
    s->failed |= executors.failed;
    sr__str_free(&executors);
}

int cli_cmd_ops(const cli_options *options) {
    (void)options;
    sr__str s = {0};
    int32_t unknown_node = -1;
    sr_machine *machine = every_device();
    sr_graph *unknown = example(SR_OP_OPAQUE, "UNKNOWN", &unknown_node);
    sr__str_printf(&s, "%-24s%-10s%-7s%-*s%s\n", "op", "in place", "reuse", TEXT_COLUMN - 41, "executed by",
                   "sources; parameters");
    for (int op = 0; op < SR_OP_COUNT; op++) {
        put_op(&s, op, machine, unknown, unknown_node);
    }
    sr__str_puts(&s, "\nin place: its builder can make the result a view of the first source.\n"
                     "reuse: the allocator may put the result where a source was that nobody else reads.\n");
    sr_graph_free(unknown);
    sr_machine_free(machine);
    const bool failed = s.failed;
    cli_output output;
    cli_output_init(&output, NULL);
    cli_print(&output, sr__str_text(&s));
    sr__str_free(&s);
    const bool written = cli_output_close(&output);
    return failed ? sr_status_exit(SR_MEMORY) : written ? 0 : sr_status_exit(SR_IO);
}
