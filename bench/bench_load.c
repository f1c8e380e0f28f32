/*
 * bench_load.c - how long loading a description takes, beside the bare cJSON parse of the same text.
 *
 * Prints nodes, MB, MB/s of the parse alone and of loading, and the ratio of the two; best of several rounds.
 */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sched_run.h"

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The chain of bench_sched as a plain description, all shapes written out. */
static char *make_text(long n_nodes, size_t *out_length) {
    char *text = NULL;
    FILE *f = open_memstream(&text, out_length);
    if (!f) {
        exit(1);
    }
    const char *const homes[3] = {"w0", "w1", "wc"};
    fputs("{\"sched_run\":1,\"name\":\"chain\",\"backends\":[{\"name\":\"GPU0\",\"device\":\"sim\"},{\"name\":\"GPU1\","
          "\"device\":\"sim\"},{\"name\":\"CPU\",\"device\":\"cpu\"}],\"buffers\":{\"w0\":{\"type\":\"GPU0\",\"usage\":"
          "\"weights\"},\"w1\":{\"type\":\"GPU1\",\"usage\":\"weights\"},\"wc\":{\"type\":\"CPU\",\"usage\":\"weights\"}},"
          "\"tensors\":[{\"name\":\"o-1\",\"ne\":[64,8],\"flags\":[\"input\"]}", f);
    const long n_layers = n_nodes / 5;
    for (long i = 0; i < n_layers; i++) {
        fprintf(f, ",{\"name\":\"w%ld\",\"ne\":[64,64],\"buffer\":\"%s\"},{\"name\":\"b%ld\",\"ne\":[64],\"buffer\":\"%s\"}",
                i, homes[i / 20 % 3], i, homes[i / 20 % 3]);
    }
    fputs("],\"nodes\":[", f);
    for (long i = 0; i < n_layers; i++) {
        fprintf(f, "%s{\"name\":\"norm%ld\",\"op\":\"RMS_NORM\",\"ne\":[64,8],\"src\":[\"o%ld\"],\"op_params\":[925353388]}",
                i ? "," : "", i, i - 1);
        fprintf(f, ",{\"name\":\"p%ld\",\"op\":\"MUL_MAT\",\"ne\":[64,8],\"src\":[\"w%ld\",\"norm%ld\"]}", i, i, i);
        fprintf(f, ",{\"name\":\"a%ld\",\"op\":\"ADD\",\"ne\":[64,8],\"src\":[\"p%ld\",\"b%ld\"]}", i, i, i);
        fprintf(f, ",{\"name\":\"v%ld\",\"op\":\"RESHAPE\",\"ne\":[64,8],\"src\":[\"a%ld\"],\"view\":{\"of\":\"a%ld\"}}", i, i, i);
        fprintf(f, ",{\"name\":\"o%ld\",\"op\":\"ADD\",\"ne\":[64,8],\"src\":[\"v%ld\",\"o%ld\"]}", i, i, i - 1);
    }
    fputs("]}", f);
    fclose(f);
    return text;
}

int main(void) {
    printf("%9s %8s %16s %12s %8s\n", "nodes", "MB", "cJSON_Parse MB/s", "load MB/s", "ratio");
    for (long n = 1000; n <= 1000000; n *= 10) {
        size_t length;
        char *text = make_text(n, &length);
        double parse = 1e9, load = 1e9;
        const int rounds = n <= 10000 ? 50 : n <= 100000 ? 10 : 3;
        for (int round = 0; round < rounds; round++) {
            double start = now();
            cJSON *json = cJSON_ParseWithLength(text, length);
            double took = now() - start;
            parse = took < parse ? took : parse;
            cJSON_Delete(json);
            sr_error err = {0};
            sr_description *description;
            sr_load_options options = {0};
            start = now();
            if (sr_description_load_text(text, length, "chain", ".", &options, &description, &err) != SR_OK) {
                fprintf(stderr, "bench_load: %s\n", sr_error_message(&err));
                return 1;
            }
            took = now() - start;
            load = took < load ? took : load;
            sr_description_free(description);
        }
        const double mb = (double)length * 1e-6;
        printf("%9ld %8.2f %16.1f %12.1f %8.2f\n", n, mb, mb / parse, mb / load, load / parse);
        free(text);
    }
    return 0;
}
