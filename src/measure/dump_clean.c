/* SPDX-License-Identifier: MIT */
#include "measure/dump_clean.h"

#include "base/redact.h"
#include "sense/environment.h"
#include "sense/services.h"
#include "sense/vm.h"

#include <fnmatch.h>
#include <string.h>

#define DSN_CAPABILITY 0x0003 /* PCIe device serial number */
#define CAPABILITIES 0x100
#define CONFIG_BYTES 4096

bool dump_known_daemon(const char *comm)
{
    char name[32];
    str_copy(name, sizeof(name), comm);
    name[strcspn(name, "\n")] = '\0';
    return !strcmp(name, "kthreadd") || service_is_known(name);
}

/* NAME=VALUE texts with NULs: those that shape training, and the home folder of the settings. */
static void clean_environment(struct anonymous *names, const struct str *text, struct str *out)
{
    for (size_t i = 0; i < text->len; i += strlen(text->data + i) + 1) {
        const char *entry = text->data + i, *equal = strchr(entry, '=');
        struct str one = {0};
        if (!equal)
            continue;
        size_t n = (size_t)(equal - entry);
        if (!environment_wanted(entry, n) && !(n == 4 && !memcmp(entry, "HOME", 4)))
            continue;
        char name[128];
        if (n >= sizeof(name))
            continue;
        memcpy(name, entry, n);
        name[n] = '\0';
        redact_add_value(&one, name, equal + 1);
        str_addf(out, "%s=", name);
        anonymous_add(names, out, str_text(&one));
        str_addn(out, "", 1);
        str_clear(&one);
    }
}

/* A server's name in "server:/share" or "//server/share". */
static void hide_server(struct anonymous *names, const char *source, struct str *out)
{
    const char *share = strstr(source, ":/");
    bool smb = !strncmp(source, "//", 2);
    if (smb)
        share = strchr(source + 2, '/');
    size_t from = smb ? 2 : 0, n = share ? (size_t)(share - source) : 0;
    if (n <= from || strstr(source, "://") || strspn(source + from, "0123456789.") == n - from) {
        str_add(out, source);
        return;
    }
    char name[128];
    size_t len = n - from < sizeof(name) ? n - from : sizeof(name) - 1;
    memcpy(name, source + from, len);
    name[len] = '\0';
    str_addf(out, "%sserver%u%s", smb ? "//" : "", intern_put(&names->users, name), share);
}

/* mountinfo: the word after " - TYPE " is where it comes from; options may name a user. */
static void clean_mounts(struct anonymous *names, const char *text, struct str *out)
{
    struct str line = {0};
    while (*text) {
        size_t n = strcspn(text, "\n");
        str_reset(&line);
        str_addn(&line, text, n);
        char *dash = line.data ? strstr(line.data, " - ") : NULL;
        char *type = dash ? dash + 3 : NULL, *source = type ? strchr(type, ' ') : NULL;
        char *options = source ? strchr(source + 1, ' ') : NULL;
        if (options) {
            *options = '\0';
            str_addn(out, line.data, (size_t)(source + 1 - line.data));
            hide_server(names, source + 1, out);
            *options = ' ';
            for (char *p = options; *p;) {
                size_t k = strcspn(p + 1, ",") + 1;
                bool user = !strncmp(p + 1, "username=", 9) || !strncmp(p + 1, "user=", 5) ||
                            !strncmp(p + 1, "domain=", 7);
                str_addn(out, p, user ? 1 : k);
                p += k;
            }
        } else {
            str_add(out, str_text(&line));
        }
        str_add(out, "\n");
        text += n + (text[n] == '\n');
    }
    str_clear(&line);
}

/* PCI configuration space: its serial number becomes zeros. */
static void clean_config(const struct str *text, struct str *out)
{
    str_addn(out, text->data, text->len);
    size_t at = CAPABILITIES, base = out->len - text->len;
    for (int i = 0; i < 64 && at >= CAPABILITIES && at + 12 <= text->len && !out->failed; i++) {
        const unsigned char *p = (const unsigned char *)out->data + base + at;
        unsigned id = p[0] | p[1] << 8;
        if (id == DSN_CAPABILITY)
            memset(out->data + base + at + 4, 0, 8);
        at = (size_t)(p[2] >> 4 | p[3] << 4) & (CONFIG_BYTES - 1);
    }
}

static void clean_metadata(const struct str *text, struct str *out)
{
    char size[64];
    str_add(out,
            vm_size_of_metadata(str_text(text), size, sizeof(size)) ? "{\"vmSize\": \"" : "{}");
    if (out->len && out->data[out->len - 1] == '"')
        str_addf(out, "%s\"}", size);
    str_add(out, "\n");
}

static bool is(const char *pattern, const char *path)
{
    return !fnmatch(pattern, path, 0);
}

void dump_clean(struct anonymous *names, const char *path, const struct str *text, struct str *out)
{
    struct str plain = {0};
    if (is("/proc/*/environ", path)) {
        clean_environment(names, text, out);
        return;
    }
    if (is("/run/cloud-init/*", path)) {
        clean_metadata(text, out);
        return;
    }
    if (is("/proc/*/cmdline", path)) {
        redact_add_cmdline(&plain, str_text(text), text->len);
    } else if (text->len && memchr(text->data, '\0', text->len)) {
        clean_config(text, out); /* no text: nothing in it can be read as one */
        return;
    } else if (is("/proc/*/mountinfo", path)) {
        struct str mounts = {0};
        clean_mounts(names, str_text(text), &mounts);
        redact_add(&plain, str_text(&mounts));
        plain.failed |= mounts.failed;
        str_clear(&mounts);
    } else {
        redact_add(&plain, str_text(text));
    }
    anonymous_add(names, out, str_text(&plain));
    out->failed |= plain.failed;
    str_clear(&plain);
}
