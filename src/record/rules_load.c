/* SPDX-License-Identifier: MIT */
#include "record/rules.h"

#include "base/mem.h"
#include "base/rootfs.h"
#include "base/unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define RULE_BYTES_MAX (64 * KIB)
#define RULES_MAX 1000

/* Takes the rule over; one with the same id gives way. */
static int put(struct rules *set, struct rule *rule, struct error *e)
{
    for (size_t i = 0; i < set->count; i++)
        if (!strcmp(set->list[i].id, rule->id)) {
            rule_clear(&set->list[i]);
            set->list[i] = *rule;
            return STATUS_OK;
        }
    if (!mem_grow((void **)&set->list, &set->cap, set->count + 1, sizeof(*set->list))) {
        rule_clear(rule);
        return error_set(e, STATUS_MEMORY, "out of memory loading rules");
    }
    set->list[set->count++] = *rule;
    return STATUS_OK;
}

struct folder {
    const char *path;
    char **names; /* owned */
    size_t count, cap;
    bool failed;
};

static void on_entry(void *arg, const char *name)
{
    struct folder *f = arg;
    size_t n = strlen(name);
    if (n < 5 || name[0] == '.' || strcmp(name + n - 4, ".sql") || f->count >= RULES_MAX)
        return;
    char *copy = mem_strdup(name);
    if (!copy || !mem_grow((void **)&f->names, &f->cap, f->count + 1, sizeof(char *))) {
        free(copy);
        f->failed = true;
        return;
    }
    f->names[f->count++] = copy;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int by_id(const void *a, const void *b)
{
    return strcmp(((const struct rule *)a)->id, ((const struct rule *)b)->id);
}

/* Reads one file of the user's; what is wrong with it is the user's to know, not a failure. */
static int load_file(const char *path, struct report *r, struct rules *set, struct error *e)
{
    struct str text = {0};
    struct error why = {0};
    struct rule rule;
    struct stat st;
    int status;
    if (stat(path, &st) || !S_ISREG(st.st_mode) || (uint64_t)st.st_size > RULE_BYTES_MAX)
        status = error_set(&why, STATUS_INPUT, "\"%s\": no plain file of at most 64 KiB", path);
    else
        status = rootfs_read(NULL, path, &text, &why);
    if (!status && strlen(str_text(&text)) != text.len)
        status = error_set(&why, STATUS_INPUT, "\"%s\": holds a zero byte", path);
    if (!status)
        status = rule_parse(path, str_text(&text), &rule, &why);
    str_clear(&text);
    if (!status)
        return put(set, &rule, e);
    struct str line = {0};
    str_addf(&line, "rule left out: %s", why.text);
    bool ok = !line.failed && status != STATUS_MEMORY && fill_note(r, str_text(&line));
    str_clear(&line);
    return ok ? STATUS_OK : error_set(e, STATUS_MEMORY, "out of memory loading rules");
}

static int load_folder(const char *dir, struct report *r, struct rules *set, struct error *e)
{
    struct folder f = {.path = dir};
    struct str path = {0};
    int status = STATUS_OK;
    if (!rootfs_each(NULL, dir, on_entry, &f))
        status = error_set(e, STATUS_INPUT, "\"%s\" is no folder that rules can be read from", dir);
    if (!status && f.failed)
        status = error_set(e, STATUS_MEMORY, "out of memory loading rules");
    if (f.count)
        qsort(f.names, f.count, sizeof(char *), by_name);
    for (size_t i = 0; i < f.count; i++) {
        str_reset(&path);
        str_addf(&path, "%s/%s", dir, f.names[i]);
        if (!status)
            status = path.failed ? error_set(e, STATUS_MEMORY, "out of memory loading rules")
                                 : load_file(str_text(&path), r, set, e);
        free(f.names[i]);
    }
    free(f.names);
    str_clear(&path);
    return status;
}

/* Those for `use` stay. A user's rule for the other use has by then replaced one of its id. */
static void keep(struct rules *set, enum rule_use use)
{
    size_t kept = 0;
    for (size_t i = 0; i < set->count; i++) {
        if (set->list[i].use & use)
            set->list[kept++] = set->list[i];
        else
            rule_clear(&set->list[i]);
    }
    set->count = kept;
}

int rules_load(const char *dir, enum rule_use use, struct report *r, struct rules *ret,
               struct error *e)
{
    struct rules set = {0};
    int status = STATUS_OK;
    for (size_t i = 0; i < rule_text_count && !status; i++) {
        struct rule rule;
        status = rule_parse(rule_texts[i].file, rule_texts[i].text, &rule, e);
        if (!status)
            status = put(&set, &rule, e);
    }
    if (!status && dir && *dir)
        status = load_folder(dir, r, &set, e);
    if (status) {
        rules_clear(&set);
        return status;
    }
    keep(&set, use);
    if (set.count)
        qsort(set.list, set.count, sizeof(*set.list), by_id);
    *ret = set;
    return STATUS_OK;
}

void rules_clear(struct rules *rules)
{
    for (size_t i = 0; i < rules->count; i++)
        rule_clear(&rules->list[i]);
    free(rules->list);
    *rules = (struct rules){0};
}
