/* The native engine: what Python may call (engine.cdef.txt repeats the public part) and what the C files share.
 *
 * One engine owns one llama_context. One thread runs shim_engine_run(); any thread may submit, cancel, or wait for
 * events. All text is bytes; Python decodes. Times are nanoseconds of the monotonic clock.
 */
#ifndef SHIM_ENGINE_H
#define SHIM_ENGINE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "llama.h"

/* ---- public part ------------------------------------------------------------------------------------------ */

enum shim_event_kind { SHIM_EVENT_TOKEN = 1, SHIM_EVENT_FINISHED = 2, SHIM_EVENT_FAILED = 3, SHIM_EVENT_EMBEDDING = 4 };

enum shim_finish_reason {
    SHIM_FINISH_EOS = 1,     /* the model ended its turn */
    SHIM_FINISH_STOP = 2,    /* a stop string appeared */
    SHIM_FINISH_PREDICT = 3, /* num_predict tokens were made */
    SHIM_FINISH_CONTEXT = 4, /* the context is full and may not be shifted */
    SHIM_FINISH_CANCELLED = 5
};

enum shim_failure { SHIM_FAILED_ENGINE = 0, SHIM_FAILED_TOO_LONG = 1, SHIM_FAILED_BAD_REQUEST = 2 };

enum shim_sampler_kind {
    SHIM_SAMPLER_PENALTIES = 1, SHIM_SAMPLER_DRY, SHIM_SAMPLER_TOP_N_SIGMA, SHIM_SAMPLER_TOP_K, SHIM_SAMPLER_TYPICAL_P,
    SHIM_SAMPLER_TOP_P, SHIM_SAMPLER_MIN_P, SHIM_SAMPLER_XTC, SHIM_SAMPLER_TEMPERATURE, SHIM_SAMPLER_INFILL,
    SHIM_SAMPLER_ADAPTIVE_P
};

typedef struct {
    int32_t token;
    float bias;
} shim_bias;

typedef struct {
    uint32_t seed;
    int32_t top_k; /* <= 0: off */
    float top_p;
    float min_p;
    float typical_p;
    float temperature; /* <= 0: greedy */
    int32_t repeat_last_n; /* 0 off, < 0 the whole context */
    float repeat_penalty;
    float presence_penalty;
    float frequency_penalty;
    float top_n_sigma;     /* <= 0: off */
    float xtc_probability; /* 0: off */
    float xtc_threshold;
    float dynatemp_range; /* <= 0: off */
    float dynatemp_exponent;
    float dry_multiplier; /* 0: off */
    float dry_base;
    int32_t dry_allowed_length, dry_penalty_last_n;
    const char *const *dry_breakers;
    int32_t n_dry_breakers;
    int32_t mirostat; /* 0 off, 1, 2 */
    float mirostat_tau, mirostat_eta;
    float adaptive_target; /* < 0: off */
    float adaptive_decay;
    int32_t min_keep;
    uint8_t order[16]; /* shim_sampler_kind; the usual one if n_order is 0 */
    int32_t n_order;
    const shim_bias *biases; /* added to the logits before anything else */
    int32_t n_biases;
} shim_sampling;

typedef struct {
    int64_t id;
    const int32_t *tokens;
    int32_t n_tokens;
    shim_sampling sampling;
    int32_t n_predict;  /* < 0: no limit */
    int32_t n_keep;     /* prompt tokens that survive a context shift */
    int32_t n_logprobs; /* -1 off, else alternatives reported for every token */
    bool shift;
    bool want_ids; /* the finished event carries the generated token ids */
    bool special;  /* render control tokens in the text */
    bool constrained; /* every token waits for a mask, see shim_engine_next_want */
    const char *const *stops; /* zero-terminated, none empty */
    int32_t n_stops;
} shim_request;

typedef struct {
    int64_t id;
    int32_t kind;
    int32_t reason;     /* shim_finish_reason of a finished event, shim_failure of a failed one */
    int32_t stop_index; /* which stop string, or -1 */
    int32_t n_tokens;   /* generated tokens that this item covers */
    int32_t text_offset, text_length;
    int32_t logprob_offset, n_logprobs; /* runs of 1 + n_top entries: the token, then its alternatives */
    int32_t ids_offset, n_ids;
    int32_t floats_offset, n_floats; /* an embedding */
    int32_t prompt_tokens, cached_tokens, generated_tokens, shifted_tokens;
    int64_t prompt_ns, generate_ns;
} shim_event;

typedef struct {
    int32_t token;
    float logprob;
    int32_t n_top; /* alternatives that follow; -1 in the alternatives themselves */
} shim_logprob;

typedef struct {
    const shim_event *events;
    int32_t n_events;
    const char *text;
    const shim_logprob *logprobs;
    const int32_t *ids;
    const float *floats;
} shim_events;

typedef struct {
    int32_t n_slots;
    int32_t n_ctx_slot; /* tokens a slot may hold */
    int32_t n_batch;    /* most tokens in one llama_decode */
    int32_t n_threads;  /* that llama_decode computes with; sampling uses them too */
    int64_t checkpoint_bytes; /* budget a slot for saved recurrent states */
    int64_t prefill_slice_ns; /* longest a prompt chunk may hold up running streams */
    int32_t embed_pooling;    /* a llama_pooling_type other than NONE */
    int32_t embed_width;      /* numbers in an embedding */
    int32_t embed_batch;      /* most tokens of a text that are computed together, unless: */
    bool embed_whole;         /* a text has to be in one batch; else only its last token counts */
    struct llama_adapter_lora **adapters; /* applied to every context; must live as long as the engine */
    float *adapter_scales;
    int32_t n_adapters;
} shim_engine_config;

typedef struct {
    int64_t steps;     /* decode steps (one token for every generating slot) */
    int64_t tokens;    /* tokens generated */
    int64_t decode_ns; /* inside llama_decode, decode steps only */
    int64_t own_ns;    /* everything else of those steps: ours */
    int64_t prefill_tokens, prefill_ns;
    int64_t cached_tokens;
    int32_t queued, busy;
} shim_stats;

typedef struct shim_engine shim_engine;

shim_engine *shim_engine_new(struct llama_context *ctx, shim_engine_config config);
/* Warms up (one token), then works until shim_engine_stop. The warm-up runs here and not in the loading thread because
 * OpenMP keeps a team of threads for every thread that computes: with two teams there are more threads than
 * processors, and libgomp then puts them to sleep at every barrier (a third of the decode speed, measured). */
void shim_engine_run(shim_engine *engine);
int32_t shim_engine_wait_ready(shim_engine *engine); /* what llama_decode said to the warm-up: 0 is well */
void shim_engine_stop(shim_engine *engine); /* wakes the loop and every waiter */
void shim_engine_free(shim_engine *engine); /* after run() has returned; the context stays the caller's */
bool shim_engine_submit(shim_engine *engine, const shim_request *request); /* false: out of memory */
/* Queues a text of at least one token; answered by an embedding event or a failed one. False: out of memory. */
bool shim_engine_embed(shim_engine *engine, int64_t id, const int32_t *tokens, int32_t n_tokens);
void shim_engine_cancel(shim_engine *engine, int64_t id);
/* Answers a request that was never submitted: a failed event with this reason. */
void shim_engine_reject(shim_engine *engine, int64_t id, int32_t reason, const char *message);
/* Answers a request that was cancelled before it was submitted. */
void shim_engine_withdraw(shim_engine *engine, int64_t id);
/* Blocks until there is something to report, the time is up (0 events), or the engine stops (-1).
 * The view is valid until the next call; one thread waits. */
int32_t shim_engine_wait(shim_engine *engine, int32_t timeout_ms, shim_events *out);
/* Constrained requests. After a request was opened (token -1) and after each of its tokens, the engine wants the mask of
 * the next one: bit i of word i/32 allows token i. Somebody waits for wants on another thread, fills the mask while
 * the model computes, and grants it; so a mask costs time only if it takes longer than a token. */
typedef struct {
    int64_t id;
    llama_token token; /* the one just chosen, -1 at the start */
    uint32_t *mask;    /* (n_vocab + 31) / 32 words, of the request's slot */
} shim_want;
enum shim_grant { SHIM_GRANT_MASK = 1, SHIM_GRANT_ANY = 2, SHIM_GRANT_END = 3, SHIM_GRANT_FAILED = 4 };
int32_t shim_engine_next_want(shim_engine *engine, int32_t timeout_ms, shim_want *out); /* 1, 0 time is up, -1 stopped */
void shim_engine_grant(shim_engine *engine, int64_t id, int32_t grant);
void shim_engine_stats(shim_engine *engine, shim_stats *out);
/* Evaluates the prompt in sequence 0 of an engine that is not running and copies the last token's logits. */
int32_t shim_engine_logits(shim_engine *engine, const int32_t *tokens, int32_t n_tokens, float *out);

void shim_log_to_stderr(int32_t min_level);
void shim_die_with_parent(void);
/* 0 fine, 1 a wrong product, 2 the engine refused; dies where the engine build is broken. See canary.c. */
int32_t shim_canary(const int32_t *types, int32_t n_types, bool extra_buffers, int32_t n_threads, float *worst_error);

/* ---- shared by the C files -------------------------------------------------------------------------------- */

typedef struct {
    char *data;
    int32_t length, capacity;
} shim_bytes;

/* Generated text on its way out: holds back what may become a stop string or is half a character. See text.c. */
typedef struct {
    shim_bytes pending;
    char *const *stops;
    int32_t n_stops;
    int32_t longest_stop;
} shim_text;

bool shim_bytes_append(shim_bytes *bytes, const char *data, int32_t length);
int32_t shim_text_push(shim_text *text, const char *piece, int32_t length, int32_t *stop_index);
void shim_text_take(shim_text *text, int32_t length);

/* See sampler.c. */
typedef struct {
    shim_sampling options;
    struct llama_sampler *chain; /* after top-k, or the whole one; NULL when greedy */
    bool whole;                  /* the chain does everything and wants to hear of every token */
    bool primed;                 /* the whole chain has heard the prompt */
    int32_t *counts;             /* of each token in the penalty window; NULL when no penalty is on here */
    int32_t n_vocab;
} shim_sampler;

typedef struct {
    llama_token_data *candidates; /* n_vocab of them */
    float *raw;                   /* n_vocab logits before penalties */
    int32_t n_vocab;
} shim_scratch;

/* `options` is copied, what it points to is not. */
bool shim_sampler_init(shim_sampler *sampler, const shim_sampling *options, const struct llama_vocab *vocab,
                       int32_t n_vocab);
void shim_sampler_free(shim_sampler *sampler);
/* The next token, or -1 when no logit is a number. `history` is what the slot holds, newest last. */
llama_token shim_sampler_next(shim_sampler *s, shim_scratch *scratch, float *logits, const llama_token *history,
                              int32_t n_history);
int32_t shim_select_top(const float *logits, int32_t n_vocab, int32_t k, llama_token_data *out);
float shim_log_sum_exp(const float *logits, int32_t n_vocab);

/* chain.c */
bool shim_needs_whole_chain(const shim_sampling *options);
struct llama_sampler *shim_make_chain(const shim_sampling *options, const struct llama_vocab *vocab, int32_t n_vocab);

typedef struct {
    int32_t n_tokens; /* tokens that the saved state has seen */
    uint8_t *data;
    size_t size;
} shim_checkpoint;

enum shim_slot_state { SHIM_SLOT_IDLE = 0, SHIM_SLOT_PREFILL, SHIM_SLOT_GENERATE };

typedef struct shim_job shim_job; /* a copied request */
struct shim_job {
    shim_job *next;
    shim_request request; /* pointers into this job's own memory */
    llama_token *tokens;
    char **stops;
    char **breakers;
    shim_bias *biases;
    bool cancelled;
};

typedef struct {
    int32_t seq;
    enum shim_slot_state state;
    shim_job *job;
    llama_token *tokens; /* what the KV cache of this sequence holds */
    int32_t n_tokens;
    llama_token next;  /* sampled, not yet decoded */
    float *logits;     /* of the last decode; what follows from them: */
    llama_token drawn; /* -1 the logits are no numbers, -2 out of memory */
    int32_t n_generated, n_cached, n_shifted, n_unreported;
    shim_sampler sampler;
    uint32_t *mask; /* NULL until a constrained request came */
    int32_t grant;  /* shim_grant, 0 while the mask is being made; under the engine's lock */
    bool wanting;   /* nobody has taken the want yet; likewise */
    shim_text text;
    shim_logprob *logprobs; /* not yet reported */
    int32_t n_logprobs, logprob_capacity;
    llama_token *ids;
    int32_t n_ids, ids_capacity;
    shim_checkpoint *checkpoints; /* by n_tokens, rising */
    int32_t n_checkpoints;
    int64_t started_ns, generating_ns;
    uint64_t last_used;
} shim_slot;

typedef struct {
    shim_event *events;
    int32_t n_events, event_capacity;
    shim_bytes text;
    shim_logprob *logprobs;
    int32_t n_logprobs, logprob_capacity;
    int32_t *ids;
    int32_t n_ids, ids_capacity;
    float *floats;
    int32_t n_floats, floats_capacity;
} shim_outbox;

typedef struct shim_embed_job shim_embed_job;
typedef struct {
    struct llama_context *ctx; /* NULL until a text came */
    struct llama_batch batch;
    int32_t n_ctx, n_batch;
    double rate;  /* tokens a nanosecond, smoothed; 0 unknown */
    shim_embed_job *head, *tail; /* under the engine's lock */
} shim_embedder;

struct shim_engine {
    struct llama_context *ctx;
    llama_memory_t memory;
    const struct llama_vocab *vocab;
    shim_engine_config config;
    int32_t n_vocab;
    bool stateful;  /* recurrent layers: a sequence cannot be cut at will */
    bool can_shift;
    shim_slot *slots;
    struct llama_batch batch;
    shim_scratch *scratches; /* one a thread */
    int32_t n_scratches;
    int32_t turn;         /* round robin over prefilling slots */
    double prefill_rate;  /* tokens a nanosecond, smoothed; 0 unknown */
    uint64_t clock;
    shim_embedder embed;

    pthread_mutex_t lock; /* everything below */
    pthread_cond_t work, news, wants, grants;
    shim_job *queue_head, *queue_tail;
    shim_outbox boxes[2];
    int32_t back;
    bool stopping, cancel_pending, ready;
    int32_t warm_up_result;
    shim_stats stats;
};

int64_t shim_now_ns(void);

/* slot.c */
int32_t shim_slot_common_prefix(const shim_slot *slot, const llama_token *tokens, int32_t n_tokens);
void shim_slot_rewind(shim_engine *e, shim_slot *slot, int32_t n_tokens);
void shim_slot_forget(shim_engine *e, shim_slot *slot);
int32_t shim_slot_next_checkpoint(const shim_engine *e, const shim_slot *slot);
void shim_slot_checkpoint(shim_engine *e, shim_slot *slot);
bool shim_slot_shift(shim_engine *e, shim_slot *slot);
bool shim_slot_open(shim_engine *e, shim_slot *slot);
void shim_slot_close(shim_engine *e, shim_slot *slot);
void shim_job_free(shim_job *job);

/* outbox.c */
bool shim_reserve(void **data, int32_t *capacity, int32_t wanted, size_t item);
void shim_report_text(shim_engine *e, shim_slot *slot, int32_t text_length);
void shim_report_finished(shim_engine *e, shim_slot *slot, int32_t reason, int32_t stop_index);
void shim_report_cancelled(shim_engine *e, int64_t id);
void shim_report_failed(shim_engine *e, int64_t id, int32_t reason, const char *message);

void shim_report_embedding(shim_engine *e, int64_t id, const float *vector, int32_t width, int32_t n_tokens);

/* embed.c */
void shim_embed_some(shim_engine *e, bool streams_wait);
void shim_embed_cancel(shim_engine *e, int64_t id);
void shim_embed_free(shim_engine *e);

/* calls.c */
void shim_announce(shim_engine *e);
struct timespec shim_deadline(int32_t timeout_ms);

/* masks.c */
bool shim_want_mask(shim_engine *e, shim_slot *slot, llama_token token);
int32_t shim_wait_grant(shim_engine *e, shim_slot *slot);
void shim_apply_mask(float *logits, const uint32_t *mask, int32_t n_vocab);

/* decode.c */
void shim_prefill(shim_engine *e, bool streams_wait);
void shim_generate(shim_engine *e);

#endif
