/*
 * test_forms.c - all forms of a report agree: text, ggml, json, jsonl, dot, svg and html of one run are read back, and
 * each must tell the splits, inputs, backends, causes and copied bytes of the layout, as far as it tells them at all.
 *
 * Layer: tests.  Every form is read into two lists of lines, of splits and of nodes, by what it looks like alone; the
 * layout gives the lines that are expected.
 */
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>
#include <cjson/cJSON.h>

#include "sched_run/report.h"
#include "support/insight_case.h"

/* What a form leaves out, or shows otherwise. */
enum {
    NO_VIEWS = 1,     /* nodes that are views are not shown */
    NO_RANGES = 2,    /* nor where splits begin and end */
    COPY_NAMES = 4,   /* inputs are named as their copies are */
    SHORT_NAMES = 8,  /* backends of nodes are cut to five characters */
    NO_BYTES = 16,    /* no sum of what is copied */
    TRIMMED = 32      /* names without the blanks that they begin with */
};

typedef struct reading { sr__str splits, nodes, copied; } reading;

static const char *file;
static int n_runs, n_drawn;

static void reading_free(reading *r) {
    sr__str_free(&r->splits);
    sr__str_free(&r->nodes);
    sr__str_free(&r->copied);
    *r = (reading){0};
}

static void put_range(sr__str *s, int flags, int start, int end) {
    if ((flags & NO_RANGES) == 0) {
        sr__str_printf(s, " %d-%d", start, end);
    }
}

/* ---- what is expected -------------------------------------------------------------------------------------------- */

static void expect_split(reading *r, const sr_layout *layout, int32_t i, int flags) {
    const sr_split *split = &layout->splits[i];
    sr__str_printf(&r->splits, "%d %s", (int)i, layout->backends[split->backend]->name);
    put_range(&r->splits, flags, split->start, split->end - 1);
    for (int32_t j = split->inputs_begin; j < split->inputs_begin + split->n_inputs; j++) {
        char name[SR_MAX_NAME + 1];
        sr_layout_name(layout, (flags & COPY_NAMES) != 0 ? layout->input_copies[j] : layout->inputs[j], name);
        sr__str_printf(&r->splits, " | %s", name + ((flags & TRIMMED) != 0 ? strspn(name, " ") : 0));
    }
    sr__str_puts(&r->splits, "\n");
}

static void expect(reading *r, const sr_layout *layout, int flags) {
    uint64_t copied = 0;
    *r = (reading){0};
    for (int32_t i = 0; i < layout->n_splits; i++) {
        expect_split(r, layout, i, flags);
    }
    for (int32_t i = 0; i < layout->n_inputs; i++) {
        copied += layout->graph->tensors[layout->inputs[i]].nbytes;
    }
    for (int32_t i = 0; i < layout->graph->n_nodes; i++) {
        const int32_t tensor = layout->graph->nodes[i];
        if ((flags & NO_VIEWS) == 0 || !sr_op_is_view(layout->graph->tensors[tensor].op)) {
            const char *name = layout->backends[layout->backend_of[tensor]]->name;
            sr__str_printf(&r->nodes, "%d %.*s %s\n", (int)i, (flags & SHORT_NAMES) != 0 ? 5 : SR_MAX_NAME, name,
                           sr_cause_name(layout->cause_of[tensor]));
        }
    }
    if ((flags & NO_BYTES) == 0) {
        char bytes[16];
        sr__format_bytes(copied, bytes);
        sr__str_puts(&r->copied, copied > 0 ? bytes : "nothing");
    }
}

static void compare_lists(const char *form, int run, const sr__str *got, const sr__str *expected) {
    if (strcmp(sr__str_text(got), sr__str_text(expected)) != 0) {
        fail_msg("%s: run %d: %s tells\n%s\nthe layout is\n%s", file, run, form, sr__str_text(got),
                 sr__str_text(expected));
    }
}

static void compare(const char *form, const insight_case *c, reading *got, int flags) {
    reading expected;
    expect(&expected, c->layout, flags);
    compare_lists(form, c->run->index, &got->splits, &expected.splits);
    compare_lists(form, c->run->index, &got->nodes, &expected.nodes);
    compare_lists(form, c->run->index, &got->copied, &expected.copied);
    reading_free(&expected);
    reading_free(got);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static bool append(void *user, const char *text, size_t length) {
    sr__str_append(user, text, length);
    return true;
}

static const sr_report_options plain = {.debug_level = 2, .width = 100000, .unfold = true};

static void write_form(const char *form, const insight_case *c, sr__str *out) {
    const sr_run_result result = {.run = c->run, .layout = c->layout, .error = &c->error};
    sr_sink sink = {.write = append, .user = out};
    sr_error err = {0};
    sr_status status = SR_OK;
    sr__str_clear(out);
    if (strcmp(form, "text") == 0) {
        status = sr_report_text_run(&result, &plain, &sink, &err);
    } else if (strcmp(form, "ggml") == 0) {
        status = sr_report_ggml(c->layout, 2, &sink, &err);
    } else if (strcmp(form, "jsonl") == 0) {
        status = sr_report_json_run(&result, true, true, &sink, &err);
    } else if (strcmp(form, "dot") == 0) {
        status = sr_report_dot(&result, &plain, &sink, &err);
    } else if (strcmp(form, "html") == 0) {
        status = sr_report_html_run(&result, &sink, &err);
    } else {
        status = sr_report_json_begin(c->description, false, &sink, &err);
        status = status == SR_OK ? sr_report_json_run(&result, false, true, &sink, &err) : status;
        status = status == SR_OK ? sr_report_json_end(NULL, false, &sink, &err) : status;
    }
    assert_int_equal(status, SR_OK);
    assert_false(out->failed);
}

/* Calls read with every line, without its end. */
typedef void (*line_reader)(reading *r, char *line);

static void each_line(sr__str *text, reading *r, line_reader read) {
    for (char *line = text->data, *end; line != NULL && *line != '\0'; line = end) {
        end = strchr(line, '\n');
        if (end != NULL) {
            *end++ = '\0';
        }
        read(r, line);
    }
}

/* The next field of a line, up to two blanks; *line goes behind it.  NULL: none is left. */
static char *next_field(char **line) {
    char *start = *line + strspn(*line, " ");
    char *end = strstr(start, "  ");
    if (*start == '\0') {
        return NULL;
    }
    *line = end != NULL ? end + 2 : start + strlen(start);
    if (end != NULL) {
        *end = '\0';
    }
    return start;
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

/* "1.0 KiB" */
static bool is_size(const char *field) {
    const size_t n = strspn(field, "0123456789.");
    return n > 0 && (strcmp(field + n, " B") == 0 || (field[n] == ' ' && strcmp(field + n + 2, "iB") == 0));
}

/* Cuts the size off "kq_mask 1.0 KiB"; false: there is none. */
static bool cut_size(char *field) {
    char *unit = strrchr(field, ' '), *blank = unit;
    while (blank != NULL && blank > field && *--blank != ' ') {
    }
    if (blank == NULL || blank == field || !is_size(blank + 1)) {
        return false;
    }
    *blank = '\0';
    return true;
}

static void read_text_split(reading *r, char *line) {
    int number, start, end;
    char *head = next_field(&line), *backend = next_field(&line), *range = next_field(&line);
    assert_int_equal(sscanf(head, "split %d", &number), 1);
    assert_int_equal(sscanf(range, "nodes %d-%d", &start, &end), 2);
    sr__str_printf(&r->splits, "%d %s %d-%d", number, backend, start, end);
    bool begins = true; /* a name: it may have any blanks, and ends with a size */
    for (char *field = next_field(&line); field != NULL; field = next_field(&line)) {
        const bool ends = cut_size(field);
        if (begins && !ends && (field[0] == '(' || strcmp(field, "inputs") == 0 || strcmp(field, "no inputs") == 0)) {
            continue;
        }
        sr__str_printf(&r->splits, "%s%s", begins ? " | " : "  ", field);
        begins = ends;
    }
    sr__str_puts(&r->splits, "\n");
}

static void read_text_line(reading *r, char *line) {
    static const char behind[] = " copied per evaluation";
    if (strncmp(line, "run ", 4) == 0) {
        for (char *field = next_field(&line); field != NULL; field = next_field(&line)) {
            char *end = strstr(field, behind);
            if (end != NULL) {
                *end = '\0';
                sr__str_puts(&r->copied, field + strspn(field, " "));
            } else if (strcmp(field, "nothing copied") == 0) {
                sr__str_puts(&r->copied, "nothing");
            }
        }
    } else if (strncmp(line, "split ", 6) == 0) {
        read_text_split(r, line);
    } else if (r->splits.length > 0 && line[0] == ' ') {
        char *number = next_field(&line), *field = next_field(&line);
        while (field != NULL && !is_size(field)) { /* names may have any blanks */
            field = next_field(&line);
        }
        char *backend = next_field(&line), *cause = next_field(&line);
        assert_non_null(cause);
        sr__str_printf(&r->nodes, "%s %s %s\n", number, backend, cause);
    }
}

/* ---- ggml: fields of fixed widths -------------------------------------------------------------------------------- */

static void read_ggml_line(reading *r, char *line) {
    int number = 0, n_inputs = 0, used = 0;
    char backend[256], cause[16];
    if (sscanf(line, "## SPLIT #%d: %255s # %d inputs%n", &number, backend, &n_inputs, &used) == 3) {
        sr__str_printf(&r->splits, "%d %s", number, backend);
        for (char *at = line + used; (at = strchr(at, '[')) != NULL;) {
            char *end = strstr(at, "] ");
            assert_non_null(end);
            sr__str_printf(&r->splits, " | %.*s", (int)(end - at) - 9, at + 1);
            at = end + 1;
            n_inputs--;
        }
        assert_int_equal(n_inputs, 0);
        sr__str_puts(&r->splits, "\n");
    } else if (strncmp(line, "node #", 6) == 0) {
        const char *at = strstr(line, "): ");
        assert_non_null(at);
        assert_int_equal(sscanf(line, "node #%d", &number), 1);
        assert_int_equal(sscanf(at + 3 + 20 + 8, " [%5s %8[^]]", backend, cause), 2);
        sr__str_printf(&r->nodes, "%d %s %s\n", number, backend, cause);
    }
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static const char *string_of(const cJSON *object, const char *key) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    assert_true(cJSON_IsString(item));
    return item->valuestring;
}

static int number_of(const cJSON *object, const char *key) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    assert_true(cJSON_IsNumber(item));
    return item->valueint;
}

static void read_copied(reading *r, double bytes) {
    char text[16];
    sr__format_bytes((uint64_t)bytes, text);
    sr__str_puts(&r->copied, bytes > 0 ? text : "nothing");
}

static void read_json_run(reading *r, const cJSON *run, const sr_graph *graph) {
    double bytes = 0, listed = 0;
    int i = 0;
    for (const cJSON *s = cJSON_GetObjectItem(run, "splits")->child; s != NULL; s = s->next, i++) {
        sr__str_printf(&r->splits, "%d %s %d-%d", i, string_of(s, "backend"), number_of(s, "start"),
                       number_of(s, "end") - 1);
        for (const cJSON *input = cJSON_GetObjectItem(s, "inputs")->child; input != NULL; input = input->next) {
            sr__str_printf(&r->splits, " | %s", input->valuestring);
        }
        bytes += cJSON_GetObjectItem(s, "input_bytes")->valuedouble;
        sr__str_puts(&r->splits, "\n");
    }
    for (const cJSON *c = cJSON_GetObjectItem(run, "copies")->child; c != NULL; c = c->next) {
        listed += cJSON_GetObjectItem(c, "bytes")->valuedouble;
    }
    assert_true(bytes >= listed && bytes <= listed);
    read_copied(r, bytes);
    const cJSON *backend = cJSON_GetObjectItem(run, "backend_of"), *cause = cJSON_GetObjectItem(run, "cause_of");
    const cJSON *b = backend->child, *c = cause->child;
    for (int32_t n = 0; n < graph->n_leafs; n++) { /* leafs come first, those that have no place are left out */
        const char *id = graph->tensors[graph->leafs[n]].id;
        b = b != NULL && strcmp(b->string, id) == 0 ? b->next : b;
        c = c != NULL && strcmp(c->string, id) == 0 ? c->next : c;
    }
    for (int32_t n = 0; n < graph->n_nodes; n++, b = b->next, c = c->next) {
        assert_true(b != NULL && c != NULL && strcmp(b->string, graph->tensors[graph->nodes[n]].id) == 0);
        sr__str_printf(&r->nodes, "%d %s %s\n", (int)n, b->valuestring, c->valuestring);
    }
}

/* ---- html: the report's own line, and the graph beside it -------------------------------------------------------- */

/* The object in the script element with the line of that kind. */
static cJSON *page_line(const char *page, const char *kind) {
    char tag[64];
    snprintf(tag, sizeof(tag), "data-line=\"%s\">", kind);
    const char *at = strstr(page, tag);
    assert_non_null(at);
    cJSON *line = cJSON_ParseWithOpts(at + strlen(tag), NULL, 0);
    assert_non_null(line);
    return line;
}

static void read_page_graph(reading *r, const cJSON *graph, const insight_case *c) {
    const cJSON *tensors = cJSON_GetObjectItem(graph, "tensors"), *texts = cJSON_GetObjectItem(graph, "texts");
    const cJSON **by_index = calloc((size_t)c->run->graph->n_tensors, sizeof(*by_index));
    const cJSON **text_at = calloc((size_t)cJSON_GetArraySize(texts) + 1, sizeof(*text_at));
    int i = 0, last = -1;
    assert_true(by_index != NULL && text_at != NULL);
    for (const cJSON *t = texts->child; t != NULL; t = t->next) {
        text_at[i++] = t;
    }
    i = 0;
    for (const cJSON *t = tensors->child; t != NULL; t = t->next) {
        by_index[i++] = t;
    }
    i = 0;
    for (const cJSON *n = cJSON_GetObjectItem(graph, "nodes")->child; n != NULL; n = n->next) {
        const cJSON *t = by_index[n->valueint];
        sr__str_printf(&r->nodes, "%d %s %s\n", i, c->layout->backends[number_of(t, "on")]->name,
                       text_at[number_of(t, "cause")]->valuestring);
        const int split = number_of(t, "split");
        assert_true(split == last || split == last + 1);
        assert_true(i >= c->layout->splits[split].start && i < c->layout->splits[split].end);
        last = split;
        i++;
    }
    assert_int_equal(last, c->layout->n_splits - 1);
    read_copied(r, cJSON_GetObjectItem(graph, "copied")->valuedouble);
    free(by_index);
    free(text_at);
}

static void check_page(const insight_case *c, sr__str *text) {
    reading r = {0}, graph = {0};
    write_form("html", c, text);
    cJSON *run = page_line(text->data, "run"), *beside = page_line(text->data, "graph");
    read_json_run(&r, run, c->run->graph);
    read_page_graph(&graph, beside, c);
    sr__str_puts(&graph.splits, sr__str_text(&r.splits));
    compare("html", c, &r, 0);
    compare("html", c, &graph, 0);
    cJSON_Delete(run);
    cJSON_Delete(beside);
}

/* ---- drawings ---------------------------------------------------------------------------------------------------- */

/* The parts of a label between "\n"s, or of a node's texts in a drawing. */
static void read_label(reading *r, const char *name, char *parts[4], int n_parts) {
    char *backend;
    int start, end, number;
    if (strncmp(name, "cluster_split_", 14) == 0) {
        char *line = parts[0];
        char *head = next_field(&line);
        backend = next_field(&line);
        assert_int_equal(sscanf(head, "split %d", &number), 1);
        assert_int_equal(sscanf(next_field(&line), "nodes %d-%d", &start, &end), 2);
        sr__str_printf(&r->splits, "%s%d %s %d-%d", r->splits.length > 0 ? "\n" : "", number, backend, start, end);
    } else if (name[0] == 'c' && name[1] >= '0' && name[1] <= '9') {
        sr__str_printf(&r->splits, " | %s", parts[0]);
    } else if (name[0] == 'n' && name[1] >= '0' && name[1] <= '9' && n_parts >= 4) {
        char *line = parts[3];
        backend = next_field(&line);
        char *type = strstr(backend, " ("); /* a buffer type that is not called as the backend */
        if (type != NULL) {
            *type = '\0';
        }
        sr__str_printf(&r->nodes, "%s %s %s\n", name + 1, backend, next_field(&line));
    }
}

static void read_dot_line(reading *r, char *line) {
    char *parts[4] = {NULL};
    char *name = line + strspn(line, " "), *label = strstr(line, "label=\"");
    int n = 0;
    if (label == NULL || strstr(line, " -> ") != NULL) {
        return;
    }
    label += strlen("label=\"");
    name = label == name + strlen("label=\"") && strncmp(label, "split ", 6) == 0 ? "cluster_split_" : name;
    label[strcspn(label, "\"")] = '\0';
    for (char *at = label; n < 4 && at != NULL;) {
        char *end = strstr(at, "\\n");
        parts[n++] = at;
        at = end != NULL ? end + 2 : NULL;
        if (end != NULL) {
            *end = '\0';
        }
    }
    char id[32];
    snprintf(id, sizeof(id), "%.*s", (int)strcspn(name, " "), name);
    read_label(r, id, parts, n);
}

/* Text of an element, with the characters that dot writes by number. */
static void plain_text(char *text) {
    static const struct { const char *escape; char c; } escapes[] = {
        {"&#160;", ' '}, {"&#45;", '-'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'},
        {"&#39;", '\''}, {"&amp;", '&'}};
    char *to = text;
    for (const char *from = text; *from != '\0';) {
        size_t used = 1;
        char c = *from;
        for (int e = 0; e < SR_COUNT(escapes); e++) {
            const size_t n = strlen(escapes[e].escape);
            if (strncmp(from, escapes[e].escape, n) == 0) {
                used = n;
                c = escapes[e].c;
            }
        }
        *to++ = c;
        from += used;
    }
    *to = '\0';
}

/* The texts of the element behind a title; what stood there is cut up. */
static int take_texts(char *element, char *parts[4]) {
    int n = 0;
    for (char *at = strstr(element, "<text "); at != NULL && n < 4; n++) {
        parts[n] = strchr(at, '>') + 1;
        at = strstr(parts[n], "<text ");
        parts[n][strcspn(parts[n], "<")] = '\0';
        plain_text(parts[n]);
    }
    element[strcspn(element, "<")] = '\0';
    plain_text(element);
    return n;
}

/* The drawing gives all clusters first, then nodes and copies in any order: their numbers say which they are. */
static void read_svg(reading *r, char *svg, const sr_layout *layout) {
    char **copies = calloc((size_t)layout->n_inputs + 1, sizeof(*copies));
    char **places = calloc((size_t)layout->graph->n_nodes + 1, sizeof(*places)); /* "GPU0  1.wgt0" of a node */
    reading with_inputs = {0};
    assert_true(copies != NULL && places != NULL);
    for (char *title = strstr(svg, "<title>"); title != NULL;) {
        char *name = title + strlen("<title>"), *next = strstr(name, "<title>");
        char *parts[4] = {NULL};
        int number = -1;
        if (next != NULL) {
            next[-1] = '\0';
        }
        const int n = take_texts(name, parts);
        if (strstr(name, "->") == NULL && sscanf(name, "c%d", &number) == 1) {
            assert_in_range(number, 0, layout->n_inputs - 1);
            copies[number] = parts[0];
        } else if (strstr(name, "->") == NULL && sscanf(name, "n%d", &number) == 1) {
            assert_in_range(number, 0, layout->graph->n_nodes - 1);
            places[number] = parts[3];
        } else if (strncmp(name, "cluster", 7) == 0) {
            read_label(r, name, parts, n);
        }
        title = next;
    }
    for (int32_t i = 0; i < layout->graph->n_nodes; i++) {
        char *label[4] = {NULL, NULL, NULL, places[i]}, name[16];
        snprintf(name, sizeof(name), "n%d", (int)i);
        if (places[i] != NULL) {
            read_label(r, name, label, 4);
        }
    }
    char *line = r->splits.data;
    for (int32_t i = 0; i < layout->n_splits && line != NULL; i++) {
        const size_t length = strcspn(line, "\n");
        sr__str_append(&with_inputs.splits, line, length);
        for (int32_t j = 0; j < layout->splits[i].n_inputs; j++) {
            const char *copy = copies[layout->splits[i].inputs_begin + j];
            sr__str_printf(&with_inputs.splits, " | %s", copy != NULL ? copy : "no copy");
        }
        sr__str_puts(&with_inputs.splits, "\n");
        line = line[length] == '\n' ? line + length + 1 : NULL;
    }
    assert_null(line);
    sr__str_free(&r->splits);
    r->splits = with_inputs.splits;
    free(copies);
    free(places);
}

static bool has_dot(void) { return system("command -v dot >/dev/null 2>&1") == 0; }

static void check_drawing(const insight_case *c, sr__str *text) {
    enum { MOST_NODES = 40 }; /* dot takes its time */
    reading r = {0};
    if (c->run->graph->n_nodes > MOST_NODES || !has_dot()) {
        return;
    }
    char path[] = "/tmp/sched-run-forms-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    write_form("dot", c, text);
    assert_int_equal(write(fd, text->data, text->length), (ssize_t)text->length);
    close(fd);
    char command[96];
    snprintf(command, sizeof(command), "dot -Tsvg %s", path);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    char part[4096];
    sr__str_clear(text);
    for (size_t n; (n = fread(part, 1, sizeof(part), pipe)) > 0;) {
        sr__str_append(text, part, n);
    }
    assert_int_equal(pclose(pipe), 0);
    unlink(path);
    read_svg(&r, text->data, c->layout);
    compare("svg", c, &r, NO_VIEWS | COPY_NAMES | NO_BYTES);
    n_drawn++;
}

/* ---- all forms of a run ------------------------------------------------------------------------------------------ */

static void check_lines(const char *form, const insight_case *c, sr__str *text, line_reader read, int flags) {
    reading r = {0};
    write_form(form, c, text);
    each_line(text, &r, read);
    if (strcmp(form, "dot") == 0) {
        sr__str_puts(&r.splits, "\n");
    }
    compare(form, c, &r, flags);
}

static void check_json(const insight_case *c, sr__str *text) {
    reading r = {0};
    write_form("json", c, text);
    cJSON *report = cJSON_Parse(text->data);
    assert_non_null(report);
    cJSON *run = cJSON_GetArrayItem(cJSON_GetObjectItem(report, "runs"), 0);
    read_json_run(&r, run, c->run->graph);
    compare("json", c, &r, 0);
    write_form("jsonl", c, text);
    cJSON *line = cJSON_Parse(text->data);
    assert_string_equal(string_of(line, "type"), "run");
    cJSON_DeleteItemFromObject(line, "type");
    assert_true(cJSON_Compare(run, line, 1));
    cJSON_Delete(line);
    cJSON_Delete(report);
}

static void check_file(const char *path, bool draws) {
    insight_case c;
    sr_description *d = NULL;
    sr_error err = {0};
    sr__str text = {0};
    const sr_load_options options = {.no_memory = true};
    file = path;
    if (sr_description_load(path, &options, &d, &err) != SR_OK) {
        fail_msg("%s: %s", path, sr_error_message(&err));
    }
    insight_take(&c, d);
    for (int i = 0; i < sr_description_n_runs(d); i++) {
        if (insight_run(&c, i) != SR_OK) {
            continue;
        }
        check_lines("text", &c, &text, read_text_line, TRIMMED);
        check_lines("ggml", &c, &text, read_ggml_line, NO_VIEWS | NO_RANGES | SHORT_NAMES | NO_BYTES);
        check_json(&c, &text);
        check_lines("dot", &c, &text, read_dot_line, NO_VIEWS | COPY_NAMES | NO_BYTES);
        check_page(&c, &text);
        if (draws) {
            check_drawing(&c, &text);
        }
        n_runs++;
    }
    sr__str_free(&text);
    insight_close(&c);
}

static void check_files(const char *pattern, bool draws) {
    glob_t files = {0};
    assert_int_equal(glob(pattern, 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        check_file(files.gl_pathv[i], draws);
    }
    globfree(&files);
}

static void test_all_forms_agree(void **state) {
    (void)state;
    check_files("graphs/teaching/*.json", true);
    check_files("graphs/models/*.json", false);
    check_files("graphs/reports/*.json", false);
    check_files("tests/golden/*/*.json", false);
    print_message("%d runs, %d of them drawn by dot\n", n_runs, n_drawn);
    assert_true(n_runs > 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_forms_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
