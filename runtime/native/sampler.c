/* Sampling. The order is llama.cpp's default: penalties, top-k, typical, top-p, min-p, xtc, temperature, draw.
 *
 * Penalties and top-k are done here, on the raw logits: copying a vocabulary of 250,000 candidates for every token
 * and sequence would cost more than everything else that we do in a step. What is left after top-k (40 candidates)
 * goes through llama.cpp's own samplers. With top-k off, all candidates do. Rarer samplers: see chain.c. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

enum { LANES = 16, ROWS = 16, MOST_COLUMNS = 16384 };

/* The scans over the vocabulary are compiled once for each vector width; the loader picks by processor. */
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
#define FOR_EVERY_WIDTH __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define FOR_EVERY_WIDTH
#endif

static int by_logit(const void *a, const void *b) {
    const llama_token_data *x = a, *y = b;
    if (x->logit != y->logit) {
        return x->logit < y->logit ? 1 : -1;
    }
    return x->id < y->id ? -1 : 1;
}

typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));
typedef int32_t lane_mask __attribute__((vector_size(LANES * sizeof(int32_t))));

/* The logits as groups of `rows` vectors, and the maximum of every column of every group (16 columns a group); what is
 * not a number never counts. Columns need no step across lanes, which would cost as much as the reading. The last,
 * incomplete group has columns too. Returns how many columns there are. */
FOR_EVERY_WIDTH
static int32_t column_maxima(const float *logits, int32_t n_vocab, int32_t rows, float *maxima) {
    int32_t n = 0, at = 0;
    for (; at + rows * LANES <= n_vocab; at += rows * LANES, n += LANES) {
        lanes best = (lanes){0} - INFINITY;
        for (int32_t row = 0; row < rows; row++) {
            lanes x;
            memcpy(&x, logits + at + row * LANES, sizeof x);
            lane_mask wins = x > best;
            best = (lanes)(((lane_mask)x & wins) | ((lane_mask)best & ~wins));
        }
        memcpy(maxima + n, &best, sizeof best);
    }
    for (int32_t lane = 0; lane < LANES && at + lane < n_vocab; lane++, n++) {
        maxima[n] = -INFINITY;
        for (int32_t i = at + lane; i < n_vocab; i += LANES) {
            maxima[n] = logits[i] > maxima[n] ? logits[i] : maxima[n];
        }
    }
    return n;
}

FOR_EVERY_WIDTH
static int32_t count_from(const float *values, int32_t n, float threshold) {
    int32_t count = 0;
    for (int32_t i = 0; i < n; i++) {
        count += values[i] >= threshold;
    }
    return count;
}

FOR_EVERY_WIDTH
static float greatest(const float *values, int32_t n) {
    float maxima[LANES], most = -INFINITY;
    lanes best = (lanes){0} - INFINITY;
    int32_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        lanes x;
        memcpy(&x, values + i, sizeof x);
        lane_mask wins = x > best;
        best = (lanes)(((lane_mask)x & wins) | ((lane_mask)best & ~wins));
    }
    memcpy(maxima, &best, sizeof maxima);
    for (int32_t lane = 0; lane < LANES; lane++) {
        most = maxima[lane] > most ? maxima[lane] : most;
    }
    for (; i < n; i++) {
        most = values[i] > most ? values[i] : most;
    }
    return most;
}

/* A value that at least k of the maxima reach, close to the highest such value: each of their columns holds a logit as
 * large, so at least k logits reach it too. Found by halving the interval: no branch depends on the data. */
static float threshold_for(const float *maxima, int32_t n, int32_t k) {
    float high = greatest(maxima, n);
    if (k == 1 || high == -INFINITY) {
        return high;
    }
    if (count_from(maxima, n, -FLT_MAX) < k) {
        return -INFINITY; /* a mask has left only a few */
    }
    float width = 1.0f, low = high - width;
    while (count_from(maxima, n, low) < k && low > -INFINITY) {
        high = low;
        width *= 2.0f;
        low = high - width;
    }
    for (int32_t step = 0; step < 24 && low > -INFINITY; step++) {
        float middle = low + (high - low) / 2;
        int32_t count = count_from(maxima, n, middle);
        if (count >= k) {
            low = middle;
        } else {
            high = middle;
        }
        if (count >= k && count <= k + k / 8) {
            break;
        }
    }
    return low;
}

/* Keeps the k best of n items, in order. */
static int32_t keep_best(llama_token_data *items, int32_t n, int32_t k) {
    qsort(items, (size_t)n, sizeof *items, by_logit);
    return n < k ? n : k;
}

/* The k largest logits, best first; equal ones by token id. `out` has room for n_vocab items.
 *
 * A heap would mispredict a branch for nearly every insertion (40 us for one sequence, measured). Instead one vector
 * pass finds the maxima of short columns; from these follows a threshold that about k logits reach; and only the
 * columns that reach it are looked into. */
int32_t shim_select_top(const float *logits, int32_t n_vocab, int32_t k, llama_token_data *out) {
    float maxima[MOST_COLUMNS + LANES];
    int32_t rows = ROWS;
    while (n_vocab / rows >= MOST_COLUMNS) {
        rows *= 2;
    }
    int32_t n_columns = column_maxima(logits, n_vocab, rows, maxima), n = 0;
    float threshold = k <= n_columns ? threshold_for(maxima, n_columns, k) : -INFINITY;
    for (int32_t c = 0; c < n_columns; c++) {
        if (!(maxima[c] >= threshold) || maxima[c] == -INFINITY) {
            continue;
        }
        int32_t group = c / LANES * rows * LANES, end = group + rows * LANES;
        end = end < n_vocab ? end : n_vocab;
        for (int32_t i = group + c % LANES; i < end; i += LANES) {
            if (logits[i] >= threshold && logits[i] > -INFINITY) {
                out[n++] = (llama_token_data){i, logits[i], 0.0f};
            }
        }
    }
    return keep_best(out, n, k);
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

bool shim_sampler_init(shim_sampler *sampler, const shim_sampling *options, const struct llama_vocab *vocab,
                       int32_t n_vocab) {
    memset(sampler, 0, sizeof *sampler);
    sampler->options = *options;
    sampler->n_vocab = n_vocab;
    sampler->whole = shim_needs_whole_chain(options);
    if (options->temperature > 0.0f || sampler->whole) {
        sampler->chain = shim_make_chain(options, vocab, n_vocab);
    }
    if (has_penalty(options) && !sampler->whole) {
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
    bool cut = !s->whole && o->top_k > 0 && o->top_k < s->n_vocab;
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
    return array.selected >= 0 && array.selected < (int64_t)array.size ? array.data[array.selected].id : -1;
}

/* Samplers with a memory hear of the prompt once, and then of every token. */
static void tell(shim_sampler *s, const llama_token *history, int32_t n_history) {
    for (int32_t i = 0; i < n_history; i++) {
        llama_sampler_accept(s->chain, history[i]);
    }
}

llama_token shim_sampler_next(shim_sampler *s, shim_scratch *scratch, float *logits, const llama_token *history,
                              int32_t n_history) {
    for (int32_t i = 0; i < s->options.n_biases; i++) {
        logits[s->options.biases[i].token] += s->options.biases[i].bias;
    }
    if (s->counts) {
        int32_t n = s->options.repeat_last_n;
        n = n < 0 || n > n_history ? n_history : n;
        penalise(s, logits, history + n_history - n, n);
    }
    if (!s->whole) {
        return pick(s, scratch, logits);
    }
    tell(s, history, s->primed ? 0 : n_history);
    s->primed = true;
    llama_token token = pick(s, scratch, logits);
    tell(s, &token, token >= 0 ? 1 : 0);
    return token;
}
