/* SPDX-License-Identifier: MIT */
/*
 * pickle: plain data out of a Python pickle, without running any of it. Internal to the room.
 *
 * A pickle is a program. This reads the instructions that build dicts, lists, tuples, texts, numbers, None and
 * booleans (protocols 0 to 5) and refuses all that would import or call something, but for the four list
 * makers of torch.jit._pickle, which it knows to be the identity. Values refer to each other as in the pickle: one
 * may stand in several places, in itself too. So a tree is looked into to known depths, never walked whole.
 */
#ifndef GPUFEED_IMPORT_PICKLE_H
#define GPUFEED_IMPORT_PICKLE_H

#include "import/value.h"

/* Does a pickle of protocol 2 or later begin like this? */
bool pickle_recognise(const char *head, size_t size);
/* `bytes` is the whole pickle; `path` is for messages. NULL: e filled, with the offset. */
const struct value *pickle_read(struct values *v, const char *bytes, size_t size, const char *path,
                                struct error *e);

#endif
