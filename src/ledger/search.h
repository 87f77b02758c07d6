/* SPDX-License-Identifier: MIT */
/* search: where a moment falls in a queue that is sorted by time. */
#ifndef GPUFEED_LEDGER_SEARCH_H
#define GPUFEED_LEDGER_SEARCH_H

#include <stddef.h>
#include <stdint.h>

/* Index in [first, count) of the first item whose key is above t; count: none. `key`: that of item 0;
 * the items are `stride` bytes apart. */
static inline size_t search_after(const int64_t *key, size_t stride, size_t first, size_t count,
                                  int64_t t)
{
    size_t lo = first, hi = count;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (*(const int64_t *)((const char *)key + mid * stride) > t)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

/* Of a queue {item, first, count}, by a field of its items. */
#define SEARCH_AFTER(q, field, t)                                                                  \
    ((q)->first < (q)->count                                                                       \
         ? search_after(&(q)->item->field, sizeof(*(q)->item), (q)->first, (q)->count, (t))        \
         : (q)->count)

#endif
