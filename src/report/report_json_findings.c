/*
 * report_json_findings.c - the key "findings" of a JSON report.
 *
 * Layer: report.  The further facts of a finding stand beside its common keys.
 */
#include "report/report_json.h"

static void put_text(sr__json *json, const char *key, const char *text) {
    sr__json_put_string(json, key, text != NULL ? text : "");
}

static void put_finding(sr__json *json, const sr_finding *f) {
    sr__json_object(json);
    put_text(json, "kind", f->kind);
    put_text(json, "severity", sr_severity_name(f->severity));
    sr__json_key(json, "tensors");
    sr__json_inline(json);
    sr__json_array(json);
    for (int i = 0; i < f->n_tensors; i++) {
        sr__json_string(json, f->tensors[i]);
    }
    sr__json_end_array(json);
    sr__json_put_int(json, "bytes", (int64_t)f->bytes);
    sr__json_put_int(json, "splits", f->splits);
    put_text(json, "message", f->message);
    put_text(json, "hint", f->hint);
    for (int i = 0; i < f->n_details; i++) {
        const sr_finding_detail *d = &f->details[i];
        if (d->text != NULL) {
            put_text(json, d->key, d->text);
        } else {
            sr__json_put_int(json, d->key, d->number);
        }
    }
    sr__json_end_object(json);
}

void sr__json_findings(sr__json *json, sr__out *out, const sr_findings *findings) {
    if (findings == NULL) {
        return;
    }
    sr__json_key(json, "findings");
    sr__json_array(json);
    for (int i = 0; i < findings->n; i++) {
        put_finding(json, &findings->items[i]);
        sr__out_more(out);
    }
    sr__json_end_array(json);
}
