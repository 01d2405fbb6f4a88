/* Proves an engine build before it is trusted: multiplies with every weight type that a model uses, in every buffer
 * type that the CPU device offers, and compares with plain arithmetic. Run in a process of its own: a build that is
 * wrong for this processor dies here (SIGILL) and nowhere else. Also shows wrong products, which no signal would. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ggml-backend.h"
#include "ggml.h"

#include "engine.h"

enum { COLUMNS = 512, ROWS = 64, EXPERTS = 4, USED = 2, TOKENS = 24 };
enum { FINE = 0, WRONG = 1, REFUSED = 2 };

/* Quantised weights differ from what was asked, but the same quantised weights must give the same product up to the
 * rounding of the activations (8 bits). Measured errors are below 0.01; a broken kernel gives 1 and more. */
static const float TOLERANCE = 0.05f;

typedef struct {
    ggml_backend_t backend;
    enum ggml_type type;
    uint8_t *quantised;
    float *weights; /* what the quantised ones stand for: EXPERTS x ROWS x COLUMNS */
    float *input;   /* TOKENS x COLUMNS */
} trial;

static float noise(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / (float)(1 << 23) - 1.0f;
}

static bool make_weights(trial *t) {
    const struct ggml_type_traits *traits = ggml_get_type_traits(t->type);
    int64_t n = (int64_t)EXPERTS * ROWS * COLUMNS;
    float *importance = malloc(COLUMNS * sizeof *importance);
    float *raw = malloc((size_t)n * sizeof *raw);
    t->quantised = malloc(ggml_row_size(t->type, COLUMNS) * EXPERTS * ROWS);
    t->weights = malloc((size_t)n * sizeof *t->weights);
    t->input = malloc(TOKENS * COLUMNS * sizeof *t->input);
    bool ok = importance && raw && t->quantised && t->weights && t->input;
    uint32_t state = 7;
    for (int64_t i = 0; ok && i < n; i++) {
        raw[i] = noise(&state);
    }
    for (int32_t i = 0; ok && i < COLUMNS; i++) {
        importance[i] = 1.0f;
    }
    for (int32_t i = 0; ok && i < TOKENS * COLUMNS; i++) {
        t->input[i] = noise(&state);
    }
    if (ok && t->type == GGML_TYPE_F32) {
        memcpy(t->quantised, raw, (size_t)n * sizeof *raw);
        memcpy(t->weights, raw, (size_t)n * sizeof *raw);
    } else if (ok) {
        ggml_quantize_chunk(t->type, raw, t->quantised, 0, EXPERTS * ROWS, COLUMNS, importance);
        ok = traits->to_float != NULL;
        if (ok) {
            traits->to_float(t->quantised, t->weights, n);
        }
    }
    free(raw);
    free(importance);
    return ok;
}

static void free_trial(trial *t) {
    free(t->quantised);
    free(t->weights);
    free(t->input);
}

/* Largest error of any output, as a share of the outputs' root mean square. */
static float compare(const trial *t, const float *out, int32_t n_tokens, bool routed) {
    double squares = 0.0, worst = 0.0;
    int32_t used = routed ? USED : 1, n = 0;
    for (int32_t token = 0; token < n_tokens; token++) {
        for (int32_t slot = 0; slot < used; slot++) {
            int32_t expert = routed ? (token + slot) % EXPERTS : 0;
            for (int32_t row = 0; row < ROWS; row++, n++) {
                double sum = 0.0;
                const float *w = t->weights + ((int64_t)expert * ROWS + row) * COLUMNS;
                for (int32_t i = 0; i < COLUMNS; i++) {
                    sum += (double)w[i] * t->input[token * COLUMNS + i];
                }
                double error = fabs(sum - out[(token * used + slot) * ROWS + row]);
                worst = error > worst || isnan(error) ? error : worst;
                squares += sum * sum;
            }
        }
    }
    float share = (float)(worst / sqrt(squares / n + 1e-12));
    return isnan(share) ? INFINITY : share;
}

static int run_graph(const trial *t, struct ggml_context *ctx, struct ggml_tensor *x, struct ggml_tensor *ids,
                     struct ggml_tensor *y, int32_t n_tokens, float *worst) {
    struct ggml_cgraph *graph = ggml_new_graph(ctx);
    ggml_build_forward_expand(graph, y);
    ggml_backend_buffer_t buffer = ggml_backend_alloc_ctx_tensors(ctx, t->backend);
    if (!buffer) {
        return REFUSED;
    }
    ggml_backend_tensor_set(x, t->input, 0, ggml_nbytes(x));
    if (ids) {
        int32_t chosen[TOKENS * USED];
        for (int32_t i = 0; i < n_tokens * USED; i++) {
            chosen[i] = (i / USED + i % USED) % EXPERTS;
        }
        ggml_backend_tensor_set(ids, chosen, 0, ggml_nbytes(ids));
    }
    int result = ggml_backend_graph_compute(t->backend, graph) == GGML_STATUS_SUCCESS ? FINE : REFUSED;
    float *out = malloc(ggml_nbytes(y));
    if (result == FINE && out) {
        ggml_backend_tensor_get(y, out, 0, ggml_nbytes(y));
        float share = compare(t, out, n_tokens, ids != NULL);
        *worst = share > *worst ? share : *worst;
        result = share <= TOLERANCE ? FINE : WRONG;
    }
    free(out);
    ggml_backend_buffer_free(buffer);
    return result;
}

static int multiply(const trial *t, struct ggml_tensor *w, bool routed, int32_t n_tokens, float *worst) {
    struct ggml_init_params params = {ggml_tensor_overhead() * 8 + ggml_graph_overhead(), NULL, true};
    struct ggml_context *ctx = ggml_init(params);
    if (!ctx) {
        return REFUSED;
    }
    struct ggml_tensor *x = routed ? ggml_new_tensor_3d(ctx, GGML_TYPE_F32, COLUMNS, 1, n_tokens)
                                   : ggml_new_tensor_2d(ctx, GGML_TYPE_F32, COLUMNS, n_tokens);
    struct ggml_tensor *ids = routed ? ggml_new_tensor_2d(ctx, GGML_TYPE_I32, USED, n_tokens) : NULL;
    struct ggml_tensor *y = routed ? ggml_mul_mat_id(ctx, w, x, ids) : ggml_mul_mat(ctx, w, x);
    int result = FINE;
    if (ggml_backend_supports_op(t->backend, y)) {
        result = run_graph(t, ctx, x, ids, y, n_tokens, worst);
    }
    ggml_free(ctx);
    return result;
}

/* One weight type in one buffer type: dense and routed products, for one token and for many. */
static int try_buffer(const trial *t, ggml_backend_buffer_type_t type, bool routed, float *worst) {
    struct ggml_init_params params = {ggml_tensor_overhead() * 2, NULL, true};
    struct ggml_context *ctx = ggml_init(params);
    if (!ctx) {
        return REFUSED;
    }
    struct ggml_tensor *w = routed ? ggml_new_tensor_3d(ctx, t->type, COLUMNS, ROWS, EXPERTS)
                                   : ggml_new_tensor_2d(ctx, t->type, COLUMNS, ROWS);
    ggml_backend_buffer_t buffer = ggml_backend_alloc_ctx_tensors_from_buft(ctx, type);
    int result = buffer ? FINE : REFUSED;
    if (buffer) {
        ggml_backend_buffer_set_usage(buffer, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    }
    /* An extra buffer type re-arranges weights when they are set, but only if it can multiply them at all. */
    struct ggml_init_params probe_params = {ggml_tensor_overhead() * 4, NULL, true};
    struct ggml_context *probe = ggml_init(probe_params);
    struct ggml_tensor *x = routed ? ggml_new_tensor_3d(probe, GGML_TYPE_F32, COLUMNS, 1, TOKENS)
                                   : ggml_new_tensor_2d(probe, GGML_TYPE_F32, COLUMNS, TOKENS);
    struct ggml_tensor *ids = routed ? ggml_new_tensor_2d(probe, GGML_TYPE_I32, USED, TOKENS) : NULL;
    struct ggml_tensor *y = routed ? ggml_mul_mat_id(probe, w, x, ids) : ggml_mul_mat(probe, w, x);
    if (buffer && ggml_backend_supports_op(t->backend, y)) {
        ggml_backend_tensor_set(w, t->quantised, 0, ggml_nbytes(w));
        for (int32_t n = 1; n <= TOKENS && result == FINE; n = n == 1 ? 5 : n == 5 ? TOKENS : TOKENS + 1) {
            result = multiply(t, w, routed, n, worst);
        }
    }
    ggml_free(probe);
    if (buffer) {
        ggml_backend_buffer_free(buffer);
    }
    ggml_free(ctx);
    return result;
}

static int try_type(ggml_backend_t backend, enum ggml_type type, ggml_backend_buffer_type_t *extra, float *worst) {
    trial t = {.backend = backend, .type = type};
    int result = make_weights(&t) ? FINE : REFUSED;
    for (int routed = 0; routed < 2 && result == FINE; routed++) {
        result = try_buffer(&t, ggml_backend_get_default_buffer_type(backend), routed, worst);
        for (int i = 0; extra && extra[i] && result == FINE; i++) {
            result = try_buffer(&t, extra[i], routed, worst);
        }
    }
    free_trial(&t);
    return result;
}

int32_t shim_canary(const int32_t *types, int32_t n_types, bool extra_buffers, int32_t n_threads, float *worst_error) {
    ggml_backend_dev_t device = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
    ggml_backend_t backend = device ? ggml_backend_dev_init(device, NULL) : NULL;
    if (!backend) {
        return REFUSED;
    }
    ggml_backend_reg_t reg = ggml_backend_dev_backend_reg(device);
    ggml_backend_set_n_threads_t set_threads =
        (ggml_backend_set_n_threads_t)ggml_backend_reg_get_proc_address(reg, "ggml_backend_set_n_threads");
    ggml_backend_dev_get_extra_bufts_t get_extra =
        (ggml_backend_dev_get_extra_bufts_t)ggml_backend_reg_get_proc_address(reg, "ggml_backend_dev_get_extra_bufts");
    if (set_threads) {
        set_threads(backend, n_threads);
    }
    ggml_backend_buffer_type_t *extra = extra_buffers && get_extra ? get_extra(device) : NULL;
    int32_t result = FINE;
    *worst_error = 0.0f;
    for (int32_t i = 0; i < n_types && result == FINE; i++) {
        const struct ggml_type_traits *traits =
            types[i] >= 0 && types[i] < GGML_TYPE_COUNT ? ggml_get_type_traits((enum ggml_type)types[i]) : NULL;
        if (traits && traits->blck_size > 0 && COLUMNS % traits->blck_size == 0 && traits->to_float) {
            result = try_type(backend, (enum ggml_type)types[i], extra, worst_error);
        }
    }
    ggml_backend_free(backend);
    return result;
}
