/*
 * gpu_fake.h - a language for backends/gpu without a device: its queues run only when somebody waits for them.
 *
 * Layer: tests.  What was queued is not done before a synchronization or an event says so, so that a missing wait shows
 * in the results.  Any call can be made to fail; objects are counted, so that a leak shows at the end.
 */
#ifndef TESTS_GPU_FAKE_H
#define TESTS_GPU_FAKE_H

#include "backends/gpu/gpu.h"
#include "support/backend_fixture.h"

/* What the fake does differently; zeroed by fake_reset. */
typedef struct fake_state {
    long calls;          /* of functions that can fail */
    long fail_at;        /* the call that fails, from 1; 0: none */
    sr_status fail_with; /* SR_OK: SR_COMPUTE */
    bool cannot_copy;    /* copy says that it cannot */
    size_t capacity;     /* bytes of device memory */
    long live;           /* devices, memories, streams, events, host memories */
    long launches, scratch_copies;
    uint64_t clock;      /* of the device: a thousand for each command done */
} fake_state;

extern fake_state fake;
extern const sr__gpu_runtime fake_runtime;         /* all there is */
extern const sr__gpu_runtime fake_plain_runtime;   /* without optional functions */

void fake_reset(void);

/* Two devices and backends A and B of a runtime; not part of a machine. */
typedef struct fake_pair {
    sr_backend_config config[2];
    sr_device *device[2];
    sr_backend backend[2];
} fake_pair;

sr_status fake_pair_open(fake_pair *pair, const sr__gpu_runtime *runtime, sr_error *err);
void fake_pair_close(fake_pair *pair);

#endif
