/*
 * sim_queue.c - the queue of a simulated device: commands that a worker thread runs in order, and points to wait for.
 *
 * Layer: backends.  Answers to a stream of the reference's device backends.  After a command has failed the later ones
 * are passed over, but for those that others wait for, until the failure has been told.
 */
#include "backends/sim/sim_queue.h"

/* ---- points --------------------------------------------------------------------------------------------------- */

/* One lock for all points: they are looked at for moments only. */
static pthread_mutex_t point_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t point_reached = PTHREAD_COND_INITIALIZER;

sr__sim_point *sr__sim_point_new(size_t payload_size) {
    size_t size;
    if (!sr__add_size(sizeof(sr__sim_point), payload_size, &size)) {
        return NULL;
    }
    sr__sim_point *point = sr__malloc(size);
    if (point) {
        *point = (sr__sim_point){.refs = 1, .payload_size = payload_size};
    }
    return point;
}

sr__sim_point *sr__sim_point_ref(sr__sim_point *point) {
    pthread_mutex_lock(&point_lock);
    point->refs++;
    pthread_mutex_unlock(&point_lock);
    return point;
}

void sr__sim_point_unref(sr__sim_point *point) {
    if (!point) {
        return;
    }
    pthread_mutex_lock(&point_lock);
    const bool last = --point->refs == 0;
    pthread_mutex_unlock(&point_lock);
    if (last) {
        sr_error_clear(&point->failure);
        sr__free(point);
    }
}

void sr__sim_error_copy(sr_error *to, const sr_error *from) {
    (void)sr__fail(to, from->status, "%s", sr_error_message(from));
    for (int i = 0; i < from->n_details; i++) {
        const sr_error_detail *detail = &from->details[i];
        if (detail->text) {
            sr__error_text(to, detail->key, detail->text);
        } else {
            sr__error_number(to, detail->key, detail->number);
        }
    }
}

void sr__sim_point_reach(sr__sim_point *point, const sr_error *failure) {
    pthread_mutex_lock(&point_lock);
    if (!point->reached) {
        if (failure) {
            sr__sim_error_copy(&point->failure, failure);
        }
        point->reached = true;
        pthread_cond_broadcast(&point_reached);
    }
    pthread_mutex_unlock(&point_lock);
}

void sr__sim_point_wait(sr__sim_point *point) {
    pthread_mutex_lock(&point_lock);
    while (!point->reached) {
        pthread_cond_wait(&point_reached, &point_lock);
    }
    pthread_mutex_unlock(&point_lock);
}

/* ---- commands about points -------------------------------------------------------------------------------------- */

typedef struct point_command {
    sr__sim_command command; /* first: a command is freed as what it is part of */
    sr__sim_point *point;
} point_command;

static sr_status run_signal(sr__sim_command *command, sr_error *err) {
    (void)err;
    sr__sim_point_reach(((point_command *)command)->point, NULL);
    return SR_OK;
}

static sr_status run_wait(sr__sim_command *command, sr_error *err) {
    (void)err;
    sr__sim_point_wait(((point_command *)command)->point);
    return SR_OK;
}

static void point_command_free(sr__sim_command *command) {
    sr__sim_point_unref(((point_command *)command)->point);
    sr__free(command);
}

static sr__sim_command *point_command_new(sr__sim_point *point, sr_status (*run)(sr__sim_command *, sr_error *)) {
    point_command *c = sr__calloc(1, sizeof(*c));
    if (!c) {
        return NULL;
    }
    c->command = (sr__sim_command){.run = run, .free = point_command_free, .always = true};
    c->point = sr__sim_point_ref(point);
    return &c->command;
}

sr__sim_command *sr__sim_signal_new(sr__sim_point *point) {
    return point_command_new(point, run_signal);
}

sr__sim_command *sr__sim_wait_new(sr__sim_point *point) {
    return point_command_new(point, run_wait);
}

/* ---- the worker ------------------------------------------------------------------------------------------------- */

/* Keeps the first failure, with the name of the backend that it happened on. */
static void keep_failure(sr__sim_queue *queue, sr_status status, sr_error *err) {
    if (queue->failed == SR_OK) {
        if (!sr_error_find(err, "backend")) {
            sr__error_prefix(err, "backend '%s': ", queue->name);
            sr__error_text(err, "backend", queue->name);
        }
        queue->failed = status;
        queue->failure = *err;
        queue->failure.status = status;
        *err = (sr_error){0};
    }
    sr_error_clear(err);
}

void sr__sim_command_waited(sr__sim_command *command) {
    if (command->trace) {
        sr_trace_event wait = command->told;
        wait.kind = SR_TRACE_WAIT;
        wait.end = sr_trace_now();
        sr_trace_add(command->trace, &wait);
        command->told.begin = wait.end;
    }
}

static sr_status run_told(sr__sim_command *command, sr_error *err) {
    if (!command->trace) {
        return command->run(command, err);
    }
    command->told.begin = sr_trace_now();
    const sr_status status = command->run(command, err);
    command->told.end = sr_trace_now();
    sr_trace_add(command->trace, &command->told);
    return status;
}

/* Runs the first command; the lock is held at the beginning and at the end. */
static void run_first(sr__sim_queue *queue) {
    sr__sim_command *command = queue->first;
    sr_error err = {0};
    sr_status status = SR_OK;
    queue->first = command->next;
    if (!queue->first) {
        queue->end = &queue->first;
    }
    queue->running = true;
    if (queue->failed == SR_OK || command->always) {
        pthread_mutex_unlock(&queue->lock);
        status = run_told(command, &err);
        command->free(command);
        pthread_mutex_lock(&queue->lock);
    } else {
        /* under the lock: the failure is handed out as soon as somebody asks */
        if (command->skipped) {
            command->skipped(command, &queue->failure);
        }
        command->free(command);
    }
    if (status != SR_OK) {
        keep_failure(queue, status, &err);
    }
    queue->running = false;
    if (!queue->first) {
        pthread_cond_broadcast(&queue->idle);
    }
}

static void *worker_main(void *user) {
    sr__sim_queue *queue = user;
    pthread_mutex_lock(&queue->lock);
    for (;;) {
        while (!queue->first && !queue->stop) {
            pthread_cond_wait(&queue->work, &queue->lock);
        }
        if (!queue->first) {
            break;
        }
        run_first(queue);
    }
    pthread_mutex_unlock(&queue->lock);
    return NULL;
}

/* ---- queues ----------------------------------------------------------------------------------------------------- */

sr_status sr__sim_queue_init(sr__sim_queue *queue, const char *name, sr_error *err) {
    *queue = (sr__sim_queue){.name = name};
    queue->end = &queue->first;
    if (pthread_mutex_init(&queue->lock, NULL) != 0) {
        return sr__fail_memory(err);
    }
    if (pthread_cond_init(&queue->work, NULL) != 0) {
        pthread_mutex_destroy(&queue->lock);
        return sr__fail_memory(err);
    }
    if (pthread_cond_init(&queue->idle, NULL) != 0) {
        pthread_cond_destroy(&queue->work);
        pthread_mutex_destroy(&queue->lock);
        return sr__fail_memory(err);
    }
    return SR_OK;
}

void sr__sim_queue_destroy(sr__sim_queue *queue) {
    if (queue->started) {
        pthread_mutex_lock(&queue->lock);
        queue->stop = true;
        pthread_cond_signal(&queue->work);
        pthread_mutex_unlock(&queue->lock);
        pthread_join(queue->thread, NULL);
    }
    sr_error_clear(&queue->failure);
    pthread_cond_destroy(&queue->idle);
    pthread_cond_destroy(&queue->work);
    pthread_mutex_destroy(&queue->lock);
}

/* Hands out the failure that was kept.  The lock is held. */
static sr_status take_failure(sr__sim_queue *queue, sr_error *err) {
    const sr_status status = queue->failed;
    if (status == SR_OK) {
        return SR_OK;
    }
    sr_error_clear(err);
    if (err) {
        *err = queue->failure;
    } else {
        sr_error_clear(&queue->failure);
    }
    queue->failure = (sr_error){0};
    queue->failed = SR_OK;
    return status;
}

sr_status sr__sim_queue_ready(sr__sim_queue *queue, sr_error *err) {
    sr_status status = SR_OK;
    pthread_mutex_lock(&queue->lock);
    if (!queue->started) {
        queue->started = pthread_create(&queue->thread, NULL, worker_main, queue) == 0;
        if (!queue->started) {
            status = sr__fail(err, SR_UNAVAILABLE, "the thread of '%s' cannot be started", queue->name);
        }
    }
    if (status == SR_OK) {
        status = take_failure(queue, err);
    }
    pthread_mutex_unlock(&queue->lock);
    return status;
}

void sr__sim_queue_push(sr__sim_queue *queue, sr__sim_command *command) {
    pthread_mutex_lock(&queue->lock);
    command->next = NULL;
    *queue->end = command;
    queue->end = &command->next;
    pthread_cond_signal(&queue->work);
    pthread_mutex_unlock(&queue->lock);
}

sr_status sr__sim_queue_drain(sr__sim_queue *queue, sr_error *err) {
    pthread_mutex_lock(&queue->lock);
    while (queue->first || queue->running) {
        pthread_cond_wait(&queue->idle, &queue->lock);
    }
    const sr_status status = take_failure(queue, err);
    pthread_mutex_unlock(&queue->lock);
    return status;
}
