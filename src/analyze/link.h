/*
 * link.h - how bytes get from one backend to another.
 *
 * Layer: analyze.  Internal.
 */
#ifndef SR_LINK_H
#define SR_LINK_H

#include "sched_run/sched.h"

/* Whether the backend queues what it is given: an iface that can only do things at once lacks the queued transfers. */
bool sr__queues(const sr_backend *backend);

/*
 * Whether a copy goes from one backend's memory to the other's without the host: both are of one driver, which queues
 * copies between its devices.  A simulated device stands for one of the driver that its name begins with: GPU0 and GPU1
 * copy directly, RPC0 and CUDA0 do not.
 */
bool sr__copies_directly(const sr_backend *from, const sr_backend *to);

#endif
