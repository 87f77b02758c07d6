/* SPDX-License-Identifier: MIT */
/*
 * gpu_files: what the files of NVIDIA's driver tell without NVML, so of a dump too: which GPUs
 * there are, the driver and its kind, NVSwitches and IMEX channels.
 *
 * Source: the driver's README, chapter "The /proc file system"; NVIDIA IMEX Service user guide
 * (/dev/nvidia-caps-imex-channels).
 */
#include "sense/source.h"

#include "base/rootfs.h"
#include "base/unit.h"
#include "sense/out.h"
#include "sense/pci_path.h"
#include "sense/plain.h"
#include "sense/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define GPUS "/proc/driver/nvidia/gpus"
#define VERSION "/proc/driver/nvidia/version"
#define TEXT_MAX (16 * KIB)

struct look {
    const struct source_opts *o;
    struct out out;
    unsigned count;
};

/* The value of "Key: \t value" into buf; false if absent. */
static bool value_of(const char *text, const char *key, char *buf, size_t size)
{
    size_t n = strlen(key), len;
    const char *line;
    while (text_line(&text, &line, &len)) {
        if (len <= n || memcmp(line, key, n) || line[n] != ':')
            continue;
        size_t at = n + 1;
        while (at < len && isspace((unsigned char)line[at]))
            at++;
        while (len > at && isspace((unsigned char)line[len - 1]))
            len--;
        if (len == at || len - at >= size)
            return false;
        memcpy(buf, line + at, len - at);
        buf[len - at] = '\0';
        return true;
    }
    return false;
}

/* Of a live machine NVML tells the name and address, and is asked by another source. */
static void see_gpu(void *arg, const char *address)
{
    struct look *k = arg;
    char path[96], uuid[96], name[96];
    struct str text = {0};
    if (!pci_is_address(address))
        return;
    k->count++;
    snprintf(path, sizeof(path), GPUS "/%s/information", address);
    if (k->o->root && k->o->root[0] && rootfs_bytes(k->o->root, path, TEXT_MAX, &text)) {
        bool known =
            value_of(str_text(&text), "GPU UUID", uuid, sizeof(uuid)) && !strchr(uuid, '?');
        k->out.subject = known ? uuid : address;
        k->out.source = GPUS;
        if (value_of(str_text(&text), "Model", name, sizeof(name)))
            out_text(&k->out, "name", name);
        out_text(&k->out, "pci", address);
        out_text(&k->out, "pci_bus", address);
    }
    str_clear(&text);
}

static void count_entry(void *arg, const char *name)
{
    ++*(unsigned *)arg;
}

static void count_channel(void *arg, const char *name)
{
    *(unsigned *)arg += !strncmp(name, "channel", 7);
}

/* "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build ..." */
static void version_facts(struct look *k)
{
    struct str text = {0};
    char word[64];
    if (rootfs_bytes(k->o->root, VERSION, TEXT_MAX, &text)) {
        const char *p = str_text(&text);
        bool open = strstr(p, "Open Kernel Module") != NULL;
        k->out.source = VERSION;
        out_number(&k->out, "open_kernel_module", open, "1");
        while (text_word(&p, word, sizeof(word)))
            if (isdigit((unsigned char)word[0]) && strchr(word, '.') &&
                !word[strspn(word, "0123456789.")])
                break;
        if (k->o->root && k->o->root[0])
            out_text(&k->out, "driver", word);
    }
    str_clear(&text);
}

static int gpu_files_facts(void *self, int64_t now, fact_fn fn, void *arg)
{
    struct look k = {.o = self, .out = {.fn = fn, .arg = arg, .kind = "gpu"}};
    unsigned switches = 0, channels = 0;
    bool there = rootfs_each(k.o->root, GPUS, see_gpu, &k);
    k.out.subject = "";
    k.out.source = GPUS;
    if (there)
        out_number(&k.out, "devices", k.count, "count");
    if (rootfs_each(k.o->root, "/proc/driver/nvidia-nvswitch/devices", count_entry, &switches))
        out_number(&k.out, "nvswitches", switches, "count");
    k.out.source = "/dev/nvidia-caps-imex-channels";
    if (rootfs_each(k.o->root, "/dev/nvidia-caps-imex-channels", count_channel, &channels))
        out_number(&k.out, "imex_channels", channels, "count");
    version_facts(&k);
    return k.out.rc;
}

const struct source source_gpu_files = {
    "gpu_files", "files of NVIDIA's driver", plain_start, NULL, gpu_files_facts, plain_stop,
};
