/* Sampling. The chain's order is llama.cpp's default: penalties, top-k, typical, top-p, min-p, temperature, draw.
 *
 * Penalties and top-k are done here, on the raw logits: copying a vocabulary of 250,000 candidates for every token
 * and sequence would cost more than everything else that we do in a step. What is left after top-k (40 candidates)
 * goes through llama.cpp's own samplers. With top-k off, all candidates do. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

enum { BLOCK = 64 };

/* The scan over the vocabulary is compiled once for each vector width; the loader picks by processor. */
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
#define FOR_EVERY_WIDTH __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define FOR_EVERY_WIDTH
#endif

static void sift_down(llama_token_data *heap, int32_t n, int32_t at) {
    for (;;) {
        int32_t child = 2 * at + 1;
        if (child >= n) {
            return;
        }
        if (child + 1 < n && heap[child + 1].logit < heap[child].logit) {
            child++;
        }
        if (heap[at].logit <= heap[child].logit) {
            return;
        }
        llama_token_data swap = heap[at];
        heap[at] = heap[child];
        heap[child] = swap;
        at = child;
    }
}

static int by_logit(const void *a, const void *b) {
    const llama_token_data *x = a, *y = b;
    if (x->logit != y->logit) {
        return x->logit < y->logit ? 1 : -1;
    }
    return x->id < y->id ? -1 : 1;
}

/* The k largest logits, best first; equal ones by token id. A min-heap of the best so far gives a threshold, and
 * blocks without a larger logit (nearly all of them) are passed over by one vector compare. */
FOR_EVERY_WIDTH
int32_t shim_select_top(const float *logits, int32_t n_vocab, int32_t k, llama_token_data *out) {
    int32_t n = 0;
    float threshold = -INFINITY;
    for (int32_t start = 0; start < n_vocab; start += BLOCK) {
        int32_t end = start + BLOCK < n_vocab ? start + BLOCK : n_vocab;
        if (n == k) {
            int32_t above = 0;
            for (int32_t i = start; i < end; i++) {
                above |= logits[i] > threshold;
            }
            if (!above) {
                continue;
            }
        }
        for (int32_t i = start; i < end; i++) {
            if (!(logits[i] > threshold)) { /* also leaves out what is not a number */
                continue;
            }
            if (n < k) {
                out[n++] = (llama_token_data){i, logits[i], 0.0f};
                if (n == k) {
                    for (int32_t at = n / 2 - 1; at >= 0; at--) {
                        sift_down(out, n, at);
                    }
                    threshold = out[0].logit;
                }
            } else {
                out[0] = (llama_token_data){i, logits[i], 0.0f};
                sift_down(out, n, 0);
                threshold = out[0].logit;
            }
        }
    }
    qsort(out, (size_t)n, sizeof *out, by_logit);
    return n;
}

float shim_log_sum_exp(const float *logits, int32_t n_vocab) {
    float top = -INFINITY;
    double sum = 0.0;
    for (int32_t i = 0; i < n_vocab; i++) {
        top = logits[i] > top ? logits[i] : top;
    }
    for (int32_t i = 0; i < n_vocab; i++) {
        sum += expf(logits[i] - top);
    }
    return top + (float)log(sum);
}

static bool has_penalty(const shim_sampling *o) {
    return o->repeat_last_n != 0 &&
           (o->repeat_penalty != 1.0f || o->presence_penalty != 0.0f || o->frequency_penalty != 0.0f);
}

static struct llama_sampler *make_chain(const shim_sampling *o) {
    struct llama_sampler_chain_params params = llama_sampler_chain_default_params();
    params.no_perf = true;
    struct llama_sampler *chain = llama_sampler_chain_init(params);
    if (o->typical_p < 1.0f) {
        llama_sampler_chain_add(chain, llama_sampler_init_typical(o->typical_p, 1));
    }
    if (o->top_p < 1.0f) {
        llama_sampler_chain_add(chain, llama_sampler_init_top_p(o->top_p, 1));
    }
    if (o->min_p > 0.0f) {
        llama_sampler_chain_add(chain, llama_sampler_init_min_p(o->min_p, 1));
    }
    llama_sampler_chain_add(chain, llama_sampler_init_temp(o->temperature));
    llama_sampler_chain_add(chain, llama_sampler_init_dist(o->seed));
    return chain;
}

bool shim_sampler_init(shim_sampler *sampler, const shim_sampling *options, int32_t n_vocab) {
    memset(sampler, 0, sizeof *sampler);
    sampler->options = *options;
    sampler->n_vocab = n_vocab;
    if (options->temperature > 0.0f) {
        sampler->chain = make_chain(options);
    }
    if (has_penalty(options)) {
        sampler->counts = calloc((size_t)n_vocab, sizeof *sampler->counts);
        return sampler->counts != NULL;
    }
    return true;
}

void shim_sampler_free(shim_sampler *sampler) {
    if (sampler->chain) {
        llama_sampler_free(sampler->chain);
    }
    free(sampler->counts);
    memset(sampler, 0, sizeof *sampler);
}

/* Lowers the logits of what stands in the window, each token once. In place: whoever wants the raw values (log
 * probabilities) takes them before. */
static void penalise(shim_sampler *s, float *logits, const llama_token *window, int32_t n) {
    const shim_sampling *o = &s->options;
    for (int32_t i = 0; i < n; i++) {
        s->counts[window[i]]++;
    }
    for (int32_t i = 0; i < n; i++) {
        llama_token token = window[i];
        int32_t count = s->counts[token];
        if (count == 0) {
            continue; /* done already */
        }
        s->counts[token] = 0;
        float logit = logits[token];
        logit = logit <= 0.0f ? logit * o->repeat_penalty : logit / o->repeat_penalty;
        logits[token] = logit - (float)count * o->frequency_penalty - o->presence_penalty;
    }
}

static llama_token pick(shim_sampler *s, shim_scratch *scratch, const float *logits) {
    const shim_sampling *o = &s->options;
    llama_token_data *out = scratch->candidates;
    int32_t n;
    if (!s->chain) {
        return shim_select_top(logits, s->n_vocab, 1, out) ? out[0].id : -1;
    }
    bool cut = o->top_k > 0 && o->top_k < s->n_vocab;
    if (cut) {
        n = shim_select_top(logits, s->n_vocab, o->top_k, out);
    } else {
        n = 0;
        for (int32_t i = 0; i < s->n_vocab; i++) {
            if (logits[i] > -INFINITY) {
                out[n++] = (llama_token_data){i, logits[i], 0.0f};
            }
        }
    }
    if (n == 0) {
        return -1;
    }
    llama_token_data_array array = {out, (size_t)n, -1, cut};
    llama_sampler_apply(s->chain, &array);
    return array.selected >= 0 ? array.data[array.selected].id : -1;
}

llama_token shim_sampler_next(shim_sampler *s, shim_scratch *scratch, float *logits, const llama_token *history,
                              int32_t n_history) {
    if (s->counts) {
        int32_t n = s->options.repeat_last_n;
        n = n < 0 || n > n_history ? n_history : n;
        penalise(s, logits, history + n_history - n, n);
    }
    return pick(s, scratch, logits);
}
