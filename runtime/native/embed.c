/* Embeddings: what the model makes of a whole text, as one vector. They are computed on the decode thread, between the
 * steps of running streams (a second computing thread would be a second OpenMP team, see engine.h), in a context of
 * their own that is made when the first text comes and grows with the longest one.
 *
 * llama.cpp computes the vocabulary's logits for every token of a batch whose embeddings it is asked for. Where only the
 * last token counts, all tokens before it go through batches without outputs first; that saves the logits, which are a
 * quarter of a small model.
 *
 * One text at a time: among others in a batch its attention is summed up in another order, and that moves the vector of
 * a quantised model by more (cosine 0.9995) than whoever compares stored vectors with new ones can take. */
#include <stdlib.h>
#include <string.h>

#include "engine.h"

enum { SMALLEST_CONTEXT = 1024, WORTH_TWO_PASSES = 64, FIRST_TOKENS = 128, NO_CONTEXT = -100 };

struct shim_embed_job {
    shim_embed_job *next;
    int64_t id;
    int32_t n_tokens, n_done;
    bool cancelled;
    llama_token tokens[];
};

bool shim_engine_embed(shim_engine *e, int64_t id, const int32_t *tokens, int32_t n_tokens) {
    size_t size = (size_t)n_tokens * sizeof *tokens;
    shim_embed_job *job = calloc(1, sizeof *job + size);
    if (!job) {
        return false;
    }
    job->id = id;
    job->n_tokens = n_tokens;
    memcpy(job->tokens, tokens, size);
    pthread_mutex_lock(&e->lock);
    shim_embed_job **link = &e->embed.head;
    if (e->embed.tail) {
        link = &e->embed.tail->next;
    }
    *link = e->embed.tail = job;
    pthread_cond_signal(&e->work);
    pthread_mutex_unlock(&e->lock);
    return true;
}

/* The caller holds the lock; the loop takes the marked ones out. */
void shim_embed_cancel(shim_engine *e, int64_t id) {
    for (shim_embed_job *job = e->embed.head; job; job = job->next) {
        job->cancelled |= job->id == id;
    }
}

void shim_embed_free(shim_engine *e) {
    while (e->embed.head) {
        shim_embed_job *next = e->embed.head->next;
        free(e->embed.head);
        e->embed.head = next;
    }
    if (e->embed.ctx) {
        llama_batch_free(e->embed.batch);
        llama_free(e->embed.ctx);
    }
}

/* A context that holds n_tokens; false without memory. */
static bool make_context(shim_engine *e, int32_t n_tokens) {
    const shim_engine_config *c = &e->config;
    if (e->embed.ctx && e->embed.n_ctx >= n_tokens) {
        return true;
    }
    if (e->embed.ctx) {
        llama_batch_free(e->embed.batch);
        llama_free(e->embed.ctx);
        e->embed.ctx = NULL;
    }
    int32_t n_ctx = SMALLEST_CONTEXT;
    while (n_ctx < n_tokens) {
        n_ctx *= 2;
    }
    struct llama_context_params params = llama_context_default_params();
    params.n_ctx = (uint32_t)n_ctx;
    params.n_batch = (uint32_t)(c->embed_whole ? n_ctx : c->embed_batch < n_ctx ? c->embed_batch : n_ctx);
    params.n_ubatch = params.n_batch;
    params.n_seq_max = 1;
    params.n_threads = params.n_threads_batch = c->n_threads;
    params.embeddings = true;
    params.pooling_type = (enum llama_pooling_type)c->embed_pooling;
    params.kv_unified = true;
    params.no_perf = true;
    e->embed.ctx = llama_init_from_model((struct llama_model *)llama_get_model(e->ctx), params);
    if (!e->embed.ctx) {
        return false;
    }
    if (c->n_adapters) {
        llama_set_adapters_lora(e->embed.ctx, c->adapters, (size_t)c->n_adapters, c->adapter_scales);
    }
    e->embed.n_ctx = n_ctx;
    e->embed.n_batch = (int32_t)params.n_batch;
    e->embed.batch = llama_batch_init(e->embed.n_batch, 0, 1);
    return true;
}

static void add_tokens(shim_engine *e, const shim_embed_job *job, int32_t from, int32_t to, bool outputs) {
    struct llama_batch *b = &e->embed.batch;
    for (int32_t at = from; at < to; at++) {
        int32_t i = b->n_tokens++;
        b->token[i] = job->tokens[at];
        b->pos[i] = at;
        b->n_seq_id[i] = 1;
        b->seq_id[i][0] = 0;
        b->logits[i] = outputs;
    }
}

static int32_t compute(shim_engine *e, bool outputs) {
    llama_set_embeddings(e->embed.ctx, outputs);
    int64_t began = shim_now_ns();
    int32_t rc = llama_decode(e->embed.ctx, e->embed.batch);
    llama_synchronize(e->embed.ctx);
    double rate = (double)e->embed.batch.n_tokens / (double)(shim_now_ns() - began + 1);
    e->embed.rate = e->embed.rate > 0 ? 0.7 * e->embed.rate + 0.3 * rate : rate;
    return rc;
}

/* Reports the vector of a job that is complete, or what went wrong, and frees it. */
static void end_job(shim_engine *e, shim_embed_job *job, int32_t rc) {
    const float *vector = rc == 0 ? llama_get_embeddings_seq(e->embed.ctx, 0) : NULL;
    if (vector) {
        shim_report_embedding(e, job->id, vector, e->config.embed_width, job->n_tokens);
    } else {
        shim_report_failed(e, job->id, SHIM_FAILED_ENGINE,
                           rc == NO_CONTEXT ? "no memory for the context of embeddings; use shorter texts or a smaller num_ctx"
                                            : "the model made no embedding");
    }
    free(job);
}

/* The next piece of a text, or all of it; its state stays in the KV cache in between. */
static int32_t embed_piece(shim_engine *e, shim_embed_job *job, int32_t most) {
    if (!make_context(e, job->n_tokens)) {
        return NO_CONTEXT;
    }
    llama_memory_t memory = llama_get_memory(e->embed.ctx);
    if (job->n_done == 0 && memory) {
        llama_memory_clear(memory, e->stateful);
    }
    int32_t left = job->n_tokens - job->n_done;
    bool in_one = e->config.embed_whole || (job->n_done == 0 && left <= WORTH_TWO_PASSES && left <= most);
    bool last = in_one || left == 1;
    int32_t n = last ? left : left - 1 < most ? left - 1 : most;
    e->embed.batch.n_tokens = 0;
    add_tokens(e, job, job->n_done, job->n_done + n, last);
    job->n_done += n;
    return compute(e, last);
}

static void drop_cancelled(shim_engine *e) {
    shim_embed_job **link = &e->embed.head;
    e->embed.tail = NULL;
    while (*link) {
        shim_embed_job *job = *link;
        if (job->cancelled) {
            *link = job->next;
            shim_report_cancelled(e, job->id);
            free(job);
        } else {
            e->embed.tail = job;
            link = &job->next;
        }
    }
}

/* How many tokens may be computed now: a batch, or what running streams can wait for. */
static int32_t budget(const shim_engine *e, bool streams_wait) {
    if (!streams_wait) {
        return e->config.embed_batch;
    }
    double fits = e->embed.rate > 0 ? e->embed.rate * (double)e->config.prefill_slice_ns : FIRST_TOKENS;
    return fits < 1 ? 1 : fits < e->config.embed_batch ? (int32_t)fits : e->config.embed_batch;
}

/* The first text of the queue. It stays there until it is done, so that a cancel finds it. */
static shim_embed_job *first(shim_engine *e) {
    pthread_mutex_lock(&e->lock);
    drop_cancelled(e);
    shim_embed_job *job = e->embed.head;
    pthread_mutex_unlock(&e->lock);
    return job;
}

static void pop(shim_engine *e) {
    pthread_mutex_lock(&e->lock);
    e->embed.head = e->embed.head->next;
    e->embed.tail = e->embed.head ? e->embed.tail : NULL;
    pthread_mutex_unlock(&e->lock);
}

void shim_embed_some(shim_engine *e, bool streams_wait) {
    shim_embed_job *job = first(e);
    if (job) {
        int32_t rc = embed_piece(e, job, budget(e, streams_wait));
        if (rc != 0 || job->n_done == job->n_tokens) {
            pop(e);
            end_job(e, job, rc);
        }
    }
    shim_announce(e);
}
