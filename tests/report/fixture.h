/* SPDX-License-Identifier: MIT */
/*
 * fixture: made-up views for the renderer tests, by name: healthy, starving, two,
 * many, unknown, cut, hostile, empty, fed (starving, fixed), random:SEED. The same name gives the
 * same view.
 */
#ifndef TESTS_REPORT_FIXTURE_H
#define TESTS_REPORT_FIXTURE_H

#include "model/report.h"

extern const char *const fixture_names[]; /* without random; NULL at the end */

/* Fills *r (report_clear it); false for an unknown name. Aborts when out of memory. */
bool fixture_make(const char *name, struct report *r);

#endif
