/* SPDX-License-Identifier: MIT */
#include "record/chains.h"

/* The shortest example of a cause (or of all: cause < 0) and how many there are. */
static int shortest(const struct chain_slots *s, int cause, int *ret_count)
{
    int at = -1;
    *ret_count = 0;
    for (int i = 0; i < s->count; i++) {
        if (cause >= 0 && s->slot[i].cause != cause)
            continue;
        ++*ret_count;
        if (at < 0 || s->slot[i].ns < s->slot[at].ns)
            at = i;
    }
    return at;
}

int chain_slots_offer(struct chain_slots *s, uint8_t cause, int64_t ns)
{
    int count;
    int at = shortest(s, cause, &count);
    if (count < RECORD_CHAINS_CAUSE) {
        if (s->count < RECORD_CHAINS)
            at = s->count;
        else
            at = shortest(s, -1, &count);
    }
    if (at < s->count && s->slot[at].ns >= ns)
        return -1;
    if (at == s->count)
        s->count++;
    s->slot[at].ns = ns;
    s->slot[at].cause = cause;
    return at;
}
