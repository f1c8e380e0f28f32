/*
 * report_diff_lists.c - what changed between two layouts, item by item, for people.
 *
 * Layer: report.  Lists are folded: neighbours that went the same way are a line, and so are equal layers; verbose
 * reports have a line for each item.
 */
#include "report/report_diff_text.h"

enum { MOST_LINES = 8, MOST_SPANS = 3 };

typedef struct list list;

/* A list: how an item is folded, called, and what stands behind it. */
struct list {
    const sr__diff_text *text;
    const char *one, *several; /* titles */
    sr__style style;
    int32_t n;
    const void *rows;
    bool of_b;               /* items are tensors of B */
    bool apart;              /* neighbours are lines of their own */
    bool by_name;            /* positions say nothing */
    int32_t (*tensor)(const list *l, int32_t i);
    uint64_t (*way)(const list *l, int32_t i);
    /* n: items that the line stands for; behind the first of them */
    void (*put_tail)(const list *l, int32_t i, int32_t n);
};

static sr__str *out_of(const list *l) { return &l->text->out->text; }

static const sr_layout *layout_of(const list *l) { return l->of_b ? l->text->diff->b : l->text->diff->a; }

static const sr_tensor *tensor_of(const list *l, int32_t i) {
    return &layout_of(l)->graph->tensors[l->tensor(l, i)];
}

/* ---- lines ------------------------------------------------------------------------------------------------------ */

/* The first or the last item of one range after the other that is alike. */
typedef struct cursor {
    const list *l;
    const sr__diff_ranges *ranges;
    int32_t first, at;
    bool last_item;
} cursor;

static const char *next_name(void *user, int32_t i) {
    cursor *c = user;
    c->at = i == 0 ? c->first : c->ranges->ranges[c->at].next;
    const sr__diff_range *range = &c->ranges->ranges[c->at];
    return sr__shown_name(tensor_of(c->l, range->begin + (c->last_item ? range->n - 1 : 0)));
}

static void put_span(const list *l, const sr__diff_range *range) {
    const int32_t first = tensor_of(l, range->begin)->node, last = tensor_of(l, range->begin + range->n - 1)->node;
    sr__str_printf(out_of(l), first == last ? "%d" : "%d-%d", (int)first, (int)last);
}

/* "nodes 12-45, 46-79 ... 182-215" */
static void put_spans(const list *l, const sr__diff_ranges *ranges, int32_t at) {
    sr__str *s = out_of(l);
    const sr__diff_range *range = &ranges->ranges[at];
    if (l->by_name || tensor_of(l, range->begin)->node < 0) {
        return;
    }
    sr__str_puts(s, range->n > 1 || range->n_alike > 1 ? "nodes " : "node ");
    for (int32_t k = 0, i = at; i >= 0; i = ranges->ranges[i].next, k++) {
        if (k == MOST_SPANS - 1 && range->n_alike > MOST_SPANS) {
            sr__str_puts(s, " ... ");
            put_span(l, &ranges->ranges[range->last]);
            break;
        }
        sr__str_puts(s, k > 0 ? ", " : "");
        put_span(l, &ranges->ranges[i]);
    }
    sr__str_puts(s, "  ");
}

static void put_line(const list *l, const sr__diff_ranges *ranges, int32_t at) {
    sr__str *s = out_of(l);
    const sr__diff_range *range = &ranges->ranges[at];
    cursor c = {.l = l, .ranges = ranges, .first = at};
    sr__str_puts(s, "      ");
    put_spans(l, ranges, at);
    sr__put_pattern(s, next_name, &c, range->n_alike);
    if (range->n > 1) {
        c.last_item = true;
        sr__str_puts(s, " .. ");
        sr__put_pattern(s, next_name, &c, range->n_alike);
    }
    l->put_tail(l, range->begin, range->n_alike);
    if (range->n_alike > 1) {
        sr__str_printf(s, "  x %d", (int)range->n_alike);
    }
    sr__str_puts(s, "\n");
    sr__out_more(l->text->out);
}

static void put_single(const list *l, int32_t i) {
    sr__str *s = out_of(l);
    const sr_tensor *t = tensor_of(l, i);
    sr__str_puts(s, "      ");
    if (t->node >= 0) {
        sr__str_printf(s, "%5d  ", (int)t->node);
        sr__put_left(s, sr_tensor_op_desc(t), 13);
    }
    sr__put_left(s, sr__shown_name(t), 20);
    l->put_tail(l, i, 1);
    sr__str_puts(s, "\n");
    sr__out_more(l->text->out);
}

/* ---- a list ------------------------------------------------------------------------------------------------------ */

static sr_status fold(const list *l, sr__diff_ranges *ranges, sr_error *err) {
    sr__diff_item *items = sr__malloc((size_t)l->n * sizeof(*items));
    if (items == NULL) {
        return sr__fail_memory(err);
    }
    for (int32_t i = 0; i < l->n; i++) {
        const sr_tensor *t = tensor_of(l, i);
        const char *op = sr_tensor_op_desc(t);
        items[i].position = l->apart || l->by_name ? -1 : t->node;
        items[i].way = l->way(l, i);
        items[i].like = sr__hash_bytes(items[i].way, op, strlen(op));
        if (t->node < 0 || !sr_op_is_view(t->op)) { /* a view's name tells less than its op */
            items[i].like = sr__name_pattern(items[i].like, sr__shown_name(t));
        }
    }
    const sr_status status = sr__diff_fold(items, l->n, ranges, err);
    sr__free(items);
    return status;
}

static void put_title(const list *l) {
    sr__str *s = out_of(l);
    sr__str_puts(s, "    ");
    sr__style_on(s, l->text->options, l->style);
    sr__str_printf(s, "%d %s", (int)l->n, l->n == 1 ? l->one : l->several);
    sr__style_off(s, l->text->options);
    sr__str_puts(s, "\n");
}

static sr_status put_list(const list *l, sr_error *err) {
    sr__diff_ranges ranges = {0};
    int32_t n_lines = 0, n_left = 0;
    if (l->n == 0) {
        return SR_OK;
    }
    put_title(l);
    if (l->text->options->verbose) {
        for (int32_t i = 0; i < l->n; i++) {
            put_single(l, i);
        }
        return SR_OK;
    }
    const sr_status status = fold(l, &ranges, err);
    for (int32_t i = 0; i < ranges.n; i++) {
        if (ranges.ranges[i].n_alike > 0 && n_lines < MOST_LINES) {
            put_line(l, &ranges, i);
            n_lines++;
        } else if (ranges.ranges[i].n_alike > 0) {
            n_left++;
        }
    }
    if (n_left > 0) {
        sr__str_printf(out_of(l), "      and %d more lines (see --all)\n", (int)n_left);
    }
    sr__diff_ranges_free(&ranges);
    return status;
}

/* ---- pairs: moves, causes, places, renamed ----------------------------------------------------------------------- */

static const sr_diff_pair *pair_at(const list *l, int32_t i) { return &((const sr_diff_pair *)l->rows)[i]; }

static int32_t pair_tensor(const list *l, int32_t i) { return pair_at(l, i)->a; }

static uint64_t pair_way(const list *l, int32_t i) {
    const int backends[2] = {pair_at(l, i)->from, pair_at(l, i)->to};
    return sr__hash_bytes(1, backends, sizeof(backends));
}

static void put_way(const list *l, const sr_diff_pair *p) {
    sr__str_puts(out_of(l), "  ");
    sr__put_diff_backend(l->text, true, p->from);
    sr__str_puts(out_of(l), " -> ");
    sr__put_diff_backend(l->text, false, p->to);
}

static void put_move(const list *l, int32_t i, int32_t n) {
    (void)n;
    const sr_diff_pair *p = pair_at(l, i);
    const sr_diff *d = l->text->diff;
    put_way(l, p);
    if (l->text->options->verbose) {
        sr__str_printf(out_of(l), "  %s -> ", sr_cause_name(d->a->cause_of[p->a]));
        sr__put_diff_cause(out_of(l), d->b, &l->text->facts->b, p->b);
    }
}

static uint64_t cause_way(const list *l, int32_t i) {
    const sr_diff_pair *p = pair_at(l, i);
    const int causes[2] = {l->text->diff->a->cause_of[p->a], l->text->diff->b->cause_of[p->b]};
    return sr__hash_bytes(pair_way(l, i), causes, sizeof(causes));
}

static void put_cause(const list *l, int32_t i, int32_t n) {
    (void)n;
    const sr_diff_pair *p = pair_at(l, i);
    const sr_diff *d = l->text->diff;
    sr__str_puts(out_of(l), "  ");
    sr__put_diff_backend(l->text, true, p->from);
    sr__str_printf(out_of(l), "  %s -> %s", sr_cause_name(d->a->cause_of[p->a]), sr_cause_name(d->b->cause_of[p->b]));
}

static const char *place_name(const sr_layout *layout, int32_t tensor) {
    const sr_buffer *buffer = sr__buffer_of(layout->graph, &layout->graph->tensors[tensor]);
    return buffer != NULL ? buffer->type->name : sr__backend_name(layout, layout->backend_of[tensor]);
}

static uint64_t place_way(const list *l, int32_t i) {
    const sr_diff_pair *p = pair_at(l, i);
    const char *a = place_name(l->text->diff->a, p->a), *b = place_name(l->text->diff->b, p->b);
    return sr__hash_bytes(sr__hash_bytes(pair_way(l, i), a, strlen(a)), b, strlen(b));
}

static void put_place(const list *l, int32_t i, int32_t n) {
    (void)n;
    sr__str *s = out_of(l);
    const sr_diff_pair *p = pair_at(l, i);
    sr__str_puts(s, "  ");
    sr__put_bytes(s, l->text->diff->a->graph->tensors[p->a].nbytes);
    sr__str_puts(s, "  ");
    sr__put_name(s, place_name(l->text->diff->a, p->a));
    sr__str_puts(s, " -> ");
    sr__put_name(s, place_name(l->text->diff->b, p->b));
}

static const char *new_name(const list *l, int32_t i) {
    return sr__shown_name(&l->text->diff->b->graph->tensors[pair_at(l, i)->b]);
}

static uint64_t renamed_way(const list *l, int32_t i) { return sr__name_pattern(pair_way(l, i), new_name(l, i)); }

static void put_new_name(const list *l, int32_t i, int32_t n) {
    sr__str *s = out_of(l);
    sr__str_puts(s, " -> ");
    if (n == 1) {
        sr__put_name(s, new_name(l, i));
    } else {
        sr__put_starred(s, new_name(l, i));
    }
}

/* ---- tensors of one side ----------------------------------------------------------------------------------------- */

static int32_t single_tensor(const list *l, int32_t i) { return ((const int32_t *)l->rows)[i]; }

static uint64_t single_way(const list *l, int32_t i) {
    const int backend = layout_of(l)->backend_of[single_tensor(l, i)];
    return sr__hash_bytes(2, &backend, sizeof(backend));
}

static void put_home(const list *l, int32_t i, int32_t n) {
    (void)n;
    sr__str *s = out_of(l);
    const int32_t tensor = single_tensor(l, i);
    sr__str_puts(s, "  ");
    sr__put_bytes(s, layout_of(l)->graph->tensors[tensor].nbytes);
    sr__str_puts(s, "  ");
    sr__put_diff_backend(l->text, !l->of_b, layout_of(l)->backend_of[tensor]);
    sr__str_printf(s, " %s", sr_cause_name(layout_of(l)->cause_of[tensor]));
}

/* ---- borders of splits ------------------------------------------------------------------------------------------- */

static const sr_diff_border *border_at(const list *l, int32_t i) { return &((const sr_diff_border *)l->rows)[i]; }

/* Cuts are borders of B, merges of A; both are told by the node as A numbers it. */
static bool is_cut(const list *l) { return l->rows == l->text->diff->cuts; }

static int32_t border_tensor(const list *l, int32_t i) { return border_at(l, i)->node_a; }

static const sr_layout *border_layout(const list *l) { return is_cut(l) ? l->text->diff->b : l->text->diff->a; }

static const sr_split *border_split(const list *l, int32_t i) {
    return &border_layout(l)->splits[is_cut(l) ? border_at(l, i)->b : border_at(l, i)->a];
}

/* The two backends of the cut, so that the borders of equal layers are alike. */
static uint64_t border_way(const list *l, int32_t i) {
    const sr_split *split = border_split(l, i);
    const int facts[3] = {split->backend, split->because, split > border_layout(l)->splits ? split[-1].backend : -1};
    return sr__hash_bytes(3, facts, sizeof(facts));
}

static void put_border(const list *l, int32_t i, int32_t n) {
    sr__str *s = out_of(l);
    const sr_split *split = border_split(l, i);
    const sr_diff_border *border = border_at(l, i);
    sr__str_puts(s, "  on ");
    sr__put_diff_backend(l->text, !is_cut(l), split->backend);
    if (n == 1 && is_cut(l)) {
        sr__str_printf(s, ": split %d of B, within %d of A", (int)border->b, (int)border->a);
    } else if (n == 1) {
        sr__str_printf(s, ": split %d of A, within %d of B", (int)border->a, (int)border->b);
    }
    if (n == 1) {
        sr__put_split_words(s, border_layout(l), split);
    } else if (split->because == SR_STARTS_WEIGHT) {
        sr__str_puts(s, "   (new split for weights)");
    }
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

static const sr_diff_copy *copy_at(const list *l, int32_t i) { return &((const sr_diff_copy *)l->rows)[i]; }

static int32_t copy_input(const list *l, int32_t i) { return l->of_b ? copy_at(l, i)->b : copy_at(l, i)->a; }

static int32_t copy_tensor(const list *l, int32_t i) { return layout_of(l)->inputs[copy_input(l, i)]; }

static int32_t split_of_input(const sr_layout *layout, int32_t input) {
    int32_t low = 0, high = layout->n_splits - 1;
    while (low < high) {
        const int32_t middle = low + (high - low + 1) / 2;
        if (layout->splits[middle].inputs_begin <= input) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

static uint64_t copy_way(const list *l, int32_t i) {
    const sr_layout *layout = layout_of(l);
    const int32_t tensor = copy_tensor(l, i);
    const uint64_t facts[3] = {(uint64_t)layout->backend_of[tensor], layout->graph->tensors[tensor].nbytes,
                               (uint64_t)layout->splits[split_of_input(layout, copy_input(l, i))].backend};
    return sr__hash_bytes(5, facts, sizeof(facts));
}

/* " > 2.0 KiB", or where both look the same the change. */
static void put_new_size(sr__str *s, uint64_t a, uint64_t b) {
    char text_a[16], text_b[16];
    sr__format_bytes(a, text_a);
    sr__format_bytes(b, text_b);
    sr__str_puts(s, strcmp(text_a, text_b) != 0 ? " > " : ", ");
    if (strcmp(text_a, text_b) != 0) {
        sr__str_puts(s, text_b);
    } else {
        sr__put_bytes_change(s, a, b);
    }
}

static void put_copy(const list *l, int32_t i, int32_t n) {
    sr__str *s = out_of(l);
    const sr_layout *layout = layout_of(l);
    const int32_t tensor = copy_tensor(l, i), split = split_of_input(layout, copy_input(l, i));
    sr__str_puts(s, "  ");
    sr__put_bytes(s, layout->graph->tensors[tensor].nbytes);
    if (copy_at(l, i)->a >= 0 && copy_at(l, i)->b >= 0) {
        const sr_layout *b = l->text->diff->b;
        put_new_size(s, layout->graph->tensors[tensor].nbytes, b->graph->tensors[b->inputs[copy_at(l, i)->b]].nbytes);
    }
    sr__str_puts(s, n > 1 ? " each  " : "  ");
    sr__put_diff_backend(l->text, !l->of_b, layout->backend_of[tensor]);
    sr__str_puts(s, " -> ");
    sr__put_diff_backend(l->text, !l->of_b, layout->splits[split].backend);
    if (n == 1) {
        sr__str_printf(s, "  into split %d", (int)split);
    }
}

/* ---- all lists --------------------------------------------------------------------------------------------------- */

sr_status sr__diff_text_lists(const sr__diff_text *text, sr_error *err) {
    const sr_diff *d = text->diff;
    const list lists[] = {
        {text, "node moved", "nodes moved", SR__BOLD, d->n_moves, d->moves, false, false, false, pair_tensor, pair_way,
         put_move},
        {text, "leaf elsewhere", "leafs elsewhere", SR__BOLD, d->n_places, d->places, false, false, true, pair_tensor,
         place_way, put_place},
        {text, "tensor in A alone", "tensors in A alone", SR__RED, d->n_removed, d->removed, false, false, false,
         single_tensor, single_way, put_home},
        {text, "tensor in B alone", "tensors in B alone", SR__GREEN, d->n_added, d->added, true, false, false,
         single_tensor, single_way, put_home},
        {text, "renamed", "renamed", SR__BOLD, d->n_renamed, d->renamed, false, true, false, pair_tensor, renamed_way,
         put_new_name},
        {text, "split cut", "splits cut", SR__GREEN, d->n_cuts, d->cuts, false, true, false, border_tensor, border_way,
         put_border},
        {text, "split merged", "splits merged", SR__RED, d->n_merges, d->merges, false, true, false, border_tensor,
         border_way, put_border},
        {text, "copy gained", "copies gained", SR__GREEN, d->n_gained, d->gained, true, false, true, copy_tensor,
         copy_way, put_copy},
        {text, "copy lost", "copies lost", SR__RED, d->n_lost, d->lost, false, false, true, copy_tensor, copy_way,
         put_copy},
        {text, "copy of another size", "copies of another size", SR__BOLD, d->n_resized_copies, d->resized, false,
         false, true, copy_tensor, copy_way, put_copy},
        {text, "node for another cause", "nodes for another cause", SR__BOLD, d->n_causes, d->causes, false, false,
         false, pair_tensor, cause_way, put_cause},
    };
    for (int i = 0; i < SR_COUNT(lists); i++) {
        const sr_status status = put_list(&lists[i], err);
        if (status != SR_OK) {
            return status;
        }
    }
    return SR_OK;
}
