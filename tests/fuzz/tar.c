/* SPDX-License-Identifier: MIT */
/* Archives: whatever is in them, nothing lies beside the folder that they were unpacked into. Sums of headers are
 * mended first, else few would get past them. */
#include "fuzz.h"

#include "import/source.h"
#include "import/untar.h"

#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK 512

static void mend(uint8_t *head)
{
    unsigned sum = 0;
    char field[8];
    memset(head + 148, ' ', 8);
    for (size_t i = 0; i < BLOCK; i++)
        sum += head[i];
    snprintf(field, sizeof(field), "%06o", sum);
    memcpy(head + 148, field, 7);
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static unsigned entries(const char *folder)
{
    unsigned n = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *d; dir && (d = readdir(dir));)
        n++;
    closedir(dir);
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char outer[] = "/tmp/gpufeed-fuzz-XXXXXX", inner[64];
    struct source *s;
    uint8_t *copy = malloc(size + 1);
    memcpy(copy, data, size);
    for (size_t at = 0; at + BLOCK <= size; at += BLOCK)
        if (!memcmp(copy + at + 257, "ustar", 5))
            mend(copy + at);
    if (!mkdtemp(outer))
        abort();
    snprintf(inner, sizeof(inner), "%s/in", outer);
    if (mkdir(inner, 0700))
        abort();
    if (!source_of_bytes("x.tar", (const char *)copy, size, &s, NULL)) {
        untar_recognise((const char *)copy, size);
        untar(s, inner, NULL);
        source_close(s);
    }
    if (entries(outer) != 3) /* ., .. and in */
        abort();
    if (nftw(outer, remove_entry, 16, FTW_DEPTH | FTW_PHYS))
        abort();
    free(copy);
    return 0;
}
