/*
 * report_estimate.c - an estimate in the text report: how long, by whom, along which path, and when offloading pays.
 *
 * Layer: report.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "report/report_text.h"

enum { MOST_SPLITS = 8, MOST_PATH = 6 };

static const char *lane_name(const sr_layout *layout, int lane) {
    return lane < layout->n_backends ? layout->backends[lane]->name : "host";
}

static double percent(uint64_t part, uint64_t whole) {
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0.0;
}

/* ---- the table of lanes ----------------------------------------------------------------------------------------- */

static sr_status put_lanes(sr__text *text, const sr_estimate *e, sr_error *err) {
    sr_trace_summary times = {.wall = e->total, .n_rows = e->n_backends + 1};
    times.rows = sr__calloc((size_t)times.n_rows, sizeof(*times.rows));
    if (times.rows == NULL) {
        return sr__fail_memory(err);
    }
    for (int i = 0; i < times.n_rows; i++) {
        const sr_estimate_lane *lane = &e->lanes[i];
        times.rows[i] = (sr_trace_row){.track = i < e->n_backends ? text->layout->backends[i]->name : NULL,
                                       .computing = lane->computing, .copying = lane->copying,
                                       .waiting = lane->waiting, .n_computes = lane->n_computes,
                                       .n_copies = lane->n_copies, .bytes = lane->bytes};
    }
    sr__text_times(text, &times);
    sr_trace_summary_clear(&times);
    return SR_OK;
}

/* ---- the critical path ------------------------------------------------------------------------------------------ */

typedef struct share { int lane; bool copies; uint64_t time; } share;

static int compare_shares(const void *a, const void *b) {
    const share *x = a, *y = b;
    if (x->time != y->time) {
        return x->time > y->time ? -1 : 1;
    }
    return x->lane != y->lane ? x->lane - y->lane : x->copies - y->copies;
}

static sr_status put_path(sr__text *text, const sr_estimate *e, sr_error *err) {
    sr__str *s = &text->out->text;
    const int n = 2 * (e->n_backends + 1);
    share *shares = sr__calloc((size_t)n, sizeof(*shares));
    if (shares == NULL) {
        return sr__fail_memory(err);
    }
    for (int i = 0; i < n; i++) {
        const sr_estimate_lane *lane = &e->critical[i / 2];
        shares[i] = (share){i / 2, i % 2 == 1, i % 2 == 1 ? lane->copying : lane->computing};
    }
    qsort(shares, (size_t)n, sizeof(*shares), compare_shares);
    sr__str words = {0};
    for (int i = 0; i < n && i < MOST_PATH && shares[i].time > 0; i++) {
        sr__str_printf(&words, "%s%s %s ", i > 0 ? ", " : "", lane_name(text->layout, shares[i].lane),
                       shares[i].copies ? "copies" : "computes");
        sr__put_time(&words, shares[i].time);
        sr__str_printf(&words, " (%.0f%%)", percent(shares[i].time, e->total));
    }
    sr__str_puts(s, "    critical path  ");
    sr__put_wrapped(s, sr__str_text(&words), 19, 19, sr__text_width(text->options));
    s->failed |= words.failed;
    sr__str_free(&words);
    sr__free(shares);
    return SR_OK;
}

/* What computing is limited by, over all splits of a batch. */
static void put_bounds(sr__text *text, const sr_estimate *e) {
    sr__str *s = &text->out->text;
    uint64_t computing = 0, memory = 0, flops = 0, latency = 0;
    for (int32_t i = 0; i < e->n_splits; i++) {
        computing += e->splits[i].computing;
        memory += e->splits[i].by_memory;
        flops += e->splits[i].by_flops;
        latency += e->splits[i].by_latency;
    }
    if (computing > 0) {
        sr__str_printf(s, "    computing is   %.0f%% memory, %.0f%% arithmetic, %.0f%% latency\n",
                       percent(memory, computing), percent(flops, computing), percent(latency, computing));
    }
}

/* ---- splits ----------------------------------------------------------------------------------------------------- */

static uint64_t split_time(const sr_estimate_split *split) { return split->copying + split->computing; }

typedef struct ranked { int32_t split; uint64_t time; } ranked;

static int compare_ranked(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    return x->time != y->time ? (x->time > y->time ? -1 : 1) : x->split < y->split ? -1 : x->split > y->split;
}

static const char *bound_word(const sr_estimate_split *split) {
    if (split->computing == 0) {
        return "-";
    }
    if (split->by_latency >= split->by_memory && split->by_latency >= split->by_flops) {
        return "latency";
    }
    return split->by_memory >= split->by_flops ? "memory" : "arithmetic";
}

static void put_time_column(sr__str *s, uint64_t time, int width) {
    sr__str words = {0};
    if (time > 0) {
        sr__put_time(&words, time);
    } else {
        sr__str_puts(&words, "-");
    }
    sr__put_right(s, sr__str_text(&words), width);
    s->failed |= words.failed;
    sr__str_free(&words);
}

static void put_bytes_column(sr__str *s, uint64_t bytes, int width) {
    char words[16];
    sr__format_bytes(bytes, words);
    sr__put_right(s, words, width);
}

static void put_split(sr__text *text, const sr_estimate *e, int32_t i) {
    sr__str *s = &text->out->text;
    const sr_estimate_split *split = &e->splits[i];
    sr__str_printf(s, "%11d  ", (int)i);
    sr__put_left(s, lane_name(text->layout, text->layout->splits[i].backend), text->backend_width);
    sr__str_printf(s, "%7d", (int)split->n_nodes);
    put_bytes_column(s, split->copied, 11);
    put_time_column(s, split->copying, 10);
    put_time_column(s, split->computing, 11);
    sr__str_printf(s, "%12.4g", split->flops);
    put_bytes_column(s, (uint64_t)split->bytes, 11);
    sr__str_printf(s, "   %s\n", bound_word(split));
}

/* The slowest ones, slowest first; verbose: all. */
static sr_status put_splits(sr__text *text, const sr_estimate *e, sr_error *err) {
    sr__str *s = &text->out->text;
    ranked *order = sr__calloc((size_t)e->n_splits, sizeof(*order));
    if (order == NULL) {
        return sr__fail_memory(err);
    }
    for (int32_t i = 0; i < e->n_splits; i++) {
        order[i] = (ranked){i, split_time(&e->splits[i])};
    }
    qsort(order, (size_t)e->n_splits, sizeof(*order), compare_ranked);
    sr__style_on(s, text->options, SR__DIM);
    sr__str_puts(s, "      split  ");
    sr__put_spaces(s, text->backend_width);
    sr__str_puts(s, "  nodes  copied in   copying  computing  operations     memory   bound by");
    sr__style_off(s, text->options);
    sr__str_puts(s, "\n");
    const int32_t shown = text->options->verbose || e->n_splits <= MOST_SPLITS ? e->n_splits : MOST_SPLITS;
    uint64_t rest = 0;
    for (int32_t i = 0; i < e->n_splits; i++) {
        if (i < shown) {
            put_split(text, e, order[i].split);
            sr__out_more(text->out);
        } else {
            rest += order[i].time;
        }
    }
    if (shown < e->n_splits) {
        sr__str_puts(s, "      and ");
        sr__put_count(s, e->n_splits - shown, "faster split");
        sr__str_puts(s, ", together ");
        sr__put_time(s, rest);
        sr__str_puts(s, "\n");
    }
    sr__free(order);
    return SR_OK;
}

/* ---- figures ---------------------------------------------------------------------------------------------------- */

static void put_figure(sr__str *s, double figure, const char *unit, int width) {
    static const char *const prefixes[] = {"", "k", "M", "G", "T", "P"};
    sr__str words = {0};
    int p = 0;
    while (p < SR_COUNT(prefixes) - 1 && figure >= 1000) {
        figure /= 1000;
        p++;
    }
    sr__str_printf(&words, "%.4g %s%s", figure, prefixes[p], unit);
    sr__put_right(s, sr__str_text(&words), width);
    s->failed |= words.failed;
    sr__str_free(&words);
}

static void put_figures(sr__text *text, const sr_estimate *e) {
    sr__str *s = &text->out->text;
    for (int b = 0; b < e->n_backends; b++) {
        const sr_speed *speed = &e->speeds[b];
        sr__str_puts(s, b == 0 ? "    figures  " : "             ");
        sr__put_left(s, lane_name(text->layout, b), text->backend_width);
        put_figure(s, speed->flops, "FLOP/s", 14);
        put_figure(s, speed->memory_bandwidth, "B/s", 11);
        sr__str_puts(s, " memory");
        put_figure(s, speed->link_bandwidth, "B/s", 11);
        sr__str_puts(s, " link");
        if (speed->peer_bandwidth != speed->link_bandwidth) {
            put_figure(s, speed->peer_bandwidth, "B/s", 11);
            sr__str_puts(s, " to its peers");
        }
        put_time_column(s, (uint64_t)(speed->latency * 1e9 + 0.5), 10);
        sr__str_puts(s, e->assumed[b] ? " latency   assumed\n" : " latency\n");
    }
    if (e->n_expert_copies > 0) {
        sr__str_puts(s, "    of experts the copies of ");
        sr__put_count(s, e->n_expert_copies, "input");
        sr__str_puts(s, " are those that tokens are expected to use, every expert being as likely\n");
    }
}

/* ---- offloading ------------------------------------------------------------------------------------------------- */

static void put_batch(sr__str *s, const sr_layout *layout, const char *word, int64_t batch, int32_t node) {
    sr__str_printf(s, "%s%s", word, sr__shown_name(&layout->graph->tensors[node]));
    if (batch > 0) {
        sr__str_printf(s, " from %" PRId64, batch);
    } else {
        sr__str_puts(s, " never");
    }
}

static void put_gain(sr__text *text, const sr_offload_gain *gain) {
    const char *name = lane_name(text->layout, gain->backend);
    sr__str words = {0};
    sr__put_count(&words, gain->n_nodes, "product");
    sr__str_puts(&words, gain->n_nodes == 1 ? " has " : " have ");
    sr__put_bytes(&words, gain->bytes);
    sr__str_printf(&words, " of weights in host memory; %s", name);
    if (gain->pays_from > 0) {
        sr__str_printf(&words, " is faster, copying included, from a batch of %" PRId64, gain->pays_from);
    } else {
        sr__str_puts(&words, " is never faster, copying included");
    }
    if (gain->first != gain->last) {
        put_batch(&words, text->layout, " (", gain->first, gain->first_node);
        put_batch(&words, text->layout, ", ", gain->last, gain->last_node);
        sr__str_puts(&words, ")");
    }
    if (gain->asks_from >= 0) {
        sr__str_printf(&words, ", and asks for them from %" PRId64, gain->asks_from);
    } else if (gain->n_asked > 0) {
        sr__str_printf(&words, ", and was recorded to ask for %d of them", (int)gain->n_asked);
    } else {
        sr__str_puts(&words, ", and does not ask for them");
    }
    sr__str_puts(&text->out->text, "    offload  ");
    sr__put_wrapped(&text->out->text, sr__str_text(&words), 13, 13, sr__text_width(text->options));
    text->out->text.failed |= words.failed;
    sr__str_free(&words);
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

static void put_headline(sr__text *text, const sr_estimate *e) {
    sr__str *s = &text->out->text;
    sr__style_on(s, text->options, SR__BOLD);
    sr__str_puts(s, "    estimate: ");
    sr__put_time(s, e->total);
    sr__style_off(s, text->options);
    if (e->n_batches > 1) {
        sr__str_printf(s, " for %d batches: the first after ", e->n_batches);
        sr__put_time(s, e->batch_end[0]);
        sr__str_puts(s, ", then one every ");
        sr__put_time(s, (e->total - e->batch_end[0]) / (uint64_t)(e->n_batches - 1));
    }
    sr__str_puts(s, "\n");
}

sr_status sr__text_estimate(sr__text *text, const sr_run_result *result, sr_error *err) {
    const sr_estimate *e = result->estimate;
    sr_status status;
    put_headline(text, e);
    SR_TRY(put_lanes(text, e, err));
    if (e->total > 0) {
        SR_TRY(put_path(text, e, err));
        put_bounds(text, e);
        SR_TRY(put_splits(text, e, err));
    }
    for (int i = 0; i < result->n_gains; i++) {
        put_gain(text, &result->gains[i]);
    }
    put_figures(text, e);
done:
    return status;
}
