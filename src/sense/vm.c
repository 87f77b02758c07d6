/* SPDX-License-Identifier: MIT */
/*
 * vm: which cloud machine this is, and what one of its size should have (data/machines.tsv).
 *
 * The size comes from the firmware where the cloud writes it there (Amazon), else from what cloud-init
 * kept of the cloud's metadata; no request is sent. Sources: cloud-init's documentation of
 * instance-data.json; the asset tag of Azure from its documentation of metadata.
 */
#include "sense/vm.h"

#include "sense/source.h"

#include "base/rootfs.h"
#include "base/unit.h"
#include "sense/out.h"
#include "sense/plain.h"

#include <stdio.h>
#include <string.h>

#define DATA_MAX (4 * MIB)
#define SIZE_MAX_LEN 64
#define BITS_PER_GBIT 1e9
#define AZURE_TAG "7783-7084-3265-9085-8269-3286-77"

static const struct {
    const char *size;
    int nvme, network, ports, port_rate, gpus; /* rates in Gb/s; 0 none, -1 not known */
    const char *source;
} machines[] = {
#define MACHINE(size, nvme, network, ports, rate, gpus, source)                                    \
    {size, nvme, network, ports, rate, gpus, source},
#include "machines_list.h"
#undef MACHINE
};

/* Keys of the clouds' metadata that name the size. */
static const char *const size_keys[] = {"\"vmSize\"", "\"instance_type\"", "\"instance-type\"",
                                        "\"machine_type\"", "\"machine-type\""};

/* The text value of a key of JSON, where it is a plain word; a path counts by its last part. */
static bool find_value(const char *json, const char *key, char *buf, size_t size)
{
    static const char word[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-/";
    for (const char *p = json; (p = strstr(p, key)); p += strlen(key)) {
        const char *v = p + strlen(key);
        v += strspn(v, " \t\r\n");
        if (*v++ != ':')
            continue;
        v += strspn(v, " \t\r\n");
        if (*v++ != '"')
            continue;
        size_t n = strspn(v, word);
        if (!n || v[n] != '"')
            continue;
        for (size_t i = n; i-- > 0;)
            if (v[i] == '/') {
                v += i + 1;
                n -= i + 1;
                break;
            }
        if (!n || n >= size)
            continue;
        memcpy(buf, v, n);
        buf[n] = '\0';
        return true;
    }
    return false;
}

bool vm_size_of_metadata(const char *json, char *buf, size_t size)
{
    for (size_t i = 0; i < sizeof(size_keys) / sizeof(size_keys[0]); i++)
        if (find_value(json, size_keys[i], buf, size))
            return true;
    return false;
}

static bool from_metadata(const struct source_opts *o, char *buf, size_t size)
{
    struct str text = {0};
    if (!rootfs_bytes(o->root, "/run/cloud-init/instance-data.json", DATA_MAX, &text))
        str_reset(&text);
    bool found = vm_size_of_metadata(str_text(&text), buf, size);
    str_clear(&text);
    return found;
}

bool vm_size_known(const char *size)
{
    for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
        if (!strcmp(machines[i].size, size))
            return true;
    return false;
}

static void expected(struct out *o, const char *size)
{
    for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
        if (strcmp(machines[i].size, size))
            continue;
        o->source = machines[i].source;
        if (machines[i].nvme >= 0)
            out_number(o, "nvme_expected", machines[i].nvme, "count");
        if (machines[i].network > 0)
            out_number(o, "network_expected", machines[i].network * BITS_PER_GBIT, "bit/s");
        if (machines[i].ports >= 0)
            out_number(o, "rdma_ports_expected", machines[i].ports, "count");
        if (machines[i].port_rate > 0)
            out_number(o, "rdma_rate_expected", machines[i].port_rate * BITS_PER_GBIT, "bit/s");
        if (machines[i].gpus >= 0)
            out_number(o, "gpus_expected", machines[i].gpus, "count");
    }
}

static int facts(void *self, int64_t now, fact_fn fn, void *arg)
{
    const struct source_opts *opts = self;
    struct out o = {.fn = fn, .arg = arg, .kind = "vm", .source = "/sys/class/dmi/id"};
    char vendor[96] = "", product[96] = "", tag[96] = "", size[SIZE_MAX_LEN];
    rootfs_line(opts->root, "/sys/class/dmi/id/sys_vendor", vendor, sizeof(vendor));
    rootfs_line(opts->root, "/sys/class/dmi/id/product_name", product, sizeof(product));
    rootfs_line(opts->root, "/sys/class/dmi/id/chassis_asset_tag", tag, sizeof(tag));
    out_text(&o, "vendor", vendor);
    out_text(&o, "product", product);
    out_text(&o, "cloud",
             !strcmp(tag, AZURE_TAG)         ? "azure"
             : !strcmp(vendor, "Amazon EC2") ? "amazon"
             : !strcmp(vendor, "Google")     ? "google"
                                             : NULL);
    bool known = true;
    if (opts->vm_size && str_copy(size, sizeof(size), opts->vm_size))
        o.source = "--vm-size";
    else if (!strcmp(vendor, "Amazon EC2") && *product)
        str_copy(size, sizeof(size), product);
    else if ((known = from_metadata(opts, size, sizeof(size))))
        o.source = "/run/cloud-init/instance-data.json";
    if (known) {
        out_text(&o, "size", size);
        expected(&o, size);
    }
    return o.rc;
}

const struct source source_vm = {
    "vm", "the cloud machine's size and what it should have", plain_start, NULL, facts, plain_stop,
};
