/* SPDX-License-Identifier: MIT */
#include "sense/process.h"

#include "base/rootfs.h"
#include "sense/procfs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GENERATIONS_MAX 1000 /* parents are read one by one: a pid used again could make a circle */

static bool read_one(uint32_t pid, const char *file, struct str *out)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%u/%s", pid, file);
    return rootfs_read(NULL, path, out, NULL) == STATUS_OK && out->len;
}

static bool parent_of(uint32_t pid, uint32_t *ret)
{
    struct str text = {0};
    struct procfs_stat st;
    bool known = read_one(pid, "stat", &text) && procfs_parse_stat(str_text(&text), &st);
    str_clear(&text);
    if (known)
        *ret = st.ppid;
    return known;
}

bool process_descends(uint32_t pid, uint32_t ancestor)
{
    for (int i = 0; i < GENERATIONS_MAX && pid > 1; i++) {
        if (!parent_of(pid, &pid))
            return false;
        if (pid == ancestor)
            return true;
    }
    return false;
}

bool process_user(uint32_t pid, uid_t *ret)
{
    struct str text = {0};
    unsigned effective;
    const char *line = read_one(pid, "status", &text) ? strstr(str_text(&text), "\nUid:") : NULL;
    bool known = line && sscanf(line, "\nUid: %*u %u", &effective) == 1;
    str_clear(&text);
    if (known)
        *ret = effective;
    return known;
}

bool process_maps(uint32_t pid, bool (*fits)(const char *file), char *buf, size_t size)
{
    struct str text = {0};
    bool found = false;
    if (read_one(pid, "maps", &text)) {
        char *save = NULL;
        for (char *line = strtok_r(text.data, "\n", &save); line && !found;
             line = strtok_r(NULL, "\n", &save)) {
            const char *file = strchr(line, '/');
            const char *last = file ? strrchr(file, '/') + 1 : NULL;
            if (last && fits(last)) {
                int n = snprintf(buf, size, "/proc/%u/root%s", pid, file);
                found = n > 0 && (size_t)n < size;
            }
        }
    }
    str_clear(&text);
    return found;
}

bool process_is_libcuda(const char *file)
{
    return strncmp(file, "libcuda.so", 10) == 0;
}

bool process_environment(uint32_t pid, struct str *out)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%u/environ", pid);
    return rootfs_read(NULL, path, out, NULL) == STATUS_OK;
}

const char *process_variable(const struct str *environment, const char *name)
{
    size_t length = strlen(name);
    for (size_t at = 0; at < environment->len;) {
        const char *entry = environment->data + at; /* str keeps a NUL behind the last one */
        if (!strncmp(entry, name, length) && entry[length] == '=')
            return entry + length + 1;
        at += strlen(entry) + 1;
    }
    return NULL;
}
