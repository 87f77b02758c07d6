/* SPDX-License-Identifier: MIT */
/*
 * rule: one piece of advice as a text file: a comment head and one SELECT
 * (doc/rules.md says how to write one). Internal to the room; pure.
 */
#ifndef GPUFEED_RECORD_RULE_H
#define GPUFEED_RECORD_RULE_H

#include "base/error.h"
#include "base/str.h"
#include "model/report.h"

#include <stddef.h>

/* The files of data/rules, compiled in. */
struct rule_text {
    const char *file, *text;
};
extern const struct rule_text rule_texts[];
extern const size_t rule_text_count;

/* Who runs a rule: the report of a recording, the check of a machine, or both. */
enum rule_use { RULE_REPORT = 1, RULE_CHECK = 2 };

struct rule {
    char *file; /* for messages: where it came from */
    char *id, *title, *why, *fix, *scenario, *source;
    char *first; /* what the verdict says to do, "Fix storage"; NULL: "Fix ID" */
    /* "KIND/NAME KIND/NAME|KIND/NAME": facts without which it cannot judge; NULL none */
    char *needs;
    char *apply;  /* what `check --fix` does (doc/rules.md); NULL nothing */
    unsigned use; /* enum rule_use, one or both */
    enum severity severity;
    char *sql; /* what follows the head */
};

/* Reads a rule's text; on failure one line with file and line (STATUS_INPUT). */
int rule_parse(const char *file, const char *text, struct rule *ret, struct error *e);
void rule_clear(struct rule *rule);

/*
 * Appends text with each {NAME} replaced by that evidence, as a person would write
 * it ("4.1 ms", "55 %"); plain: as a bare number. An unknown name is left as it is.
 */
void rule_fill(struct str *out, const char *text, const struct evidence_list *evidence, bool plain);

#endif
