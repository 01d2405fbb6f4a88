/* Which of llama.cpp's samplers a request goes through, in llama.cpp's order and with its meaning of every option.
 *
 * Two kinds of chain. The short one takes what is left after penalties and top-k, which sampler.c does itself. The whole
 * one takes every token: some samplers look at all logits, or keep a memory of what was said, or are to come in an order
 * of the client's own. */
#include "engine.h"

static bool dry_is_on(const shim_sampling *o) {
    return o->dry_multiplier != 0.0f && o->dry_base >= 1.0f && o->dry_penalty_last_n > 0;
}

/* At temperature 0 the best token wins, except where a sampler may drop it or give a temperature after all. */
static bool greedy_is_not_enough(const shim_sampling *o) {
    return o->temperature <= 0.0f && (o->typical_p < 1.0f || o->xtc_probability > 0.0f || o->dynatemp_range > 0.0f);
}

bool shim_needs_whole_chain(const shim_sampling *o) {
    return greedy_is_not_enough(o) || o->n_order > 0 || o->top_n_sigma > 0.0f || dry_is_on(o) || o->mirostat != 0 || o->adaptive_target >= 0.0f;
}

static size_t min_keep(const shim_sampling *o) {
    return o->min_keep > 1 ? (size_t)o->min_keep : 1;
}

static struct llama_sampler *make_dry(const shim_sampling *o, const struct llama_vocab *vocab) {
    return llama_sampler_init_dry(vocab, o->dry_multiplier, o->dry_base, o->dry_allowed_length, o->dry_penalty_last_n,
                                  (const char **)o->dry_breakers, (size_t)o->n_dry_breakers);
}

static struct llama_sampler *make_one(const shim_sampling *o, int32_t kind, const struct llama_vocab *vocab) {
    switch (kind) {
        case SHIM_SAMPLER_PENALTIES:
            return llama_sampler_init_penalties(llama_vocab_n_tokens(vocab), o->repeat_last_n, o->repeat_penalty,
                                                o->frequency_penalty, o->presence_penalty);
        case SHIM_SAMPLER_DRY:
            return make_dry(o, vocab);
        case SHIM_SAMPLER_TOP_N_SIGMA:
            return llama_sampler_init_top_n_sigma(o->top_n_sigma);
        case SHIM_SAMPLER_TOP_K:
            return llama_sampler_init_top_k(o->top_k);
        case SHIM_SAMPLER_TYPICAL_P:
            return o->typical_p < 1.0f ? llama_sampler_init_typical(o->typical_p, min_keep(o)) : NULL;
        case SHIM_SAMPLER_TOP_P:
            return o->top_p < 1.0f ? llama_sampler_init_top_p(o->top_p, min_keep(o)) : NULL;
        case SHIM_SAMPLER_MIN_P:
            return o->min_p > 0.0f ? llama_sampler_init_min_p(o->min_p, min_keep(o)) : NULL;
        case SHIM_SAMPLER_XTC:
            return o->xtc_probability > 0.0f
                       ? llama_sampler_init_xtc(o->xtc_probability, o->xtc_threshold, min_keep(o), o->seed)
                       : NULL;
        case SHIM_SAMPLER_INFILL:
            return llama_sampler_init_infill(vocab);
        case SHIM_SAMPLER_TEMPERATURE:
            return llama_sampler_init_temp_ext(o->temperature, o->dynatemp_range, o->dynatemp_exponent);
        default:
            return NULL; /* the one that chooses comes last, wherever it was named */
    }
}

static struct llama_sampler *make_chooser(const shim_sampling *o, int32_t n_vocab) {
    switch (o->mirostat) {
        case 1:
            return llama_sampler_init_mirostat(n_vocab, o->seed, o->mirostat_tau, o->mirostat_eta, 100);
        case 2:
            return llama_sampler_init_mirostat_v2(o->seed, o->mirostat_tau, o->mirostat_eta);
        default:
            return o->adaptive_target >= 0.0f
                       ? llama_sampler_init_adaptive_p(o->adaptive_target, o->adaptive_decay, o->seed)
                       : llama_sampler_init_dist(o->seed);
    }
}

struct llama_sampler *shim_make_chain(const shim_sampling *o, const struct llama_vocab *vocab, int32_t n_vocab) {
    static const uint8_t whole_order[] = {SHIM_SAMPLER_PENALTIES, SHIM_SAMPLER_DRY,   SHIM_SAMPLER_TOP_N_SIGMA,
                                          SHIM_SAMPLER_TOP_K,     SHIM_SAMPLER_TYPICAL_P, SHIM_SAMPLER_TOP_P,
                                          SHIM_SAMPLER_MIN_P,     SHIM_SAMPLER_XTC,   SHIM_SAMPLER_TEMPERATURE};
    static const uint8_t mirostat_order[] = {SHIM_SAMPLER_TEMPERATURE};
    enum { BEFORE_SHORT = 4 };
    struct llama_sampler_chain_params params = llama_sampler_chain_default_params();
    params.no_perf = true;
    struct llama_sampler *chain = llama_sampler_chain_init(params);
    const uint8_t *order = whole_order;
    int32_t n = sizeof whole_order;
    if (o->mirostat) {
        order = mirostat_order;
        n = sizeof mirostat_order;
    } else if (o->n_order > 0) {
        order = o->order;
        n = o->n_order;
    } else if (!shim_needs_whole_chain(o)) {
        order += BEFORE_SHORT;
        n -= BEFORE_SHORT;
    }
    for (int32_t i = 0; i < n; i++) {
        struct llama_sampler *sampler = make_one(o, order[i], vocab);
        if (sampler) {
            llama_sampler_chain_add(chain, sampler);
        }
    }
    llama_sampler_chain_add(chain, make_chooser(o, n_vocab));
    return chain;
}
