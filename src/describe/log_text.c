/*
 * log_text.c - the lines of a pasted log that matter, without what loggers, terminals and mail put around them.
 *
 * Layer: describe.  Answers to what stands between GGML_LOG_DEBUG and a file: common_log's prefixes, journald, docker,
 * a terminal's colours, hard wraps.
 *
 * A record begins where "SPLIT #N:" or "node #N (" stands, wherever that is in a line, and ends before the next one.
 * A line without such a beginning goes on with the record before it, if that is not complete or if it holds what looks
 * like sources; everything else in a log is passed over.
 */
#include "describe/log.h"

/* Lines that a broken record may swallow although nothing in them looks like a source. */
enum { MAX_BLIND = 3 };

typedef struct reader {
    sr__log_lines *out;
    sr__str line;      /* cleaned */
    sr__str scratch;
    sr__str prefix;    /* what stood before the open record's first word */
    bool open;
    int blind;
} reader;

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* ---- letters ---------------------------------------------------------------------------------------------------- */

static void put_utf8(sr__str *out, uint32_t c) {
    char b[4];
    size_t n = 1;
    if (c < 0x80) {
        b[0] = (char)c;
    } else if (c < 0x800) {
        b[0] = (char)(0xC0 | c >> 6);
        b[1] = (char)(0x80 | (c & 0x3F));
        n = 2;
    } else if (c < 0x10000) {
        b[0] = (char)(0xE0 | c >> 12);
        b[1] = (char)(0x80 | (c >> 6 & 0x3F));
        b[2] = (char)(0x80 | (c & 0x3F));
        n = 3;
    } else {
        b[0] = (char)(0xF0 | c >> 18);
        b[1] = (char)(0x80 | (c >> 12 & 0x3F));
        b[2] = (char)(0x80 | (c >> 6 & 0x3F));
        b[3] = (char)(0x80 | (c & 0x3F));
        n = 4;
    }
    sr__str_append(out, b, n);
}

/* UTF-16 with a byte order mark, as a redirection of PowerShell writes it. */
static void decode_utf16(const uint8_t *p, size_t n, bool big, sr__str *out) {
    for (size_t i = 2; i + 1 < n; i += 2) {
        uint32_t c = big ? (uint32_t)(p[i] << 8 | p[i + 1]) : (uint32_t)(p[i + 1] << 8 | p[i]);
        if (c >= 0xD800 && c < 0xDC00 && i + 3 < n) {
            const uint32_t low = big ? (uint32_t)(p[i + 2] << 8 | p[i + 3]) : (uint32_t)(p[i + 3] << 8 | p[i + 2]);
            if (low >= 0xDC00 && low < 0xE000) {
                c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
                i += 2;
            }
        }
        put_utf8(out, c);
    }
}

/* ---- what is taken out of a line -------------------------------------------------------------------------------- */

/* The length of a colour code: "ESC [ 3 4 m", or "[34m" where a browser has swallowed the ESC. */
static size_t colour_length(const char *p, const char *end) {
    const char *q = p;
    const bool escaped = *q == '\x1b';
    q += escaped;
    if (q == end || *q != '[') {
        return escaped ? 1 : 0;
    }
    q++;
    const char *digits = q;
    while (q < end && (is_digit(*q) || *q == ';' || (escaped && *q == '?'))) {
        q++;
    }
    if (q == end) {
        return escaped ? (size_t)(q - p) : 0;
    }
    if (escaped) {
        return (size_t)(q + 1 - p);
    }
    return *q == 'm' && q > digits && q - digits <= 8 ? (size_t)(q + 1 - p) : 0;
}

/* The length of "4.34.329.872 D " (minutes, seconds, milliseconds, microseconds, level), which common_log puts before
 * every piece that it is given, also in the middle of a line. */
static size_t stamp_length(const char *p, const char *end) {
    const int widths[] = {0, 2, 3, 3};
    const char *q = p;
    for (int i = 0; i < SR_COUNT(widths); i++) {
        const char *begin = q;
        while (q < end && is_digit(*q)) {
            q++;
        }
        if (q == begin || (widths[i] > 0 && q - begin != widths[i])) {
            return 0;
        }
        if (i < 3 && (q == end || *q++ != '.')) {
            return 0;
        }
    }
    if (end - q >= 2 && q[0] == ' ' && q[1] >= 'A' && q[1] <= 'Z') {
        q += 2;
        return (size_t)(q - p) + (q < end && *q == ' ');
    }
    return 0;
}

/* The length of what a page or Markdown writes for a letter: "&gt;", "\\#", a space that must not break; 0: none. */
static size_t escape_length(const char *p, const char *end, char *out_letter) {
    static const struct { const char *text; char letter; } escapes[] = {
        {"\xc2\xa0", ' '}, {"&nbsp;", ' '}, {"&#160;", ' '}, {"&lt;", '<'},  {"&gt;", '>'},
        {"&quot;", '"'},   {"&#34;", '"'},  {"&#39;", '\''}, {"&amp;", '&'},
    };
    if (*p == '\\' && end - p >= 2 && p[1] != '\0' && strchr("#[]()_*", p[1]) != NULL) {
        *out_letter = p[1];
        return 2;
    }
    for (int i = 0; (*p == '&' || *p == '\xc2') && i < SR_COUNT(escapes); i++) {
        const size_t n = strlen(escapes[i].text);
        if ((size_t)(end - p) >= n && memcmp(p, escapes[i].text, n) == 0) {
            *out_letter = escapes[i].letter;
            return n;
        }
    }
    return 0;
}

/* Bytes that are no UTF-8, as of a letter that a column cut in two, have no place in a description. */
static void replace_bytes(sr__str *line) {
    for (size_t i = 0; i < line->length;) {
        const size_t n = sr__utf8_sequence((const unsigned char *)line->data + i);
        line->data[i] = n > 0 ? line->data[i] : '?';
        i += n > 0 ? n : 1;
    }
}

static void clean_line(reader *r, const char *p, const char *end) {
    sr__str_clear(&r->scratch);
    sr__str_clear(&r->line);
    const char *kept = p;
    while (p < end) {
        char letter = '\0';
        size_t n = *p == '\x1b' || *p == '[' ? colour_length(p, end) : *p == '\r' || *p == '\0';
        n = n > 0 ? n : escape_length(p, end, &letter);
        if (n > 0) {
            sr__str_append(&r->scratch, kept, (size_t)(p - kept));
            sr__str_append(&r->scratch, &letter, letter != '\0');
            kept = p + n;
        }
        p += n > 0 ? n : 1;
    }
    sr__str_append(&r->scratch, kept, (size_t)(p - kept));
    const char *text = sr__str_text(&r->scratch);
    kept = p = text;
    end = text + r->scratch.length;
    while (p < end) {
        const size_t n = is_digit(*p) && (p == text || !is_digit(p[-1])) ? stamp_length(p, end) : 0;
        if (n > 0) {
            sr__str_append(&r->line, kept, (size_t)(p - kept));
            kept = p + n;
        }
        p += n > 0 ? n : 1;
    }
    sr__str_append(&r->line, kept, (size_t)(p - kept));
    replace_bytes(&r->line);
}

/* ---- where records begin ---------------------------------------------------------------------------------------- */

static const char *find_begin(const char *from, const char *end, sr__log_kind *out_kind) {
    for (const char *p = from; p < end && (p = memchr(p, '#', (size_t)(end - p))) != NULL; p++) {
        if (p - from >= 6 && memcmp(p - 6, "SPLIT ", 6) == 0 && p + 1 < end && is_digit(p[1])) {
            *out_kind = SR__LOG_SPLIT;
            return p - 6;
        }
        if (p - from < 5 || memcmp(p - 5, "node ", 5) != 0) {
            continue;
        }
        const char *q = p + 1;
        while (q < end && *q == ' ') {
            q++;
        }
        const char *digits = q;
        while (q < end && is_digit(*q)) {
            q++;
        }
        while (q > digits && q < end && *q == ' ') {
            q++;
        }
        if (q > digits && q < end && *q == '(') {
            *out_kind = SR__LOG_NODE;
            return p - 5;
        }
    }
    return NULL;
}

/* ---- lines that go on ------------------------------------------------------------------------------------------- */

/* Whether all inputs that a header announces are there. */
static bool header_is_complete(const char *p, const char *end) {
    const char *hash = memchr(p + 7 < end ? p + 7 : end, '#', (size_t)(p + 7 < end ? end - p - 7 : 0));
    int64_t announced, n = 0;
    if (hash == NULL) {
        return false;
    }
    const char *q = sr__log_read_number(hash + 1, end, &announced);
    if (q == NULL || end - q < 7) {
        return false;
    }
    sr__log_entry entry;
    while (n < announced && (p = sr__log_find_size(q, end, ']', &entry, &q)) != NULL) {
        n++;
    }
    return n >= announced;
}

static bool is_complete(const reader *r) {
    const sr__log_record *record = &r->out->records[r->out->n - 1];
    const char *text = sr__str_text(&r->out->text);
    const char *p = text + record->begin, *end = text + r->out->text.length;
    if (record->kind == SR__LOG_SPLIT) {
        return header_is_complete(p, end);
    }
    while (end > p && end[-1] == ' ') {
        end--;
    }
    return end > p && (end[-1] == ']' || end[-1] == ':');
}

/* Removes what stood before the record's first line too, digits being as good as others; and quoting. */
static const char *skip_prefix(const reader *r, const char *p, const char *end) {
    const size_t n = r->prefix.length;
    const char *prefix = sr__str_text(&r->prefix);
    if ((size_t)(end - p) >= n) {
        size_t i = 0;
        while (i < n && (p[i] == prefix[i] || (is_digit(p[i]) && is_digit(prefix[i])))) {
            i++;
        }
        if (i == n) {
            return p + n;
        }
    }
    while (p < end && *p == '>') {
        p += p + 1 < end && p[1] == ' ' ? 2 : 1;
    }
    return p;
}

static bool is_blank(const char *p, const char *end) {
    while (p < end && (*p == ' ' || *p == '\t')) {
        p++;
    }
    return p == end || (end - p >= 3 && (memcmp(p, "```", 3) == 0 || memcmp(p, "~~~", 3) == 0));
}

static void go_on(reader *r, const char *p, const char *end) {
    p = skip_prefix(r, p, end);
    if (is_blank(p, end)) {
        r->open = r->open && !is_complete(r) && r->out->records[r->out->n - 1].kind == SR__LOG_SPLIT;
        return;
    }
    sr__log_entry entry;
    const char *after;
    const bool split = r->out->records[r->out->n - 1].kind == SR__LOG_SPLIT;
    const bool fits = sr__log_find_size(p, end, split ? ']' : '[', &entry, &after) != NULL;
    const bool complete = is_complete(r);
    if ((split && complete) || (!fits && (complete || ++r->blind > MAX_BLIND))) {
        r->open = false;
        return;
    }
    sr__str_append(&r->out->text, p, (size_t)(end - p));
    r->out->joined = true;
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

static bool begin_record(reader *r, sr__log_kind kind, int64_t line) {
    sr__log_lines *out = r->out;
    sr__str_append(&out->text, "\n", 1);
    if (!sr__grow(&out->records, &out->cap, out->n + 1, sizeof(*out->records))) {
        return false;
    }
    out->records[out->n++] = (sr__log_record){.kind = kind, .begin = out->text.length, .line = line};
    r->open = true;
    r->blind = 0;
    return true;
}

static bool take_line(reader *r, int64_t number) {
    const char *p = sr__str_text(&r->line), *end = p + r->line.length;
    sr__log_kind kind, next_kind;
    const char *begin = find_begin(p, end, &kind);
    if (begin == NULL) {
        if (r->open) {
            go_on(r, p, end);
        }
        return !r->out->text.failed;
    }
    const char *before = begin;
    while (kind == SR__LOG_SPLIT && before > p && (before[-1] == '#' || before[-1] == ' ')) {
        before--;
    }
    sr__str_clear(&r->prefix);
    sr__str_append(&r->prefix, p, (size_t)(before - p));
    while (begin != NULL) {
        const char *next = find_begin(begin + 7 < end ? begin + 7 : end, end, &next_kind);
        const char *stop = next != NULL ? next : end;
        while (next != NULL && next_kind == SR__LOG_SPLIT && stop > begin && (stop[-1] == '#' || stop[-1] == ' ')) {
            stop--;
        }
        if (!begin_record(r, kind, number)) {
            return false;
        }
        sr__str_append(&r->out->text, begin, (size_t)(stop - begin));
        begin = next;
        kind = next_kind;
    }
    return !r->out->text.failed && !r->prefix.failed;
}

static bool take_text(reader *r, const char *text, size_t length) {
    const char *p = text, *end = text + length;
    bool fine = true;
    while (p < end && fine) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        const char *stop = newline != NULL ? newline : end;
        r->out->n_lines++;
        clean_line(r, p, stop);
        fine = !r->line.failed && !r->scratch.failed && take_line(r, r->out->n_lines);
        p = newline != NULL ? newline + 1 : end;
    }
    for (size_t i = 0; i < r->out->n; i++) {
        r->out->records[i].end = i + 1 < r->out->n ? r->out->records[i + 1].begin - 1 : r->out->text.length;
    }
    return fine;
}

sr_status sr__log_read_lines(const char *text, size_t length, sr__log_lines *out, sr_error *err) {
    reader r = {.out = out};
    sr__str decoded = {0};
    const uint8_t *bytes = (const uint8_t *)text;
    if (length >= 2 && ((bytes[0] == 0xFF && bytes[1] == 0xFE) || (bytes[0] == 0xFE && bytes[1] == 0xFF))) {
        decode_utf16(bytes, length, bytes[0] == 0xFE, &decoded);
        out->utf16 = true;
        text = sr__str_text(&decoded);
        length = decoded.length;
    }
    const bool fine = !decoded.failed && take_text(&r, text, length);
    sr__str_free(&decoded);
    sr__str_free(&r.line);
    sr__str_free(&r.scratch);
    sr__str_free(&r.prefix);
    return fine ? SR_OK : sr__fail_memory(err);
}

void sr__log_free_lines(sr__log_lines *lines) {
    sr__str_free(&lines->text);
    sr__free(lines->records);
}
