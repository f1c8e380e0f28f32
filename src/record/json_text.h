/*
 * json_text.h - a growing text and the little JSON that the recorder writes.
 *
 * Layer: record.  Answers to nothing of the reference.
 */
#ifndef RECORD_JSON_TEXT_H
#define RECORD_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeros are an empty text.  Where memory runs out the text is marked as failed and stays as it is. */
typedef struct json_text {
    char *data;
    size_t length, capacity;
    bool failed;
} json_text;

void text_clear(json_text *t);
/* Keeps the memory. */
void text_empty(json_text *t);
void text_put(json_text *t, const void *bytes, size_t n);
void text_puts(json_text *t, const char *s);
void text_printf(json_text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The length of the UTF-8 sequence at s, or 0 where there is none. */
size_t text_sequence(const char *s);
void text_int(json_text *t, int64_t value);
void text_size(json_text *t, size_t value);
/* In quotes, escaped; bytes that are no UTF-8 (names are cut at a byte) become U+FFFD. */
void text_json(json_text *t, const char *s);
/* `"key":"value"` after a comma, unless the text ends with an opening bracket. */
void text_member(json_text *t, const char *key, const char *value);
/* `"key":` after a comma, unless the text ends with an opening bracket. */
void text_key(json_text *t, const char *key);
/* A comma, unless the text ends with an opening bracket. */
void text_comma(json_text *t);
void text_base64(json_text *t, const void *bytes, size_t n);

#endif
