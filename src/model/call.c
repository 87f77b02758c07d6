/* SPDX-License-Identifier: MIT */
#include "model/call.h"

enum cause call_cause(enum call_kind kind)
{
    switch (kind) {
    case CALL_CONTEXT:
        return CAUSE_STARTUP;
    case CALL_MEMORY:
    case CALL_OTHER:
        return CAUSE_HOST;
    default:
        return CAUSE_LAUNCH;
    }
}
