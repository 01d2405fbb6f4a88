/* Life of an engine: requests come in through a queue, a free slot takes them, the loop steps until all are done. */
#include <stdlib.h>
#include <string.h>

#include "engine.h"

static bool make_slots(shim_engine *e) {
    e->slots = calloc((size_t)e->config.n_slots, sizeof *e->slots);
    for (int32_t i = 0; e->slots && i < e->config.n_slots; i++) {
        shim_slot *slot = &e->slots[i];
        slot->seq = i;
        slot->tokens = malloc((size_t)e->config.n_ctx_slot * sizeof *slot->tokens);
        slot->checkpoints = calloc(17, sizeof *slot->checkpoints);
        if (!slot->tokens || !slot->checkpoints) {
            return false;
        }
    }
    return e->slots != NULL;
}

static bool make_scratches(shim_engine *e) {
    int32_t n = e->config.n_threads < e->config.n_slots ? e->config.n_threads : e->config.n_slots;
    e->n_scratches = n < 1 ? 1 : n;
    e->scratches = calloc((size_t)e->n_scratches, sizeof *e->scratches);
    for (int32_t i = 0; e->scratches && i < e->n_scratches; i++) {
        shim_scratch *scratch = &e->scratches[i];
        scratch->n_vocab = e->n_vocab;
        scratch->candidates = malloc((size_t)e->n_vocab * sizeof *scratch->candidates);
        scratch->raw = malloc((size_t)e->n_vocab * sizeof *scratch->raw);
        if (!scratch->candidates || !scratch->raw) {
            return false;
        }
    }
    return e->scratches != NULL;
}

shim_engine *shim_engine_new(struct llama_context *ctx, shim_engine_config config) {
    if (config.n_slots < 1 || config.n_slots > 256 || config.n_batch < config.n_slots || config.n_ctx_slot < 1) {
        return NULL;
    }
    shim_engine *e = calloc(1, sizeof *e);
    if (!e) {
        return NULL;
    }
    const struct llama_model *model = llama_get_model(ctx);
    e->ctx = ctx;
    e->memory = llama_get_memory(ctx);
    e->vocab = llama_model_get_vocab(model);
    e->config = config;
    e->n_vocab = llama_vocab_n_tokens(e->vocab);
    e->stateful = llama_model_is_hybrid(model) || llama_model_is_recurrent(model);
    e->can_shift = e->memory && llama_memory_can_shift(e->memory);
    e->batch = llama_batch_init(config.n_batch, 0, 1);
    pthread_mutex_init(&e->lock, NULL);
    pthread_cond_init(&e->work, NULL);
    pthread_cond_init(&e->news, NULL);
    pthread_cond_init(&e->wants, NULL);
    pthread_cond_init(&e->grants, NULL);
    bool adapted = config.n_adapters == 0 || llama_set_adapters_lora(ctx, config.adapters, (size_t)config.n_adapters,
                                                                     config.adapter_scales) == 0;
    if (!adapted || !make_slots(e) || !make_scratches(e)) {
        shim_engine_free(e);
        return NULL;
    }
    return e;
}

static void free_box(shim_outbox *box) {
    free(box->events);
    free(box->text.data);
    free(box->logprobs);
    free(box->ids);
    free(box->floats);
}

void shim_engine_free(shim_engine *e) {
    for (int32_t i = 0; e->slots && i < e->config.n_slots; i++) {
        shim_slot *slot = &e->slots[i];
        shim_slot_close(e, slot);
        while (slot->n_checkpoints > 0) {
            free(slot->checkpoints[--slot->n_checkpoints].data);
        }
        free(slot->checkpoints);
        free(slot->tokens);
        free(slot->text.pending.data);
        free(slot->logprobs);
        free(slot->ids);
        free(slot->mask);
    }
    while (e->queue_head) {
        shim_job *next = e->queue_head->next;
        shim_job_free(e->queue_head);
        e->queue_head = next;
    }
    shim_embed_free(e);
    free_box(&e->boxes[0]);
    free_box(&e->boxes[1]);
    llama_batch_free(e->batch);
    for (int32_t i = 0; e->scratches && i < e->n_scratches; i++) {
        free(e->scratches[i].candidates);
        free(e->scratches[i].raw);
    }
    free(e->scratches);
    free(e->slots);
    pthread_mutex_destroy(&e->lock);
    pthread_cond_destroy(&e->work);
    pthread_cond_destroy(&e->news);
    pthread_cond_destroy(&e->wants);
    pthread_cond_destroy(&e->grants);
    free(e);
}

/* Whether a slot next to this one is at work. llama.cpp computes sequences together only if their numbers follow each
 * other: with 0, 2, 4 and 6 a step of four streams takes half as long again as with 0 to 3 (measured). */
static bool beside_busy(const shim_engine *e, int32_t at) {
    return (at > 0 && e->slots[at - 1].state != SHIM_SLOT_IDLE) ||
           (at + 1 < e->config.n_slots && e->slots[at + 1].state != SHIM_SLOT_IDLE);
}

/* The idle slot that shares the longest beginning with the prompt; among those that share little, one beside the busy
 * ones, and of these the one unused for the longest time, so that other conversations stay cached. */
static shim_slot *free_slot(shim_engine *e, const shim_job *job) {
    shim_slot *best = NULL, *oldest = NULL;
    int32_t longest = 0;
    bool oldest_beside = false;
    for (int32_t i = 0; i < e->config.n_slots; i++) {
        shim_slot *slot = &e->slots[i];
        if (slot->state != SHIM_SLOT_IDLE) {
            continue;
        }
        int32_t same = shim_slot_common_prefix(slot, job->tokens, job->request.n_tokens);
        if (same > longest) {
            longest = same;
            best = slot;
        }
        bool beside = beside_busy(e, i);
        if (!oldest || beside > oldest_beside || (beside == oldest_beside && slot->last_used < oldest->last_used)) {
            oldest = slot;
            oldest_beside = beside;
        }
    }
    bool worth_it = best && (longest * 2 >= best->n_tokens || longest * 2 >= job->request.n_tokens);
    return worth_it ? best : oldest;
}

static void drop_cancelled(shim_engine *e) {
    shim_job **link = &e->queue_head;
    e->queue_tail = NULL;
    while (*link) {
        shim_job *job = *link;
        if (job->cancelled) {
            *link = job->next;
            shim_report_cancelled(e, job->request.id);
            shim_job_free(job);
        } else {
            e->queue_tail = job;
            link = &job->next;
        }
    }
}

/* Everything that needs the lock at the start of a step. Returns false when the engine is to stop. */
static bool admit(shim_engine *e, shim_slot **opened, int32_t *n_opened, int32_t *n_busy) {
    if (e->cancel_pending) {
        drop_cancelled(e);
    }
    if (e->boxes[e->back].n_events > 0) {
        pthread_cond_signal(&e->news);
    }
    *n_opened = *n_busy = 0;
    for (int32_t i = 0; i < e->config.n_slots; i++) {
        *n_busy += e->slots[i].state != SHIM_SLOT_IDLE;
    }
    while (e->queue_head && *n_busy < e->config.n_slots) {
        shim_slot *slot = free_slot(e, e->queue_head);
        opened[(*n_opened)++] = slot;
        slot->job = e->queue_head; /* taken, so that a cancel finds it; opened outside the lock */
        slot->state = SHIM_SLOT_PREFILL;
        e->queue_head = e->queue_head->next;
        e->queue_tail = e->queue_head ? e->queue_tail : NULL;
        (*n_busy)++;
    }
    return !e->stopping;
}

static void end_cancelled(shim_engine *e) {
    for (int32_t i = 0; i < e->config.n_slots; i++) {
        shim_slot *slot = &e->slots[i];
        if (slot->job && slot->job->cancelled) {
            shim_report_finished(e, slot, SHIM_FINISH_CANCELLED, -1);
            shim_slot_close(e, slot);
        }
    }
}

static void open_all(shim_engine *e, shim_slot **slots, int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        bool ok = shim_slot_open(e, slots[i]);
        e->stats.cached_tokens += slots[i]->n_cached;
        if (!ok) {
            shim_report_failed(e, slots[i]->job->request.id, SHIM_FAILED_ENGINE, "out of memory");
            shim_slot_close(e, slots[i]);
        }
    }
}

static int32_t count(const shim_engine *e, enum shim_slot_state state) {
    int32_t n = 0;
    for (int32_t i = 0; i < e->config.n_slots; i++) {
        n += e->slots[i].state == state;
    }
    return n;
}

static void step(shim_engine *e) {
    int64_t began = shim_now_ns(), decoded = e->stats.decode_ns, steps = e->stats.steps;
    shim_generate(e);
    if (e->stats.steps > steps) {
        e->stats.own_ns += shim_now_ns() - began - (e->stats.decode_ns - decoded);
    }
    if (count(e, SHIM_SLOT_PREFILL)) {
        shim_announce(e); /* the tokens just made don't wait for somebody else's prompt */
        shim_prefill(e, count(e, SHIM_SLOT_GENERATE) > 0);
    }
}

/* One token through the whole model: pages come in, and a broken build dies before the model counts as loaded. */
static void warm_up(shim_engine *e) {
    llama_token token = llama_vocab_bos(e->vocab);
    e->batch.n_tokens = 1;
    e->batch.token[0] = token >= 0 ? token : 0;
    e->batch.pos[0] = 0;
    e->batch.n_seq_id[0] = 1;
    e->batch.seq_id[0][0] = 0;
    e->batch.logits[0] = true;
    int32_t result = llama_decode(e->ctx, e->batch);
    llama_memory_clear(e->memory, true);
    pthread_mutex_lock(&e->lock);
    e->warm_up_result = result;
    e->ready = true;
    pthread_cond_broadcast(&e->news);
    pthread_mutex_unlock(&e->lock);
}

void shim_engine_run(shim_engine *e) {
    shim_slot *opened[256];
    int32_t n_opened, n_busy;
    warm_up(e);
    for (;;) {
        int64_t began = shim_now_ns(), steps = e->stats.steps;
        pthread_mutex_lock(&e->lock);
        bool go_on = admit(e, opened, &n_opened, &n_busy);
        while (go_on && n_busy == 0 && !e->embed.head && !e->cancel_pending) {
            pthread_cond_wait(&e->work, &e->lock);
            began = shim_now_ns();
            go_on = admit(e, opened, &n_opened, &n_busy);
        }
        bool cancel = e->cancel_pending, embed = e->embed.head != NULL;
        e->cancel_pending = false;
        pthread_mutex_unlock(&e->lock);
        if (!go_on) {
            return;
        }
        int64_t admitted = shim_now_ns() - began;
        open_all(e, opened, n_opened);
        if (cancel) {
            end_cancelled(e);
        }
        step(e);
        if (e->stats.steps > steps) {
            e->stats.own_ns += admitted;
        }
        if (embed) {
            shim_announce(e); /* a finished step doesn't wait for somebody else's text */
            shim_embed_some(e, n_busy > 0);
        }
    }
}

int32_t shim_engine_logits(shim_engine *e, const int32_t *tokens, int32_t n_tokens, float *out) {
    shim_slot *slot = &e->slots[0];
    if (n_tokens < 1 || n_tokens > e->config.n_ctx_slot) {
        return -1;
    }
    shim_slot_forget(e, slot);
    for (int32_t at = 0; at < n_tokens; at += e->config.n_batch) {
        int32_t n = n_tokens - at < e->config.n_batch ? n_tokens - at : e->config.n_batch;
        e->batch.n_tokens = n;
        for (int32_t i = 0; i < n; i++) {
            e->batch.token[i] = tokens[at + i];
            e->batch.pos[i] = at + i;
            e->batch.n_seq_id[i] = 1;
            e->batch.seq_id[i][0] = slot->seq;
            e->batch.logits[i] = at + i == n_tokens - 1;
        }
        int32_t rc = llama_decode(e->ctx, e->batch);
        if (rc != 0) {
            return rc;
        }
    }
    memcpy(out, llama_get_logits_ith(e->ctx, -1), (size_t)e->n_vocab * sizeof *out);
    shim_slot_forget(e, slot);
    return 0;
}
