/* One step: first a token for every generating slot, then a piece of somebody's prompt.
 *
 * They are separate llama_decode calls on purpose. Every slot has its own stream in the KV cache, and llama.cpp cuts a
 * batch into runs of equal length per sequence: a mixed batch would read the weights twice as well, and the running
 * streams would wait for the prompt. Batches are sorted by sequence for the same reason. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "engine.h"

enum { FIRST_SLICE = 64, SMALLEST_SLICE = 16 };

static void add_token(shim_engine *e, const shim_slot *slot, llama_token token, int32_t position, bool output) {
    struct llama_batch *b = &e->batch;
    int32_t i = b->n_tokens++;
    b->token[i] = token;
    b->pos[i] = position;
    b->n_seq_id[i] = 1;
    b->seq_id[i][0] = slot->seq;
    b->logits[i] = output;
}

/* Ends a request that can't go on. What its sequence holds can't be trusted any more. */
static void fail(shim_engine *e, shim_slot *slot, const char *message) {
    shim_report_failed(e, slot->job->request.id, SHIM_FAILED_ENGINE, message);
    shim_slot_forget(e, slot);
    shim_slot_close(e, slot);
}

static void finish(shim_engine *e, shim_slot *slot, int32_t reason, int32_t stop_index) {
    shim_report_finished(e, slot, reason, stop_index);
    shim_slot_close(e, slot);
}

static bool push_logprob(shim_slot *slot, shim_logprob entry) {
    if (!shim_reserve((void **)&slot->logprobs, &slot->logprob_capacity, slot->n_logprobs + 1, sizeof entry)) {
        return false;
    }
    slot->logprobs[slot->n_logprobs++] = entry;
    return true;
}

/* The raw distribution's view of `token` and of the best alternatives; taken before penalties. */
static bool record_logprobs(shim_slot *slot, shim_scratch *scratch, const float *logits, llama_token token) {
    int32_t n = slot->job->request.n_logprobs;
    float total = shim_log_sum_exp(logits, scratch->n_vocab);
    llama_token_data *best = scratch->candidates;
    n = n > 0 ? shim_select_top(logits, scratch->n_vocab, n, best) : 0;
    bool ok = push_logprob(slot, (shim_logprob){token, logits[token] - total, n});
    for (int32_t i = 0; i < n && ok; i++) {
        ok = push_logprob(slot, (shim_logprob){best[i].id, best[i].logit - total, -1});
    }
    return ok;
}

/* Draws the slot's next token. Log probabilities come from the raw logits, and penalties change them in place, so those
 * are copied first where both may be wanted. Touches nothing but the slot and the scratch: runs on any thread. */
static void draw(const struct llama_vocab *vocab, shim_slot *slot, shim_scratch *scratch) {
    bool logprobs = slot->job->request.n_logprobs >= 0;
    if (slot->job->request.constrained && slot->grant >= SHIM_GRANT_END) {
        return;
    }
    if (logprobs) {
        memcpy(scratch->raw, slot->logits, (size_t)scratch->n_vocab * sizeof *scratch->raw);
    }
    if (slot->job->request.constrained && slot->grant == SHIM_GRANT_MASK) {
        shim_apply_mask(slot->logits, slot->mask, scratch->n_vocab);
    }
    slot->drawn = shim_sampler_next(&slot->sampler, scratch, slot->logits, slot->tokens, slot->n_tokens);
    if (logprobs && slot->drawn >= 0 && !llama_vocab_is_eog(vocab, slot->drawn) &&
        !record_logprobs(slot, scratch, scratch->raw, slot->drawn)) {
        slot->drawn = -2;
    }
}

/* Draws for all slots, on the threads that have just computed: reading the logits of a large vocabulary takes longer
 * than all else that we do in a step. OpenMP reuses the team of llama.cpp's own parallel regions. */
static void draw_all(shim_engine *e, shim_slot **slots, int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        if (slots[i]->job->request.constrained) {
            shim_wait_grant(e, slots[i]);
        }
    }
#ifdef _OPENMP
    int32_t team = n < e->n_scratches ? n : e->n_scratches;
    if (team > 1) {
#pragma omp parallel for num_threads(e->n_scratches) schedule(static)
        for (int32_t i = 0; i < n; i++) {
            draw(e->vocab, slots[i], &e->scratches[omp_get_thread_num()]);
        }
        return;
    }
#endif
    for (int32_t i = 0; i < n; i++) {
        draw(e->vocab, slots[i], &e->scratches[0]);
    }
}

static bool push_id(shim_slot *slot, llama_token token) {
    if (!slot->job->request.want_ids) {
        return true;
    }
    if (!shim_reserve((void **)&slot->ids, &slot->ids_capacity, slot->n_ids + 1, sizeof token)) {
        return false;
    }
    slot->ids[slot->n_ids++] = token;
    return true;
}

/* Adds the token's text and reports what may go out. Returns the stop string met, -1 for none, -2 without memory. */
static int32_t push_text(shim_engine *e, shim_slot *slot, llama_token token) {
    char piece[512];
    int32_t stop = -1;
    int32_t length = llama_token_to_piece(e->vocab, token, piece, sizeof piece, 0, slot->job->request.special);
    int32_t ready = shim_text_push(&slot->text, piece, length > 0 ? length : 0, &stop);
    if (ready < 0) {
        return -2;
    }
    shim_report_text(e, slot, ready);
    return stop;
}

/* What follows from the token that was drawn: text, events, the end. */
static void take_token(shim_engine *e, shim_slot *slot) {
    const shim_request *r = &slot->job->request;
    llama_token token = slot->drawn;
    if (r->constrained && slot->grant >= SHIM_GRANT_END) {
        if (slot->grant == SHIM_GRANT_END) {
            finish(e, slot, SHIM_FINISH_EOS, -1);
        } else {
            fail(e, slot, "the constraint allows no token here");
        }
        return;
    }
    if (token < 0) {
        fail(e, slot, token != -1      ? "out of memory"
                      : r->constrained ? "no token is left: the constraint and the sampling options exclude each other"
                                       : "the model's output is not a number (a damaged file, or an overflow in the model)");
        return;
    }
    if (llama_vocab_is_eog(e->vocab, token)) {
        finish(e, slot, SHIM_FINISH_EOS, -1);
        return;
    }
    e->stats.tokens++;
    slot->n_generated++;
    slot->n_unreported++;
    slot->next = token;
    int32_t stop = push_id(slot, token) ? push_text(e, slot, token) : -2;
    if (stop == -2) {
        fail(e, slot, "out of memory");
    } else if (stop >= 0) {
        finish(e, slot, SHIM_FINISH_STOP, stop);
    } else if (r->n_predict >= 0 && slot->n_generated >= r->n_predict) {
        finish(e, slot, SHIM_FINISH_PREDICT, -1);
    } else if (r->constrained && !shim_want_mask(e, slot, token)) {
        fail(e, slot, "out of memory");
    }
}

static int decode(shim_engine *e) {
    int rc = llama_decode(e->ctx, e->batch);
    if (rc == 0) {
        llama_synchronize(e->ctx);
    }
    return rc;
}

static void fail_all(shim_engine *e, shim_slot **slots, int32_t n, int rc) {
    char message[96];
    snprintf(message, sizeof message, "%s (llama_decode: %d)", rc == 1 ? "no room in the KV cache" : "decoding failed", rc);
    for (int32_t i = 0; i < n; i++) {
        fail(e, slots[i], message);
    }
}

/* One token for every generating slot. */
void shim_generate(shim_engine *e) {
    shim_slot *slots[256];
    int32_t n = 0;
    e->batch.n_tokens = 0;
    for (int32_t i = 0; i < e->config.n_slots; i++) {
        shim_slot *slot = &e->slots[i];
        if (slot->state != SHIM_SLOT_GENERATE) {
            continue;
        }
        if (slot->n_tokens >= e->config.n_ctx_slot && !shim_slot_shift(e, slot)) {
            finish(e, slot, SHIM_FINISH_CONTEXT, -1);
            continue;
        }
        add_token(e, slot, slot->next, slot->n_tokens, true);
        slots[n++] = slot;
    }
    if (n == 0) {
        return;
    }
    int64_t began = shim_now_ns();
    int rc = decode(e);
    int64_t took = shim_now_ns() - began;
    if (rc != 0) {
        fail_all(e, slots, n, rc);
        return;
    }
    e->stats.decode_ns += took;
    e->stats.steps++;
    for (int32_t i = 0; i < n; i++) {
        slots[i]->tokens[slots[i]->n_tokens++] = slots[i]->next;
        slots[i]->logits = llama_get_logits_ith(e->ctx, i);
    }
    draw_all(e, slots, n);
    for (int32_t i = 0; i < n; i++) {
        take_token(e, slots[i]);
    }
}

/* How many prompt tokens may be evaluated now: a full batch, or, while streams wait, what fits the time slice. */
static int32_t prefill_budget(const shim_engine *e, bool streams_wait) {
    if (!streams_wait) {
        return e->config.n_batch;
    }
    double fits = e->prefill_rate > 0 ? e->prefill_rate * (double)e->config.prefill_slice_ns : FIRST_SLICE;
    int32_t budget = fits < SMALLEST_SLICE ? SMALLEST_SLICE : (int32_t)fmin(fits, e->config.n_batch);
    return budget < e->config.n_batch ? budget : e->config.n_batch;
}

/* Whose prompts go into this batch, by rising sequence, and how many tokens of each (the same for all). */
static int32_t choose(shim_engine *e, int32_t budget, shim_slot **chosen, int32_t *length) {
    int32_t n_slots = e->config.n_slots, n = 0, first = -1;
    for (int32_t i = 0; i < n_slots && first < 0; i++) {
        int32_t at = (e->turn + i) % n_slots;
        first = e->slots[at].state == SHIM_SLOT_PREFILL ? at : -1;
    }
    if (first < 0) {
        return 0;
    }
    e->turn = first + 1;
    int32_t wanted = shim_slot_next_checkpoint(e, &e->slots[first]) - e->slots[first].n_tokens;
    wanted = wanted < budget ? wanted : budget;
    for (int32_t i = 0; i < n_slots; i++) {
        shim_slot *slot = &e->slots[i];
        bool fits = (n + 1) * wanted <= budget || i == first;
        if (slot->state == SHIM_SLOT_PREFILL && fits &&
            (i == first || (i > first && shim_slot_next_checkpoint(e, slot) - slot->n_tokens >= wanted))) {
            chosen[n++] = slot;
        }
    }
    *length = wanted;
    return n;
}

/* The prompts that are complete now: their first tokens. */
static void prompts_done(shim_engine *e, shim_slot **slots, int32_t n) {
    int32_t n_drawing = 0;
    for (int32_t i = 0; i < n; i++) {
        slots[i]->state = SHIM_SLOT_GENERATE;
        slots[i]->generating_ns = shim_now_ns();
        if (slots[i]->job->request.n_predict == 0) {
            finish(e, slots[i], SHIM_FINISH_PREDICT, -1);
        } else {
            slots[n_drawing++] = slots[i];
        }
    }
    draw_all(e, slots, n_drawing);
    for (int32_t i = 0; i < n_drawing; i++) {
        take_token(e, slots[i]);
    }
}

/* A piece of one or more prompts. */
void shim_prefill(shim_engine *e, bool streams_wait) {
    shim_slot *chosen[256];
    int32_t length = 0;
    int32_t n = choose(e, prefill_budget(e, streams_wait), chosen, &length);
    if (n == 0) {
        return;
    }
    e->batch.n_tokens = 0;
    for (int32_t i = 0; i < n; i++) {
        const shim_request *r = &chosen[i]->job->request;
        for (int32_t k = 0; k < length; k++) {
            int32_t at = chosen[i]->n_tokens + k;
            add_token(e, chosen[i], r->tokens[at], at, at == r->n_tokens - 1);
        }
    }
    int64_t began = shim_now_ns();
    int rc = decode(e);
    int64_t took = shim_now_ns() - began;
    if (rc != 0) {
        fail_all(e, chosen, n, rc);
        return;
    }
    double rate = (double)(n * length) / (double)(took + 1);
    e->prefill_rate = e->prefill_rate > 0 ? 0.7 * e->prefill_rate + 0.3 * rate : rate;
    e->stats.prefill_tokens += (int64_t)n * length;
    e->stats.prefill_ns += took;
    int32_t n_done = 0;
    for (int32_t i = 0; i < n; i++) {
        shim_slot *slot = chosen[i];
        const shim_request *r = &slot->job->request;
        int32_t boundary = shim_slot_next_checkpoint(e, slot);
        memcpy(slot->tokens + slot->n_tokens, r->tokens + slot->n_tokens, (size_t)length * sizeof *slot->tokens);
        slot->n_tokens += length;
        if (slot->n_tokens == r->n_tokens) {
            slot->logits = llama_get_logits_ith(e->ctx, (i + 1) * length - 1);
            chosen[n_done++] = slot;
        } else if (slot->n_tokens == boundary) {
            shim_slot_checkpoint(e, slot);
        }
    }
    prompts_done(e, chosen, n_done);
}
