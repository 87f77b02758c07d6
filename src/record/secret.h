/* SPDX-License-Identifier: MIT */
/*
 * secret: blanks what must never reach a recording, a report or an error text.
 *
 * Blanked ("***"): the value after a key that ends in token, secret, password,
 * signature, sig, key (account, access, api, secret, private) or credential, as
 * KEY=value, KEY: value or --KEY value; what follows Bearer or Basic; the
 * password in scheme://user:password@host.
 */
#ifndef GPUFEED_RECORD_SECRET_H
#define GPUFEED_RECORD_SECRET_H

#include "base/str.h"

/* Appends text to out with its secrets blanked. */
void secret_add(struct str *out, const char *text);

#endif
