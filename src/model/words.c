/* SPDX-License-Identifier: MIT */
#include "model/words.h"

#include <string.h>

static const char *const state_names[STATE_COUNT] = {"compute", "comm",   "copy",
                                                     "wait",    "unused", "unseen"};

static const struct {
    const char *id, *title, *meaning;
} causes[CAUSE_COUNT] = {
#define X(NAME, id, title, meaning) [CAUSE_##NAME] = {id, title, meaning},
#include "causes_list.h"
#undef X
};

const char *state_name(enum state s)
{
    return (unsigned)s < STATE_COUNT ? state_names[s] : "unseen";
}

const char *cause_name(enum cause c)
{
    return (unsigned)c < CAUSE_COUNT ? causes[c].id : "unknown";
}

const char *cause_title(enum cause c)
{
    return (unsigned)c < CAUSE_COUNT ? causes[c].title : "unknown";
}

const char *cause_meaning(enum cause c)
{
    return (unsigned)c < CAUSE_COUNT ? causes[c].meaning : "";
}

int state_of_name(const char *name)
{
    for (int i = 0; i < STATE_COUNT; i++)
        if (!strcmp(state_names[i], name))
            return i;
    return -1;
}

int cause_of_name(const char *name)
{
    for (int i = 0; i < CAUSE_COUNT; i++)
        if (!strcmp(causes[i].id, name))
            return i;
    return -1;
}
