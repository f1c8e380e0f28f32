/*
 * log_read.c - the splits and nodes of a log, by schedule.
 *
 * Layer: describe.  Answers to ggml_backend_sched_print_assignments: what it prints, in every form it has had.
 */
#include "describe/log.h"

#include "sched_run/graph.h"

/* ---- headers ---------------------------------------------------------------------------------------------------- */

/* " # N inputs" of a header; NULL: the line ends before. */
static const char *find_count(const char *p, const char *end, int64_t *out_n, const char **out_after) {
    for (; p < end && (p = memchr(p, '#', (size_t)(end - p))) != NULL; p++) {
        const char *q = sr__log_read_number(p + 1, end, out_n);
        if (q != NULL && end - q >= 6 && memcmp(q, " input", 6) == 0) {
            *out_after = q + 6;
            return p;
        }
    }
    return NULL;
}

static sr_status read_inputs(sr__log *log, sr__log_split *split, const char *p, const char *end, sr_error *err) {
    while (split->n_inputs < split->announced && (p = memchr(p, '[', (size_t)(end - p))) != NULL) {
        sr__log_entry entry;
        const char *name = p + 1, *after;
        const char *paren = sr__log_find_size(name, end, ']', &entry, &after);
        if (paren == NULL) {
            break;
        }
        if (!sr__grow(&log->inputs, &log->inputs_cap, log->n_inputs + 1, sizeof(*log->inputs))) {
            return sr__fail_memory(err);
        }
        const bool spaced = paren > name && paren[-1] == ' ';
        log->inputs[log->n_inputs++] = (sr__log_input){
            .name = {name, (int32_t)(paren - name) - spaced}, .size = entry.size, .step = entry.step};
        split->n_inputs++;
        p = after;
    }
    return SR_OK;
}

static void torn(sr__log *log, int64_t line) {
    log->torn_line = log->n_torn++ == 0 ? line : log->torn_line;
}

static sr_status read_split(sr__log *log, const sr__log_record *record, sr_error *err) {
    const char *p = log->lines.text.data + record->begin, *end = log->lines.text.data + record->end;
    sr__log_split split = {.announced = -1,
                           .inputs_begin = (int32_t)log->n_inputs,
                           .nodes_begin = (int32_t)log->n_nodes,
                           .line = record->line};
    sr_status status = SR_OK;
    p = sr__log_read_number(p + 7, end, &split.number);
    if (p == NULL || p == end || *p != ':') {
        torn(log, record->line);
        return SR_OK;
    }
    int64_t announced;
    const char *after, *count = find_count(p + 1, end, &announced, &after);
    split.backend = sr__span_trim(p + 1, count != NULL ? count : end);
    if (count != NULL) {
        split.announced = announced;
        after += after < end && *after == 's';
        const bool colon = after < end && *after == ':';
        log->seen |= announced > 0 ? 0 : colon ? SR__SEEN_COLON : SR__SEEN_NO_COLON;
        SR_TRY(read_inputs(log, &split, after, end, err));
    }
    if (split.n_inputs < split.announced || count == NULL) {
        torn(log, record->line);
    }
    if (split.backend.length == 0) {
        return SR_OK;
    }
    if (!sr__grow(&log->splits, &log->splits_cap, log->n_splits + 1, sizeof(*log->splits))) {
        return sr__fail_memory(err);
    }
    log->splits[log->n_splits++] = split;
done:
    return status;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------ */

/* " use=1,c=1:", " use=1:" or ":" behind a node's own entry. */
static const char *read_uses(sr__log *log, sr__log_node *node, const char *p, const char *end) {
    int64_t number;
    while (p < end && *p == ' ') {
        p++;
    }
    if (end - p > 4 && memcmp(p, "use=", 4) == 0) {
        const char *q = sr__log_read_number(p + 4, end, &number);
        p = q != NULL ? q : p + 4;
        node->use = (int)(number < INT32_MAX ? number : INT32_MAX);
        log->seen |= SR__SEEN_USE;
        if (end - p > 3 && memcmp(p, ",c=", 3) == 0) {
            q = sr__log_read_number(p + 3, end, &number);
            p = q != NULL ? q : p + 3;
            node->compute = number != 0;
            log->seen |= SR__SEEN_COMPUTE;
        }
    } else if (p < end && *p == ':') {
        log->seen |= SR__SEEN_NO_USE;
    }
    return p < end && *p == ':' ? p + 1 : p;
}

static void note_cause(sr__log *log, sr__span cause) {
    log->n_causes += cause.length > 0;
    if (cause.length >= 3 && cause.text[0] < '3' && memmem(cause.text, (size_t)cause.length, ".src", 4) != NULL) {
        log->seen |= SR__SEEN_SRC_CAUSE;
    } else if (cause.length == 3 && cause.text[0] == '2' && cause.text[2] >= '1' && cause.text[2] <= '3') {
        log->seen |= SR__SEEN_PASS_CAUSE;
    } else if (sr__span_is(cause, "2.sup") || sr__span_is(cause, "3.best")) {
        log->seen |= SR__SEEN_SUP_CAUSE;
    }
}

static sr_status add_source(sr__log *log, sr__log_node *node, const sr__log_entry *entry, sr_error *err) {
    if (!sr__grow(&log->srcs, &log->srcs_cap, log->n_srcs + 1, sizeof(*log->srcs))) {
        return sr__fail_memory(err);
    }
    log->srcs[log->n_srcs++] = *entry;
    node->n_srcs++;
    note_cause(log, entry->cause);
    return SR_OK;
}

/* What a front-end puts behind a line is no source: a logger's letters, quotes and braces of JSON, bars of tables, tags
 * of HTML. */
static bool is_tail(const char *p, const char *end) {
    while (p < end && strchr(" \tDIWE", *p) != NULL) {
        p++;
    }
    return p == end || strchr("\\\"'|`}<", *p) != NULL;
}

static sr_status read_node(sr__log *log, const sr__log_record *record, sr_error *err) {
    const char *p = log->lines.text.data + record->begin, *end = log->lines.text.data + record->end;
    sr__log_node node = {.use = -1, .compute = -1, .split = -1, .line = record->line,
                         .srcs_begin = (int32_t)log->n_srcs};
    sr_status status = SR_OK;
    int width;
    p = sr__log_read_number(p + 6, end, &node.number);
    const char *paren = memchr(p, '(', (size_t)(end - p));
    const char *close = memchr(paren, ')', (size_t)(end - paren));
    const char *q = close;
    if (close != NULL) {
        node.op = sr__span_trim(paren + 1, close);
        p = close + 1;
        p += p < end && *p == ':';
        q = sr__log_read_entry(p, end, log->width, &node.self, &width);
    }
    if (q == NULL || node.op.length == 0) {
        torn(log, record->line);
        return SR_OK;
    }
    note_cause(log, node.self.cause);
    p = read_uses(log, &node, q, end);
    sr__log_entry entry;
    while ((q = sr__log_read_entry(p, end, log->width, &entry, &width)) != NULL && node.n_srcs < SR_MAX_SRC) {
        SR_TRY(add_source(log, &node, &entry, err));
        p = q;
    }
    if (!is_tail(p, end)) {
        torn(log, record->line);
    }
    if (!sr__grow(&log->nodes, &log->nodes_cap, log->n_nodes + 1, sizeof(*log->nodes))) {
        return sr__fail_memory(err);
    }
    log->nodes[log->n_nodes++] = node;
done:
    return status;
}

/* How wide the column of names is: as most nodes have it.  20, in some builds 23; 20 too where spaces were squeezed. */
static int find_width(const sr__log *log) {
    int votes[64] = {0}, best = 20, n = 0;
    for (size_t i = 0; i < log->lines.n; i++) {
        const sr__log_record *record = &log->lines.records[i];
        const char *p = log->lines.text.data + record->begin, *end = log->lines.text.data + record->end;
        sr__log_entry entry;
        int width;
        p = record->kind == SR__LOG_NODE ? memmem(p, (size_t)(end - p), "): ", 3) : NULL;
        if (p != NULL && sr__log_read_entry(p + 2, end, 0, &entry, &width) != NULL && width >= 16 && width < 64) {
            votes[width - 1]++;
        }
        n += p != NULL;
    }
    for (int w = 16; w < 64; w++) {
        best = votes[w] > votes[best] ? w : best;
    }
    return votes[best] > n / 2 ? best : 20;
}

/* ---- schedules -------------------------------------------------------------------------------------------------- */

static sr_status begin_schedule(sr__log *log, int32_t split, int32_t node, int64_t line, sr_error *err) {
    if (!sr__grow(&log->schedules, &log->schedules_cap, log->n_schedules + 1, sizeof(*log->schedules))) {
        return sr__fail_memory(err);
    }
    const bool headless = split == (int32_t)log->n_splits || log->splits[split].number != 0;
    log->schedules[log->n_schedules] = (sr__log_schedule){.splits_begin = split,
                                                          .nodes_begin = node,
                                                          .same_as = (int32_t)log->n_schedules,
                                                          .graph = -1,
                                                          .copy = -1,
                                                          .headless = headless,
                                                          .line = line};
    log->n_schedules++;
    return SR_OK;
}

static bool begins_with_split(const sr__log *log, int32_t s) {
    const sr__log_schedule *now = log->n_schedules > 0 ? &log->schedules[log->n_schedules - 1] : NULL;
    const sr__log_split *split = &log->splits[s];
    return now == NULL || split->number == 0 ||
           (now->n_splits > 0 && split->number <= log->splits[now->splits_begin + now->n_splits - 1].number);
}

/* A number that does not grow begins a schedule whose header is missing. */
static bool begins_with_node(const sr__log *log, int32_t n) {
    const sr__log_schedule *now = log->n_schedules > 0 ? &log->schedules[log->n_schedules - 1] : NULL;
    return now == NULL || (now->n_nodes > 0 && log->nodes[n].number <= log->nodes[n - 1].number);
}

static sr_status take_split(sr__log *log, int32_t s, sr_error *err) {
    const sr__log_split *split = &log->splits[s];
    if (begins_with_split(log, s)) {
        const sr_status status = begin_schedule(log, s, split->nodes_begin, split->line, err);
        if (status != SR_OK) {
            return status;
        }
    }
    sr__log_schedule *now = &log->schedules[log->n_schedules - 1];
    const int64_t before = now->n_splits > 0 ? log->splits[now->splits_begin + now->n_splits - 1].number : -1;
    now->lost_splits += now->n_splits == 0 ? 0 : split->number - before - 1;
    now->n_splits++;
    return SR_OK;
}

static sr_status take_node(sr__log *log, int32_t n, sr_error *err) {
    if (begins_with_node(log, n)) {
        const sr_status status = begin_schedule(log, (int32_t)log->n_splits, n, log->nodes[n].line, err);
        if (status != SR_OK) {
            return status;
        }
    }
    sr__log_schedule *now = &log->schedules[log->n_schedules - 1];
    if (now->n_splits > 0) {
        const int32_t s = now->splits_begin + now->n_splits - 1;
        log->nodes[n].split = s;
        log->splits[s].nodes_begin = log->splits[s].n_nodes == 0 ? n : log->splits[s].nodes_begin;
        log->splits[s].n_nodes++;
    }
    now->n_nodes++;
    return SR_OK;
}

/* ---- what a schedule is, in one number -------------------------------------------------------------------------- */

static uint64_t hash_span(uint64_t seed, sr__span text) { return sr__hash_bytes(seed, text.text, (size_t)text.length); }

/* Copies differ in nothing but their number. */
static sr__span without_number(sr__span name) {
    int32_t n = name.length;
    while (n > 0 && name.text[n - 1] >= '0' && name.text[n - 1] <= '9') {
        n--;
    }
    if (n > 0 && n < name.length && name.text[n - 1] == '#' && memchr(name.text, '#', (size_t)n - 1) != NULL) {
        name.length = n;
    }
    return name;
}

static uint64_t hash_entry(uint64_t hash, const sr__log_entry *e) {
    const int64_t numbers[] = {e->size, e->step, e->is_null};
    hash = hash_span(hash, without_number(e->name));
    hash = hash_span(hash, e->backend);
    hash = hash_span(hash, e->cause);
    return sr__hash_bytes(hash, numbers, sizeof(numbers));
}

static uint64_t hash_schedule(const sr__log *log, const sr__log_schedule *s) {
    uint64_t hash = 1;
    for (int32_t i = s->splits_begin; i < s->splits_begin + s->n_splits; i++) {
        const sr__log_split *split = &log->splits[i];
        const int64_t numbers[] = {split->number, split->announced, split->n_inputs, split->n_nodes};
        hash = sr__hash_bytes(hash_span(hash, split->backend), numbers, sizeof(numbers));
        for (int32_t j = split->inputs_begin; j < split->inputs_begin + split->n_inputs; j++) {
            const int64_t sizes[] = {log->inputs[j].size, log->inputs[j].step};
            hash = sr__hash_bytes(hash_span(hash, log->inputs[j].name), sizes, sizeof(sizes));
        }
    }
    for (int32_t i = s->nodes_begin; i < s->nodes_begin + s->n_nodes; i++) {
        const sr__log_node *node = &log->nodes[i];
        const int64_t numbers[] = {node->number, node->n_srcs, node->use, node->compute};
        hash = sr__hash_bytes(hash_entry(hash_span(hash, node->op), &node->self), numbers, sizeof(numbers));
        for (int32_t j = node->srcs_begin; j < node->srcs_begin + node->n_srcs; j++) {
            hash = hash_entry(hash, &log->srcs[j]);
        }
    }
    return hash;
}

/* The number at the end of BACKEND#tensor#2; -1: none, or cut off. */
static int copy_number(const sr__log *log, const sr__log_entry *e) {
    const sr__span base = without_number(e->name);
    int64_t number;
    if (base.length == e->name.length || e->name.length > log->width ||
        (!e->is_null && !sr__span_is(e->cause, "4.cpy"))) {
        return -1;
    }
    sr__log_read_number(base.text + base.length, e->name.text + e->name.length, &number);
    return number < 255 && (e->name.length < log->width || number < 10) ? (int)number : -1;
}

static void find_copies(sr__log *log, sr__log_schedule *s) {
    if (s->n_nodes == 0) {
        return;
    }
    const sr__log_node *last = &log->nodes[s->nodes_begin + s->n_nodes - 1];
    for (int32_t j = log->nodes[s->nodes_begin].srcs_begin; j < last->srcs_begin + last->n_srcs; j++) {
        const int number = copy_number(log, &log->srcs[j]);
        s->copy = number > s->copy ? number : s->copy;
        log->max_copy = number > log->max_copy ? number : log->max_copy;
    }
}

/* Schedules of one graph share it.  A reserve does not move on to the next copy, an evaluation does. */
static bool compare_schedules(sr__log *log) {
    sr__map by_hash = {0};
    sr__arena arena;
    sr__arena_init(&arena, 0);
    bool fine = true;
    for (size_t i = 0; i < log->n_schedules && fine; i++) {
        sr__log_schedule *s = &log->schedules[i];
        char key[24];
        find_copies(log, s);
        s->hash = hash_schedule(log, s);
        sr__str text = {0};
        sr__str_printf(&text, "%llx", (unsigned long long)s->hash);
        s->same_as = sr__map_get(&by_hash, sr__str_text(&text), (int32_t)i);
        memcpy(key, sr__str_text(&text), text.length < sizeof(key) ? text.length + 1 : 1);
        char *kept = text.failed ? NULL : sr__arena_strdup(&arena, key);
        fine = kept != NULL && sr__map_put(&by_hash, kept, s->same_as);
        sr__str_free(&text);
    }
    for (size_t i = 0; i + 1 < log->n_schedules && log->max_copy > 0; i++) {
        sr__log_schedule *s = log->schedules;
        s[i].reserve = s[i].copy >= 0 && s[i].copy == s[i + 1].copy;
    }
    sr__map_free(&by_hash);
    sr__arena_free(&arena);
    return fine;
}

static bool repeats(const sr__log_lines *lines, size_t i) {
    const sr__log_record *a = &lines->records[i - 1], *b = &lines->records[i];
    const char *text = lines->text.data;
    return a->kind == b->kind && a->end - a->begin == b->end - b->begin &&
           memcmp(text + a->begin, text + b->begin, a->end - a->begin) == 0;
}

/* Two loggers may have written one file.  No node comes twice in a row; where one does, no line counts twice. */
static bool is_doubled(const sr__log_lines *lines) {
    for (size_t i = 1; i < lines->n; i++) {
        if (lines->records[i].kind == SR__LOG_NODE && repeats(lines, i)) {
            return true;
        }
    }
    return false;
}

sr_status sr__log_read(sr__log *log, sr_error *err) {
    sr_status status = SR_OK;
    log->max_copy = -1;
    log->width = find_width(log);
    const bool doubled = is_doubled(&log->lines);
    for (size_t i = 0; i < log->lines.n; i++) {
        const sr__log_record *record = &log->lines.records[i];
        if (doubled && i > 0 && repeats(&log->lines, i)) {
            log->n_repeated++;
            continue;
        }
        const size_t n_splits = log->n_splits, n_nodes = log->n_nodes;
        SR_TRY(record->kind == SR__LOG_SPLIT ? read_split(log, record, err) : read_node(log, record, err));
        if (log->n_splits > n_splits) {
            SR_TRY(take_split(log, (int32_t)n_splits, err));
        } else if (log->n_nodes > n_nodes) {
            SR_TRY(take_node(log, (int32_t)n_nodes, err));
        }
    }
    if (!compare_schedules(log)) {
        status = sr__fail_memory(err);
    }
done:
    return status;
}

void sr__log_free(sr__log *log) {
    sr__log_free_lines(&log->lines);
    sr__free(log->srcs);
    sr__free(log->inputs);
    sr__free(log->splits);
    sr__free(log->nodes);
    sr__free(log->schedules);
}
