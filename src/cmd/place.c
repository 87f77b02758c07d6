/* SPDX-License-Identifier: MIT */
#include "cmd/place.h"

#include "base/str.h"
#include "cmd/say.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool make_folder(char *buf, size_t size)
{
    const char *tmp = getenv("TMPDIR");
    const char *const base[] = {tmp && tmp[0] == '/' ? tmp : "/tmp", "/tmp"};
    for (size_t i = 0; i < sizeof(base) / sizeof(base[0]); i++) {
        int n = snprintf(buf, size, "%s/gpufeed-run-XXXXXX", base[i]);
        if (n > 0 && (size_t)n < size && mkdtemp(buf))
            return true;
    }
    buf[0] = '\0';
    return false;
}

bool place_make(const char *path, char *place, char *folder)
{
    const char *slash = strrchr(path, '/');
    if (!make_folder(folder, PATH_MAX))
        return false;
    int n = snprintf(place, PATH_MAX, "%s/%s", folder, slash ? slash + 1 : path);
    if (n > 0 && n < PATH_MAX)
        return true;
    rmdir(folder);
    folder[0] = '\0';
    return false;
}

void place_rescue(const char *command, struct measure *m, char *path)
{
    char place[PATH_MAX], folder[PATH_MAX];
    struct error e = {0};
    if (!measure_moved(m))
        return;
    if (!place_make(path, place, folder)) {
        say(command,
            "\"%s\" was moved or removed while it was written, and there is no room for another",
            path);
        return;
    }
    if (measure_save(m, place, &e)) {
        say(command, "\"%s\" was moved or removed while it was written; %s", path, e.text);
        unlink(place);
        rmdir(folder);
        return;
    }
    say(command, "\"%s\" was moved or removed while it was written; the recording goes to \"%s\"",
        path, place);
    str_copy(path, PATH_MAX, place);
}
