/*
 * gen_nodes.h - between the two halves of the generator: the case and its nodes.
 *
 * Layer: tests.
 */
#ifndef TESTS_GEN_NODES_H
#define TESTS_GEN_NODES_H

#include "gen.h"

/* Adds nodes and leafs to the case's unfinished graph; the place of a leaf is one of the below. */
sr_status gen_add_nodes(gen_case *c, sr_error *err);

enum { GEN_INPUT = -1, GEN_WEIGHT = 0, GEN_CACHE = 1 };

#endif
