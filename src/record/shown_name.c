/*
 * shown_name.c - the name that is written for a tensor: its own, or, anonymised, one that says nothing.
 *
 * Layer: record.  Answers to nothing of the reference.
 *
 * A name is of a known kind if every word in it is: words are letters, between digits and punctuation.  The list holds
 * what the builders of ggml's own programs call tensors.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/recorder.h"

/* In order, for a binary search. */
static const char *const words[] = {
    "a", "absorbed", "act", "add", "all", "alpha", "altup", "argsort", "attention", "attn", "audio", "b", "base",
    "beta", "bias", "biased", "blk", "block", "bn", "bos", "bottom", "bucket", "c", "cache", "cast", "channel",
    "chunk", "clamped", "class", "cls", "cmb", "cmpr", "cond", "cont", "context", "conv", "copy", "cos", "cpy",
    "cross", "cur", "d", "data", "dec", "decay", "decoder", "delta", "dense", "down", "dt", "dw", "dwconv", "emb",
    "embd", "embed", "embedding", "embeddings", "enc", "encoder", "engram", "eos", "ep", "exp", "expert", "experts",
    "exps", "f", "factors", "fattn", "ffn", "ffnorm", "ffw", "filter", "final", "first", "flash", "flat", "freq",
    "freqs", "fused", "g", "gate", "gated", "geglu", "gelu", "gla", "global", "group", "h", "hc", "head", "hidden",
    "i", "id", "ids", "idx", "idxs", "il", "image", "img", "in", "indexer", "inner", "inp", "inpl", "inpsa",
    "input", "inputs", "int", "k", "kcur", "key", "kq", "kqv", "kr", "ks", "kv", "l", "last", "latent", "layer",
    "layernorm", "layers", "leaf", "left", "lerp", "lightning", "lin", "linear", "ln", "local", "log", "logit",
    "logits", "long", "lora", "lr", "mask", "masked", "max", "mean", "mel", "mem", "merged", "meta", "mid", "mix",
    "mla", "mlp", "mm", "moba", "mod", "model", "moe", "mqa", "mtp", "mul", "n", "new", "next", "node", "nope",
    "norm", "normed", "o", "oai", "of", "operator", "out", "output", "outputs", "p", "pair", "patch", "pe", "per",
    "perm", "permuted", "plus", "pool", "pooled", "pos", "position", "positions", "post", "pre", "pred", "probs",
    "proj", "projection", "pw", "q", "qcur", "qk", "qkv", "query", "r", "rank", "ratio", "re", "rec", "receptance",
    "rel", "relu", "repeat", "res", "reshaped", "residual", "result", "rms", "rope", "rot", "rotated", "router",
    "row", "rows", "rs", "s", "sa", "scale", "scaled", "score", "scores", "seg", "segment", "selected", "selection",
    "self", "seq", "shared", "shexp", "shift", "short", "shortconv", "sigmoid", "silu", "sin", "sink", "sinks",
    "soft", "softmax", "src", "ssm", "state", "states", "sub", "sum", "swa", "swiglu", "t", "tail", "tensor", "tgt",
    "time", "timestep", "tmp", "tok", "token", "tokens", "top", "topk", "total", "transposed", "type", "types", "u",
    "up", "v", "value", "vcur", "vec", "view", "vision", "vit", "vocab", "vr", "w", "weight", "weighted", "weights",
    "wk", "wkv", "wo", "wq", "wqkv", "wv", "x", "xpos", "y", "z", "zero",
};

static int compare_words(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_word(const char *start, size_t n) {
    char lower[24];
    if (n >= sizeof(lower)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        lower[i] = (char)tolower((unsigned char)start[i]);
    }
    lower[n] = '\0';
    const char *key = lower;
    return bsearch(&key, words, sizeof(words) / sizeof(words[0]), sizeof(words[0]), compare_words) != NULL;
}

static bool is_known(const char *name) {
    for (const char *at = name; *at;) {
        if (isalpha((unsigned char)*at)) {
            const char *start = at;
            while (isalpha((unsigned char)*at)) {
                at++;
            }
            if (!is_word(start, (size_t)(at - start))) {
                return false;
            }
        } else if (isdigit((unsigned char)*at) || strchr("._-# ():,", *at)) {
            at++;
        } else {
            return false;
        }
    }
    return true;
}

/* ` (view)` and the like are what the library itself appends; they stay. */
static size_t stem_length(const char *name) {
    static const char *const suffixes[] = {" (view)", " (reshaped)", " (permuted)", " (transposed)", " (copy)",
                                           " (cont)", NULL};
    size_t n = strlen(name);
    for (const char *const *suffix = suffixes; *suffix;) {
        const size_t length = strlen(*suffix);
        if (n > length && memcmp(name + n - length, *suffix, length) == 0) {
            n -= length;
            suffix = suffixes;
        } else {
            suffix++;
        }
    }
    return n;
}

static const char *replacement(recording *r, const char *stem, size_t n) {
    for (int i = 0; i < r->n_names; i++) {
        if (strlen(r->names[i].from) == n && memcmp(r->names[i].from, stem, n) == 0) {
            return r->names[i].to;
        }
    }
    if (!grow(&r->names, &r->names_capacity, r->n_names + 1, sizeof(*r->names))) {
        return "tensor";
    }
    kept_name name = {strndup(stem, n), malloc(32)};
    if (!name.from || !name.to) {
        free(name.from);
        free(name.to);
        return "tensor";
    }
    snprintf(name.to, 32, "tensor_%d", r->n_names);
    r->names[r->n_names++] = name;
    return name.to;
}

const char *shown_name(recording *r, const char *name) {
    if (!recorder_settings.anonymise || is_known(name)) {
        return name;
    }
    const size_t n = stem_length(name);
    text_empty(&r->name_scratch);
    text_puts(&r->name_scratch, replacement(r, name, n));
    text_puts(&r->name_scratch, name + n);
    text_put(&r->name_scratch, "", 1);
    return r->name_scratch.failed ? "tensor" : r->name_scratch.data;
}
