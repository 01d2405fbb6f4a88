/* Masks of constrained requests: wanted by the loop, made on another thread while the model computes, then applied. */
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "engine.h"

static int32_t mask_words(const shim_engine *e) {
    return (e->n_vocab + 31) / 32;
}

/* Asks for the mask of the token after `token`. False without memory. */
bool shim_want_mask(shim_engine *e, shim_slot *slot, llama_token token) {
    if (!slot->mask) {
        slot->mask = calloc((size_t)mask_words(e), sizeof *slot->mask);
    }
    pthread_mutex_lock(&e->lock);
    slot->next = token;
    slot->grant = 0;
    slot->wanting = slot->mask != NULL;
    pthread_cond_signal(&e->wants);
    pthread_mutex_unlock(&e->lock);
    return slot->mask != NULL;
}

int32_t shim_engine_next_want(shim_engine *e, int32_t timeout_ms, shim_want *out) {
    struct timespec until = shim_deadline(timeout_ms);
    int32_t found = 0;
    pthread_mutex_lock(&e->lock);
    for (int rc = 0; !found && rc == 0 && !e->stopping;) {
        for (int32_t i = 0; i < e->config.n_slots && !found; i++) {
            shim_slot *slot = &e->slots[i];
            if (slot->wanting && slot->job) {
                slot->wanting = false;
                *out = (shim_want){slot->job->request.id, slot->next, slot->mask};
                found = 1;
            }
        }
        rc = found ? 0 : pthread_cond_timedwait(&e->wants, &e->lock, &until);
    }
    bool stopping = e->stopping;
    pthread_mutex_unlock(&e->lock);
    return found ? 1 : stopping ? -1 : 0;
}

void shim_engine_grant(shim_engine *e, int64_t id, int32_t grant) {
    pthread_mutex_lock(&e->lock);
    for (int32_t i = 0; i < e->config.n_slots; i++) {
        if (e->slots[i].job && e->slots[i].job->request.id == id) {
            e->slots[i].grant = grant;
        }
    }
    pthread_cond_broadcast(&e->grants);
    pthread_mutex_unlock(&e->lock);
}

/* Waits until the slot's mask is there. A cancelled request does not wait for one. */
int32_t shim_wait_grant(shim_engine *e, shim_slot *slot) {
    pthread_mutex_lock(&e->lock);
    while (!slot->grant && !e->stopping && !slot->job->cancelled) {
        pthread_cond_wait(&e->grants, &e->lock);
    }
    int32_t grant = slot->grant ? slot->grant : SHIM_GRANT_ANY;
    pthread_mutex_unlock(&e->lock);
    return grant;
}

void shim_apply_mask(float *logits, const uint32_t *mask, int32_t n_vocab) {
    for (int32_t word = 0; word * 32 < n_vocab; word++) {
        uint32_t bits = mask[word];
        int32_t end = word * 32 + 32 < n_vocab ? word * 32 + 32 : n_vocab;
        if (bits == UINT32_MAX) {
            continue;
        }
        if (bits == 0) { /* most words: most tokens are never allowed */
            for (int32_t i = word * 32; i < end; i++) {
                logits[i] = -INFINITY;
            }
            continue;
        }
        for (int32_t i = word * 32; i < end; i++) {
            logits[i] = bits >> (i - word * 32) & 1 ? logits[i] : -INFINITY;
        }
    }
}
