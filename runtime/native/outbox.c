/* What the engine has to say. Two boxes: the loop fills one, the waiting thread reads the other, and a wait swaps them;
 * so the loop never waits for a reader and no event is copied twice. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine.h"

int64_t shim_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Room for `wanted` items, at least doubling. */
bool shim_reserve(void **data, int32_t *capacity, int32_t wanted, size_t item) {
    if (wanted <= *capacity) {
        return true;
    }
    int32_t bigger = *capacity < 32 ? 64 : *capacity * 2;
    bigger = bigger < wanted ? wanted : bigger;
    void *moved = realloc(*data, (size_t)bigger * item);
    if (!moved) {
        return false;
    }
    *data = moved;
    *capacity = bigger;
    return true;
}

/* A new event in the box, or NULL without memory. The caller holds the lock. */
static shim_event *add_event(shim_outbox *box, int64_t id, int32_t kind) {
    if (!shim_reserve((void **)&box->events, &box->event_capacity, box->n_events + 1, sizeof(shim_event))) {
        return NULL;
    }
    shim_event *event = &box->events[box->n_events++];
    memset(event, 0, sizeof *event);
    event->id = id;
    event->kind = kind;
    event->stop_index = -1;
    return event;
}

static void add_text(shim_outbox *box, shim_event *event, const char *text, int32_t length) {
    event->text_offset = box->text.length;
    if (length > 0 && shim_bytes_append(&box->text, text, length)) {
        event->text_length = length;
    }
}

static void add_logprobs(shim_outbox *box, shim_event *event, shim_slot *slot) {
    int32_t n = slot->n_logprobs;
    event->logprob_offset = box->n_logprobs;
    if (n > 0 &&
        shim_reserve((void **)&box->logprobs, &box->logprob_capacity, box->n_logprobs + n, sizeof(shim_logprob))) {
        memcpy(box->logprobs + box->n_logprobs, slot->logprobs, (size_t)n * sizeof(shim_logprob));
        box->n_logprobs += n;
        event->n_logprobs = n;
    }
    slot->n_logprobs = 0;
}

static void add_ids(shim_outbox *box, shim_event *event, const shim_slot *slot) {
    int32_t n = slot->n_ids;
    event->ids_offset = box->n_ids;
    if (n > 0 && shim_reserve((void **)&box->ids, &box->ids_capacity, box->n_ids + n, sizeof(int32_t))) {
        memcpy(box->ids + box->n_ids, slot->ids, (size_t)n * sizeof(int32_t));
        box->n_ids += n;
        event->n_ids = n;
    }
}

void shim_report_text(shim_engine *e, shim_slot *slot, int32_t text_length) {
    if (text_length <= 0 && slot->n_logprobs == 0) {
        return;
    }
    pthread_mutex_lock(&e->lock);
    shim_outbox *box = &e->boxes[e->back];
    shim_event *event = add_event(box, slot->job->request.id, SHIM_EVENT_TOKEN);
    if (event) {
        event->n_tokens = slot->n_unreported;
        add_text(box, event, slot->text.pending.data, text_length);
        add_logprobs(box, event, slot);
        slot->n_unreported = 0;
    }
    pthread_mutex_unlock(&e->lock);
    shim_text_take(&slot->text, text_length);
}

/* The last event of a request: what is still held back goes with it. */
void shim_report_finished(shim_engine *e, shim_slot *slot, int32_t reason, int32_t stop_index) {
    int64_t now = shim_now_ns();
    pthread_mutex_lock(&e->lock);
    shim_outbox *box = &e->boxes[e->back];
    shim_event *event = add_event(box, slot->job->request.id, SHIM_EVENT_FINISHED);
    if (event) {
        bool generating = slot->state == SHIM_SLOT_GENERATE;
        event->reason = reason;
        event->stop_index = stop_index;
        event->n_tokens = slot->n_unreported;
        add_text(box, event, slot->text.pending.data, reason == SHIM_FINISH_STOP ? 0 : slot->text.pending.length);
        add_logprobs(box, event, slot);
        add_ids(box, event, slot);
        event->prompt_tokens = slot->job->request.n_tokens;
        event->cached_tokens = slot->n_cached;
        event->generated_tokens = slot->n_generated;
        event->shifted_tokens = slot->n_shifted;
        event->prompt_ns = (generating ? slot->generating_ns : now) - slot->started_ns;
        event->generate_ns = generating ? now - slot->generating_ns : 0;
    }
    pthread_mutex_unlock(&e->lock);
}

/* A request that never got a slot. */
void shim_report_cancelled(shim_engine *e, int64_t id) {
    shim_event *event = add_event(&e->boxes[e->back], id, SHIM_EVENT_FINISHED);
    if (event) {
        event->reason = SHIM_FINISH_CANCELLED;
    }
}

void shim_report_embedding(shim_engine *e, int64_t id, const float *vector, int32_t width, int32_t n_tokens) {
    pthread_mutex_lock(&e->lock);
    shim_outbox *box = &e->boxes[e->back];
    shim_event *event = add_event(box, id, SHIM_EVENT_EMBEDDING);
    if (event &&
        shim_reserve((void **)&box->floats, &box->floats_capacity, box->n_floats + width, sizeof *box->floats)) {
        memcpy(box->floats + box->n_floats, vector, (size_t)width * sizeof *vector);
        event->floats_offset = box->n_floats;
        event->n_floats = width;
        box->n_floats += width;
    }
    if (event) {
        event->prompt_tokens = n_tokens;
    }
    pthread_mutex_unlock(&e->lock);
}

void shim_report_failed(shim_engine *e, int64_t id, int32_t reason, const char *message) {
    pthread_mutex_lock(&e->lock);
    shim_event *event = add_event(&e->boxes[e->back], id, SHIM_EVENT_FAILED);
    if (event) {
        event->reason = reason;
        add_text(&e->boxes[e->back], event, message, (int32_t)strlen(message));
    }
    pthread_mutex_unlock(&e->lock);
}
