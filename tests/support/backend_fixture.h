/*
 * backend_fixture.h - machines, graphs and storage made in a few words, for tests of backends.
 *
 * Layer: tests.  Whatever goes wrong in here fails the test.
 */
#ifndef TESTS_BACKEND_FIXTURE_H
#define TESTS_BACKEND_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"
#include "sched_run/backend.h"

#define BF_ARRAY(...) (const int32_t[]){__VA_ARGS__}

/* Fails the test with the message of the error. */
void bf_ok_at(sr_status status, sr_error *err, const char *file, int line);
#define bf_ok(status, err) bf_ok_at(status, err, __FILE__, __LINE__)
/* The status must be this one, the message must have `text` in it (NULL: any); clears the error. */
void bf_fails_at(sr_status status, sr_status expected, sr_error *err, const char *text, const char *file, int line);
#define bf_fails(status, expected, err, text) bf_fails_at(status, expected, err, text, __FILE__, __LINE__)

sr_backend_config bf_config(const char *name, const char *device);
/* Adds the backends in order and finishes the machine; rules move out of the configurations. */
sr_machine *bf_machine(sr_backend_config *configs, int n);
/* One simulated GPU0 and a CPU. */
sr_machine *bf_gpu_and_cpu(void);

sr_graph *bf_graph(void);
int32_t bf_leaf(sr_graph *graph, const char *name, int type, int64_t ne0, int64_t ne1);
/* Extents by the op's rule, f32 where it leaves that open. */
int32_t bf_node(sr_graph *graph, const char *name, int op, const int32_t *srcs, int n_src);
/* An op this build does not know. */
int32_t bf_opaque(sr_graph *graph, const char *name, const char *op_name, int32_t src);

/* A finished graph with a place for every tensor in one buffer of the type, aligned; views lie in their root. */
typedef struct bf_run {
    sr_graph *graph;
    sr_buffer *buffer;
    sr_storage *storage;
    sr_graph_view view;
} bf_run;

void bf_run_init(bf_run *run, sr_graph *graph, sr_buffer_type *type);
void bf_run_free(bf_run *run); /* the graph too */
/* Writes and reads a whole tensor. */
void bf_set(const bf_run *run, int32_t tensor, const float *values);
void bf_get(const bf_run *run, int32_t tensor, float *values);
/* Every element of an f32 tensor must be this. */
void bf_all_equal(const bf_run *run, int32_t tensor, float value);

/* A rule for an op; -1 matches any. */
sr_rule bf_rule(int op, const char *text);
sr_rules bf_rules(sr_rule rule);
/* Adds a test of numbers or of one text to a rule. */
void bf_rule_test(sr_rule *rule, int src, sr_rule_field field, sr_rule_compare compare, int64_t number,
                  const char *text);

#endif
