/* SPDX-License-Identifier: MIT */
#include "import/wrapped.h"

#include "import/untar.h"

#include <stdbool.h>
#include <string.h>

#define MAGIC(bytes) bytes, sizeof(bytes) - 1

static const struct {
    const char *magic;
    size_t size;
    const char *how;
} rows[] = {
    {MAGIC("\xfd"
           "7zXZ\0"),
     "is compressed by xz: unpack it first (xz -dk)"},
    {MAGIC("\x28\xb5\x2f\xfd"), "is compressed by zstd: unpack it first (zstd -dk)"},
    {MAGIC("\x04\x22\x4d\x18"), "is compressed by lz4: unpack it first (lz4 -dk)"},
    {MAGIC("7z\xbc\xaf\x27\x1c"), "is a 7z archive: unpack it (7z x) and give the files in it"},
    {MAGIC("PK\3\4"), "is a zip archive: unpack it (unzip) and give the files in it"},
    {MAGIC("\xff\xfe"), "is text in UTF-16: convert it first (iconv -f UTF-16 -t UTF-8)"},
    {MAGIC("\xfe\xff"), "is text in UTF-16: convert it first (iconv -f UTF-16 -t UTF-8)"},
};

static bool ends(const char *path, const char *with)
{
    size_t n = strlen(path), m = strlen(with);
    return n > m && !strcmp(path + n - m, with);
}

const char *wrapped_how(const char *path, const char *head, size_t size)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (size >= rows[i].size && !memcmp(head, rows[i].magic, rows[i].size))
            return rows[i].how;
    if (size >= 10 && !memcmp(head, "BZh", 3) && !memcmp(head + 4, "1AY&SY", 6))
        return "is compressed by bzip2: unpack it first (bzip2 -dk)";
    if (untar_recognise(head, size))
        return "is a tar archive: unpack it (tar -xf) and give the files in it";
    if (memmem(head, size < 200 ? size : 200, "-chakra.", 8))
        return "is an execution trace of PyTorch, which tells no times of a device: give the "
               "profiler's "
               "(torch.profiler's export_chrome_trace)";
    /* its format is not public; an export by such a name is one */
    if ((ends(path, ".nsys-rep") || ends(path, ".qdrep")) &&
        !(size >= 6 && !memcmp(head, "SQLite", 6)))
        return "is a report of Nsight Systems itself: export it first (nsys export --type sqlite)";
    return NULL;
}
