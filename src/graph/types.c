/*
 * types.c - the element types: names, block lengths, block sizes.
 *
 * Layer: graph.  Answers to the type traits of ggml.c: one table, made from the list in graph.h, in which removed
 * numbers keep a zeroed record so that a file naming one is refused and not misread.
 */
#include "base/base.h"
#include "sched_run/graph.h"

static const sr_type_info types[SR_TYPE_COUNT] = {
#define TYPE_RECORD(number, id, name, block, bytes, quantized) [number] = {name, block, bytes, quantized},
    SR_TYPE_LIST(TYPE_RECORD)
#undef TYPE_RECORD
};

static const sr_type_info unused;

const sr_type_info *sr_type_get(int number) {
    return number >= 0 && number < SR_TYPE_COUNT ? &types[number] : &unused;
}

int sr_type_find(const char *name) {
    for (int i = 0; name != NULL && i < SR_TYPE_COUNT; i++) {
        if (types[i].name != NULL && strcmp(types[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}
