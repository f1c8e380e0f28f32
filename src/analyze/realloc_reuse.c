/*
 * realloc_reuse.c - a plan that was kept although the graph is not the one that it was made for.
 *
 * Layer: analyze.  The allocator asks for the number of nodes and leafs and for sizes of nodes and sources, nothing
 * else: when tensors die, which must not be overwritten and how large unread leafs are may have changed.  Positions are
 * compared, because that is how a plan is handed out.  Whether it does harm shows where memory in use overlaps.
 */
#include "analyze/realloc_impl.h"

enum { MOST_OF_A_KIND = 8 };

typedef struct reuse {
    sr_reallocation *r;
    const sr_layout *old, *new;
    int32_t *old_last, *new_last; /* by id: the position after which it is freed, -2: not planned */
    size_t cap;
    int counts[SR_REUSE_KIND_COUNT];
    sr_error *err;
} reuse;

const char *sr_reuse_kind_name(int kind) {
    static const char *const names[SR_REUSE_KIND_COUNT] = {"lifetime", "flags", "leaf_size", "no_memory", "overlap"};
    return kind >= 0 && kind < SR_REUSE_KIND_COUNT ? names[kind] : "";
}

/* Takes over the text. */
static sr_status add(reuse *u, sr_reuse_kind kind, int32_t tensor, int32_t other, sr__str *text) {
    sr_reallocation *r = u->r;
    sr__str name = {0}, other_name = {0};
    sr_realloc_reuse found = {.kind = kind};
    r->n_reuses_found++;
    r->harmful |= kind == SR_REUSE_OVERLAP || kind == SR_REUSE_NO_MEMORY;
    if (u->counts[kind]++ >= MOST_OF_A_KIND) {
        sr__str_free(text);
        return SR_OK;
    }
    sr__put_id(&name, u->new, tensor);
    bool ok = sr__set_text(&found.tensor, &name) && sr__set_text(&found.text, text);
    if (ok && other >= 0) {
        sr__put_id(&other_name, u->new, other);
        ok = sr__set_text(&found.other, &other_name);
    }
    sr__str_free(&name);
    sr__str_free(&other_name);
    sr__str_free(text);
    if (!ok || !sr__grow(&r->reuses, &u->cap, (size_t)r->n_reuses + 1, sizeof(*r->reuses))) {
        sr__free(found.tensor);
        sr__free(found.other);
        sr__free(found.text);
        return sr__fail_memory(u->err);
    }
    r->reuses[r->n_reuses++] = found;
    return SR_OK;
}

/* ---- life spans ------------------------------------------------------------------------------------------------ */

static sr_status make_lasts(const sr_layout *layout, const sr_memory_plan *plan, int32_t **out, sr_error *err) {
    const size_t n = (size_t)layout->graph->n_tensors + (size_t)layout->view.n_extra;
    *out = sr__malloc((n + 1) * sizeof(**out));
    if (*out == NULL) {
        return sr__fail_memory(err);
    }
    for (size_t i = 0; i < n; i++) {
        (*out)[i] = -2;
    }
    for (int b = 0; b < plan->n_buffers; b++) {
        for (int32_t i = 0; i < plan->buffers[b].n_blocks; i++) {
            (*out)[plan->buffers[b].blocks[i].id] = plan->buffers[b].blocks[i].last;
        }
    }
    return SR_OK;
}

static sr_status compare_lifetime(reuse *u, int32_t before, int32_t now) {
    const int32_t old_last = u->old_last[before], new_last = u->new_last[now];
    if (old_last < -1 || new_last < -1 || new_last <= old_last) {
        return SR_OK;
    }
    sr__str s = {0};
    sr__str_puts(&s, "is needed until ");
    sr__put_position(&s, u->new, new_last);
    sr__str_puts(&s, ", the plan frees it after ");
    sr__put_position(&s, u->old, old_last);
    return add(u, SR_REUSE_LIFETIME, now, -1, &s);
}

static sr_status compare_flags(reuse *u, int32_t before, int32_t now) {
    static const struct { unsigned flag; const char *name; } flags[] = {{SR_FLAG_INPUT, "an input"},
                                                                        {SR_FLAG_OUTPUT, "an output"}};
    const unsigned old = sr_view_flags(&u->old->view, before), new = sr_view_flags(&u->new->view, now);
    sr_status status = SR_OK;
    for (int i = 0; i < SR_COUNT(flags) && status == SR_OK; i++) {
        if (((old ^ new) & flags[i].flag) == 0) {
            continue;
        }
        sr__str s = {0};
        sr__str_printf(&s, (new & flags[i].flag) != 0 ? "became %s after it was planned" : "is %s no more",
                       flags[i].name);
        status = add(u, SR_REUSE_FLAGS, now, -1, &s);
    }
    return status;
}

/* ---- leafs ----------------------------------------------------------------------------------------------------- */

static sr_status compare_leaf(reuse *u, int32_t position) {
    const int32_t before = u->old->view.leafs[position], now = u->new->view.leafs[position];
    const size_t had = sr__needed_bytes(u->old, before, u->old->leaf_ids[position]);
    const size_t needs = sr__needed_bytes(u->new, now, u->new->leaf_ids[position]);
    const bool has_none = needs > 0 && u->new->addresses[now].buffer_id < 0;
    char text[2][16];
    sr__str s = {0};
    if (has_none) {
        sr__str_puts(&s, "had memory of its own when the plan was made, and has none at all now");
        return add(u, SR_REUSE_NO_MEMORY, now, -1, &s);
    }
    if (needs <= had) {
        return SR_OK;
    }
    sr__format_bytes(needs, text[0]);
    sr__format_bytes(had, text[1]);
    sr__str_printf(&s, "needs %s, the plan has %s (sizes of leafs are not looked at)", text[0], text[1]);
    return add(u, SR_REUSE_LEAF_SIZE, now, -1, &s);
}

/* ---- all of it ------------------------------------------------------------------------------------------------- */

static sr_status tell_overlaps(reuse *u, const sr_memory_plan *plan) {
    sr_status status = SR_OK;
    for (int32_t i = 0; i < plan->n_overlaps && status == SR_OK; i++) {
        const sr_memory_overlap *o = &plan->overlaps[i];
        sr__str s = {0};
        sr__str_puts(&s, "overwrites ");
        sr__put_id(&s, u->new, o->a);
        sr__str_puts(&s, ", which is needed until ");
        sr__put_position(&s, u->new, u->new_last[o->a]);
        status = add(u, SR_REUSE_OVERLAP, o->b, o->a, &s);
    }
    return status;
}

static sr_status compare(reuse *u, const sr_memory_plan *now) {
    sr_status status = SR_OK;
    for (int32_t i = 0; i < u->new->view.n_nodes && status == SR_OK; i++) {
        SR_TRY(compare_lifetime(u, u->old->view.nodes[i], u->new->view.nodes[i]));
        SR_TRY(compare_flags(u, u->old->view.nodes[i], u->new->view.nodes[i]));
    }
    for (int32_t i = 0; i < u->new->view.n_leafs && status == SR_OK; i++) {
        SR_TRY(compare_lifetime(u, u->old->view.leafs[i], u->new->view.leafs[i]));
        SR_TRY(compare_flags(u, u->old->view.leafs[i], u->new->view.leafs[i]));
        SR_TRY(compare_leaf(u, i));
    }
    SR_TRY(tell_overlaps(u, now));
done:
    return status;
}

static sr_status put_hint(sr_reallocation *r, sr_error *err) {
    sr__str hint = {0};
    sr__str_puts(&hint, r->harmful ? "values will be wrong: reserve with this graph before it is used"
                                   : "nothing overlaps in this graph; reserve with the graph that is used to be safe");
    sr__free(r->hint);
    const bool ok = sr__set_text(&r->hint, &hint);
    sr__str_free(&hint);
    return ok ? SR_OK : sr__fail_memory(err);
}

sr_status sr__realloc_reuse(sr_reallocation *r, const sr_layout *layout, const sr__snapshot *planned, sr_error *err) {
    sr_status status;
    sr_memory_plan before = {0}, now = {0};
    reuse u = {.r = r, .old = &planned->layout, .new = layout, .err = err};
    if (sr__same_schedule(&planned->layout, layout)) {
        return SR_OK;
    }
    SR_TRY(sr_memory_plan_make(&planned->layout, &before, err));
    SR_TRY(sr_memory_plan_make(layout, &now, err));
    SR_TRY(make_lasts(&planned->layout, &before, &u.old_last, err));
    SR_TRY(make_lasts(layout, &now, &u.new_last, err));
    SR_TRY(compare(&u, &now));
    if (r->n_reuses_found > 0) {
        SR_TRY(put_hint(r, err));
    }
done:
    sr_memory_plan_clear(&before);
    sr_memory_plan_clear(&now);
    sr__free(u.old_last);
    sr__free(u.new_last);
    if (status == SR_ALLOCATION) {
        sr_error_clear(err); /* it cannot be planned again: there is nothing to compare with */
        status = SR_OK;
    }
    return status;
}
