/* SPDX-License-Identifier: MIT */
/*
 * say: messages on stderr, and names of files made from names of programs.
 *
 * What a person or a job chose (arguments, names, paths) may hold secrets and
 * characters that a terminal obeys; neither gets through here.
 */
#ifndef GPUFEED_CMD_SAY_H
#define GPUFEED_CMD_SAY_H

#include <stdarg.h>
#include <stddef.h>
#include <sys/types.h>

/* One line on stderr: "gpufeed VERB: text"; verb NULL: "gpufeed: text". */
void say(const char *verb, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void say_va(const char *verb, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
/* "recording: PATH" on stderr. */
void say_recording(const char *path);
/* Fills an empty buf with the default name of a recording, ./NAME-PID.gpufeed; `program` may be a
 * path. NAME is letters, digits and "._+-" only. */
void say_default_path(char *buf, size_t size, const char *program, pid_t pid);

#endif
