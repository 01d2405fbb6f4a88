/* What other threads may call: requests in, events out. Each of these takes the lock for a moment. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine.h"

/* A copy with everything in it, or NULL without memory. */
static char **copy_texts(const char *const *texts, int32_t n) {
    char **copy = calloc((size_t)n + 1, sizeof *copy);
    for (int32_t i = 0; copy && i < n; i++) {
        copy[i] = strdup(texts[i]);
        if (!copy[i]) {
            while (i-- > 0) {
                free(copy[i]);
            }
            free(copy);
            return NULL;
        }
    }
    return copy;
}

static void *copy_items(const void *items, int32_t n, size_t size) {
    void *copy = malloc((size_t)(n + 1) * size);
    if (copy && n > 0) {
        memcpy(copy, items, (size_t)n * size);
    }
    return copy;
}

static shim_job *copy_request(const shim_request *request) {
    shim_job *job = calloc(1, sizeof *job);
    if (!job) {
        return NULL;
    }
    const shim_sampling *s = &request->sampling;
    job->request = *request;
    job->tokens = copy_items(request->tokens, request->n_tokens, sizeof *job->tokens);
    job->stops = copy_texts(request->stops, request->n_stops);
    job->breakers = copy_texts(s->dry_breakers, s->n_dry_breakers);
    job->biases = copy_items(s->biases, s->n_biases, sizeof *job->biases);
    if (!job->tokens || !job->stops || !job->breakers || !job->biases) {
        shim_job_free(job);
        return NULL;
    }
    job->request.tokens = job->tokens;
    job->request.stops = (const char *const *)job->stops;
    job->request.sampling.dry_breakers = (const char *const *)job->breakers;
    job->request.sampling.biases = job->biases;
    return job;
}

bool shim_engine_submit(shim_engine *e, const shim_request *request) {
    shim_job *job = copy_request(request);
    if (!job) {
        return false;
    }
    pthread_mutex_lock(&e->lock);
    if (e->queue_tail) {
        e->queue_tail->next = job;
    } else {
        e->queue_head = job;
    }
    e->queue_tail = job;
    pthread_cond_signal(&e->work);
    pthread_mutex_unlock(&e->lock);
    return true;
}

void shim_engine_cancel(shim_engine *e, int64_t id) {
    pthread_mutex_lock(&e->lock);
    for (shim_job *job = e->queue_head; job; job = job->next) {
        job->cancelled |= job->request.id == id;
    }
    for (int32_t i = 0; i < e->config.n_slots; i++) {
        shim_job *job = e->slots[i].job;
        if (job && job->request.id == id) {
            job->cancelled = true;
        }
    }
    shim_embed_cancel(e, id);
    e->cancel_pending = true;
    pthread_cond_signal(&e->work);
    pthread_cond_broadcast(&e->grants);
    pthread_mutex_unlock(&e->lock);
}

void shim_announce(shim_engine *e) {
    pthread_mutex_lock(&e->lock);
    if (e->boxes[e->back].n_events > 0) {
        pthread_cond_signal(&e->news);
    }
    pthread_mutex_unlock(&e->lock);
}

void shim_engine_reject(shim_engine *e, int64_t id, int32_t reason, const char *message) {
    shim_report_failed(e, id, reason, message);
    shim_announce(e);
}

void shim_engine_withdraw(shim_engine *e, int64_t id) {
    pthread_mutex_lock(&e->lock);
    shim_report_cancelled(e, id);
    pthread_cond_signal(&e->news);
    pthread_mutex_unlock(&e->lock);
}

int32_t shim_engine_wait_ready(shim_engine *e) {
    pthread_mutex_lock(&e->lock);
    while (!e->ready) {
        pthread_cond_wait(&e->news, &e->lock);
    }
    int32_t result = e->warm_up_result;
    pthread_mutex_unlock(&e->lock);
    return result;
}

void shim_engine_stop(shim_engine *e) {
    pthread_mutex_lock(&e->lock);
    e->stopping = true;
    pthread_cond_broadcast(&e->work);
    pthread_cond_broadcast(&e->news);
    pthread_cond_broadcast(&e->wants);
    pthread_cond_broadcast(&e->grants);
    pthread_mutex_unlock(&e->lock);
}

/* The wall-clock time that pthread_cond_timedwait takes. */
struct timespec shim_deadline(int32_t timeout_ms) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += timeout_ms / 1000;
    until.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    return until;
}

static void clear_box(shim_outbox *box) {
    box->n_events = box->text.length = box->n_logprobs = box->n_ids = box->n_floats = 0;
}

int32_t shim_engine_wait(shim_engine *e, int32_t timeout_ms, shim_events *out) {
    struct timespec until = shim_deadline(timeout_ms);
    pthread_mutex_lock(&e->lock);
    int rc = 0;
    while (rc == 0 && e->boxes[e->back].n_events == 0 && !e->stopping) {
        rc = pthread_cond_timedwait(&e->news, &e->lock, &until);
    }
    shim_outbox *box = &e->boxes[e->back];
    bool stopping = e->stopping;
    e->back = 1 - e->back;
    clear_box(&e->boxes[e->back]);
    pthread_mutex_unlock(&e->lock);
    *out = (shim_events){box->events, box->n_events, box->text.data, box->logprobs, box->ids, box->floats};
    return stopping && box->n_events == 0 ? -1 : box->n_events;
}

void shim_engine_stats(shim_engine *e, shim_stats *out) {
    pthread_mutex_lock(&e->lock);
    *out = e->stats; /* counters of the running loop: each a plain word, read as they are */
    out->queued = out->busy = 0;
    for (int32_t i = 0; i < e->config.n_slots; i++) {
        out->busy += e->slots[i].job != NULL;
    }
    for (const shim_job *job = e->queue_head; job; job = job->next) {
        out->queued++;
    }
    pthread_mutex_unlock(&e->lock);
}
