/*
 * log_graph.c - a graph out of the lines of a schedule: which of the names in it mean the same tensor.
 *
 * Layer: describe.  The reference has no counterpart.
 *
 * Names are cut, empty and repeated, so that a source is looked up by name, size and backend, the newest first.  A
 * copy, BACKEND#tensor#number, stands for what its split's header names next, or for what was copied before.  Of
 * repeated names the next one of the header is taken as early as possible: that uses up the header if anything does.
 * Numbers that nodes skip are views; a source whose name speaks of a view is given one of them.
 */
#include "describe/log.h"

#include "sched_run/graph.h"

/* More views in a row than the first are lines that somebody left out; models have 6 and fewer, and beyond the
 * second it is told that they may be such lines. */
enum { MAX_VIEWS_IN_A_ROW = 256, USUAL_VIEWS_IN_A_ROW = 12 };

typedef struct copy { int32_t item, next; int64_t size, step; } copy;

typedef struct maker {
    sr__import *im;
    const sr__log *log;
    sr__log_graph *graph;
    const sr__log_schedule *schedule;
    sr__map names;    /* first letters of a name: the newest item */
    sr__map copies;   /* what a log shows of BACKEND#name#: the newest of these */
    copy *made; size_t n_made, made_cap;
    int32_t *free_views; size_t n_free, free_cap;
    int32_t next_input; /* of the split's header */
    int32_t input_split;
    sr__str key;
} maker;

/* ---- items ------------------------------------------------------------------------------------------------------ */

sr_status sr__log_add_item(sr__import *im, sr__log_graph *graph, const sr__log_item *like, int32_t *out) {
    if (!sr__grow(&graph->items, &graph->items_cap, graph->n_items + 1, sizeof(*graph->items))) {
        return sr__fail_memory(im->err);
    }
    *out = (int32_t)graph->n_items;
    sr__log_item *item = &graph->items[graph->n_items++];
    *item = *like;
    item->bytes = item->size > 0 ? item->size : 1;
    item->buffer = -1;
    item->position = item->kind == SR__ITEM_LEAF ? -1 : (int32_t)graph->n_order;
    if (item->kind != SR__ITEM_LEAF) {
        if (!sr__grow(&graph->order, &graph->order_cap, graph->n_order + 1, sizeof(*graph->order))) {
            return sr__fail_memory(im->err);
        }
        graph->order[graph->n_order++] = *out;
    }
    return SR_OK;
}

/* A name as far as the column shows it, without spaces around it: those in front drown in the column, and those at the
 * end get lost in copying. */
static sr__span key_of(const maker *m, sr__span name) {
    return sr__span_trim(name.text, name.text + (name.length < m->log->width ? name.length : m->log->width));
}

/* Makes an item be found by its name. */
static sr_status list_item(maker *m, int32_t index) {
    sr__log_item *item = &m->graph->items[index];
    const sr__span shown = key_of(m, item->name);
    item->next = sr__map_get_n(&m->names, shown.text, (size_t)shown.length, -1);
    char *key = sr__arena_strndup(&m->im->arena, shown.text, (size_t)shown.length);
    if (key == NULL || !sr__map_put(&m->names, key, index)) {
        return sr__fail_memory(m->im->err);
    }
    return SR_OK;
}

/* Items of equal first letters: the same name, as far as both are known. */
static bool may_be(const sr__log_item *item, sr__span name, bool is_full) {
    return !is_full || !item->is_full ||
           sr__span_equal(sr__span_trim(item->name.text, item->name.text + item->name.length),
                          sr__span_trim(name.text, name.text + name.length));
}

static int32_t first_of_name(const maker *m, sr__span name) {
    const sr__span shown = key_of(m, name);
    return sr__map_get_n(&m->names, shown.text, (size_t)shown.length, -1);
}

/* ---- names of views --------------------------------------------------------------------------------------------- */

bool sr__log_is_view_name(sr__span name, bool cut, sr__span *out_base) {
    static const char *const words[] = {"(view)", "(reshaped)", "(permuted)", "(transposed)"};
    int32_t n = name.length;
    while (n > 0 && name.text[n - 1] != '(') {
        n--;
    }
    if (n == 0) {
        return false;
    }
    const sr__span word = {name.text + n - 1, name.length - n + 1};
    *out_base = sr__span_trim(name.text, word.text);
    for (int i = 0; i < SR_COUNT(words); i++) {
        const size_t length = strlen(words[i]);
        if ((size_t)word.length <= length && memcmp(word.text, words[i], (size_t)word.length) == 0 &&
            ((size_t)word.length == length || cut)) {
            return true;
        }
    }
    return false;
}

/* What the view was made of: the newest tensor of the name before the brackets, or before those in front of them, or of
 * the same name. */
static int32_t find_parent(const maker *m, sr__span name, bool is_full) {
    sr__span base, at = name;
    for (bool cut = !is_full; sr__log_is_view_name(at, cut, &base); cut = false, at = base) {
        const int32_t of_base = first_of_name(m, base);
        if (of_base >= 0) {
            return of_base;
        }
    }
    int32_t same = first_of_name(m, name);
    while (same >= 0 && !may_be(&m->graph->items[same], name, is_full)) {
        same = m->graph->items[same].next;
    }
    return same;
}

/* Also a name that a node has already, but of another size or elsewhere; leafs have no views of their own name, but
 * inputs of one name may be several. */
static bool may_be_view(const maker *m, sr__span name, bool is_full) {
    sr__span base;
    const int32_t same = find_parent(m, name, is_full);
    return sr__log_is_view_name(name, !is_full, &base) ||
           (!sr__log_is_weight_name(name) && same >= 0 && m->graph->items[same].kind != SR__ITEM_LEAF);
}

/* A tensor that was not seen before: one of the views left out, if its name says so, or a leaf. */
static sr_status new_source(maker *m, const sr__log_item *like, int32_t *out) {
    sr__log_graph *graph = m->graph;
    if (m->n_free == 0 || !may_be_view(m, like->name, like->is_full)) {
        const sr_status status = sr__log_add_item(m->im, graph, like, out);
        return status == SR_OK ? list_item(m, *out) : status;
    }
    const int32_t parent = find_parent(m, like->name, like->is_full);
    *out = m->free_views[--m->n_free];
    sr__log_item *item = &graph->items[*out];
    const int32_t position = item->position;
    *item = *like;
    item->kind = SR__ITEM_VIEW;
    item->position = position;
    item->named = true;
    item->bytes = item->size > 0 ? item->size : 1;
    item->buffer = -1;
    item->parent = parent >= 0 && graph->items[parent].position < position ? parent : -1;
    return list_item(m, *out);
}

/* ---- copies ----------------------------------------------------------------------------------------------------- */

/* A copy's name as far as all logs show it: cut to the column, without the number, '#' or space at the end. */
static int32_t copy_key_length(const maker *m, sr__span shown) {
    int32_t n = shown.length < m->log->width ? shown.length : m->log->width;
    const int32_t whole = n;
    while (n > 0 && shown.text[n - 1] >= '0' && shown.text[n - 1] <= '9') {
        n--;
    }
    if (n == 0 || shown.text[n - 1] != '#' || memchr(shown.text, '#', (size_t)n - 1) == NULL) {
        n = whole;
    }
    while (n > 0 && (shown.text[n - 1] == '#' || shown.text[n - 1] == ' ')) {
        n--;
    }
    return n;
}

/* The same of a copy of a tensor that is known. */
static bool set_copy_key(maker *m, sr__span backend, sr__span name) {
    sr__str_clear(&m->key);
    sr__str_append(&m->key, backend.text, (size_t)backend.length);
    sr__str_append(&m->key, "#", 1);
    sr__str_append(&m->key, name.text, (size_t)name.length);
    if (!m->key.failed) {
        m->key.length = (size_t)copy_key_length(m, (sr__span){m->key.data, (int32_t)m->key.length});
        m->key.data[m->key.length] = '\0';
    }
    return !m->key.failed;
}

static bool starts_with_backend(const sr__import *im, int backend, sr__span shown, int width) {
    const sr__span name = im->machine.backends[backend].name;
    const int32_t n = name.length < width ? name.length : width;
    return shown.length >= n && memcmp(shown.text, name.text, (size_t)n) == 0 &&
           (n == width || (shown.length > n && shown.text[n] == '#'));
}

/* The tensor that an input of a header is: not on that backend, and not copied to it before. */
static sr_status find_original(maker *m, const sr__log_input *input, int backend, int32_t *out) {
    const uint64_t bit = UINT64_C(1) << backend;
    for (int32_t i = first_of_name(m, input->name); i >= 0; i = m->graph->items[i].next) {
        sr__log_item *item = &m->graph->items[i];
        if (item->size == input->size && item->step == input->step && may_be(item, input->name, true) &&
            item->backend != backend && ((item->copied | item->direct) & bit) == 0) {
            item->name = input->name;
            item->is_full = true;
            *out = i;
            return SR_OK;
        }
    }
    const sr__log_item like = {.name = input->name, .is_full = true, .size = input->size, .step = input->step,
                               .backend = -1, .parent = -1, .log_node = -1};
    return new_source(m, &like, out);
}

static sr_status add_copy(maker *m, const sr__log_input *input, int backend, int32_t *out) {
    if (!set_copy_key(m, m->im->machine.backends[backend].name, input->name)) {
        return sr__fail_memory(m->im->err);
    }
    char *key = sr__arena_strdup(&m->im->arena, sr__str_text(&m->key));
    const int32_t next = key != NULL ? sr__map_get(&m->copies, key, -1) : -1;
    if (key == NULL || !sr__map_put(&m->copies, key, (int32_t)m->n_made) ||
        !sr__grow(&m->made, &m->made_cap, m->n_made + 1, sizeof(*m->made))) {
        return sr__fail_memory(m->im->err);
    }
    const sr_status status = find_original(m, input, backend, out);
    if (status == SR_OK) {
        m->made[m->n_made++] = (copy){*out, next, input->size, input->step};
        m->graph->items[*out].copied |= UINT64_C(1) << backend;
    }
    return status;
}

/* Whether an input of the header is what the log shows as a copy. */
static bool is_input_shown(maker *m, const sr__log_input *input, int backend, sr__span key, const sr__log_entry *e) {
    return !input->taken && input->size == e->size && input->step == e->step &&
           set_copy_key(m, m->im->machine.backends[backend].name, input->name) && m->key.length == (size_t)key.length &&
           memcmp(m->key.data, key.text, m->key.length) == 0;
}

/* The header of the split that a node is in; NULL if that is missing. */
static const sr__log_split *header_of(const maker *m, const sr__log_node *node, int backend) {
    const sr__log_split *split = node->split >= 0 ? &m->log->splits[node->split] : NULL;
    return split != NULL && sr__log_backend_of(&m->im->machine, split->backend, backend) == backend ? split : NULL;
}

/* Whether a header is there with all of its inputs, so that a copy it does not name is none of its split's. */
static bool is_header_whole(const maker *m, const sr__log_node *node, int backend) {
    const sr__log_split *split = header_of(m, node, backend);
    return split != NULL && split->announced == split->n_inputs;
}

/* The next input of the header, else a copy made before, else a later input; *out -1: none of these. */
static sr_status find_copy(maker *m, const sr__log_node *node, const sr__log_entry *e, int backend, int32_t *out) {
    const sr__log_split *split = header_of(m, node, backend);
    const sr__span key = {e->name.text, copy_key_length(m, e->name)};
    sr_status status = SR_OK;
    *out = -1;
    int32_t first = split != NULL ? split->inputs_begin : 0, end = split != NULL ? first + split->n_inputs : 0;
    if (m->input_split != node->split) {
        m->input_split = node->split;
        m->next_input = first;
    }
    while (m->next_input < end && m->log->inputs[m->next_input].taken) {
        m->next_input++;
    }
    int32_t k = sr__map_get_n(&m->copies, key.text, (size_t)key.length, -1);
    while (k >= 0 && (m->made[k].size != e->size || m->made[k].step != e->step)) {
        k = m->made[k].next;
    }
    const int32_t stop = k >= 0 && m->next_input < end ? m->next_input + 1 : end;
    for (int32_t i = m->next_input; i < stop && *out < 0 && status == SR_OK; i++) {
        sr__log_input *input = &m->log->inputs[i];
        if (is_input_shown(m, input, backend, key, e)) {
            input->taken = true;
            m->graph->n_unread += i > m->next_input; /* one before it is read later, or never */
            status = add_copy(m, input, backend, out);
        }
    }
    if (*out < 0 && k >= 0) {
        *out = m->made[k].item;
    }
    return status == SR_OK && m->key.failed ? sr__fail_memory(m->im->err) : status;
}

/* BACKEND#tensor#2: the tensor's name, or as much of it as there is. */
static sr__span original_name(const maker *m, sr__span shown, int backend) {
    const int32_t skipped = m->im->machine.backends[backend].name.length + 1;
    int32_t begin = skipped < shown.length ? skipped : shown.length, end = shown.length;
    while (end > begin && shown.text[end - 1] >= '0' && shown.text[end - 1] <= '9') {
        end--;
    }
    const bool numbered = end < shown.length && end > begin && shown.text[end - 1] == '#';
    return (sr__span){shown.text + begin, (numbered ? end - 1 : shown.length) - begin};
}

/* A copy that no header tells of, because there is none or it is cut: an input all the same. */
static sr_status assume_copy(maker *m, const sr__log_entry *e, int backend, int32_t *out) {
    const sr__log_input input = {.name = original_name(m, e->name, backend), .size = e->size, .step = e->step};
    return add_copy(m, &input, backend, out);
}

/* ---- sources ---------------------------------------------------------------------------------------------------- */

/* The newest tensor that is called so, is as large and lies there; -1. */
static int32_t find_direct(const maker *m, const sr__log_entry *e, int backend) {
    const bool is_full = e->name.length < m->log->width;
    for (int32_t i = first_of_name(m, e->name); i >= 0; i = m->graph->items[i].next) {
        const sr__log_item *item = &m->graph->items[i];
        const bool there = backend < 0 || item->backend == backend ||
                           (item->backend < 0 && (item->copied >> backend & 1) == 0);
        if (there && item->size == e->size && item->step == e->step && may_be(item, e->name, is_full)) {
            return i;
        }
    }
    return -1;
}

/* A name that is a copy's, although this schedule has not made it. */
static bool is_foreign_copy(const maker *m, const sr__log_entry *e) {
    const char *hash = e->name.length > 0 ? memchr(e->name.text, '#', (size_t)e->name.length) : NULL;
    const sr__span start = {e->name.text, hash != NULL ? (int32_t)(hash - e->name.text) : 0};
    for (size_t b = 0; hash != NULL && b < m->im->machine.n_backends; b++) {
        if (sr__span_equal(m->im->machine.backends[b].name, start)) {
            return true;
        }
    }
    return false;
}

/* Whether what made a copy may be missing: a split above, or the node that read it first. */
static bool may_lack_maker(const maker *m, const sr__log_node *node) {
    const sr__log_schedule *s = m->schedule;
    bool lacks = s->headless || s->lost_splits > 0;
    for (int32_t i = m->log->splits[s->splits_begin].inputs_begin;
         !lacks && i < m->log->splits[node->split].inputs_begin; i++) {
        lacks = !m->log->inputs[i].taken;
    }
    return lacks;
}

/* A cast is a CPY whose second source is the node itself. */
static bool is_own_destination(const maker *m, const sr__log_node *node, const sr__log_entry *e) {
    return sr__span_is(node->op, "CPY") && e == &m->log->srcs[node->srcs_begin] + 1 &&
           sr__span_equal(e->name, node->self.name) && sr__span_equal(e->backend, node->self.backend) &&
           e->size == node->self.size && e->step == node->self.step;
}

static sr_status direct_source(maker *m, const sr__log_node *node, const sr__log_entry *e, int reader, int32_t *out) {
    int backend = sr__log_backend_of(&m->im->machine, e->backend, reader);
    sr__log_entry shown = *e;
    sr_status status = SR_OK;
    if (is_own_destination(m, node, e)) {
        *out = SR_SELF;
        return SR_OK;
    }
    const bool foreign = is_foreign_copy(m, e) && is_header_whole(m, node, reader);
    const bool above = foreign && starts_with_backend(m->im, reader, e->name, m->log->width) && may_lack_maker(m, node);
    if (above) {
        shown.name = original_name(m, e->name, reader);
        backend = reader;
    }
    *out = find_direct(m, &shown, backend);
    if (*out < 0) {
        const sr__log_item like = {.name = shown.name, .is_full = e->name.length < m->log->width, .size = e->size,
                                   .step = e->step, .backend = backend >= 0 ? backend : reader, .parent = -1,
                                   .log_node = -1};
        m->graph->n_above += above;
        if (foreign && !above) {
            m->graph->twice = m->graph->n_twice == 0 ? e->name : m->graph->twice;
            m->graph->n_twice++;
        }
        SR_TRY(new_source(m, &like, out));
    }
    sr__log_item *item = &m->graph->items[*out];
    item->backend = item->backend < 0 ? backend : item->backend;
    item->direct |= UINT64_C(1) << reader;
    item->is_input = item->is_input || sr__span_is(e->cause, "1.inp") || sr__span_is(e->cause, "4.cpy");
    item->is_state = item->is_state || sr__span_is(e->cause, "1.dst");
done:
    return status;
}

static sr_status source(maker *m, const sr__log_node *node, const sr__log_entry *e, int reader, int32_t *out) {
    sr_status status = SR_OK;
    *out = -1;
    if (starts_with_backend(m->im, reader, e->name, m->log->width)) {
        SR_TRY(find_copy(m, node, e, reader, out));
        if (*out < 0 && e->is_null && !is_header_whole(m, node, reader)) {
            SR_TRY(assume_copy(m, e, reader, out));
        }
    }
    if (*out == -1) {
        SR_TRY(direct_source(m, node, e, reader, out));
    }
    /* "1.wgt2": the third source is a weight */
    const sr__span cause = node->self.cause;
    const int j = (int)(e - &m->log->srcs[node->srcs_begin]);
    if (*out >= 0 && cause.length == 6 && memcmp(cause.text, "1.wgt", 5) == 0 && cause.text[5] - '0' == j) {
        m->graph->items[*out].likely_weight = true;
    }
done:
    return status;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------ */

static sr_status add_views(maker *m, int64_t n, int64_t before) {
    sr__log_graph *graph = m->graph;
    if (n > MAX_VIEWS_IN_A_ROW) {
        graph->n_gone += n;
        return SR_OK;
    }
    if (n > USUAL_VIEWS_IN_A_ROW) {
        graph->doubtful_before = graph->n_doubtful == 0 ? before : graph->doubtful_before;
        graph->n_doubtful += n;
    }
    for (int64_t i = 0; i < n; i++) {
        const sr__log_item like = {.kind = SR__ITEM_VIEW, .name = {"", 0}, .step = 1024, .backend = -1, .parent = -1,
                                   .log_node = -1};
        int32_t item;
        const sr_status status = sr__log_add_item(m->im, graph, &like, &item);
        if (status != SR_OK) {
            return status;
        }
        if (!sr__grow(&m->free_views, &m->free_cap, m->n_free + 1, sizeof(*m->free_views))) {
            return sr__fail_memory(m->im->err);
        }
        m->free_views[m->n_free++] = item;
        graph->n_views++;
    }
    return SR_OK;
}

static sr_status add_node(maker *m, int32_t n) {
    const sr__log_node *node = &m->log->nodes[n];
    const int backend = sr__log_split_backend(m->im, node);
    sr__log_graph *graph = m->graph;
    int32_t item;
    sr_status status = SR_OK;
    for (int32_t j = node->srcs_begin; j < node->srcs_begin + node->n_srcs; j++) {
        SR_TRY(source(m, node, &m->log->srcs[j], backend, &item));
        if (!sr__grow(&graph->srcs, &graph->srcs_cap, graph->n_srcs + 1, sizeof(*graph->srcs))) {
            SR_TRY(sr__fail_memory(m->im->err));
        }
        graph->srcs[graph->n_srcs++] = item;
    }
    const sr__log_item like = {.kind = SR__ITEM_NODE, .name = node->self.name,
                               .is_full = node->self.name.length < m->log->width, .size = node->self.size,
                               .step = node->self.step, .backend = backend, .parent = -1, .log_node = n};
    SR_TRY(sr__log_add_item(m->im, graph, &like, &item));
    SR_TRY(list_item(m, item));
done:
    return status;
}

static sr_status make(maker *m, const sr__log_schedule *schedule) {
    sr_status status = SR_OK;
    int64_t before = -1;
    bool was_headed = true;
    for (int32_t n = schedule->nodes_begin; n < schedule->nodes_begin + schedule->n_nodes; n++) {
        const int64_t number = m->log->nodes[n].number;
        const bool first = n == schedule->nodes_begin;
        SR_TRY(add_views(m, first && schedule->headless ? 0 : number - before - 1, number));
        SR_TRY(add_node(m, n));
        const bool headed = header_of(m, &m->log->nodes[n], sr__log_split_backend(m->im, &m->log->nodes[n])) != NULL;
        m->graph->n_lost += !headed && (first || was_headed) && !(first && schedule->headless);
        was_headed = headed;
        before = number;
    }
    if (schedule->n_nodes == 0) {
        SR_TRY(add_views(m, 1, 0)); /* a graph of views alone has one split, and nothing in it */
    }
    for (int32_t s = schedule->splits_begin; s < schedule->splits_begin + schedule->n_splits; s++) {
        const sr__log_split *split = &m->log->splits[s];
        for (int32_t i = split->inputs_begin; i < split->inputs_begin + split->n_inputs; i++) {
            m->graph->n_unread += !m->log->inputs[i].taken;
        }
    }
done:
    return status;
}

sr_status sr__log_make_graph(sr__import *im, int32_t schedule) {
    if (!sr__grow(&im->graphs, &im->graphs_cap, im->n_graphs + 1, sizeof(*im->graphs))) {
        return sr__fail_memory(im->err);
    }
    sr__log_schedule *s = &im->log.schedules[schedule];
    sr__log_graph *graph = &im->graphs[im->n_graphs];
    *graph = (sr__log_graph){.schedule = schedule};
    graph->first_src = s->n_nodes > 0 ? im->log.nodes[s->nodes_begin].srcs_begin : 0;
    s->graph = (int32_t)im->n_graphs++;
    maker m = {.im = im, .log = &im->log, .graph = graph, .schedule = s, .input_split = -2};
    const sr_status status = make(&m, s);
    sr__map_free(&m.names);
    sr__map_free(&m.copies);
    sr__free(m.made);
    sr__free(m.free_views);
    sr__str_free(&m.key);
    return status;
}
