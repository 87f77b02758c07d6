/* SPDX-License-Identifier: MIT */
/*
 * tidy: what a test makes among the temporary files goes when the program ends, also where the test fails:
 * cmocka leaves a failed test by longjmp, past what would have removed it.
 */
#ifndef TESTS_TIDY_H
#define TESTS_TIDY_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char **tidy_paths;
static size_t tidy_count;
static pid_t tidy_owner; /* a child that a test forks removes nothing */

static inline int tidy_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st, (void)flag, (void)ftw;
    remove(path);
    return 0;
}

static inline void tidy_all(void)
{
    for (size_t i = 0; i < tidy_count; i++) {
        if (tidy_owner == getpid() && !access(tidy_paths[i], F_OK))
            nftw(tidy_paths[i], tidy_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
        free(tidy_paths[i]);
    }
    free(tidy_paths);
    tidy_paths = NULL;
    tidy_count = 0;
}

/* A file or folder that is the test's own; one that is removed before is fine. */
static inline void tidy_at_exit(const char *path)
{
    char **more = realloc(tidy_paths, (tidy_count + 1) * sizeof(*more));
    if (!more)
        abort();
    tidy_paths = more;
    if (!tidy_owner) {
        tidy_owner = getpid();
        atexit(tidy_all);
    }
    tidy_paths[tidy_count++] = strdup(path);
}

#endif
