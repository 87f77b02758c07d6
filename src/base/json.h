/* SPDX-License-Identifier: MIT */
/*
 * json: a writer of JSON text into a str. Commas are its business; strings
 * are escaped and invalid UTF-8 becomes U+FFFD; a non-finite number is null.
 */
#ifndef GPUFEED_BASE_JSON_H
#define GPUFEED_BASE_JSON_H

#include "base/str.h"

#include <stdint.h>

#define JSON_DEPTH_MAX 32

struct json {
    struct str *out; /* borrowed */
    int depth;
    bool comma[JSON_DEPTH_MAX];
    bool after_key;
};

void json_init(struct json *j, struct str *out);
void json_object(struct json *j);     /* { */
void json_object_end(struct json *j); /* } */
void json_array(struct json *j);
void json_array_end(struct json *j);
void json_key(struct json *j, const char *key);
void json_string(struct json *j, const char *text); /* NULL writes null */
void json_int(struct json *j, int64_t v);
void json_number(struct json *j,
                 double v); /* shortest text that reads back the same; whole numbers below
                                               1e15 without an exponent */
void json_bool(struct json *j, bool v);
void json_null(struct json *j);

/* key and value in one call */
void json_kstring(struct json *j, const char *key, const char *text);
void json_kint(struct json *j, const char *key, int64_t v);
void json_knumber(struct json *j, const char *key, double v);
void json_kbool(struct json *j, const char *key, bool v);

#endif
