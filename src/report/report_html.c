/*
 * report_html.c - the report as one page that needs nothing else: styles, script and data are in the file.
 *
 * Layer: report.  The data are the lines of the JSON report, each in a script element of its own that no browser runs,
 * and for every run one more with the graph and its explanations (report_html_graph.c); page/ draws from them.  Names
 * come from files of strangers: inside the data '<', '>' and '&' are written as escapes of JSON, so that no text can
 * end its element, and the page's script puts them into the document as text alone.
 */
#include <stdio.h>

#include "report/report_html.h"

static const char page_head[] =
#include "report/page/head.html.embed"
    ;
static const char page_body[] =
#include "report/page/body.html.embed"
    ;
static const char *const page_styles[] = {
#include "report/page/page.css.embed"
};
/* One script in several files, in this order. */
static const char *const page_scripts[] = {
#include "report/page/data.js.embed"
    ,
#include "report/page/dom.js.embed"
    ,
#include "report/page/summary.js.embed"
    ,
#include "report/page/lanes.js.embed"
    ,
#include "report/page/splits.js.embed"
    ,
#include "report/page/node.js.embed"
    ,
#include "report/page/passes.js.embed"
    ,
#include "report/page/memory.js.embed"
    ,
#include "report/page/reallocation.js.embed"
    ,
#include "report/page/timeline.js.embed"
    ,
#include "report/page/search.js.embed"
    ,
#include "report/page/main.js.embed"
};

/* ---- data ------------------------------------------------------------------------------------------------------ */

/* A sink before another one: JSON goes through it on its way into a script element. */
typedef struct shield {
    sr_sink *to;
} shield;

static bool write_shielded(void *user, const char *text, size_t length) {
    static const struct { char c; const char *escape; } escapes[] = {
        {'<', "\\u003c"}, {'>', "\\u003e"}, {'&', "\\u0026"}};
    sr_sink *to = ((shield *)user)->to;
    size_t plain = 0;
    bool ok = true;
    for (size_t i = 0; i < length && ok; i++) {
        for (int e = 0; e < SR_COUNT(escapes); e++) {
            if (text[i] == escapes[e].c) {
                ok = to->write(to->user, text + plain, i - plain) && to->write(to->user, escapes[e].escape, 6);
                plain = i + 1;
            }
        }
    }
    return ok && to->write(to->user, text + plain, length - plain);
}

static sr_status put(sr_sink *sink, const char *text, sr_error *err) {
    return sink->write(sink->user, text, strlen(text)) ? SR_OK : sr__fail(err, SR_IO, "the report cannot be written");
}

static sr_status begin_data(sr_sink *sink, const char *kind, sr_error *err) {
    char tag[80];
    snprintf(tag, sizeof(tag), "<script type=\"application/json\" data-line=\"%s\">", kind);
    return put(sink, tag, err);
}

static sr_status end_data(sr_sink *sink, sr_error *err) { return put(sink, "</script>\n", err); }

/* A line made by a function that writes one JSON object of a run. */
typedef sr_status (*line_maker)(sr__out *out, const sr_run_result *result, sr_error *err);

static sr_status put_line(const char *kind, line_maker make, const sr_run_result *result, sr_sink *sink,
                          sr_error *err) {
    shield s = {sink};
    sr_sink shielded = {.write = write_shielded, .user = &s};
    sr__out out;
    sr_status status;
    sr__out_init(&out, &shielded);
    status = begin_data(sink, kind, err);
    if (status == SR_OK) {
        status = make(&out, result, err);
    }
    const sr_status written = sr__out_end(&out, status == SR_OK ? err : NULL);
    SR_TRY(status != SR_OK ? status : written);
    SR_TRY(end_data(sink, err));
done:
    return status;
}

/* ---- the page -------------------------------------------------------------------------------------------------- */

sr_status sr_report_html_begin(const sr_description *description, sr_sink *sink, sr_error *err) {
    shield s = {sink};
    sr_sink shielded = {.write = write_shielded, .user = &s};
    sr__str title = {0}, about = {0};
    sr__json json;
    sr_status status = SR_OK;
    sr__json_init(&json, &about, false);
    sr__json_string(&json, sr_description_text(description));
    sr__json_free(&json);
    sr__str_puts(&title, "<title>");
    sr__put_escaped(&title, sr_description_name(description));
    sr__str_puts(&title, " - sched-run</title>\n<style>\n");
    if (title.failed || about.failed) {
        SR_TRY(sr__fail_memory(err));
    }
    SR_TRY(put(sink, page_head, err));
    SR_TRY(put(sink, sr__str_text(&title), err));
    SR_TRY(put(sink, page_styles[0], err));
    SR_TRY(put(sink, "</style>\n</head>\n", err));
    SR_TRY(put(sink, page_body, err));
    SR_TRY(begin_data(sink, "about", err));
    SR_TRY(put(&shielded, sr__str_text(&about), err));
    SR_TRY(end_data(sink, err));
    SR_TRY(begin_data(sink, "report", err));
    SR_TRY(sr_report_json_begin(description, true, &shielded, err));
    SR_TRY(end_data(sink, err));
done:
    sr__str_free(&title);
    sr__str_free(&about);
    return status;
}

sr_status sr_report_html_run(const sr_run_result *result, sr_sink *sink, sr_error *err) {
    shield s = {sink};
    sr_sink shielded = {.write = write_shielded, .user = &s};
    sr_status status;
    SR_TRY(put_line("head", sr__html_head, result, sink, err));
    SR_TRY(begin_data(sink, "run", err));
    SR_TRY(sr_report_json_run(result, true, true, &shielded, err));
    SR_TRY(end_data(sink, err));
    SR_TRY(put_line("graph", sr__html_graph, result, sink, err));
done:
    return status;
}

sr_status sr_report_html_end(const sr_realloc_history *history, sr_sink *sink, sr_error *err) {
    shield s = {sink};
    sr_sink shielded = {.write = write_shielded, .user = &s};
    sr_status status;
    SR_TRY(begin_data(sink, "memory", err));
    SR_TRY(sr_report_json_end(history, true, &shielded, err));
    SR_TRY(end_data(sink, err));
    SR_TRY(put(sink, "<script>\n'use strict';\n{\n", err));
    for (int i = 0; i < SR_COUNT(page_scripts); i++) {
        SR_TRY(put(sink, page_scripts[i], err));
    }
    SR_TRY(put(sink, "}\n</script>\n</body>\n</html>\n", err));
done:
    return status;
}
