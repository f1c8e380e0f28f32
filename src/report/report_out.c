/*
 * report_out.c - buffered output, names made safe to show, columns.
 *
 * Layer: report.
 */
#include <inttypes.h>

#include "report/report_out.h"

void sr__out_init(sr__out *out, sr_sink *sink) {
    *out = (sr__out){.sink = sink};
}

void sr__out_flush(sr__out *out) {
    if (!out->refused && !out->text.failed && out->text.length > 0) {
        out->refused = !out->sink->write(out->sink->user, out->text.data, out->text.length);
    }
    sr__str_clear(&out->text);
}

sr_status sr__out_end(sr__out *out, sr_error *err) {
    const bool no_memory = out->text.failed;
    sr__out_flush(out);
    const bool refused = out->refused;
    sr__str_free(&out->text);
    if (no_memory) {
        return sr__fail_memory(err);
    }
    return refused ? sr__fail(err, SR_IO, "the report cannot be written") : SR_OK;
}

/* ---- names ----------------------------------------------------------------------------------------------------- */

int sr__utf8_length(const char *text, size_t n) {
    const unsigned char *p = (const unsigned char *)text;
    if (n == 0) {
        return 0;
    }
    if (p[0] < 0x80) {
        return 1;
    }
    const int length = p[0] >= 0xC2 && p[0] <= 0xDF   ? 2
                       : (p[0] & 0xF0) == 0xE0        ? 3
                       : p[0] >= 0xF0 && p[0] <= 0xF4 ? 4
                                                      : 0;
    if ((size_t)length > n) {
        return 0;
    }
    for (int i = 1; i < length; i++) {
        if ((p[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    const bool overlong = (p[0] == 0xE0 && p[1] < 0xA0) || (p[0] == 0xF0 && p[1] < 0x90);
    const bool outside = (p[0] == 0xED && p[1] > 0x9F) || (p[0] == 0xF4 && p[1] > 0x8F);
    return overlong || outside ? 0 : length;
}

/* Bytes of the character at p that can be shown as they are, 0: it has to be escaped. */
static int printable_length(const char *p, size_t n) {
    const unsigned char c = (unsigned char)*p;
    if (c < 0x20 || c == 0x7F) {
        return 0;
    }
    const int length = sr__utf8_length(p, n);
    /* U+0080 to U+009F are control characters as well */
    return length == 2 && c == 0xC2 && (unsigned char)p[1] < 0xA0 ? 0 : length;
}

void sr__put_name(sr__str *s, const char *name) {
    static const char digits[] = "0123456789abcdef";
    size_t left = strlen(name);
    const char *plain = name;
    for (const char *p = name; left > 0;) {
        const int length = printable_length(p, left);
        if (length == 0) {
            const unsigned char c = (unsigned char)*p;
            const char escape[4] = {'\\', 'x', digits[c >> 4], digits[c & 15]};
            sr__str_append(s, plain, (size_t)(p - plain));
            sr__str_append(s, escape, sizeof(escape));
            plain = p + 1;
        }
        const size_t step = length > 0 ? (size_t)length : 1;
        p += step;
        left -= step;
    }
    sr__str_puts(s, plain);
}

void sr__put_escaped(sr__str *s, const char *text) {
    sr__str safe = {0};
    sr__put_name(&safe, text);
    for (const char *p = sr__str_text(&safe); *p != '\0'; p++) {
        switch (*p) {
        case '&': sr__str_puts(s, "&amp;"); break;
        case '<': sr__str_puts(s, "&lt;"); break;
        case '>': sr__str_puts(s, "&gt;"); break;
        case '"': sr__str_puts(s, "&quot;"); break;
        default: sr__str_append(s, p, 1); break;
        }
    }
    s->failed |= safe.failed;
    sr__str_free(&safe);
}

int sr__name_width(const char *name) {
    size_t left = strlen(name);
    int width = 0;
    for (const char *p = name; left > 0;) {
        const int length = printable_length(p, left);
        const size_t step = length > 0 ? (size_t)length : 1;
        width += length > 0 ? 1 : 4;
        p += step;
        left -= step;
    }
    return width;
}

void sr__put_spaces(sr__str *s, int n) {
    static const char spaces[] = "                                ";
    while (n > 0) {
        const int part = n < (int)sizeof(spaces) - 1 ? n : (int)sizeof(spaces) - 1;
        sr__str_append(s, spaces, (size_t)part);
        n -= part;
    }
}

void sr__put_left(sr__str *s, const char *name, int width) {
    sr__put_name(s, name);
    sr__put_spaces(s, width - sr__name_width(name));
}

void sr__put_right(sr__str *s, const char *name, int width) {
    sr__put_spaces(s, width - sr__name_width(name));
    sr__put_name(s, name);
}

void sr__put_count(sr__str *s, int64_t n, const char *noun) {
    sr__str_printf(s, "%" PRId64 " %s%s", n, noun, n == 1 ? "" : "s");
}

void sr__put_bytes(sr__str *s, uint64_t bytes) {
    char text[16];
    sr__format_bytes(bytes, text);
    sr__str_puts(s, text);
}

void sr__put_time(sr__str *s, uint64_t nanoseconds) {
    static const struct { double size; const char *unit; } units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}};
    const double t = (double)nanoseconds;
    int u = 0;
    while (u < 2 && t < 0.9995 * units[u].size) {
        u++;
    }
    const double x = t / units[u].size;
    sr__str_printf(s, "%.*f %s", x < 9.995 ? 2 : x < 99.95 ? 1 : 0, x, units[u].unit);
}

/* ---- the record ------------------------------------------------------------------------------------------------ */

const char *sr__backend_name(const sr_layout *layout, int backend) {
    return backend >= 0 && backend < layout->n_backends ? layout->backends[backend]->name : "none";
}

const char *sr__id_name(const sr_layout *layout, int32_t id, char name[SR_MAX_NAME + 1]) {
    sr_layout_name(layout, id, name);
    return name[0] != '\0' || id >= layout->graph->n_tensors ? name : layout->graph->tensors[id].id;
}

void sr__put_moment(sr__str *s, const sr_layout *layout, int32_t position, const char *noun) {
    char name[SR_MAX_NAME + 1];
    if (position < 0 || position >= layout->view.n_nodes) {
        sr__str_puts(s, position < 0 ? "start" : "end");
        return;
    }
    const int32_t id = layout->view.nodes[position];
    if (id < layout->graph->n_tensors && layout->graph->tensors[id].node >= 0) {
        sr__str_printf(s, "%s%d ", noun, (int)layout->graph->tensors[id].node);
    }
    sr__put_name(s, sr__id_name(layout, id, name));
}

const sr_buffer *sr__buffer_of(const sr_graph *graph, const sr_tensor *tensor) {
    return tensor->view_src >= 0 ? graph->tensors[tensor->view_src].buffer : tensor->buffer;
}

int sr__shown_dims(const sr_tensor *t) {
    int n = SR_MAX_DIMS;
    while (n > 1 && t->ne[n - 1] == 1) {
        n--;
    }
    return n;
}

void sr__put_shape(sr__str *s, const sr_tensor *t) {
    const int n = sr__shown_dims(t);
    sr__str_printf(s, "%s [", sr_type_get(t->type)->name);
    for (int i = 0; i < n; i++) {
        sr__str_printf(s, "%s%" PRId64, i > 0 ? " x " : "", t->ne[i]);
    }
    sr__str_puts(s, "]");
}

/* ---- wrapping -------------------------------------------------------------------------------------------------- */

void sr__put_wrapped(sr__str *s, const char *text, int column, int indent, int width) {
    sr__str safe = {0};
    bool first = true; /* on its line: a word that does not fit anywhere stands alone */
    sr__put_name(&safe, text);
    for (const char *p = sr__str_text(&safe); *p != '\0';) {
        const size_t n = strcspn(p, " ");
        int columns = 0;
        for (size_t i = 0; i < n; i++) {
            columns += ((unsigned char)p[i] & 0xC0) != 0x80;
        }
        if (!first && column + 1 + columns > width) {
            sr__str_puts(s, "\n");
            sr__put_spaces(s, indent);
            column = indent;
            first = true;
        }
        if (!first) {
            sr__str_puts(s, " ");
            column++;
        }
        sr__str_append(s, p, n);
        column += columns;
        first = false;
        p += n + strspn(p + n, " ");
    }
    sr__str_puts(s, "\n");
    s->failed |= safe.failed;
    sr__str_free(&safe);
}
