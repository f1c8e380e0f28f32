/*
 * report_out.h - what the report writers share: buffered output, names made safe to show, columns.
 *
 * Layer: report.  Internal.
 */
#ifndef SR_REPORT_OUT_H
#define SR_REPORT_OUT_H

#include "base/base.h"
#include "sched_run/analyze.h"
#include "sched_run/report.h"

/* Text on its way to a sink, handed over in large pieces. */
typedef struct sr__out {
    sr_sink *sink;
    sr__str text;
    bool refused; /* the sink failed: nothing more is handed over */
} sr__out;

void sr__out_init(sr__out *out, sr_sink *sink);
void sr__out_flush(sr__out *out);
/* Call between lines: hands over what has gathered once it is much. */
static inline void sr__out_more(sr__out *out) {
    if (out->text.length >= 64 * 1024) {
        sr__out_flush(out);
    }
}
/* Hands over the rest and frees; SR_IO or SR_MEMORY when something got lost. */
sr_status sr__out_end(sr__out *out, sr_error *err);

/* Length of the UTF-8 sequence at p (n bytes left), 0 where there is none. */
int sr__utf8_length(const char *p, size_t n);
/* Appends a name for a terminal or a page: control characters and bytes that are no UTF-8 as \xNN. */
void sr__put_name(sr__str *s, const char *name);
/* The same within HTML or XML, also between quotes. */
void sr__put_escaped(sr__str *s, const char *text);
/* Columns that sr__put_name fills. */
int sr__name_width(const char *name);
/* The name in at least `width` columns, to the left or to the right; never cut. */
void sr__put_left(sr__str *s, const char *name, int width);
void sr__put_right(sr__str *s, const char *name, int width);
void sr__put_spaces(sr__str *s, int n);
/* "1 split", "2 splits": the plural adds an s. */
void sr__put_count(sr__str *s, int64_t n, const char *noun);
void sr__put_bytes(sr__str *s, uint64_t bytes);

/* Name of a backend position, "none" for -1. */
const char *sr__backend_name(const sr_layout *layout, int backend);
/* A tensor's name, its id where that is empty. */
static inline const char *sr__shown_name(const sr_tensor *t) { return t->name[0] != '\0' ? t->name : t->id; }
/* Whether the layout's graph was executed, be it in part. */
bool sr__was_executed(const sr_layout *layout);
/* Flagged as an output: reports show its statistics. */
bool sr__is_output(const sr_graph *graph, int32_t tensor);
/* How many extents of a tensor are worth showing: up to the last that is not 1, at least one. */
int sr__shown_dims(const sr_tensor *t);
/* "431 us", "12.3 ms", "1.23 s" */
void sr__put_time(sr__str *s, uint64_t nanoseconds);
/*
 * Text broken at spaces to fit the width: the first line begins at `column`, where the writer stands, further ones are
 * indented to `indent`.  Ends with a newline.  Names in it are made safe to show.
 */
void sr__put_wrapped(sr__str *s, const char *text, int column, int indent, int width);
/* Name of a view id, the tensor's own id where that is empty; written into `name` or borrowed. */
const char *sr__id_name(const sr_layout *layout, int32_t id, char name[SR_MAX_NAME + 1]);
/* The node at a position of the view: its number, behind `noun`, and its name; "start" before the first, "end" behind
 * the last. */
void sr__put_moment(sr__str *s, const sr_layout *layout, int32_t position, const char *noun);
/* "f32 [64 x 8]" */
void sr__put_shape(sr__str *s, const sr_tensor *t);
/* The buffer a tensor is pre-allocated in, its root's for a view, or NULL. */
const sr_buffer *sr__buffer_of(const sr_graph *graph, const sr_tensor *tensor);

#endif
