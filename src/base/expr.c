/*
 * expr.c - integer expressions over names.
 *
 * Layer: base.  Answers to: nothing in the reference; the expressions of the description format.
 *
 *   choice   = equality [ "?" choice ":" choice ]
 *   equality = order { ("==" | "!=") order }          order = sum { ("<" | "<=" | ">" | ">=") sum }
 *   sum      = product { ("+" | "-") product }        product = factor { ("*" | "/" | "%") factor }
 *   factor   = "-" factor | NUMBER | NAME | ("min" | "max") "(" choice "," choice ")" | "(" choice ")"
 *
 * The branch of a choice that is not taken is parsed, and its names looked up, with `dead` raised: there arithmetic
 * cannot fail.  The text comes from a user: nesting has a limit, and every operation is checked for overflow.
 */
#include "base/base.h"

enum { EXPR_MAX_DEPTH = 200 };

typedef struct parser {
    const char *text;
    size_t length;
    size_t at;
    int depth;
    int dead; /* how many untaken branches we are inside of */
    sr__expr_lookup lookup;
    void *user;
    sr_error *err;
} parser;

static sr_status parse_choice(parser *p, int64_t *out_value);
static sr_status parse_factor(parser *p, int64_t *out_value);

/* The next byte behind blanks, not consumed; 0 at the end.  A zero byte in the text is no token either. */
static char peek(parser *p) {
    while (p->at < p->length && strchr(" \t\r\n", p->text[p->at]) != NULL && p->text[p->at] != '\0') {
        p->at++;
    }
    return p->at < p->length ? p->text[p->at] : '\0';
}

static char byte_after(const parser *p) { return p->at + 1 < p->length ? p->text[p->at + 1] : '\0'; }

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

static sr_status fail_at(const parser *p, size_t at, const char *what) {
    sr_status status = sr__fail(p->err, SR_INVALID, "position %zu: %s", at + 1, what);
    sr__error_number(p->err, "position", (int64_t)(at + 1));
    return status;
}

/* "expected X, found Y" at the next token. */
static sr_status fail_expected(parser *p, const char *expected) {
    char c = peek(p);
    sr_status status;
    if (p->at >= p->length) {
        status = sr__fail(p->err, SR_INVALID, "position %zu: expected %s, found the end", p->at + 1, expected);
    } else if (c > ' ' && c < 0x7F) {
        status = sr__fail(p->err, SR_INVALID, "position %zu: expected %s, found '%c'", p->at + 1, expected, c);
    } else {
        status = sr__fail(p->err, SR_INVALID, "position %zu: expected %s, found byte 0x%02X", p->at + 1, expected,
                          (unsigned)(unsigned char)c);
    }
    sr__error_number(p->err, "position", (int64_t)(p->at + 1));
    return status;
}

static sr_status expect(parser *p, char c, const char *expected) {
    if (peek(p) != c) {
        return fail_expected(p, expected);
    }
    p->at++;
    return SR_OK;
}

static sr_status enter(parser *p) {
    if (p->depth >= EXPR_MAX_DEPTH) {
        return fail_at(p, p->at, "the expression is nested too deep");
    }
    p->depth++;
    return SR_OK;
}

/* a divided by b without a remainder. */
static const char *divide(int64_t a, int64_t b, int64_t *out) {
    if (b == 0) {
        return "division by zero";
    }
    if (b == -1) {
        return __builtin_sub_overflow((int64_t)0, a, out) ? "the result does not fit 64 bits" : NULL;
    }
    if (a % b != 0) {
        return "the division leaves a remainder";
    }
    *out = a / b;
    return NULL;
}

/* The remainder that is never negative, whatever the signs. */
static const char *modulo(int64_t a, int64_t b, int64_t *out) {
    if (b == 0) {
        return "remainder of a division by zero";
    }
    int64_t r = b == -1 ? 0 : a % b;
    if (r < 0) {
        r = b < 0 ? r - b : r + b;
    }
    *out = r;
    return NULL;
}

/* a op b; an error is one only where its value counts. */
static sr_status arithmetic(const parser *p, char op, size_t at, int64_t a, int64_t b, int64_t *out_value) {
    const char *what = NULL;
    int64_t value = 0;
    bool overflow = false;
    switch (op) {
        case '+': overflow = __builtin_add_overflow(a, b, &value); break;
        case '-': overflow = __builtin_sub_overflow(a, b, &value); break;
        case '*': overflow = __builtin_mul_overflow(a, b, &value); break;
        case '/': what = divide(a, b, &value); break;
        default:  what = modulo(a, b, &value); break;
    }
    if (overflow) {
        what = "the result does not fit 64 bits";
    }
    if (what != NULL) {
        if (p->dead == 0) {
            return fail_at(p, at, what);
        }
        value = 0;
    }
    *out_value = value;
    return SR_OK;
}

/* Accumulated downwards, since the smallest integer has no positive counterpart. */
static sr_status parse_number(parser *p, bool negative, int64_t *out_value) {
    size_t start = p->at;
    int64_t value = 0;
    while (p->at < p->length && is_digit(p->text[p->at])) {
        int digit = p->text[p->at] - '0';
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_sub_overflow(value, digit, &value)) {
            return fail_at(p, start, "the number does not fit 64 bits");
        }
        p->at++;
    }
    if (p->at < p->length && (is_name_start(p->text[p->at]) || p->text[p->at] == '.')) {
        return fail_at(p, start, "this is no integer");
    }
    if (!negative && __builtin_sub_overflow((int64_t)0, value, &value)) {
        return fail_at(p, start, "the number does not fit 64 bits");
    }
    *out_value = value;
    return SR_OK;
}

/* The rest of min(a, b) or max(a, b), from the parenthesis on. */
static sr_status parse_call(parser *p, bool is_min, int64_t *out_value) {
    int64_t a;
    int64_t b;
    p->at++;
    sr_status status = parse_choice(p, &a);
    if (status == SR_OK) {
        status = expect(p, ',', "','");
    }
    if (status == SR_OK) {
        status = parse_choice(p, &b);
    }
    if (status == SR_OK) {
        status = expect(p, ')', "')'");
    }
    if (status == SR_OK) {
        *out_value = (a < b) == is_min ? a : b;
    }
    return status;
}

static sr_status parse_name(parser *p, int64_t *out_value) {
    size_t start = p->at;
    while (p->at < p->length && (is_name_start(p->text[p->at]) || is_digit(p->text[p->at]))) {
        p->at++;
    }
    size_t n = p->at - start;
    const char *name = p->text + start;
    bool is_min = n == 3 && memcmp(name, "min", 3) == 0;
    bool is_max = n == 3 && memcmp(name, "max", 3) == 0;
    if ((is_min || is_max) && peek(p) == '(') {
        return parse_call(p, is_min, out_value);
    }
    if (p->lookup != NULL && p->lookup(p->user, name, n, out_value)) {
        return SR_OK;
    }
    int shown = n < 200 ? (int)n : 200;
    sr_status status = sr__fail(p->err, SR_INVALID, "position %zu: unknown name '%.*s'", start + 1, shown, name);
    char *copy = sr__strndup(name, n);
    if (copy != NULL) {
        sr__error_text(p->err, "name", copy);
        sr__free(copy);
    }
    sr__error_number(p->err, "position", (int64_t)(start + 1));
    return status;
}

static sr_status parse_minus(parser *p, int64_t *out_value) {
    size_t at = p->at++;
    if (is_digit(peek(p))) {
        return parse_number(p, true, out_value);
    }
    int64_t value;
    sr_status status = parse_factor(p, &value);
    return status == SR_OK ? arithmetic(p, '-', at, 0, value, out_value) : status;
}

static sr_status parse_factor(parser *p, int64_t *out_value) {
    sr_status status;
    SR_TRY(enter(p));
    char c = peek(p);
    if (is_digit(c)) {
        status = parse_number(p, false, out_value);
    } else if (is_name_start(c)) {
        status = parse_name(p, out_value);
    } else if (c == '-') {
        status = parse_minus(p, out_value);
    } else if (c == '(') {
        p->at++;
        SR_TRY(parse_choice(p, out_value));
        status = expect(p, ')', "')'");
    } else {
        status = fail_expected(p, "a value");
    }
    p->depth--;
done:
    return status; /* the depth no longer matters once something failed */
}

static sr_status parse_product(parser *p, int64_t *out_value) {
    int64_t right;
    sr_status status = parse_factor(p, out_value);
    while (status == SR_OK) {
        char op = peek(p);
        if (op != '*' && op != '/' && op != '%') {
            break;
        }
        size_t at = p->at++;
        status = parse_factor(p, &right);
        if (status == SR_OK) {
            status = arithmetic(p, op, at, *out_value, right, out_value);
        }
    }
    return status;
}

static sr_status parse_sum(parser *p, int64_t *out_value) {
    int64_t right;
    sr_status status = parse_product(p, out_value);
    while (status == SR_OK) {
        char op = peek(p);
        if (op != '+' && op != '-') {
            break;
        }
        size_t at = p->at++;
        status = parse_product(p, &right);
        if (status == SR_OK) {
            status = arithmetic(p, op, at, *out_value, right, out_value);
        }
    }
    return status;
}

static sr_status parse_order(parser *p, int64_t *out_value) {
    sr_status status = parse_sum(p, out_value);
    while (status == SR_OK) {
        char op = peek(p);
        if (op != '<' && op != '>') {
            break;
        }
        bool or_equal = byte_after(p) == '=';
        p->at += or_equal ? 2 : 1;
        int64_t right;
        status = parse_sum(p, &right);
        if (status == SR_OK) {
            bool holds = op == '<' ? *out_value < right : *out_value > right;
            *out_value = holds || (or_equal && *out_value == right);
        }
    }
    return status;
}

static sr_status parse_equality(parser *p, int64_t *out_value) {
    sr_status status = parse_order(p, out_value);
    while (status == SR_OK) {
        char op = peek(p);
        if ((op != '=' && op != '!') || byte_after(p) != '=') {
            break;
        }
        p->at += 2;
        int64_t right;
        status = parse_order(p, &right);
        if (status == SR_OK) {
            *out_value = (*out_value == right) == (op == '=');
        }
    }
    return status;
}

static sr_status parse_branch(parser *p, bool taken, int64_t *out_value) {
    int64_t value;
    p->dead += taken ? 0 : 1;
    sr_status status = parse_choice(p, &value);
    p->dead -= taken ? 0 : 1;
    if (status == SR_OK && taken) {
        *out_value = value;
    }
    return status;
}

static sr_status parse_choice(parser *p, int64_t *out_value) {
    sr_status status;
    int64_t condition;
    SR_TRY(enter(p));
    SR_TRY(parse_equality(p, &condition));
    if (peek(p) == '?') {
        p->at++;
        SR_TRY(parse_branch(p, condition != 0, out_value));
        SR_TRY(expect(p, ':', "':'"));
        SR_TRY(parse_branch(p, condition == 0, out_value));
    } else {
        *out_value = condition;
    }
    p->depth--;
done:
    return status;
}

sr_status sr__expr_eval(const char *text, size_t length, sr__expr_lookup lookup, void *user, int64_t *out_value,
                        sr_error *err) {
    parser p = {.text = text, .length = length, .lookup = lookup, .user = user, .err = err};
    int64_t value = 0;
    sr_status status = parse_choice(&p, &value);
    if (status == SR_OK) {
        peek(&p);
        if (p.at < p.length) {
            status = fail_expected(&p, "an operator or the end");
        }
    }
    if (status == SR_OK) {
        *out_value = value;
    }
    return status;
}
