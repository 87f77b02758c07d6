/* SPDX-License-Identifier: MIT */
#include "sense/sampler_clock.h"

#include "base/unit.h"

/* Shorter turns on a core do not cut a wait in two: they wait for the next reading. */
#define TURN_MIN (50 * NS_PER_US)
/* A running thread's counter may be this far behind: one tick at 250 Hz, twice. */
#define LAG_MAX (8 * NS_PER_MS)
#define WAIT_AHEAD_MAX (40 * NS_PER_MS)

static int64_t clamp(int64_t v, int64_t low, int64_t high)
{
    return v < low ? low : v > high ? high : v;
}

/* Counters ahead of the clock by more than a tick are an error of reading: let go. */
static void book(struct sampler_clock *c, const struct sampler_reading *r, int64_t run,
                 int64_t wait)
{
    c->run_ns += (uint64_t)run;
    c->wait_ns += (uint64_t)wait;
    if (r->run_ns < c->run_ns || r->run_ns - c->run_ns > (uint64_t)(2 * LAG_MAX))
        c->run_ns = r->run_ns;
    if (r->wait_ns < c->wait_ns || r->wait_ns - c->wait_ns > (uint64_t)WAIT_AHEAD_MAX)
        c->wait_ns = r->wait_ns;
}

static int64_t since(uint64_t now, uint64_t booked)
{
    return now > booked ? (int64_t)(now - booked) : 0;
}

/* Readings without counters: changes happened half way between two of them. */
static int read_plain(struct sampler_clock *c, const struct sampler_reading *r,
                      struct sampler_piece *out)
{
    int n = 0;
    int64_t half = c->done + (r->t - c->done) / 2;
    bool ended = c->blocked && !(r->blocked && r->same);
    if (ended)
        out[n++] = (struct sampler_piece){c->t_out, half, half, SAMPLER_ENDED, c->last};
    if (r->blocked && (!c->blocked || ended))
        c->t_out = half;
    c->blocked = r->blocked;
    c->done = r->t;
    return n;
}

/* It was blocked and got a core since: the open wait ended somewhere in between. */
static int end_wait(struct sampler_clock *c, const struct sampler_reading *r,
                    struct sampler_piece *out)
{
    int64_t all = r->t - c->t_out;
    int64_t run = clamp(since(r->run_ns, c->run_ns), 0, all);
    int64_t wait = clamp(since(r->wait_ns, c->wait_ns), 0, all - run);
    if (r->blocked && r->same && run + wait < TURN_MIN) {
        c->switches = r->switches;
        c->done = r->t;
        return 0;
    }
    int64_t slept = clamp(r->t - c->done - run - wait, 0, all);
    int64_t after = r->blocked ? slept / 2 : 0; /* of the sleep, in the new wait */
    int64_t t_in = clamp(r->t - after - run, c->t_out, r->t);
    int64_t t_wake = clamp(t_in - wait, c->t_out, t_in);
    out[0] = (struct sampler_piece){c->t_out, t_wake, t_in, SAMPLER_ENDED, c->last};
    book(c, r, run, wait);
    c->switches = r->switches;
    c->blocked = r->blocked;
    c->t_out = t_in + run;
    c->done = r->t;
    return 1;
}

/* It was runnable when last seen. Books what the counters tell from `done` on. */
static int run_on(struct sampler_clock *c, const struct sampler_reading *r,
                  struct sampler_piece *out)
{
    int n = 0;
    int64_t all = r->t - c->done;
    bool switched = r->switches != c->switches;
    int64_t wait = clamp(since(r->wait_ns, c->wait_ns), 0, all);
    int64_t run = clamp(since(r->run_ns, c->run_ns), 0, all - wait);
    int64_t from = c->done;
    if (wait >= TURN_MIN)
        out[n++] = (struct sampler_piece){from, from, from + wait, SAMPLER_CORE, 0};
    book(c, r, run, wait);
    from += wait + run;
    if (r->blocked) {
        c->t_out = from;
        c->done = r->t;
    } else {
        /* What is open at a reading was either a wait for a core or sleep. Once the thread has
         * got a core again its counter has told of the former: the rest was sleep. */
        if (switched && c->last - from > LAG_MAX) {
            out[n++] = (struct sampler_piece){from, c->last, c->last, SAMPLER_SLEPT, 0};
            from = c->last;
        }
        c->done = from;
    }
    c->blocked = r->blocked;
    c->switches = r->switches;
    return n;
}

static int take(struct sampler_clock *c, const struct sampler_reading *r,
                struct sampler_piece out[SAMPLER_PIECES])
{
    if (!r->counted)
        return read_plain(c, r, out);
    if (!c->blocked)
        return run_on(c, r, out);
    if (r->switches == c->switches) {
        c->done = r->t; /* not on a core since: still the same wait */
        return 0;
    }
    return end_wait(c, r, out);
}

void sampler_clock_born(struct sampler_clock *c, int64_t t)
{
    *c = (struct sampler_clock){.done = t, .t_out = t, .last = t, .begun = true};
}

int sampler_clock_read(struct sampler_clock *c, const struct sampler_reading *r,
                       struct sampler_piece out[SAMPLER_PIECES])
{
    if (!c->begun) {
        *c = (struct sampler_clock){.done = r->t,
                                    .t_out = r->t,
                                    .last = r->t,
                                    .run_ns = r->run_ns,
                                    .wait_ns = r->wait_ns,
                                    .switches = r->switches,
                                    .begun = true,
                                    .blocked = r->blocked};
        return 0;
    }
    if (r->t <= c->last)
        return 0;
    int n = take(c, r, out);
    c->last = r->t;
    return n;
}
