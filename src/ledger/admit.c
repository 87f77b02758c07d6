/* SPDX-License-Identifier: MIT */
#include "ledger/admit.h"

static bool in_order(int64_t t0, int64_t t1)
{
    return -ADMIT_TIME_MAX <= t0 && t0 <= t1 && t1 <= ADMIT_TIME_MAX;
}

static int64_t clamp(int64_t t)
{
    return t < -ADMIT_TIME_MAX ? -ADMIT_TIME_MAX : t > ADMIT_TIME_MAX ? ADMIT_TIME_MAX : t;
}

static bool admit_span(struct event_span *s)
{
    if (!in_order(s->launch_t0, s->launch_t1))
        s->launch_t0 = s->launch_t1 = 0;
    return in_order(s->t0, s->t1);
}

bool admit(struct event *e)
{
    switch ((enum event_kind)e->kind) {
    case EVENT_SPAN:
        return admit_span(&e->span);
    case EVENT_CALL:
        return e->call.tid && in_order(e->call.t0, e->call.t1);
    case EVENT_WAIT:
        return e->wait.tid && in_order(e->wait.t_out, e->wait.t_wake) &&
               in_order(e->wait.t_wake, e->wait.t_in);
    case EVENT_OP:
        return e->op.tid && e->op.kind < OP_KINDS && e->op.cause < CAUSE_COUNT &&
               in_order(e->op.t0, e->op.t1);
    case EVENT_THREAD:
        e->thread.name[sizeof(e->thread.name) - 1] = '\0';
        return e->thread.tid && in_order(e->thread.t, e->thread.t);
    case EVENT_DEVICE:
        return in_order(e->device.t, e->device.t);
    case EVENT_LOST:
        e->lost.t0 = clamp(e->lost.t0);
        e->lost.t1 = clamp(e->lost.t1);
        return true;
    default:
        return true;
    }
}

int64_t admit_sum(int64_t a, int64_t b)
{
    return a > INT64_MAX - b ? INT64_MAX : a + b;
}
