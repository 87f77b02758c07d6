/* SPDX-License-Identifier: MIT */
/*
 * error: one error object per operation, carried upwards with context.
 *
 * Every function that can fail returns an enum status (STATUS_OK is 0, all
 * others are negative) and takes a `struct error *` (may be NULL). The first
 * failure fills the text ("what failed, the object in quotes, why, what to
 * try"); each layer adds at most one "while ...". Only cmd/ and agent/ print.
 */
#ifndef GPUFEED_BASE_ERROR_H
#define GPUFEED_BASE_ERROR_H

enum status {
    STATUS_OK = 0,
    STATUS_SYSTEM = -1,  /* a system call or library failed */
    STATUS_INPUT = -2,   /* bad input: file, option, recording */
    STATUS_DENIED = -3,  /* not permitted */
    STATUS_MEMORY = -4,  /* out of memory */
    STATUS_MISSING = -5, /* absent: file, library, symbol, kernel feature */
    STATUS_FULL = -6,    /* no space: disk, ring, quota */
};

struct error {
    enum status status;
    char text[480];
};

/* Fills *e (unless NULL) and returns status, so `return error_set(...)` works. */
int error_set(struct error *e, enum status status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* As error_set, with ": strerror(errno)" added; EACCES/EPERM become DENIED,
 * ENOENT MISSING, ENOSPC/EDQUOT FULL, ENOMEM MEMORY, all others SYSTEM. */
int error_errno(struct error *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Appends " (while ...)" to an error already set; returns e->status. */
int error_while(struct error *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
