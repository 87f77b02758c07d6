/* SPDX-License-Identifier: MIT */
#include "fix/knob.h"

#include <string.h>

static const struct knob *const knobs[] = {&knob_sysfs, &knob_link,  &knob_module,
                                           &knob_limit, &knob_atime, &knob_scratch};

const struct knob *knob_find(const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof(knobs) / sizeof(knobs[0]); i++)
        if (strlen(knobs[i]->name) == n && !memcmp(knobs[i]->name, name, n))
            return knobs[i];
    return NULL;
}
