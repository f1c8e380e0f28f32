/*
 * sim_transfer.c - queued reads, writes and copies of a simulated device.
 *
 * Layer: backends.  Answers to set/get_tensor_async and cpy_tensor_async of the reference's device backends.
 */
#include "backend/speed.h"
#include "backends/sim/sim.h"

/* A write above this is not kept in the queue: the caller waits, as for memory that a device cannot fetch by itself. */
static const size_t LARGEST_QUEUED = (size_t)64 << 20;

/* Only what belongs to the backend's own queue can be queued there. */
static bool is_own(const sr__sim_backend *sim, const sr_buffer *buffer) {
    sr__sim_device *owner = sr__sim_of_buffer(buffer);
    return owner && &owner->queue == sim->queue;
}

static sr_status drain_for(const sr__sim_backend *sim, const sr_buffer *buffer, sr_error *err) {
    sr__sim_device *owner = sr__sim_of_buffer(buffer);
    const sr_status status = sr__sim_queue_drain(sim->queue, err);
    return status == SR_OK && owner && &owner->queue != sim->queue ? sr__sim_queue_drain(&owner->queue, err) : status;
}

/* ---- commands ------------------------------------------------------------------------------------------------- */

/* Bytes from one place to another, of which `point` may hold one. */
typedef struct transfer {
    sr__sim_command command; /* first: a command is freed as what it is part of */
    char *to;
    const char *from;
    size_t size;
    sr__sim_point *point;
    const sr__sim_device *paced_by; /* takes so long for it; NULL: no time of its own */
    double seconds;
} transfer;

static void transfer_free(sr__sim_command *command) {
    sr__sim_point_unref(((transfer *)command)->point);
    sr__free(command);
}

static void move(const transfer *t, void *to) {
    const uint64_t begin = sr_trace_now();
    memcpy(to, t->from, t->size);
    if (t->paced_by) {
        sr__sim_pace(t->paced_by, begin, t->seconds);
    }
}

static sr_status run_move(sr__sim_command *command, sr_error *err) {
    const transfer *t = (transfer *)command;
    (void)err;
    move(t, t->to);
    return SR_OK;
}

/* The source's half of a copy: once the bytes are in the point, the source may overwrite its own. */
static sr_status run_send(sr__sim_command *command, sr_error *err) {
    const transfer *t = (transfer *)command;
    (void)err;
    move(t, t->point->payload);
    sr__sim_point_reach(t->point, NULL);
    return SR_OK;
}

static void skip_send(sr__sim_command *command, const sr_error *why) {
    sr__sim_point_reach(((transfer *)command)->point, why);
}

/* The destination's half: what failed on the source has failed here too. */
static sr_status run_receive(sr__sim_command *command, sr_error *err) {
    const transfer *t = (transfer *)command;
    sr__sim_point_wait(t->point);
    sr__sim_command_waited(command);
    const sr_error *failure = &t->point->failure;
    if (failure->status == SR_OK) {
        memcpy(t->to, t->point->payload, t->size);
        return SR_OK;
    }
    sr__sim_error_copy(err, failure);
    return failure->status;
}

/* It goes over the link of the device that the buffer belongs to. */
static void take_link(transfer *t, const sr_buffer *buffer) {
    t->paced_by = sr__sim_of_buffer(buffer);
    t->seconds = sr__link_seconds(&t->paced_by->speed, (double)t->size);
}

/* A command that holds a reference to the point (may be NULL). */
static transfer *transfer_new(sr_status (*run)(sr__sim_command *, sr_error *), sr__sim_point *point, size_t size) {
    transfer *t = sr__calloc(1, sizeof(*t));
    if (t) {
        t->command.run = run;
        t->command.free = transfer_free;
        t->point = point ? sr__sim_point_ref(point) : NULL;
        t->size = size;
    }
    return t;
}

static sr_status submit(sr__sim_queue *queue, transfer *t, sr_error *err) {
    const sr_status status = t ? sr__sim_queue_ready(queue, err) : sr__fail_memory(err);
    if (status == SR_OK) {
        sr__sim_queue_push(queue, &t->command);
    } else if (t) {
        sr__sim_command_free(&t->command);
    }
    return status;
}

/* ---- between host and device ---------------------------------------------------------------------------------- */

sr_status sr__sim_set_async(sr_backend *backend, sr_buffer *dst, const void *data, size_t offset, size_t size,
                            sr_error *err) {
    sr__sim_backend *sim = sr__sim_of_backend(backend);
    sr_status status;
    if (!is_own(sim, dst) || size > LARGEST_QUEUED) {
        status = drain_for(sim, dst, err);
        return status == SR_OK ? sr_buffer_set(dst, data, offset, size, err) : status;
    }
    status = sr__sim_count_transfer(sr__sim_of_buffer(dst), size, err);
    if (status != SR_OK) {
        return status;
    }
    /* the caller may overwrite its data as soon as this returns */
    sr__sim_point *kept = sr__sim_point_new(size);
    transfer *t = kept ? transfer_new(run_move, kept, size) : NULL;
    if (t) {
        sr__sim_tell(&t->command, backend, SR_TRACE_COPY, size);
        memcpy(kept->payload, data, size);
        take_link(t, dst);
        t->from = kept->payload;
        t->to = sr__buffer_memory(dst) + offset;
    }
    sr__sim_point_unref(kept);
    return submit(sim->queue, t, err);
}

sr_status sr__sim_get_async(sr_backend *backend, const sr_buffer *src, void *data, size_t offset, size_t size,
                            sr_error *err) {
    sr__sim_backend *sim = sr__sim_of_backend(backend);
    sr_status status;
    if (!is_own(sim, src)) {
        status = drain_for(sim, src, err);
        return status == SR_OK ? sr_buffer_get(src, data, offset, size, err) : status;
    }
    status = sr__sim_count_transfer(sr__sim_of_buffer(src), size, err);
    if (status != SR_OK) {
        return status;
    }
    transfer *t = transfer_new(run_move, NULL, size);
    if (t) {
        sr__sim_tell(&t->command, backend, SR_TRACE_COPY, size);
        take_link(t, src);
        t->from = sr__buffer_memory(src) + offset;
        t->to = data;
    }
    return submit(sim->queue, t, err);
}

/* ---- between devices ------------------------------------------------------------------------------------------ */

static sr_status count_both(const sr_storage *src, const sr_storage *dst, size_t size, sr_error *err) {
    sr__sim_device *from = sr__sim_of_buffer(src->buffer), *to = sr__sim_of_buffer(dst->buffer);
    const sr_status status = sr__sim_count_transfer(from, size, err);
    return status == SR_OK && from != to ? sr__sim_count_transfer(to, size, err) : status;
}

/*
 * Through a point that holds the bytes: the source fills it when its queue comes to that, the destination empties it
 * when its own does.  So neither overtakes what the other has queued, and neither has to stand still for the other.
 */
sr_status sr__sim_copy_async(sr_backend *src_backend, sr_backend *dst_backend, const sr_storage *src,
                             const sr_storage *dst, size_t size, bool *done, sr_error *err) {
    sr__sim_backend *from = sr__sim_of_backend(src_backend), *to = sr__sim_of_backend(dst_backend);
    *done = false;
    if (!from || !to || from->at_once || to->at_once || !is_own(from, src->buffer) || !is_own(to, dst->buffer)) {
        return SR_OK;
    }
    sr__sim_point *point = sr__sim_point_new(size);
    transfer *send = point ? transfer_new(run_send, point, size) : NULL;
    transfer *receive = send ? transfer_new(run_receive, point, size) : NULL;
    sr_status status = SR_OK;
    if (!receive) {
        goto done; /* not enough memory to queue it: the caller copies at once */
    }
    send->command.skipped = skip_send;
    sr__sim_tell(&send->command, src_backend, SR_TRACE_COPY, size);
    sr__sim_tell(&receive->command, dst_backend, SR_TRACE_COPY, size);
    send->paced_by = from->sim;
    send->seconds = sr__peer_seconds(&from->sim->speed, &to->sim->speed, (double)size);
    send->from = sr__buffer_memory(src->buffer) + src->offset;
    receive->to = sr__buffer_memory(dst->buffer) + dst->offset;
    SR_TRY(count_both(src, dst, size, err));
    SR_TRY(sr__sim_queue_ready(from->queue, err));
    SR_TRY(sr__sim_queue_ready(to->queue, err));
    sr__sim_queue_push(from->queue, &send->command);
    sr__sim_queue_push(to->queue, &receive->command);
    send = receive = NULL;
    *done = true;
done:
    if (send) {
        sr__sim_command_free(&send->command);
    }
    if (receive) {
        sr__sim_command_free(&receive->command);
    }
    sr__sim_point_unref(point);
    return status;
}
