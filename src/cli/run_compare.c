/*
 * run_compare.c - --compare: every run node by node on two backends.
 *
 * Layer: cli.  Nothing is scheduled: each backend gets the whole graph.
 */
#include "cli/cmd_run.h"

/* The two backends; of a device that the description lacks, in a machine made for it. */
typedef struct sides {
    sr_backend *a, *b;
    sr_machine *extra_a, *extra_b;
} sides;

/* ---- which backends --------------------------------------------------------------------------------------------- */

/* By the name of a backend, else of its device. */
static sr_backend *find_backend(const sr_machine *machine, const char *name) {
    const int place = sr_machine_backend(machine, name);
    if (place >= 0) {
        return machine->backends[place];
    }
    for (int b = 0; b < machine->n_backends; b++) {
        if (strcmp(machine->backends[b]->device->name, name) == 0) {
            return machine->backends[b];
        }
    }
    return NULL;
}

/* A machine needs a cpu at its end, whatever it is for. */
static sr_status open_device(const char *name, int threads, sr_machine **out_machine, sr_error *err) {
    sr_status status;
    sr_machine *machine = NULL;
    const char *const devices[] = {name, "cpu"};
    SR_TRY(sr_machine_new(&machine, err));
    for (int i = 0; i < SR_COUNT(devices); i++) {
        sr_backend_config config;
        sr_backend_config_init(&config);
        config.device = devices[i];
        SR_TRY(sr_machine_add_backend(machine, &config, err));
        sr_backend_set_threads(machine->backends[i], threads);
    }
    SR_TRY(sr_machine_finish(machine, err));
    *out_machine = machine;
    machine = NULL;
done:
    sr_machine_free(machine);
    return status;
}

static sr_status find_side(const cli_session *session, const char *name, sr_backend **out_backend,
                           sr_machine **out_extra, sr_error *err) {
    *out_backend = find_backend(sr_description_machine(session->description), name);
    if (*out_backend != NULL) {
        return SR_OK;
    }
    const sr_status status = open_device(name, session->options->threads, out_extra, err);
    if (status == SR_OK) {
        *out_backend = (*out_extra)->backends[0];
    } else {
        sr__error_prefix(err, "--compare: no backend is called '%s': ", name);
    }
    return status;
}

static sr_status find_sides(const cli_session *session, sides *s, sr_error *err) {
    const sr_machine *machine = sr_description_machine(session->description);
    const char *given = session->options->compare;
    const char *comma = strchr(given, ',');
    char *a = comma != NULL ? sr__strndup(given, (size_t)(comma - given)) : sr__strdup(given);
    sr_status status;
    for (int b = 0; b < machine->n_backends; b++) {
        sr_backend_set_threads(machine->backends[b], session->options->threads);
    }
    if (a == NULL) {
        SR_TRY(sr__fail_memory(err));
    }
    SR_TRY(find_side(session, a, &s->a, &s->extra_a, err));
    s->b = machine->backends[machine->n_backends - 1];
    if (comma != NULL) {
        SR_TRY(find_side(session, comma + 1, &s->b, &s->extra_b, err));
    }
done:
    sr__free(a);
    return status;
}

/* ---- one run ---------------------------------------------------------------------------------------------------- */

static sr_status make_copy(const cli_session *session, const sr_run *run, sr_backend *backend, sr_graph_copy **out,
                           sr_error *err) {
    const sr_status status = sr_graph_copy_new(backend, run->graph, NULL, out, err);
    return status == SR_OK
               ? sr_description_set_inputs(session->description, run, sr_graph_copy_view(*out), err)
               : status;
}

static sr_status compare_run(const cli_session *session, const sides *s, const sr_run *run, sr_comparison *comparison,
                             sr_error *err) {
    const sr_compare_options options = {.nmse = session->options->nmse, .drift = session->options->drift,
                                        .stop = cli_interrupted};
    sr_graph_copy *a = NULL, *b = NULL;
    sr_status status;
    SR_TRY(make_copy(session, run, s->a, &a, err));
    SR_TRY(make_copy(session, run, s->b, &b, err));
    SR_TRY(sr_compare_backends(a, b, &options, comparison, err));
done:
    sr_graph_copy_free(a);
    sr_graph_copy_free(b);
    return status;
}

/* A comparison that fails is reported, and the later ones go on. */
static sr_status one_run(cli_session *session, const sides *s, const sr_run *run, sr_error *err) {
    sr_comparison comparison = {.first_over = -1, .worst = -1};
    sr_error own = {0};
    own.status = compare_run(session, s, run, &comparison, &own);
    const sr_compare_result result = {.run = run, .a = s->a->name, .b = s->b->name, .comparison = &comparison,
                                      .error = &own, .drift = session->options->drift};
    if (own.status != SR_OK) {
        cli_worsen(session, cli_run_error(&own, session->file, run->index));
    }
    if (comparison.n_over > 0) {
        cli_worsen(session, sr_status_exit(SR_DIFFERS));
    }
    const sr_status status = cli_report_compare(&session->report, &result, err);
    sr_comparison_clear(&comparison);
    sr_error_clear(&own);
    return status;
}

sr_status cli_compare(cli_session *session, cli_output *output, sr_error *err) {
    sides s = {0};
    sr_status status;
    bool begun = false;
    SR_TRY(find_sides(session, &s, err));
    SR_TRY(sr_description_set_buffers(session->description, err));
    SR_TRY(cli_report_begin(&session->report, session->description, session->options, &output->sink, err));
    begun = true;
    for (int i = 0; i < sr_description_n_runs(session->description) && !cli_interrupted(NULL); i++) {
        const sr_run *run = sr_description_run(session->description, i);
        if (!run->reserve) {
            SR_TRY(one_run(session, &s, run, err));
        }
    }
done:
    if (begun) {
        const sr_status ended = cli_report_end(&session->report, status == SR_OK ? err : NULL);
        status = status != SR_OK ? status : ended;
    }
    sr_machine_free(s.extra_a);
    sr_machine_free(s.extra_b);
    return status;
}
