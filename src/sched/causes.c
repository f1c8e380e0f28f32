/*
 * causes.c - names of causes and passes.
 *
 * Layer: sched.  The spellings are those of the reference's debug output.
 */
#include "base/base.h"
#include "sched_run/sched.h"

static const char *const cause_names[SR_CAUSE_COUNT] = {
    [SR_CAUSE_NONE] = "",          [SR_CAUSE_USER] = "usr",      [SR_CAUSE_DST] = "1.dst",    [SR_CAUSE_VSRC] = "1.vsrc",
    [SR_CAUSE_INPUT] = "1.inp",    [SR_CAUSE_OFFLOAD] = "1.off", [SR_CAUSE_SUP] = "2.sup",    [SR_CAUSE_BEST] = "3.best",
    [SR_CAUSE_UPG] = "3.upg",      [SR_CAUSE_VSRC4] = "4.vsrc",  [SR_CAUSE_CUR] = "4.cur",    [SR_CAUSE_COPY] = "4.cpy",
    [SR_CAUSE_WGT0] = "1.wgt0",    [SR_CAUSE_WGT0 + 1] = "1.wgt1", [SR_CAUSE_WGT0 + 2] = "1.wgt2",
    [SR_CAUSE_WGT0 + 3] = "1.wgt3", [SR_CAUSE_WGT0 + 4] = "1.wgt4", [SR_CAUSE_WGT0 + 5] = "1.wgt5",
    [SR_CAUSE_WGT0 + 6] = "1.wgt6", [SR_CAUSE_WGT0 + 7] = "1.wgt7", [SR_CAUSE_WGT0 + 8] = "1.wgt8",
    [SR_CAUSE_WGT0 + 9] = "1.wgt9"};

static const char *const pass_names[SR_PASS_COUNT] = {
    [SR_PASS_USER] = "user assignments",          [SR_PASS_1] = "pass 1",
    [SR_PASS_2_GPU_DOWN] = "pass 2 (gpu down)",   [SR_PASS_2_GPU_UP] = "pass 2 (gpu up)",
    [SR_PASS_2_REST_DOWN] = "pass 2 (rest down)", [SR_PASS_2_REST_UP] = "pass 2 (rest up)",
    [SR_PASS_3] = "pass 3",                       [SR_PASS_4] = "pass 4"};

const char *sr_cause_name(int cause) { return cause >= 0 && cause < SR_CAUSE_COUNT ? cause_names[cause] : ""; }

int sr_cause_find(const char *name) {
    for (int i = 0; i < SR_CAUSE_COUNT; i++) {
        if (strcmp(cause_names[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

const char *sr_pass_name(int pass) { return pass >= 0 && pass < SR_PASS_COUNT ? pass_names[pass] : ""; }
