/* SPDX-License-Identifier: MIT */
#include "sense/sampler_write.h"

#include "base/unit.h"

#define BYTES_MIN 65536 /* of a reading; less is a line in a log */
#define TIME_MIN (100 * NS_PER_US)
#define OWED_MAX (8 * NS_PER_MS) /* a running thread's counter may be this far behind */
#define RUN_TELLING (2 * NS_PER_MS)
#define RATE_GUESS 1.0 /* bytes per ns: one core fills the page cache with 1 to 3 GB/s */
#define RATE_MIN 0.1   /* slower, it is other work that writes now and then */
#define RATE_MAX 16.0
#define RATE_SMOOTH 0.25

static double clamp(double v, double low, double high)
{
    return v < low ? low : v > high ? high : v;
}

static void learn(struct sampler_write *w, double speed)
{
    speed = clamp(speed, RATE_MIN, RATE_MAX);
    w->rate += w->rate > 0 ? RATE_SMOOTH * (speed - w->rate) : speed;
}

static double rate_of(const struct sampler_write *w)
{
    if (w->rate > 0)
        return w->rate;
    return w->fastest > RATE_GUESS ? w->fastest : RATE_GUESS;
}

/* The row goes on: the reading before, if there was another before it, lay within. */
static void go_on(struct sampler_write *w, double speed)
{
    if (w->pending > 0)
        learn(w, w->pending);
    w->pending = w->wrote ? speed : 0;
}

bool sampler_write_read(struct sampler_write *w, uint64_t dirtied, int64_t t0, int64_t t1,
                        int64_t *ret_t0, int64_t *ret_t1)
{
    uint64_t bytes = w->begun && dirtied > w->dirtied ? dirtied - w->dirtied : 0;
    int64_t run = t1 > t0 ? t1 - t0 : 0;
    bool writes = bytes >= BYTES_MIN, before = w->wrote;
    double speed = run > RUN_TELLING ? clamp((double)bytes / (double)run, 0, RATE_MAX) : 0;
    int64_t time = (int64_t)((double)bytes / rate_of(w)) + w->owed;
    if (writes && before && speed >= rate_of(w) / 2 && time < run)
        time = run;
    int64_t booked = time < run ? time : run;
    w->owed = !bytes ? 0 : time - booked < OWED_MAX ? time - booked : OWED_MAX;
    if (writes)
        go_on(w, speed);
    else
        w->pending = 0;
    double surely = speed * (double)run / (double)(run + OWED_MAX / 2);
    w->fastest = writes && surely > w->fastest ? surely : w->fastest;
    w->dirtied = dirtied;
    w->begun = true;
    w->wrote = writes;
    if (booked < TIME_MIN)
        return false;
    *ret_t0 = before ? t0 : t1 - booked;
    *ret_t1 = before ? t0 + booked : t1;
    return true;
}
