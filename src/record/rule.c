/* SPDX-License-Identifier: MIT */
#include "record/rule.h"

#include "base/mem.h"
#include "base/unit.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SECONDS_PER_MS 1e-3
#define SECONDS_PER_US 1e-6

/* Where the value of a head's key goes. */
static char **slot_of(struct rule *r, const char *key, size_t n)
{
    const struct {
        const char *key;
        char **to;
    } slots[] = {{"id", &r->id},       {"title", &r->title},       {"why", &r->why},
                 {"fix", &r->fix},     {"scenario", &r->scenario}, {"source", &r->source},
                 {"needs", &r->needs}, {"apply", &r->apply},       {"first", &r->first}};
    for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++)
        if (strlen(slots[i].key) == n && !strncmp(slots[i].key, key, n))
            return slots[i].to;
    return NULL;
}

struct head {
    const char *file;
    struct rule *rule;
    char **last; /* what a continuation line adds to */
    char *severity, *use;
    int line;
};

static int append(struct head *h, char **to, const char *text, size_t n, struct error *e)
{
    size_t old = *to ? strlen(*to) : 0;
    char *grown = mem_zalloc(old + n + 2);
    if (!grown)
        return error_set(e, STATUS_MEMORY, "\"%s\": out of memory", h->file);
    if (old) {
        memcpy(grown, *to, old);
        grown[old++] = ' ';
    }
    memcpy(grown + old, text, n);
    free(*to);
    *to = grown;
    return STATUS_OK;
}

/* One line of the head, after its "--". */
static int head_line(struct head *h, const char *p, size_t n, struct error *e)
{
    static const char licence[] = " SPDX-License-Identifier";
    while (n && isspace((unsigned char)p[n - 1]))
        n--;
    size_t blanks = strspn(p, " ");
    if (blanks >= n || !strncmp(p, licence, sizeof(licence) - 1))
        return STATUS_OK;
    p += blanks;
    n -= blanks;
    if (blanks >= 2 && h->last)
        return append(h, h->last, p, n, e);
    const char *colon = memchr(p, ':', n);
    size_t key = colon ? (size_t)(colon - p) : 0;
    char **to = key == 8 && !strncmp(p, "severity", 8) ? &h->severity
                : key == 3 && !strncmp(p, "for", 3)    ? &h->use
                                                       : slot_of(h->rule, p, key);
    if (!to || *to)
        return error_set(e, STATUS_INPUT, "\"%s\": line %d: %s in the head: \"%.*s\"", h->file,
                         h->line, to ? "a key that is there already" : "no known key", (int)n, p);
    p += key + 1;
    n -= key + 1;
    while (n && *p == ' ') {
        p++;
        n--;
    }
    h->last = to;
    return append(h, to, p, n, e);
}

/* "report", "check" or both; 0 is bad. Without the key a rule is the report's. */
static unsigned use_of(const char *text)
{
    static const struct {
        const char *text;
        unsigned use;
    } uses[] = {{"report", RULE_REPORT},
                {"check", RULE_CHECK},
                {"check report", RULE_CHECK | RULE_REPORT},
                {"report check", RULE_CHECK | RULE_REPORT}};
    for (size_t i = 0; text && i < sizeof(uses) / sizeof(uses[0]); i++)
        if (!strcmp(uses[i].text, text))
            return uses[i].use;
    return text ? 0 : RULE_REPORT;
}

static int check(const struct head *h, struct error *e)
{
    const struct rule *r = h->rule;
    const char *missing = !r->id         ? "id"
                          : !h->severity ? "severity"
                          : !r->title    ? "title"
                          : !r->fix      ? "fix"
                                         : NULL;
    if (missing)
        return error_set(e, STATUS_INPUT, "\"%s\": no \"-- %s: ...\" in its head", h->file,
                         missing);
    if (severity_of_name(h->severity) < 0)
        return error_set(e, STATUS_INPUT,
                         "\"%s\": severity \"%s\" is not info, warning or critical", h->file,
                         h->severity);
    if (!use_of(h->use))
        return error_set(e, STATUS_INPUT, "\"%s\": it is for \"%s\", not report, check or both",
                         h->file, h->use);
    if (!r->sql[strspn(r->sql, " \t\r\n;")])
        return error_set(e, STATUS_INPUT, "\"%s\": no SELECT below its head", h->file);
    return STATUS_OK;
}

int rule_parse(const char *file, const char *text, struct rule *ret, struct error *e)
{
    struct rule rule = {.file = mem_strdup(file)};
    struct head h = {.file = file, .rule = &rule};
    int status = rule.file ? STATUS_OK : error_set(e, STATUS_MEMORY, "\"%s\": out of memory", file);
    const char *p = text;
    while (!status && !strncmp(p, "--", 2)) {
        size_t n = strcspn(p, "\n");
        h.line++;
        status = head_line(&h, p + 2, n - 2, e);
        p += n + (p[n] == '\n');
    }
    if (!status && !(rule.sql = mem_strdup(p)))
        status = error_set(e, STATUS_MEMORY, "\"%s\": out of memory", file);
    if (!status)
        status = check(&h, e);
    if (!status) {
        rule.severity = (enum severity)severity_of_name(h.severity);
        rule.use = use_of(h.use);
    }
    free(h.severity);
    free(h.use);
    if (status) {
        rule_clear(&rule);
        return status;
    }
    *ret = rule;
    return STATUS_OK;
}

void rule_clear(struct rule *rule)
{
    free(rule->file);
    free(rule->id);
    free(rule->title);
    free(rule->why);
    free(rule->fix);
    free(rule->scenario);
    free(rule->source);
    free(rule->needs);
    free(rule->apply);
    free(rule->first);
    free(rule->sql);
    *rule = (struct rule){0};
}

/* Larger values than these are no times or sizes; they are shown as bare numbers. */
#define SECONDS_MAX 1e9
#define BYTES_MAX 1e18

/* A number of things, or one of a unit that is written as it is. */
static void add_count(struct str *out, double v, const char *unit)
{
    bool count = !strcmp(unit, "count");
    v = count ? unit_round_count(v) : v;
    str_addf(out, v == floor(v) ? "%.0f%s%s" : "%.3g%s%s", v, !count && *unit ? " " : "",
             count ? "" : unit);
}

static void add_value(struct str *out, const struct evidence_item *it, bool plain)
{
    char buf[64];
    const char *unit = it->unit ? it->unit : "";
    double size = fabs(it->value);
    if (!plain)
        str_add(out, evidence_mark(it->how));
    if (it->text)
        str_add(out, it->text);
    else if (!plain && unit_format_si(buf, sizeof(buf), it->value, unit))
        str_add(out, buf);
    else if (plain || !(size < (!strncmp(unit, "bytes", 5) ? BYTES_MAX : SECONDS_MAX)))
        str_addf(out, "%.15g", it->value);
    else if (!strcmp(unit, "s"))
        str_add(out, unit_format_ns(buf, sizeof(buf), unit_ns(it->value)));
    else if (!strcmp(unit, "ms"))
        str_add(out, unit_format_ns(buf, sizeof(buf), unit_ns(it->value * SECONDS_PER_MS)));
    else if (!strcmp(unit, "us"))
        str_add(out, unit_format_ns(buf, sizeof(buf), unit_ns(it->value * SECONDS_PER_US)));
    else if (!strcmp(unit, "bytes") && it->value >= 0)
        str_add(out, unit_format_bytes(buf, sizeof(buf), (uint64_t)it->value));
    else if (!strcmp(unit, "bytes/s") && it->value >= 0)
        str_addf(out, "%s/s", unit_format_bytes(buf, sizeof(buf), (uint64_t)it->value));
    else if (!strcmp(unit, "1"))
        str_add(out, unit_format_share(buf, sizeof(buf), it->value));
    else
        add_count(out, it->value, unit);
}

/* Names in the evidence have blanks where a placeholder has underscores. */
static bool names(const char *evidence, const char *p, size_t n)
{
    size_t i = 0;
    for (; i < n && evidence[i]; i++)
        if (evidence[i] != p[i] && !(evidence[i] == ' ' && p[i] == '_'))
            return false;
    return i == n && !evidence[i];
}

static const struct evidence_item *find(const struct evidence_list *list, const char *p, size_t n)
{
    for (size_t i = 0; i < list->count; i++)
        if (names(list->items[i].name, p, n))
            return &list->items[i];
    return NULL;
}

void rule_fill(struct str *out, const char *text, const struct evidence_list *evidence, bool plain)
{
    while (*text) {
        size_t n = strcspn(text, "{");
        str_addn(out, text, n);
        text += n;
        if (!*text)
            break;
        size_t name = strcspn(text + 1, "{}");
        const struct evidence_item *it =
            text[1 + name] == '}' ? find(evidence, text + 1, name) : NULL;
        if (it) {
            add_value(out, it, plain);
            text += name + 2;
        } else {
            str_addn(out, text++, 1);
        }
    }
}
