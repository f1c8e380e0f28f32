/*
 * layout_rules.h - what must hold of every layout: of its splits and copies, and of the memory of its tensors.
 *
 * Layer: tests.  Everything fails the test, naming the case; include after cmocka.h.
 */
#ifndef TESTS_LAYOUT_RULES_H
#define TESTS_LAYOUT_RULES_H

#include "gen.h"

/* Splits take the nodes in order, all of them; what computes is on the backend of its split. */
void rules_check_splits(const gen_case *c, const sr_layout *layout);
/*
 * Each input of a split is copied once for a backend and slot; a source that a backend cannot read is replaced by its
 * copy there; nothing is copied that can be read, or that nothing reads.
 */
void rules_check_copies(const gen_case *c, const sr_layout *layout);
/*
 * Tensors lie within their buffers, aligned, and no two that are needed at the same time lie in the same bytes: by life
 * spans that are worked out here from who reads whom.
 */
void rules_check_memory(const gen_case *c, const sr_layout *layout);
/* The life spans that the allocator has on record cover those, and do not overlap either. */
void rules_check_lives(const gen_case *c, const sr_layout *layout, const sr_graph_allocator *allocator);

/* How two layouts of graphs that differ in names alone differ, or NULL; addresses count too. */
const char *rules_difference(const sr_layout *a, const sr_layout *b);

/* A copy of a layout that outlives its scheduler's next schedule, as far as rules_difference looks. */
sr_layout *rules_keep(const sr_layout *layout);
void rules_free_kept(sr_layout *kept);

#endif
