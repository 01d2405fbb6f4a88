/* Text on its way out. Two things are held back: an end that may grow into a stop string, and an unfinished UTF-8
 * character. Bytes that can never be UTF-8 pass (Python replaces them), so nothing is lost. */
#include <stdlib.h>
#include <string.h>

#include "engine.h"

bool shim_bytes_append(shim_bytes *bytes, const char *data, int32_t length) {
    if (!shim_reserve((void **)&bytes->data, &bytes->capacity, bytes->length + length, 1)) {
        return false;
    }
    memcpy(bytes->data + bytes->length, data, (size_t)length);
    bytes->length += length;
    return true;
}

/* Where the earliest stop string begins, or -1. The longest of several at one place wins. */
static int32_t find_stop(const shim_text *text, int32_t from, int32_t *stop_index) {
    const shim_bytes *p = &text->pending;
    for (int32_t at = from; at < p->length; at++) {
        int32_t best = -1;
        size_t best_length = 0;
        for (int32_t i = 0; i < text->n_stops; i++) {
            size_t length = strlen(text->stops[i]);
            if (length > best_length && (size_t)(p->length - at) >= length &&
                memcmp(p->data + at, text->stops[i], length) == 0) {
                best = i;
                best_length = length;
            }
        }
        if (best >= 0) {
            *stop_index = best;
            return at;
        }
    }
    return -1;
}

/* How many bytes at the end are the beginning of a stop string. */
static int32_t partial_stop(const shim_text *text) {
    const shim_bytes *p = &text->pending;
    int32_t longest = 0;
    for (int32_t i = 0; i < text->n_stops; i++) {
        int32_t length = (int32_t)strlen(text->stops[i]) - 1;
        for (length = length < p->length ? length : p->length; length > longest; length--) {
            if (memcmp(p->data + p->length - length, text->stops[i], (size_t)length) == 0) {
                longest = length;
            }
        }
    }
    return longest;
}

/* How many of the first `length` bytes end in the middle of a UTF-8 character. */
static int32_t partial_character(const char *data, int32_t length) {
    for (int32_t back = 1; back <= 3 && back <= length; back++) {
        unsigned char byte = (unsigned char)data[length - back];
        if ((byte & 0xC0) == 0x80) {
            continue;
        }
        int32_t wanted = byte >= 0xF0 && byte < 0xF5 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC2 ? 2 : 1;
        return byte < 0xF5 && back < wanted ? back : 0;
    }
    return 0;
}

/* Adds a piece. Returns how many bytes of the pending text may go out now; *stop_index tells whether a stop string
 * was met (then all before it goes out, and nothing after it). -1: out of memory. */
int32_t shim_text_push(shim_text *text, const char *piece, int32_t length, int32_t *stop_index) {
    int32_t from = text->pending.length - text->longest_stop;
    *stop_index = -1;
    if (!shim_bytes_append(&text->pending, piece, length)) {
        return -1;
    }
    int32_t at = text->n_stops ? find_stop(text, from > 0 ? from : 0, stop_index) : -1;
    if (at >= 0) {
        return at;
    }
    int32_t ready = text->pending.length - (text->n_stops ? partial_stop(text) : 0);
    return ready - partial_character(text->pending.data, ready);
}

void shim_text_take(shim_text *text, int32_t length) {
    text->pending.length -= length;
    memmove(text->pending.data, text->pending.data + length, (size_t)text->pending.length);
}
