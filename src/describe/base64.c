/*
 * base64.c - base64 both ways (RFC 4648, with padding).
 *
 * Layer: describe.  The reference has no counterpart.
 */
#include "describe/loader.h"

static int digit(char c) {
    if (c >= 'A' && c <= 'Z') {
        return c - 'A';
    }
    if (c >= 'a' && c <= 'z') {
        return c - 'a' + 26;
    }
    if (c >= '0' && c <= '9') {
        return c - '0' + 52;
    }
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

size_t sr__base64_decode(const char *text, uint8_t *out, const char **out_what) {
    size_t length = strlen(text), n = 0;
    *out_what = "its length is not a multiple of 4";
    if (length % 4 != 0) {
        return SIZE_MAX;
    }
    for (size_t i = 0; i < length; i += 4) {
        bool last = i + 4 == length;
        int pad = last && text[i + 3] == '=' ? (text[i + 2] == '=' ? 2 : 1) : 0;
        uint32_t group = 0;
        for (size_t k = 0; k < 4; k++) {
            int d = (int)k >= 4 - pad ? 0 : digit(text[i + k]);
            *out_what = "a character that is no base64 digit";
            if (d < 0) {
                return SIZE_MAX;
            }
            group = group << 6 | (uint32_t)d;
        }
        *out_what = "bits behind its last byte";
        if ((pad == 2 && (group & 0xFFFF) != 0) || (pad == 1 && (group & 0xFF) != 0)) {
            return SIZE_MAX;
        }
        for (int k = 0; k < 3 - pad; k++) {
            out[n++] = (uint8_t)(group >> (16 - 8 * k));
        }
    }
    return n;
}

void sr__base64_encode(sr__str *out, const uint8_t *bytes, size_t n) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < n; i += 3) {
        size_t have = n - i < 3 ? n - i : 3;
        uint32_t group = (uint32_t)bytes[i] << 16 | (have > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                         (have > 2 ? (uint32_t)bytes[i + 2] : 0);
        char text[4] = {digits[group >> 18], digits[group >> 12 & 63], digits[group >> 6 & 63], digits[group & 63]};
        memset(text + 1 + have, '=', 3 - have);
        sr__str_append(out, text, 4);
    }
}
