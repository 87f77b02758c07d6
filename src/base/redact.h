/* SPDX-License-Identifier: MIT */
/*
 * redact: takes secrets out of texts before they are stored or shown.
 *
 * Removed are the values of secret names (sig=, AccountKey=, --password X,
 * "token": "X", X-Amz-Signature=, *_SECRET_ACCESS_KEY=, ...), whatever follows
 * Bearer or Basic, passwords in URLs, private keys in PEM form, and words that are
 * tokens by their form (JWT, hf_, ghp_, sk-, AKIA, 64-byte keys in base64). Each
 * becomes "***"; the rest of the text stays as it was. It errs towards removing.
 */
#ifndef GPUFEED_BASE_REDACT_H
#define GPUFEED_BASE_REDACT_H

#include "base/str.h"

#define REDACT_MASK "***"

/* Is this the name of something secret ("sig", "AccountKey", "HF_TOKEN")? */
bool redact_secret_name(const char *name, size_t len);
/* Appends text to *out without its secrets. */
void redact_add(struct str *out, const char *text);
/* Appends the value of a variable: all of it is masked when its name is secret. */
void redact_add_value(struct str *out, const char *name, const char *value);
/* Appends a /proc/PID/cmdline (NUL between arguments) as one line. */
void redact_add_cmdline(struct str *out, const char *bytes, size_t len);

#endif
