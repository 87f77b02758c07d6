/* SPDX-License-Identifier: MIT */
#include "probe/clock_pair.h"

#include <time.h>

#define TRIES 5
#define SECOND_NS INT64_C(1000000000)
/* Two offsets further apart than this in one flush period are a step, not a drift. */
#define STEP_NS INT64_C(10000000)

int64_t clock_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * SECOND_NS + t.tv_nsec;
}

bool clock_pair_take(struct clock_pair *ret, abi_cupti_result (*timestamp)(uint64_t *))
{
    ret->error = 0;
    for (int i = 0; i < TRIES; i++) {
        uint64_t device = 0;
        int64_t before = clock_now();
        if (timestamp(&device) != ABI_CUPTI_SUCCESS || device == 0)
            return false;
        int64_t width = clock_now() - before;
        if (ret->error == 0 || width < ret->error) {
            ret->error = width > 0 ? width : 1;
            ret->mono = before + width / 2;
            ret->device = (int64_t)device;
        }
    }
    return true;
}

void clock_map_add(struct clock_map *m, const struct clock_pair *pair)
{
    m->before = m->last;
    m->last = *pair;
}

bool clock_map_read(const struct clock_map *m, uint64_t device, int64_t *ret)
{
    int64_t at = (int64_t)device;
    int64_t last = m->last.mono - m->last.device;
    int64_t before = m->before.mono - m->before.device;

    if (m->last.error == 0)
        return false;
    if (m->before.error == 0 || at >= m->last.device || last - before > STEP_NS ||
        before - last > STEP_NS)
        *ret = at + last;
    else if (at <= m->before.device)
        *ret = at + before;
    else
        *ret = at + before +
               (int64_t)((double)(last - before) * (double)(at - m->before.device) /
                         (double)(m->last.device - m->before.device));
    return true;
}
