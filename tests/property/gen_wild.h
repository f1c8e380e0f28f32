/*
 * gen_wild.h - random graphs that are only scheduled, never executed: whatever the scheduler may meet.
 *
 * Layer: tests.  Ops that no build knows, recorded answers, results in buffers, inputs among nodes, parameters,
 * assignments of views and leafs, backends that share memory, tiny largest buffers, tensors without elements.
 */
#ifndef TESTS_GEN_WILD_H
#define TESTS_GEN_WILD_H

#include "gen.h"

/*
 * names: ids and names are drawn from this seed and decide nothing.  The case has no leafs to fill.  SR_MEMORY; any
 * other status is a fault of the generator or of the graph room.
 */
sr_status gen_wild_new(uint64_t seed, uint64_t names, gen_case **out_case, sr_error *err);

#endif
