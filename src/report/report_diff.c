/*
 * report_diff.c - totals of two layouts side by side, and what differs in words.
 *
 * Layer: report.
 */
#include <inttypes.h>

#include "report/report_diff.h"

/* ---- totals ---------------------------------------------------------------------------------------------------- */

static void fill_backends(sr__diff_facts *facts, const sr_diff *diff) {
    for (int i = 0; i < diff->n_memory; i++) {
        const sr_diff_memory *m = &diff->memory[i];
        sr__diff_backend *backend = &facts->backends[facts->n_backends++];
        backend->name = m->a >= 0 ? diff->a->backends[m->a]->name : diff->b->backends[m->b]->name;
        if (m->a >= 0) {
            backend->a = facts->a.backends[m->a];
        }
        if (m->b >= 0) {
            backend->b = facts->b.backends[m->b];
        }
        backend->live_a = m->live_a;
        backend->live_b = m->live_b;
        facts->compute_a += backend->a.compute;
        facts->compute_b += backend->b.compute;
        facts->live_a += m->live_a;
        facts->live_b += m->live_b;
    }
}

static const sr__pair_total *find_pair(const sr__facts *facts, int from, int to) {
    for (int i = 0; i < facts->n_pairs && from >= 0 && to >= 0; i++) {
        if (facts->pairs[i].from == from && facts->pairs[i].to == to) {
            return &facts->pairs[i];
        }
    }
    return NULL;
}

static void fill_flows(sr__diff_facts *facts, const sr_diff *diff) {
    for (int i = 0; i < facts->a.n_pairs; i++) {
        const sr__pair_total *a = &facts->a.pairs[i];
        const sr__pair_total *b = find_pair(&facts->b, diff->backend_b_of_a[a->from], diff->backend_b_of_a[a->to]);
        facts->flows[facts->n_flows++] =
            (sr__diff_flow){diff->a->backends[a->from]->name, diff->a->backends[a->to]->name, a->copies,
                            b != NULL ? b->copies : 0, a->bytes, b != NULL ? b->bytes : 0};
    }
    for (int i = 0; i < facts->b.n_pairs; i++) {
        const sr__pair_total *b = &facts->b.pairs[i];
        if (find_pair(&facts->a, diff->backend_a_of_b[b->from], diff->backend_a_of_b[b->to]) == NULL) {
            facts->flows[facts->n_flows++] = (sr__diff_flow){diff->b->backends[b->from]->name,
                                                             diff->b->backends[b->to]->name, 0, b->copies, 0, b->bytes};
        }
    }
}

sr_status sr__diff_facts_init(sr__diff_facts *facts, const sr_diff *diff, sr_error *err) {
    sr_status status;
    *facts = (sr__diff_facts){0};
    SR_TRY(sr__facts_init(&facts->a, diff->a, err));
    SR_TRY(sr__facts_init(&facts->b, diff->b, err));
    facts->backends = sr__calloc((size_t)diff->n_memory, sizeof(*facts->backends));
    facts->flows = sr__calloc((size_t)(facts->a.n_pairs + facts->b.n_pairs) + 1, sizeof(*facts->flows));
    if (facts->backends == NULL || facts->flows == NULL) {
        status = sr__fail_memory(err);
        goto done;
    }
    fill_backends(facts, diff);
    fill_flows(facts, diff);
done:
    if (status != SR_OK) {
        sr__diff_facts_free(facts);
    }
    return status;
}

void sr__diff_facts_free(sr__diff_facts *facts) {
    sr__facts_free(&facts->a);
    sr__facts_free(&facts->b);
    sr__free(facts->backends);
    sr__free(facts->flows);
    *facts = (sr__diff_facts){0};
}

/* ---- words ----------------------------------------------------------------------------------------------------- */

void sr__put_bytes_change(sr__str *s, uint64_t a, uint64_t b) {
    sr__str_puts(s, b >= a ? "+" : "-");
    sr__put_bytes(s, b >= a ? b - a : a - b);
}

static void put_part(sr__str *s, const char **lead, int64_t n, const char *one, const char *several) {
    if (n > 0) {
        sr__str_printf(s, "%s%" PRId64 " %s", *lead, n, n == 1 ? one : several);
        *lead = ", ";
    }
}

static void put_memory_part(sr__str *s, const char **lead, const sr_diff *diff) {
    uint64_t a = 0, b = 0;
    for (int i = 0; i < diff->n_memory; i++) {
        a += diff->memory[i].held_a;
        b += diff->memory[i].held_b;
    }
    if (a != b) {
        sr__str_puts(s, *lead);
        sr__put_bytes_change(s, a, b);
        sr__str_puts(s, " of compute memory");
        *lead = ", ";
    }
}

void sr__put_diff_summary(sr__str *s, const sr_diff *diff) {
    const char *lead = "";
    if (!diff->compared) {
        const bool a = sr_layout_has_splits(diff->a), b = sr_layout_has_splits(diff->b);
        sr__str_puts(s, a ? "B failed, A did not" : b ? "A failed, B did not" : "nothing was scheduled on either side");
        return;
    }
    put_part(s, &lead, diff->n_moves, "node moved", "nodes moved");
    put_part(s, &lead, diff->n_added_nodes, "node added", "nodes added");
    put_part(s, &lead, diff->n_removed_nodes, "node removed", "nodes removed");
    put_part(s, &lead, diff->n_cuts, "split cut", "splits cut");
    put_part(s, &lead, diff->n_merges, "split merged", "splits merged");
    put_part(s, &lead, diff->n_gained, "copy gained", "copies gained");
    put_part(s, &lead, diff->n_lost, "copy lost", "copies lost");
    if (lead[0] == '\0' && diff->differs) {
        sr__str_puts(s, "every node where it was");
        lead = ", ";
        put_part(s, &lead, diff->n_places, "leaf elsewhere", "leafs elsewhere");
        put_part(s, &lead, diff->n_causes, "for another cause", "for another cause");
        put_part(s, &lead, diff->n_resized, "of another size", "of another size");
        put_part(s, &lead, diff->n_renamed, "renamed", "renamed");
    }
    put_memory_part(s, &lead, diff);
    if (lead[0] == '\0') {
        sr__str_puts(s, "same layout");
    }
}

void sr__put_diff_cause(sr__str *s, const sr_layout *layout, const sr__facts *facts, int32_t tensor) {
    const char *cause = sr_cause_name(layout->cause_of[tensor]);
    sr__str words = {0};
    sr__put_cause_words(&words, layout, facts, tensor);
    sr__str_puts(s, cause[0] != '\0' ? cause : "no cause");
    sr__str_puts(s, words.length > 0 ? ": " : "");
    sr__str_puts(s, sr__str_text(&words));
    s->failed |= words.failed;
    sr__str_free(&words);
}
