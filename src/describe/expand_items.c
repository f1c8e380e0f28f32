/*
 * expand_items.c - lists of tensors and nodes with their repeats and conditions resolved.
 *
 * Layer: describe.  The reference has no counterpart.
 *
 * Depth is bounded by the nesting of the JSON text.  A count is a user's and may be absurd: more tensors than can be
 * numbered or than the machine's memory holds are refused before the first is made, and repetitions that make nothing
 * are counted too.
 */
#include <unistd.h>

#include "describe/loader.h"

enum { MAX_BARREN = 1000000 };

enum { R_REPEAT, R_AS, R_IF, R_ITEMS, R_COUNT };
static const char *const repeat_keys[R_COUNT] = {"repeat", "as", "if", "items"};

typedef struct walk {
    sr__item_fn fn;
    void *user;
    const int64_t *made;
} walk;

static sr_status each_item(sr__loader *ld, const cJSON *list, const sr__at *at, const walk *w);

/* Whether an item is a repeat or a condition. */
static bool is_directive(const cJSON *item) {
    if (!sr__is_object(item)) {
        return false;
    }
    for (const cJSON *child = item->child; child; child = child->next) {
        const char *key = child->string;
        if ((key[0] == 'r' && strcmp(key, "repeat") == 0) || (key[0] == 'i' && key[1] == 'f' && key[2] == '\0')) {
            return true;
        }
    }
    return false;
}

/* The least that one repetition makes: its plain items. */
static int64_t plain_items(const cJSON *list) {
    int64_t n = 0;
    for (const cJSON *item = list->child; item; item = item->next) {
        n += !is_directive(item);
    }
    return n;
}

static sr_status too_many(sr__loader *ld, const sr__at *at, int64_t count, const char *than) {
    sr_status status =
        sr__fail(ld->err, SR_LIMIT, "%lld repetitions make more tensors than %s", (long long)count, than);
    sr__error_number(ld->err, "count", count);
    return sr__wrong_there(ld, at, status);
}

static sr_status check_count(sr__loader *ld, const sr__at *at, const walk *w, int64_t count, int64_t items) {
    int64_t total, bytes, pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (__builtin_mul_overflow(count, items, &total) || __builtin_add_overflow(total, *w->made, &total) ||
        total > INT32_MAX) {
        return too_many(ld, at, count, "a graph can have");
    }
    bool fits = !__builtin_mul_overflow(total, (int64_t)sizeof(sr_tensor), &bytes);
    if (pages > 0 && page > 0 && (!fits || bytes / page >= pages)) {
        return too_many(ld, at, count, "the memory of this machine holds");
    }
    return SR_OK;
}

static bool is_variable(const char *s) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    return *s && !(*s >= '0' && *s <= '9') && s[strspn(s, letters)] == '\0';
}

static sr_status repeat(sr__loader *ld, const cJSON *const *fields, const sr__at *at, const walk *w) {
    sr_status status;
    int64_t count;
    const char *name = "";
    sr__at count_at = sr__at_key(at, "repeat"), as_at = sr__at_key(at, "as"), items_at = sr__at_key(at, "items");
    SR_TRY(sr__int_in(ld, fields[R_REPEAT], &count_at, 0, INT64_MAX, &count));
    if (fields[R_AS]) {
        SR_TRY(sr__string(ld, fields[R_AS], &as_at, &name));
        if (!is_variable(name)) {
            SR_TRY(sr__wrong(ld, &as_at, "a variable's name has letters, digits and '_' only"));
        }
        name = sr__arena_strdup(&ld->json, name); /* outlives the items' scratch memory */
        if (!name) {
            SR_TRY(sr__no_memory(ld));
        }
    }
    SR_TRY(check_count(ld, &count_at, w, count, plain_items(fields[R_ITEMS])));
    const sr__loop *outer = ld->scope.loops;
    sr__loop loop = {outer, name, strlen(name), 0};
    for (int64_t i = 0; i < count && fields[R_ITEMS]->child && status == SR_OK; i++) {
        int64_t before = *w->made;
        loop.value = i;
        ld->scope.loops = &loop;
        status = each_item(ld, fields[R_ITEMS], &items_at, w);
        if (status == SR_OK && *w->made == before && ++ld->barren > MAX_BARREN) {
            status = sr__fail(ld->err, SR_LIMIT, "more than %d repetitions that make nothing", MAX_BARREN);
            status = sr__wrong_there(ld, &count_at, status);
        }
    }
    ld->scope.loops = outer;
done:
    return status;
}

static sr_status directive(sr__loader *ld, const cJSON *item, const sr__at *at, const walk *w) {
    sr_status status;
    const cJSON *fields[R_COUNT];
    SR_TRY(sr__fields(ld, item, at, repeat_keys, R_COUNT, fields));
    sr__at if_at = sr__at_key(at, "if"), items_at = sr__at_key(at, "items"), as_at = sr__at_key(at, "as");
    if (fields[R_REPEAT] && fields[R_IF]) {
        SR_TRY(sr__wrong_key(ld, &if_at, "\"repeat\" and \"if\" in one item: nest them"));
    }
    if (fields[R_AS] && !fields[R_REPEAT]) {
        SR_TRY(sr__wrong_key(ld, &as_at, "\"as\" belongs to a \"repeat\""));
    }
    if (!fields[R_ITEMS]) {
        SR_TRY(sr__wrong(ld, at, "\"items\" is missing"));
    }
    SR_TRY(sr__want_array(ld, fields[R_ITEMS], &items_at));
    if (fields[R_REPEAT]) {
        return repeat(ld, fields, at, w);
    }
    int64_t condition;
    SR_TRY(sr__int(ld, fields[R_IF], &if_at, &condition));
    if (condition != 0) {
        SR_TRY(each_item(ld, fields[R_ITEMS], &items_at, w));
    }
done:
    return status;
}

static sr_status each_item(sr__loader *ld, const cJSON *list, const sr__at *at, const walk *w) {
    int64_t i = 0;
    sr_status status = SR_OK;
    for (const cJSON *item = list->child; item && status == SR_OK; item = item->next, i++) {
        sr__at element = sr__at_index(at, i);
        if (is_directive(item)) {
            status = directive(ld, item, &element, w);
        } else {
            status = w->fn(ld, item, &element, w->user);
            sr__arena_reset(&ld->scratch);
        }
    }
    return status;
}

sr_status sr__each_item(sr__loader *ld, const cJSON *list, const sr__at *at, sr__item_fn fn, void *user,
                        const int64_t *made) {
    const walk w = {fn, user, made};
    sr_status status = sr__want_array(ld, list, at);
    return status == SR_OK ? each_item(ld, list, at, &w) : status;
}
