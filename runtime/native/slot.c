/* A slot is one sequence of the KV cache and the request that uses it. What a request leaves behind stays, so that the
 * next one with the same beginning does not evaluate it again.
 *
 * Attention layers can be cut back to any token. Recurrent layers (hybrid models) cannot: their state is one sum over
 * all tokens. So copies of that state are kept at a few places, and a rewind goes to the last one that still fits. */
#include <stdlib.h>
#include <string.h>

#include "engine.h"

enum {
    CHECKPOINT_STRIDE = 4096, /* tokens between copies inside a long prompt */
    CHECKPOINT_TAIL = 16,     /* a copy this far before the prompt's end: the next turn often differs in the last few
                                 tokens (the opening of a thinking block), and the same prompt may come again */
    CHECKPOINT_MAX = 16
};

int32_t shim_slot_common_prefix(const shim_slot *slot, const llama_token *tokens, int32_t n_tokens) {
    int32_t n = slot->n_tokens < n_tokens ? slot->n_tokens : n_tokens;
    int32_t same = 0;
    while (same < n && slot->tokens[same] == tokens[same]) {
        same++;
    }
    return same;
}

static void drop_checkpoints(shim_slot *slot, int32_t keep) {
    while (slot->n_checkpoints > keep) {
        free(slot->checkpoints[--slot->n_checkpoints].data);
    }
}

void shim_slot_forget(shim_engine *e, shim_slot *slot) {
    llama_memory_seq_rm(e->memory, slot->seq, -1, -1);
    slot->n_tokens = 0;
    drop_checkpoints(slot, 0);
}

static bool restore(shim_engine *e, shim_slot *slot, int32_t n_tokens) {
    int32_t at = slot->n_checkpoints - 1;
    while (at >= 0 && slot->checkpoints[at].n_tokens > n_tokens) {
        at--;
    }
    if (at < 0) {
        return false;
    }
    const shim_checkpoint *c = &slot->checkpoints[at];
    if (llama_state_seq_set_data_ext(e->ctx, c->data, c->size, slot->seq, LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY) == 0 ||
        !llama_memory_seq_rm(e->memory, slot->seq, c->n_tokens, -1)) {
        return false;
    }
    slot->n_tokens = c->n_tokens;
    drop_checkpoints(slot, at + 1);
    return true;
}

/* Cuts the sequence back to at most n_tokens; it may become shorter than asked (down to nothing). */
void shim_slot_rewind(shim_engine *e, shim_slot *slot, int32_t n_tokens) {
    if (n_tokens >= slot->n_tokens) {
        return;
    }
    if (n_tokens > 0 && !e->stateful && llama_memory_seq_rm(e->memory, slot->seq, n_tokens, -1)) {
        slot->n_tokens = n_tokens;
        return;
    }
    if (n_tokens <= 0 || !restore(e, slot, n_tokens)) {
        shim_slot_forget(e, slot);
    }
}

/* The next place in the prompt where the state is to be copied; the prompt's end if there is none before it. */
int32_t shim_slot_next_checkpoint(const shim_engine *e, const shim_slot *slot) {
    int32_t end = slot->job->request.n_tokens;
    if (!e->stateful) {
        return end;
    }
    int32_t stride = (slot->n_tokens / CHECKPOINT_STRIDE + 1) * CHECKPOINT_STRIDE;
    int32_t tail = end - CHECKPOINT_TAIL;
    int32_t next = tail > slot->n_tokens ? tail : end;
    return stride < next ? stride : next;
}

/* Makes room by dropping the copy that stands closest behind another one. */
static void thin_out(shim_slot *slot, int32_t most) {
    while (slot->n_checkpoints >= most && slot->n_checkpoints > 0) {
        int32_t victim = 0, gap = INT32_MAX;
        for (int32_t i = 1; i < slot->n_checkpoints; i++) {
            int32_t distance = slot->checkpoints[i].n_tokens - slot->checkpoints[i - 1].n_tokens;
            if (distance <= gap) {
                gap = distance;
                victim = i - (i == slot->n_checkpoints - 1 && i > 1);
            }
        }
        free(slot->checkpoints[victim].data);
        slot->n_checkpoints--;
        memmove(slot->checkpoints + victim, slot->checkpoints + victim + 1,
                (size_t)(slot->n_checkpoints - victim) * sizeof *slot->checkpoints);
    }
}

/* Copies the recurrent state as it is now. A copy that can't be made costs time later, nothing else. */
void shim_slot_checkpoint(shim_engine *e, shim_slot *slot) {
    if (!e->stateful || slot->n_tokens == 0 ||
        (slot->n_checkpoints && slot->checkpoints[slot->n_checkpoints - 1].n_tokens >= slot->n_tokens)) {
        return;
    }
    size_t size = llama_state_seq_get_size_ext(e->ctx, slot->seq, LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY);
    if (size == 0) {
        return;
    }
    int64_t most = e->config.checkpoint_bytes / (int64_t)size;
    thin_out(slot, (int32_t)(most < 2 ? 2 : most > CHECKPOINT_MAX ? CHECKPOINT_MAX : most));
    uint8_t *data = malloc(size);
    if (data && llama_state_seq_get_data_ext(e->ctx, data, size, slot->seq, LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY) == size) {
        slot->checkpoints[slot->n_checkpoints++] = (shim_checkpoint){slot->n_tokens, data, size};
    } else {
        free(data);
    }
}

/* Frees half of a full sequence behind the first n_keep tokens. False where that is not possible. */
bool shim_slot_shift(shim_engine *e, shim_slot *slot) {
    int32_t keep = slot->job->request.n_keep;
    keep = keep < 0 || keep > slot->n_tokens - 1 ? slot->n_tokens - 1 : keep;
    int32_t drop = (slot->n_tokens - keep) / 2;
    if (!slot->job->request.shift || !e->can_shift || e->stateful || drop < 1) {
        return false;
    }
    if (!llama_memory_seq_rm(e->memory, slot->seq, keep, keep + drop)) {
        return false;
    }
    llama_memory_seq_add(e->memory, slot->seq, keep + drop, -1, -drop);
    memmove(slot->tokens + keep, slot->tokens + keep + drop,
            (size_t)(slot->n_tokens - keep - drop) * sizeof *slot->tokens);
    slot->n_tokens -= drop;
    slot->n_shifted += drop;
    return true;
}

static void free_texts(char **texts, int32_t n) {
    for (int32_t i = 0; texts && i < n; i++) {
        free(texts[i]);
    }
    free(texts);
}

void shim_job_free(shim_job *job) {
    if (job) {
        free_texts(job->stops, job->request.n_stops);
        free_texts(job->breakers, job->request.sampling.n_dry_breakers);
        free(job->biases);
        free(job->tokens);
        free(job);
    }
}

static int32_t longest_stop(const shim_job *job) {
    size_t longest = 0;
    for (int32_t i = 0; i < job->request.n_stops; i++) {
        size_t length = strlen(job->stops[i]);
        longest = length > longest ? length : longest;
    }
    return (int32_t)longest;
}

/* Begins the job that the slot was given. False without memory. */
bool shim_slot_open(shim_engine *e, shim_slot *slot) {
    shim_job *job = slot->job;
    const shim_request *r = &job->request;
    int32_t same = shim_slot_common_prefix(slot, r->tokens, r->n_tokens);
    slot->started_ns = slot->generating_ns = shim_now_ns();
    slot->n_generated = slot->n_shifted = slot->n_unreported = slot->n_logprobs = slot->n_ids = 0;
    slot->text.pending.length = 0;
    slot->text.stops = job->stops;
    slot->text.n_stops = r->n_stops;
    slot->text.longest_stop = longest_stop(job);
    /* The last prompt token is always evaluated: its logits are needed. */
    shim_slot_rewind(e, slot, same < r->n_tokens ? same : r->n_tokens - 1);
    slot->n_cached = slot->n_tokens;
    slot->last_used = ++e->clock;
    return shim_sampler_init(&slot->sampler, &r->sampling, e->vocab, e->n_vocab) &&
           (!r->constrained || shim_want_mask(e, slot, -1));
}

void shim_slot_close(shim_engine *e, shim_slot *slot) {
    pthread_mutex_lock(&e->lock); /* shim_engine_cancel looks at jobs */
    shim_job *job = slot->job;
    slot->job = NULL;
    slot->wanting = false;
    slot->state = SHIM_SLOT_IDLE;
    pthread_mutex_unlock(&e->lock);
    shim_sampler_free(&slot->sampler);
    shim_job_free(job);
}
