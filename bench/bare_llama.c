/* The shortest loop around llama.cpp that reads prompts and writes tokens, greedily: the reference of the bench. */
#include <stdlib.h>

#include "llama.h"

typedef struct {
    struct llama_model *model;
    struct llama_context *ctx;
    const struct llama_vocab *vocab;
    struct llama_batch batch;
    int n_vocab;
} bare;

static void be_quiet(enum ggml_log_level level, const char *text, void *data) {
    (void)level, (void)text, (void)data;
}

bare *bare_open(const char *path, int n_ctx, int n_seq, int n_batch, int n_threads) {
    llama_log_set(be_quiet, NULL);
    llama_backend_init();
    bare *b = calloc(1, sizeof *b);
    b->model = llama_model_load_from_file(path, llama_model_default_params());
    if (!b->model) {
        return NULL;
    }
    struct llama_context_params params = llama_context_default_params();
    params.n_ctx = (uint32_t)(n_ctx * n_seq);
    params.n_seq_max = (uint32_t)n_seq;
    params.n_batch = params.n_ubatch = (uint32_t)n_batch;
    params.n_threads = params.n_threads_batch = n_threads;
    b->ctx = llama_init_from_model(b->model, params);
    b->vocab = llama_model_get_vocab(b->model);
    b->n_vocab = llama_vocab_n_tokens(b->vocab);
    b->batch = llama_batch_init(n_batch, 0, 1);
    return b->ctx ? b : NULL;
}

void bare_forget(bare *b) {
    llama_memory_clear(llama_get_memory(b->ctx), true);
}

int bare_tokenize(bare *b, const char *text, int length, int *tokens, int room) {
    return llama_tokenize(b->vocab, text, length, tokens, room, true, true);
}

static void put(bare *b, int token, int position, int sequence, int output) {
    int at = b->batch.n_tokens++;
    b->batch.token[at] = token;
    b->batch.pos[at] = position;
    b->batch.n_seq_id[at] = 1;
    b->batch.seq_id[at][0] = sequence;
    b->batch.logits[at] = (int8_t)output;
}

static int largest(bare *b, int index) {
    const float *logits = llama_get_logits_ith(b->ctx, index);
    int best = 0;
    for (int i = 1; i < b->n_vocab; i++) {
        best = logits[i] > logits[best] ? i : best;
    }
    return best;
}

/* Evaluates a prompt; the next token, or -1. */
int bare_read(bare *b, int sequence, const int *tokens, int n_tokens, int n_batch) {
    for (int start = 0; start < n_tokens; start += n_batch) {
        b->batch.n_tokens = 0;
        for (int at = start; at < n_tokens && at < start + n_batch; at++) {
            put(b, tokens[at], at, sequence, at == n_tokens - 1);
        }
        if (llama_decode(b->ctx, b->batch)) {
            return -1;
        }
    }
    return largest(b, -1);
}

/* Writes the next token of every sequence. */
int bare_write(bare *b, int n_sequences, int *last, int *positions) {
    b->batch.n_tokens = 0;
    for (int s = 0; s < n_sequences; s++) {
        put(b, last[s], positions[s]++, s, 1);
    }
    if (llama_decode(b->ctx, b->batch)) {
        return -1;
    }
    for (int s = 0; s < n_sequences; s++) {
        last[s] = largest(b, s);
    }
    return 0;
}
