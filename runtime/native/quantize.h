/* What Python may ask of the quantiser; engine.cdef.txt repeats it. */
#ifndef SHIM_QUANTIZE_H
#define SHIM_QUANTIZE_H

#include <stdbool.h>
#include <stdint.h>

enum shim_quantize_result { SHIM_QUANTIZE_DONE = 0, SHIM_QUANTIZE_FAILED = 1, SHIM_QUANTIZE_BAD_IMPORTANCE = 2 };

typedef struct {
    const char *source;
    const char *target;
    const char *importance; /* NULL: none */
    int32_t file_type;      /* llama_ftype, the same numbers as general.file_type */
    int32_t n_threads;
    int32_t n_types;
    const char *const *patterns; /* regular expressions of tensor names; the first that is found counts */
    const int32_t *types;        /* ggml_type for each pattern */
    int64_t max_buffer_bytes;
    bool allow_requantize;
    bool dry_run; /* writes nothing, logs what the sizes would be */
} shim_quantizing;

int32_t shim_quantize(const shim_quantizing *order);

#endif
