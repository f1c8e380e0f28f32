/*
 * expand.h - what the writers of the plain form share.
 *
 * Layer: describe.  Internal.
 */
#ifndef SR_EXPAND_H
#define SR_EXPAND_H

#include "describe/loader.h"

/* A number, or "inf", "-inf", "nan", which JSON has no words for. */
void sr__write_value(sr__json *out, double value);
void sr__write_base64(sr__json *out, const uint8_t *bytes, size_t n);
/* An `expect` object. */
void sr__write_expect(sr__json *out, const sr_expect *expect);

#endif
