/*
 * report_rules.c - what a layout becomes under the rules of every date: at which change it changed.
 *
 * Layer: report.
 */
#include "report/report_out.h"

enum { MOST_MOVES = 3 };

static const sr_rules_row *row_at(const sr_rules_report *rules, int revision, int run) {
    return &rules->rows[revision * rules->n_runs + run];
}

static bool any_changed(const sr_rules_report *rules, int revision) {
    bool changed = false;
    for (int i = 0; i < rules->n_runs; i++) {
        changed |= row_at(rules, revision, i)->changed;
    }
    return changed;
}

static const char *backend_name(const sr_description *description, int backend) {
    const sr_machine *machine = sr_description_machine(description);
    return backend >= 0 && backend < machine->n_backends ? machine->backends[backend]->name : "none";
}

static void put_count_or_status(sr__str *s, const sr_rules_row *row) {
    if (row->status == SR_OK) {
        sr__put_count(s, row->n_splits, "split");
    } else {
        sr__str_puts(s, sr_status_name(row->status));
    }
}

/* ---- text --------------------------------------------------------------------------------------------------------- */

static void put_run_change(sr__str *s, const sr_description *description, const sr_rules_report *rules, int revision,
                           int run) {
    const sr_rules_row *now = row_at(rules, revision, run), *before = row_at(rules, revision - 1, run);
    const sr_graph *graph = sr_description_run(description, run)->graph;
    sr__str_printf(s, "                run %d: ", run);
    put_count_or_status(s, before);
    sr__str_puts(s, " -> ");
    put_count_or_status(s, now);
    if (before->status == SR_OK && now->status == SR_OK && before->bytes_copied != now->bytes_copied) {
        sr__str_puts(s, ", copied ");
        sr__put_bytes(s, before->bytes_copied);
        sr__str_puts(s, " -> ");
        sr__put_bytes(s, now->bytes_copied);
    }
    for (int i = 0; i < now->n_moves && i < MOST_MOVES; i++) {
        const sr_rules_move *move = &now->moves[i];
        sr__str_puts(s, i == 0 ? "; " : ", ");
        sr__put_name(s, sr__shown_name(&graph->tensors[move->node]));
        sr__str_puts(s, " ");
        sr__put_name(s, backend_name(description, move->from));
        sr__str_puts(s, " -> ");
        sr__put_name(s, backend_name(description, move->to));
    }
    if (now->n_moves > MOST_MOVES) {
        sr__str_printf(s, " and %d more", now->n_moves - MOST_MOVES);
    }
    sr__str_puts(s, "\n");
}

static void put_revision(sr__str *s, const sr_description *description, const sr_rules_report *rules, int revision) {
    int n;
    const sr_revision *r = &sr_revisions(&n)[revision];
    sr__str_puts(s, "  ");
    sr__put_left(s, r->date, 10);
    sr__str_puts(s, any_changed(rules, revision) ? "  * " : "    ");
    sr__str_puts(s, r->name);
    sr__str_puts(s, ": ");
    sr__str_puts(s, r->change);
    sr__str_puts(s, "\n");
    for (int i = 0; i < rules->n_runs; i++) {
        if (row_at(rules, revision, i)->changed) {
            put_run_change(s, description, rules, revision, i);
        } else if (revision == 0) {
            sr__str_printf(s, "                run %d: ", i);
            put_count_or_status(s, row_at(rules, 0, i));
            sr__str_puts(s, "\n");
        }
    }
}

static void put_text(sr__str *s, const sr_description *description, const sr_rules_report *rules) {
    int n_changes = 0;
    for (int i = 1; i < rules->n_revisions; i++) {
        n_changes += any_changed(rules, i);
    }
    sr__put_name(s, sr_description_name(description));
    sr__str_puts(s, ": ");
    sr__put_count(s, rules->n_runs, "run");
    sr__str_printf(s, " under %d sets of rules", rules->n_revisions);
    if (n_changes == 0) {
        sr__str_puts(s, ", no rule changes the layout\n\n");
    } else {
        sr__str_puts(s, ", the layout changed ");
        sr__put_count(s, n_changes, "time");
        sr__str_puts(s, " (*)\n\n");
    }
    for (int i = 0; i < rules->n_revisions; i++) {
        put_revision(s, description, rules, i);
    }
}

/* ---- json --------------------------------------------------------------------------------------------------------- */

static void put_json_run(sr__json *json, const sr_description *description, const sr_rules_row *row, int run) {
    const sr_graph *graph = sr_description_run(description, run)->graph;
    sr__json_object(json);
    sr__json_put_int(json, "index", run);
    sr__json_put_string(json, "status", sr_status_name(row->status));
    sr__json_put_int(json, "n_splits", row->n_splits);
    sr__json_put_int(json, "bytes_copied", (int64_t)row->bytes_copied);
    sr__json_put_bool(json, "changed", row->changed);
    sr__json_key(json, "moves");
    sr__json_array(json);
    for (int i = 0; i < row->n_moves; i++) {
        sr__json_put_inline(json, NULL);
        sr__json_put_string(json, "node", graph->tensors[row->moves[i].node].id);
        sr__json_put_string(json, "from", backend_name(description, row->moves[i].from));
        sr__json_put_string(json, "to", backend_name(description, row->moves[i].to));
        sr__json_end_object(json);
    }
    sr__json_end_array(json);
    sr__json_end_object(json);
}

static void put_json(sr__str *s, const sr_description *description, const sr_rules_report *rules) {
    int n;
    const sr_revision *revisions = sr_revisions(&n);
    sr__json json;
    sr__json_init(&json, s, true);
    sr__json_object(&json);
    sr__json_put_int(&json, "sched_run_rules", 1);
    sr__json_put_string(&json, "name", sr_description_name(description));
    sr__json_key(&json, "revisions");
    sr__json_array(&json);
    for (int i = 0; i < rules->n_revisions; i++) {
        sr__json_object(&json);
        sr__json_put_string(&json, "date", revisions[i].date);
        sr__json_put_string(&json, "name", revisions[i].name);
        sr__json_put_string(&json, "change", revisions[i].change);
        sr__json_key(&json, "runs");
        sr__json_array(&json);
        for (int j = 0; j < rules->n_runs; j++) {
            put_json_run(&json, description, row_at(rules, i, j), j);
        }
        sr__json_end_array(&json);
        sr__json_end_object(&json);
    }
    sr__json_end_array(&json);
    sr__json_end_object(&json);
    sr__json_free(&json);
    sr__str_puts(s, "\n");
}

sr_status sr_report_rules(const sr_description *description, const sr_rules_report *rules, bool json, sr_sink *sink,
                          sr_error *err) {
    sr__out out;
    sr__out_init(&out, sink);
    if (json) {
        put_json(&out.text, description, rules);
    } else {
        put_text(&out.text, description, rules);
    }
    return sr__out_end(&out, err);
}
