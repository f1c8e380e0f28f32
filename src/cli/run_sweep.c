/*
 * run_sweep.c - --sweep: every combination of the values of some params, scheduled and estimated.
 *
 * Layer: cli.
 */
#include <errno.h>
#include <stdlib.h>

#include "cli/cmd_run.h"

enum { MOST_ROWS = 10000 };

/* One param and its values. */
typedef struct dimension {
    char *name;
    char **values;
    int n;
    size_t cap;
} dimension;

/* The dimensions, the last of which changes fastest, and where in them the row at hand is. */
typedef struct grid {
    dimension *dimensions;
    int n;
    const char **names, **values;
    int *at;
    bool has_copies; /* the last is --copies */
} grid;

/* ---- values: 1,8,32 and ranges 1..512*2, 0..100+10, 1..8 --------------------------------------------------------- */

static bool out_of_memory(void) {
    cli_message("%s", sr_status_text(SR_MEMORY));
    return false;
}

static bool add_value(dimension *d, char *own) {
    if (own == NULL || !sr__grow(&d->values, &d->cap, (size_t)d->n + 1, sizeof(*d->values))) {
        sr__free(own);
        return out_of_memory();
    }
    d->values[d->n++] = own;
    return true;
}

static bool add_number(dimension *d, long long value) {
    char text[32];
    snprintf(text, sizeof(text), "%lld", value);
    return add_value(d, sr__strdup(text));
}

/* Digits alone: no sign, no spaces. */
static bool read_digits(const char *text, char **end, long long *out) {
    if (*text < '0' || *text > '9') {
        return false;
    }
    errno = 0;
    *out = strtoll(text, end, 10);
    return errno == 0;
}

/* "A..B", "A..B+S", "A..B*F"; false: a message was written. */
static bool add_range(dimension *d, const char *item, const char *dots) {
    char *end = NULL;
    const long long limit = 1LL << 53;
    long long first = 0, last = 0, step = 1;
    bool ok = read_digits(item, &end, &first) && end == dots && read_digits(dots + 2, &end, &last);
    const char sign = ok ? *end : '\0';
    if (sign != '\0') {
        ok = (sign == '+' || sign == '*') && read_digits(end + 1, &end, &step) && *end == '\0';
    }
    const bool multiplies = sign == '*';
    ok = ok && last >= first && last <= limit && step >= 1 && step <= limit && (!multiplies || (step > 1 && first > 0));
    if (!ok) {
        cli_message("--sweep: '%s' is no range: A..B, A..B+STEP or A..B*FACTOR, upwards", item);
        return false;
    }
    for (long long value = first; value <= last; value = multiplies ? value * step : value + step) {
        if (d->n >= MOST_ROWS) {
            break; /* too many rows, which is told when they are counted */
        }
        if (!add_number(d, value)) {
            return false;
        }
        if (multiplies && value > limit / step) {
            break;
        }
    }
    return true;
}

/* "NAME=ITEM,ITEM" */
static bool read_dimension(dimension *d, const char *text) {
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text || equals[1] == '\0') {
        cli_message("--sweep: '%s' is not NAME=VALUES", text);
        return false;
    }
    d->name = sr__strndup(text, (size_t)(equals - text));
    if (d->name == NULL) {
        return out_of_memory();
    }
    for (const char *p = equals + 1;; p++) {
        const size_t length = strcspn(p, ",");
        char *item = sr__strndup(p, length);
        const char *dots = item != NULL ? strstr(item, "..") : NULL;
        const bool ok = dots != NULL ? add_range(d, item, dots) : true;
        if (dots != NULL) {
            sr__free(item);
        } else if (!add_value(d, item)) {
            return false;
        }
        p += length;
        if (!ok || *p == '\0') {
            return ok;
        }
    }
}

static bool read_copies(dimension *d, const cli_options *options) {
    d->name = sr__strdup("n_copies");
    bool ok = d->name != NULL || out_of_memory();
    for (int i = 0; i < options->n_copies_list && ok; i++) {
        ok = add_number(d, options->copies_list[i]);
    }
    return ok;
}

static void grid_free(grid *g) {
    for (int i = 0; g->dimensions != NULL && i < g->n; i++) {
        for (int k = 0; k < g->dimensions[i].n; k++) {
            sr__free(g->dimensions[i].values[k]);
        }
        sr__free(g->dimensions[i].values);
        sr__free(g->dimensions[i].name);
    }
    sr__free(g->dimensions);
    sr__free(g->names);
    sr__free(g->values);
    sr__free(g->at);
}

/* A param is swept once, and not set besides; false: a message was written. */
static bool is_new_name(const grid *g, int i, const cli_options *options) {
    const char *name = g->dimensions[i].name;
    const size_t length = strlen(name);
    for (int k = 0; k < i; k++) {
        if (strcmp(g->dimensions[k].name, name) == 0) {
            cli_message("--sweep: '%s' is given twice: give its values in one list", name);
            return false;
        }
    }
    for (int k = 0; k < options->params.n; k++) {
        const char *text = options->params.texts[k];
        if (strncmp(text, name, length) == 0 && text[length] == '=') {
            cli_message("--sweep: '%s' is set by --param, too", name);
            return false;
        }
    }
    return true;
}

static bool grid_read(grid *g, const cli_options *options) {
    g->has_copies = options->n_copies_list > 1;
    const int n = options->sweeps.n + (g->has_copies ? 1 : 0);
    g->dimensions = sr__calloc((size_t)n, sizeof(*g->dimensions));
    g->names = sr__calloc((size_t)n, sizeof(*g->names));
    g->values = sr__calloc((size_t)n, sizeof(*g->values));
    g->at = sr__calloc((size_t)n, sizeof(*g->at));
    if (g->dimensions == NULL || g->names == NULL || g->values == NULL || g->at == NULL) {
        return out_of_memory();
    }
    g->n = n;
    int64_t n_rows = 1;
    for (int i = 0; i < n; i++) {
        dimension *d = &g->dimensions[i];
        if (!(i < options->sweeps.n ? read_dimension(d, options->sweeps.texts[i]) : read_copies(d, options))) {
            return false;
        }
        if (i < options->sweeps.n && !is_new_name(g, i, options)) {
            return false;
        }
        g->names[i] = d->name;
        n_rows *= d->n;
        if (n_rows >= MOST_ROWS) {
            cli_message("--sweep: these are %d rows or more", MOST_ROWS);
            return false;
        }
    }
    return true;
}

/* The next combination; false: that was the last. */
static bool grid_next(grid *g) {
    for (int i = g->n - 1; i >= 0; i--) {
        if (++g->at[i] < g->dimensions[i].n) {
            return true;
        }
        g->at[i] = 0;
    }
    return false;
}

/* ---- rows ------------------------------------------------------------------------------------------------------- */

/* The description with the values of the combination, after the params of the command line; it warns once. */
static int load(const grid *g, const char *path, const cli_options *options, bool first, sr_description **out) {
    const int n_params = g->n - (g->has_copies ? 1 : 0);
    cli_options own = *options;
    own.quiet = own.quiet || !first;
    sr__str *texts = sr__calloc((size_t)n_params + 1, sizeof(*texts));
    own.params.texts = sr__calloc((size_t)(options->params.n + n_params) + 1, sizeof(*own.params.texts));
    int exit_status = 0;
    bool ok = texts != NULL && own.params.texts != NULL;
    for (int i = 0; i < options->params.n && ok; i++) {
        own.params.texts[i] = options->params.texts[i];
    }
    for (int i = 0; i < n_params && ok; i++) {
        sr__str_printf(&texts[i], "%s=%s", g->names[i], g->values[i]);
        ok = !texts[i].failed;
        own.params.texts[own.params.n++] = sr__str_text(&texts[i]);
    }
    if (ok) {
        exit_status = cli_load(path, &own, true, out);
    } else {
        out_of_memory();
        exit_status = sr_status_exit(SR_MEMORY);
    }
    for (int i = 0; texts != NULL && i < n_params; i++) {
        sr__str_free(&texts[i]);
    }
    sr__free(texts);
    sr__free(own.params.texts);
    return exit_status;
}

/* A reserve says nothing that a run of the same graph does not; runs of one graph are one row. */
static bool is_wanted(const sr_description *description, int i) {
    const sr_run *run = sr_description_run(description, i);
    bool only_reserves = true;
    for (int k = 0; k < sr_description_n_runs(description); k++) {
        const sr_run *other = sr_description_run(description, k);
        only_reserves = only_reserves && other->reserve;
        if (k < i && other->graph == run->graph && other->reserve == run->reserve) {
            return false;
        }
    }
    return only_reserves || !run->reserve;
}

static bool is_swept(const grid *g, const char *text) {
    bool swept = false;
    for (int i = 0; i < g->n; i++) {
        const size_t length = strlen(g->names[i]);
        swept = swept || (strncmp(text, g->names[i], length) == 0 && text[length] == '=');
    }
    return swept;
}

/* What tells the row of a run from those of other runs: the name of its graph, and if others have that too, its number
 * and the params that are not swept. */
static void put_label(sr__str *s, const grid *g, const sr_description *description, int i) {
    const sr_run *run = sr_description_run(description, i);
    bool alone = true;
    sr__str_puts(s, run->graph_name);
    for (int k = 0; k < sr_description_n_runs(description); k++) {
        alone = alone && (k == i || !is_wanted(description, k) ||
                          strcmp(sr_description_run(description, k)->graph_name, run->graph_name) != 0);
    }
    if (alone) {
        return;
    }
    sr__str_printf(s, "%srun %d", s->length > 0 ? " " : "", run->index);
    for (const char *p = run->params_text; *p != '\0';) {
        const size_t n = strcspn(p, " ");
        if (n > 0 && !is_swept(g, p)) {
            sr__str_puts(s, " ");
            sr__str_append(s, p, n);
        }
        p += n + strspn(p + n, " ");
    }
}

static sr_status add_row(const cli_session *session, const grid *g, int i, const sr_sched_params *params,
                         sr_sweep *sweep, sr_error *err) {
    sr_run run = *sr_description_run(session->description, i);
    sr__str label = {0};
    put_label(&label, g, session->description, i);
    run.graph_name = sr__str_text(&label);
    const sr_status status = label.failed ? sr__fail_memory(err)
                                          : sr_sweep_add(sweep, sr_description_machine(session->description), params,
                                                         &run, g->values, err);
    sr__str_free(&label);
    return status;
}

static sr_status add_rows(cli_session *session, const grid *g, sr_sweep *sweep, sr_error *err) {
    sr_sched_params params = cli_sched_params(session);
    sr_status status = SR_OK;
    if (g->has_copies) {
        params.n_copies = session->options->copies_list[g->at[g->n - 1]];
    }
    params.record_decisions = false;
    for (int i = 0; i < sr_description_n_runs(session->description) && status == SR_OK; i++) {
        if (is_wanted(session->description, i)) {
            status = add_row(session, g, i, &params, sweep, err);
        }
    }
    return status;
}

static void tell_combination(const grid *g, const char *file) {
    sr__str words = {0};
    for (int i = 0; i < g->n; i++) {
        sr__str_printf(&words, "%s%s=%s", i > 0 ? ", " : "", g->names[i], g->values[i]);
    }
    cli_message("%s: the sweep ends before %s", file, sr__str_text(&words));
    sr__str_free(&words);
}

/* All combinations; *out_name: of the description. */
static sr_status all_rows(cli_session *session, grid *g, const char *path, sr_sweep *sweep, sr__str *name,
                          sr_error *err) {
    sr_status status = SR_OK;
    do {
        for (int i = 0; i < g->n; i++) {
            g->values[i] = g->dimensions[i].values[g->at[i]];
        }
        const int loaded = load(g, path, session->options, name->length == 0, &session->description);
        if (loaded != 0 || cli_interrupted(NULL)) {
            tell_combination(g, session->file);
            cli_worsen(session, loaded != 0 ? loaded : sr_status_exit(SR_ABORTED));
            break;
        }
        if (name->length == 0) {
            sr__str_puts(name, sr_description_name(session->description));
        }
        SR_TRY(add_rows(session, g, sweep, err));
        sr_description_free(session->description);
        session->description = NULL;
    } while (grid_next(g));
done:
    sr_description_free(session->description);
    session->description = NULL;
    return status;
}

static void judge_rows(cli_session *session, const sr_sweep *sweep) {
    for (int i = 0; i < sweep->n_rows; i++) {
        if (sweep->rows[i].status != SR_OK) {
            cli_worsen(session, sr_status_exit(sweep->rows[i].status));
        }
    }
}

int cli_sweep(cli_session *session, const char *path, cli_output *output) {
    const cli_options *options = session->options;
    const bool json = options->format == CLI_JSON;
    grid g = {0};
    sr_sweep sweep = {0};
    sr__str name = {0};
    sr_error err = {0};
    sr_status status = SR_OK;
    if (!grid_read(&g, options)) {
        grid_free(&g);
        return sr_status_exit(SR_USAGE);
    }
    const sr_report_options report = cli_report_options(options);
    SR_TRY(sr_sweep_begin(&sweep, g.names, g.n, options->batches > 0 ? options->batches : 1, &err));
    SR_TRY(all_rows(session, &g, path, &sweep, &name, &err));
    judge_rows(session, &sweep);
    if (sweep.n_rows > 0) {
        SR_TRY(sr_report_sweep(sr__str_text(&name), &sweep, &report, json, &output->sink, &err));
    }
done:
    if (status != SR_OK && !(status == SR_IO && output->failed)) {
        cli_worsen(session, cli_error(&err, session->file));
    }
    sr_error_clear(&err);
    sr_sweep_clear(&sweep);
    sr__str_free(&name);
    grid_free(&g);
    return session->exit_status;
}
