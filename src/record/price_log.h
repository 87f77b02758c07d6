/* SPDX-License-Identifier: MIT */
/*
 * price_log: the seam between the scenarios that rules name and plan's replay.
 * Internal; only price.c and price_log.c include it.
 */
#ifndef GPUFEED_RECORD_PRICE_LOG_H
#define GPUFEED_RECORD_PRICE_LOG_H

#include "plan/replay.h"
#include "record/price.h"

/* The replay's scenario for a rule's text; false: this text or log allows none. *ret_bound: it saves
 * at least as much as the fix would, for want of a figure. */
bool price_scenario(const struct price_log *log, const char *text, struct replay_scenario *ret,
                    bool *ret_bound);
/* The store that most is waited for gives no more bytes a second. */
bool price_storage_full(const struct price_log *log);
/* NULL for no log. */
const struct replay *price_replay(const struct price_log *log);

#endif
