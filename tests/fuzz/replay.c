/* SPDX-License-Identifier: MIT */
/*
 * replay MUTATIONS FOLDER...: runs a fuzzer's target over each file of the folders, and over that many
 * mutations of each: always the same ones. A fault is a crash, or what the target itself aborts on.
 */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZE_MAX_ ((size_t)1 << 20)

static uint64_t state = 88172645463325252u;

static uint64_t draw(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % below;
}

/* One small change: a byte, a cut, a piece twice, a piece gone, a word of the grammar. */
static size_t mutate(uint8_t *data, size_t size, size_t cap)
{
    static const char *const words[] = {"\"",      "{",   "}",   "[",   "]", ",",
                                        ":",       "\\",  "\\u", "1e9", "-", "NaN",
                                        "null",    "\n",  "\r",  "\t",  "0", "9999999999999999999",
                                        "\x1b[0m", "\xff"};
    size_t at = size ? draw(size) : 0, n = size ? 1 + draw(size - at < 64 ? size - at : 64) : 0;
    const char *word = words[draw(sizeof(words) / sizeof(words[0]))];
    size_t len = strlen(word);
    switch (draw(6)) {
    case 0:
        if (size)
            data[at] ^= (uint8_t)(1u << draw(8));
        return size;
    case 1:
        return at;
    case 2:
        if (size + n > cap)
            return size;
        memmove(data + at + n, data + at, size - at);
        return size + n;
    case 3:
        memmove(data + at, data + at + n, size - at - n);
        return size - n;
    case 4:
        if (size)
            data[at] = (uint8_t)draw(256);
        return size;
    default:
        if (size + len > cap)
            return size;
        memmove(data + at + len, data + at, size - at);
        memcpy(data + at, word, len);
        return size + len;
    }
}

static int run_file(const char *path, long mutations)
{
    static uint8_t whole[SIZE_MAX_], data[SIZE_MAX_ + 4096];
    FILE *f = fopen(path, "r");
    if (!f) {
        perror(path);
        return 1;
    }
    size_t size = fread(whole, 1, sizeof(whole), f);
    fclose(f);
    LLVMFuzzerTestOneInput(whole, size);
    for (long i = 0; i < mutations; i++) {
        size_t n = size;
        memcpy(data, whole, size);
        for (uint64_t k = 1 + draw(4); k; k--)
            n = mutate(data, n, sizeof(data));
        LLVMFuzzerTestOneInput(data, n);
    }
    return 0;
}

static int run_folder(const char *folder, long mutations, int *files)
{
    char path[1024];
    struct dirent *d;
    DIR *dir = opendir(folder);
    int bad = !dir;
    if (!dir)
        perror(folder);
    while (dir && (d = readdir(dir))) {
        if (d->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s/%s", folder, d->d_name);
        bad |= run_file(path, mutations);
        ++*files;
    }
    if (dir)
        closedir(dir);
    return bad;
}

int main(int argc, char **argv)
{
    int files = 0, bad = argc < 3;
    for (int i = 2; i < argc; i++)
        bad |= run_folder(argv[i], atol(argv[1]), &files);
    if (!files)
        fputs("replay: no files\n", stderr);
    return bad || !files;
}
