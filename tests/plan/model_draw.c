/* SPDX-License-Identifier: MIT */
#include "model_draw.h"

#include "base/unit.h"

#include <math.h>

static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

double draw_uniform(uint64_t seed, uint64_t what, uint64_t purpose)
{
    uint64_t h = mix(mix(mix(seed) ^ what) ^ purpose * UINT64_C(0xd1342543de82ef95));
    return ((double)(h >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(uint64_t seed, uint64_t what, uint64_t purpose)
{
    double a = draw_uniform(seed, what, purpose * 2 + 1001),
           b = draw_uniform(seed, what, purpose * 2 + 1002);
    return sqrt(-2 * log(a)) * cos(2 * M_PI * b);
}

double draw_tail(enum model_tail kind, double spread, uint64_t seed, uint64_t what,
                 uint64_t purpose)
{
    if (kind == TAIL_LOGNORMAL)
        return exp(spread * normal(seed, what, purpose) - spread * spread / 2);
    if (kind == TAIL_PARETO) {
        double x = pow(draw_uniform(seed, what, purpose), -spread) * (1 - spread);
        return x < 200 ? x : 200;
    }
    return 0.9 + 0.2 * draw_uniform(seed, what, purpose);
}

static double between(uint64_t seed, int what, double lo, double hi)
{
    return lo + (hi - lo) * draw_uniform(seed, (uint64_t)what, FOR_CONFIG);
}

/* Log-uniform. */
static double scale(uint64_t seed, int what, double lo, double hi)
{
    return exp(between(seed, what, log(lo), log(hi)));
}

static bool chance(uint64_t seed, int what, double p)
{
    return draw_uniform(seed, (uint64_t)what, FOR_CONFIG) < p;
}

struct model_config model_random(uint64_t seed, int items)
{
    struct model_config c = {.seed = seed, .items = items};
    double ms = (double)NS_PER_MS;
    c.workers = 1 + (int)between(seed, 0, 0, 15.999);
    c.prefetch = chance(seed, 1, 0.6) ? 2 : 1 + (int)between(seed, 2, 0, 3.999);
    c.cores = chance(seed, 3, 0.4) ? 0 : 1 + (int)between(seed, 4, 0, c.workers + 1.999);
    c.slice = chance(seed, 5, 0.67) ? (int64_t)(3 * ms) : 0;
    c.woken_first = chance(seed, 31, 0.5);
    c.rounds = 1 + (int)between(seed, 6, 0, 3.999);
    c.read = scale(seed, 7, 1, 100) * ms;
    c.decode = scale(seed, 8, 1, 100) * ms;
    c.read_tail = (enum model_tail)between(seed, 9, 0, 2.999);
    c.decode_tail = chance(seed, 10, 0.5) ? TAIL_LOGNORMAL : TAIL_NONE;
    c.read_spread = between(seed, 11, 0.2, c.read_tail == TAIL_PARETO ? 0.7 : 1.2);
    c.decode_spread = between(seed, 12, 0.05, 0.5);
    c.launches = 1 + (int)between(seed, 13, 0, 5.999);
    c.launch = scale(seed, 14, 0.01, 0.3) * ms;
    c.host = scale(seed, 15, 0.05, 2) * ms;
    c.take = scale(seed, 16, 0.02, 0.5) * ms;
    double parallel = c.cores ? fmin(c.workers, c.cores) : c.workers;
    double feed = fmax((c.read + c.decode) / c.workers, c.decode / parallel);
    c.kernel = feed * scale(seed, 17, 0.15, 1.6);
    c.copy = chance(seed, 18, 0.5) ? c.kernel * between(seed, 19, 0.02, 0.4) : 0;
    c.pinned_ratio = 0.4;
    c.sync_every = chance(seed, 20, 0.6) ? 1 : (int)between(seed, 21, 0, 20.999);
    c.checkpoint_every = chance(seed, 22, 0.5) ? 20 + (int)between(seed, 23, 0, 180) : 0;
    c.checkpoint = (double)c.checkpoint_every * feed * between(seed, 24, 0.02, 0.3);
    c.epoch_items = chance(seed, 25, 0.5) ? items / (2 + (int)between(seed, 26, 0, 4.999)) : 0;
    if (c.epoch_items) /* every worker started has something to do */
        c.items = items / c.epoch_items * c.epoch_items;
    c.persistent = chance(seed, 27, 0.4);
    c.startup = scale(seed, 28, 1, 20) * (c.read + c.decode);
    c.fork = scale(seed, 29, 0.2, 5) * ms;
    c.wake = scale(seed, 30, 0.005, 0.05) * ms;
    return c;
}
