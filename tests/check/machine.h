/* SPDX-License-Identifier: MIT */
/*
 * machine: a machine as one text file (doc: tests/check/README.md), made into folders that
 * sources read below a root, and read by them all into a recording.
 */
#ifndef TESTS_CHECK_MACHINE_H
#define TESTS_CHECK_MACHINE_H

#include "base/str.h"
#include "model/fact.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct machine_fact {
    char kind[32], subject[160], name[64], text[256], unit[16];
    double number; /* NAN: textual */
};

struct machine {
    char folder[256];  /* "first" and "later" below it are the roots; removed by machine_clear */
    struct str expect; /* the lines that begin with '#' */
    bool later;        /* it was looked at a second time */
    uint32_t pid;      /* "# pid: N"; 0 none */
    double seconds;    /* "# seconds: N" between the looks; 60 */
    struct machine_fact *facts; /* owned: those that no file gives */
    size_t fact_count, fact_cap;
};

/* Makes the machine of CASES/file below a new folder; fails the test on a bad line. */
void machine_make(struct machine *m, const char *cases, const char *file);
/* As a text in place of a file, which may include files of `cases`. */
void machine_make_text(struct machine *m, const char *cases, const char *text);
/* All sources look once, or twice where the machine has a second look, and tell their facts. */
void machine_facts(const struct machine *m, fact_fn fn, void *arg);
void machine_clear(struct machine *m);

#endif
