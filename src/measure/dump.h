/* SPDX-License-Identifier: MIT */
/*
 * dump: what a survey read, as a tar archive that `check --root` takes once it is unpacked.
 *
 * It holds the files that the sources opened, as they read them, and nothing else: complete, because
 * all reading goes through base/rootfs. What was different at the last reading lies in .gpufeed/later. Secrets
 * are blanked, and names and addresses made up (base/anonymous.h); of environments only variables that shape
 * training stay, of the cloud's metadata only the machine's size, of processes outside the job nothing
 * but the names of known daemons.
 */
#ifndef GPUFEED_MEASURE_DUMP_H
#define GPUFEED_MEASURE_DUMP_H

#include "base/str.h"
#include "measure/survey.h"

struct dump;

struct dump *dump_new(void); /* NULL: out of memory */
void dump_free(struct dump *d);
/* Sees what this thread reads from now on, until dump_stop. */
void dump_start(struct dump *d);
void dump_stop(struct dump *d);
/* A fact that no file tells. */
void dump_fact(struct dump *d, const struct fact *f);
/* host: this machine's name, which is left out; NULL none. out->failed: out of memory. */
void dump_write(struct dump *d, const struct survey_options *o, const struct survey *seen,
                const char *host, struct str *out);

#endif
