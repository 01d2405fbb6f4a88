/* Quantising a file: llama.cpp's quantiser, with an importance matrix where one is given.
 *
 * Runs in a process of its own, so nothing here has to survive a bad file. Progress is llama.cpp's log. The file of
 * an importance matrix is the GGUF that llama-imatrix writes: for each weight NAME a tensor NAME.in_sum2 with the
 * sums of squared activations (row length x experts) and NAME.counts with how many went into each (experts).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ggml.h"
#include "gguf.h"
#include "llama.h"
#include "quantize.h"

static const char SUMS[] = ".in_sum2";
static const char COUNTS[] = ".counts";

typedef struct {
    struct llama_model_imatrix_data *entries; /* the last one has no name */
    size_t count;
} importance;

static void importance_free(importance *importance) {
    for (size_t i = 0; i < importance->count; i++) {
        free((char *)importance->entries[i].name);
        free((float *)importance->entries[i].data);
    }
    free(importance->entries);
}

/* Mean squares of one weight; 1 where no activation was seen. NULL without memory. */
static float *means(const struct ggml_tensor *sums, const struct ggml_tensor *counts) {
    const int64_t total = ggml_nelements(sums), experts = ggml_nelements(counts), length = total / experts;
    const float *sum = sums->data, *count = counts->data;
    float *values = malloc((size_t)total * sizeof(float));
    for (int64_t i = 0; values != NULL && i < total; i++) {
        const float seen = count[i / length];
        values[i] = seen > 0.0f ? sum[i] / seen : 1.0f;
    }
    return values;
}

static bool is_pair(const struct ggml_tensor *sums, const struct ggml_tensor *counts) {
    return counts != NULL && sums->type == GGML_TYPE_F32 && counts->type == GGML_TYPE_F32 &&
           ggml_nelements(counts) > 0 && ggml_nelements(sums) % ggml_nelements(counts) == 0;
}

static bool add_entry(importance *found, struct ggml_context *tensors, const struct ggml_tensor *sums) {
    char other[GGML_MAX_NAME + sizeof COUNTS];
    const int length = (int)(strlen(sums->name) - (sizeof SUMS - 1));
    snprintf(other, sizeof other, "%.*s%s", length, sums->name, COUNTS);
    const struct ggml_tensor *counts = ggml_get_tensor(tensors, other);
    if (!is_pair(sums, counts)) {
        fprintf(stderr, "the importance matrix has no good counts for %s\n", sums->name);
        return false;
    }
    struct llama_model_imatrix_data *entry = &found->entries[found->count];
    entry->name = strndup(sums->name, (size_t)length);
    entry->data = means(sums, counts);
    entry->size = (size_t)ggml_nelements(sums);
    found->count++;
    return entry->name != NULL && entry->data != NULL;
}

static bool read_tensors(importance *found, struct gguf_context *file, struct ggml_context *tensors) {
    found->entries = calloc((size_t)gguf_get_n_tensors(file) + 1, sizeof *found->entries);
    if (found->entries == NULL) {
        return false;
    }
    for (struct ggml_tensor *it = ggml_get_first_tensor(tensors); it; it = ggml_get_next_tensor(tensors, it)) {
        const size_t length = strlen(it->name);
        const bool is_sums = length >= sizeof SUMS && strcmp(it->name + length - (sizeof SUMS - 1), SUMS) == 0;
        if (is_sums && !add_entry(found, tensors, it)) {
            return false;
        }
    }
    return found->count > 0;
}

static bool importance_read(importance *found, const char *path) {
    struct ggml_context *tensors = NULL;
    struct gguf_init_params params = {.no_alloc = false, .ctx = &tensors};
    struct gguf_context *file = gguf_init_from_file(path, params);
    if (file == NULL) {
        return false;
    }
    const bool good = read_tensors(found, file, tensors);
    gguf_free(file);
    ggml_free(tensors);
    return good;
}

static int32_t run(const shim_quantizing *order, const importance *importance) {
    struct llama_model_quantize_params params = llama_model_quantize_default_params();
    struct llama_model_tensor_override *types = calloc((size_t)order->n_types + 1, sizeof *types);
    if (types == NULL) {
        return SHIM_QUANTIZE_FAILED;
    }
    for (int32_t i = 0; i < order->n_types; i++) {
        types[i].pattern = order->patterns[i];
        types[i].type = (enum ggml_type)order->types[i];
    }
    params.ftype = (enum llama_ftype)order->file_type;
    params.nthread = order->n_threads;
    params.allow_requantize = order->allow_requantize;
    params.dry_run = order->dry_run;
    params.max_buf_size = (size_t)order->max_buffer_bytes;
    params.tt_overrides = order->n_types > 0 ? types : NULL;
    params.imatrix = importance->count > 0 ? importance->entries : NULL;
    const uint32_t failed = llama_model_quantize(order->source, order->target, &params);
    free(types);
    return failed ? SHIM_QUANTIZE_FAILED : SHIM_QUANTIZE_DONE;
}

int32_t shim_quantize(const shim_quantizing *order) {
    importance importance = {0};
    int32_t result = SHIM_QUANTIZE_BAD_IMPORTANCE;
    if (order->importance == NULL || importance_read(&importance, order->importance)) {
        result = run(order, &importance);
    }
    importance_free(&importance);
    return result;
}
