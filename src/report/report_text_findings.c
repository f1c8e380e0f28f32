/*
 * report_text_findings.c - findings in the text report: a line in the summary, and with --lint each of them.
 *
 * Layer: report.
 */
#include "report/report_text.h"

enum { SHOWN_OF_A_KIND = 4, SHOWN_TENSORS = 8 };

static int count_kind(const sr_findings *findings, const char *kind) {
    int n = 0;
    for (int i = 0; i < findings->n; i++) {
        n += strcmp(findings->items[i].kind, kind) == 0;
    }
    return n;
}

/* Whether no finding before it is of the same kind. */
static bool is_first_of_kind(const sr_findings *findings, int place) {
    for (int i = 0; i < place; i++) {
        if (strcmp(findings->items[i].kind, findings->items[place].kind) == 0) {
            return false;
        }
    }
    return true;
}

static sr__style style_of(sr_severity severity) {
    return severity == SR_SEVERITY_ERROR ? SR__RED : severity == SR_SEVERITY_WARNING ? SR__BOLD : SR__DIM;
}

/* "    5 findings: 3 weight-copy, fallback, 7 offload (see --lint)" */
static void put_line(sr__str *s, const sr_findings *findings, const sr_report_options *options) {
    sr__str kinds = {0}, count = {0};
    sr__put_count(&count, findings->n, "finding");
    const int column = 4 + (int)count.length + 2;
    sr__str_puts(s, "    ");
    sr__style_on(s, options, style_of(findings->items[0].severity));
    sr__str_puts(s, sr__str_text(&count));
    sr__style_off(s, options);
    sr__str_puts(s, ": ");
    for (int i = 0; i < findings->n; i++) {
        if (is_first_of_kind(findings, i)) {
            const int n = count_kind(findings, findings->items[i].kind);
            sr__str_puts(&kinds, i > 0 ? ", " : "");
            if (n > 1) {
                sr__str_printf(&kinds, "%d ", n);
            }
            sr__str_puts(&kinds, findings->items[i].kind);
        }
    }
    sr__str_puts(&kinds, options->lint ? "" : " (see --lint)");
    sr__put_wrapped(s, sr__str_text(&kinds), column, column, sr__text_width(options));
    s->failed |= kinds.failed || count.failed;
    sr__str_free(&kinds);
    sr__str_free(&count);
}

static void put_cost(sr__str *s, const sr_finding *f) {
    if (f->splits > 0) {
        sr__str_puts(s, "  ");
        sr__put_count(s, f->splits, "split");
    }
    if (f->bytes > 0) {
        sr__str_puts(s, "  ");
        sr__put_bytes(s, f->bytes);
    }
}

/* Tensors that the message does not name. */
static void put_tensors(sr__str *s, const sr_finding *f, const sr_report_options *options) {
    sr__str list = {0};
    const int shown = options->verbose || f->n_tensors <= SHOWN_TENSORS ? f->n_tensors : SHOWN_TENSORS;
    if (f->n_tensors < 3) {
        return;
    }
    sr__str_puts(&list, "tensors:");
    for (int i = 0; i < shown; i++) {
        sr__str_printf(&list, " %s", f->tensors[i]);
    }
    if (shown < f->n_tensors) {
        sr__str_printf(&list, " and %d more", f->n_tensors - shown);
    }
    sr__text_wrapped(s, sr__str_text(&list), 10, sr__text_width(options));
    s->failed |= list.failed;
    sr__str_free(&list);
}

static void put_finding(sr__str *s, const sr_finding *f, const sr_report_options *options) {
    sr__str_puts(s, "      ");
    sr__style_on(s, options, style_of(f->severity));
    sr__str_printf(s, "%s: %s", sr_severity_name(f->severity), f->kind);
    sr__style_off(s, options);
    put_cost(s, f);
    sr__str_puts(s, "\n");
    sr__text_wrapped(s, f->message != NULL ? f->message : "", 8, sr__text_width(options));
    put_tensors(s, f, options);
}

static void put_hint(sr__str *s, const sr_finding *f, const sr_report_options *options) {
    sr__str hint = {0};
    if (f != NULL && f->hint != NULL && f->hint[0] != '\0') {
        sr__str_printf(&hint, "%s%s", strncmp(f->hint, "nothing to do", 13) == 0 ? "" : "try: ", f->hint);
        sr__text_wrapped(s, sr__str_text(&hint), 8, sr__text_width(options));
        s->failed |= hint.failed;
        sr__str_free(&hint);
    }
}

/* Whether one piece of advice serves both. */
static bool same_hint(const sr_finding *a, const sr_finding *b) {
    return a == NULL || (a->kind == b->kind && a->hint != NULL && b->hint != NULL && strcmp(a->hint, b->hint) == 0);
}

/* How many of the same kind stand before it, up to one more than are shown. */
static int count_before(const sr_findings *findings, int place) {
    int n = 0;
    for (int i = 0; i < place && n <= SHOWN_OF_A_KIND; i++) {
        n += strcmp(findings->items[i].kind, findings->items[place].kind) == 0;
    }
    return n;
}

/* Of a kind that occurs often only the first are shown: they cost most. */
static void put_list(sr__str *s, const sr_findings *findings, const sr_report_options *options) {
    const sr_finding *last = NULL;
    for (int i = 0; i < findings->n; i++) {
        const sr_finding *f = &findings->items[i];
        const int before = options->verbose ? 0 : count_before(findings, i);
        const int more = before == SHOWN_OF_A_KIND ? count_kind(findings, f->kind) - SHOWN_OF_A_KIND : 0;
        if (before < SHOWN_OF_A_KIND || more == 1) {
            put_hint(s, same_hint(last, f) ? NULL : last, options);
            put_finding(s, f, options);
            last = f;
        } else if (more > 1) {
            put_hint(s, last, options);
            sr__str_printf(s, "      and %d more of kind %s (-v shows all)\n", more, f->kind);
            last = NULL;
        }
    }
    put_hint(s, last, options);
}

void sr__text_findings(const sr_run_result *result, const sr_report_options *options, sr__str *s) {
    const sr_findings *findings = result->findings;
    if (findings == NULL || (findings->n == 0 && !options->lint)) {
        return;
    }
    if (findings->n == 0) {
        sr__str_puts(s, "    no findings\n");
        return;
    }
    put_line(s, findings, options);
    if (options->lint) {
        put_list(s, findings, options);
    }
}
