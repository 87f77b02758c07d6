/* SPDX-License-Identifier: MIT */
/*
 * The ledger engine alone on one core: a tenth of a made-up hour, then the whole. Prints
 * spans per second of CPU time and the peak memory, which does not grow.
 */
#include "made_up.h"

#include "base/mem.h"
#include "base/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void on_row(void *arg, const struct ledger_row *row)
{
    *(uint64_t *)arg += (uint64_t)row->ns;
}

static void measure(int64_t seconds)
{
    struct intern names = {0};
    struct timespec a, b;
    uint64_t booked = 0;
    struct replay_log *log = replay_log_new(0);
    struct ledger_options o = {.names = &names, .log = log, .row = on_row, .arg = &booked};
    struct ledger *l = ledger_new(&o);
    if (!l || !log)
        exit(1);
    made_up_begin(l, &names);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
    uint64_t spans = made_up_run(l, seconds, NULL, NULL);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
    double s = (double)(b.tv_sec - a.tv_sec) + unit_seconds(b.tv_nsec - a.tv_nsec);
    printf("ledger: %lld s of job (%.1f s booked), %.1f M spans in %.2f s of CPU: %.2f M spans/s, "
           "peak %.1f MiB, lost %llu\n",
           (long long)seconds, unit_seconds((int64_t)booked), (double)spans / 1e6, s,
           (double)spans / s / 1e6, mem_peak_bytes() / MIB, (unsigned long long)ledger_lost(l));
    ledger_free(l);
    replay_log_free(log);
    intern_clear(&names);
}

int main(void)
{
    measure(360);
    measure(3600);
    return 0;
}
