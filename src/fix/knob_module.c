/* SPDX-License-Identifier: MIT */
/* Kernel modules, by modprobe(8): those that accelerators and their networks need. */
#include "fix/knob.h"

#include "base/rootfs.h"
#include "fix/run.h"

#include <stdio.h>
#include <string.h>

static const char *const allowed[] = {"nvidia_peermem", "nvidia_uvm", "ib_ipoib", "rdma_ucm",
                                      "rdma_cm",        "ib_uverbs",  "ib_umad",  "mlx5_ib",
                                      "ib_core",        "gdrdrv",     "nvidia_fs"};

static bool may(const char *target, const char *value)
{
    if (strcmp(value, "loaded") && strcmp(value, "absent"))
        return false;
    for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
        if (!strcmp(allowed[i], target))
            return true;
    return false;
}

static int get(const char *root, const char *target, char value[KNOB_VALUE], struct error *e)
{
    char path[160];
    snprintf(path, sizeof(path), "/sys/module/%s", target);
    if (!rootfs_exists(root, "/sys/module"))
        return error_set(e, STATUS_MISSING, "\"/sys/module\" is absent");
    str_copy(value, KNOB_VALUE, rootfs_exists(root, path) ? "loaded" : "absent");
    return STATUS_OK;
}

static int set(const char *root, const char *target, const char *value, struct error *e)
{
    const char *const load[] = {"modprobe", target, NULL};
    const char *const unload[] = {"modprobe", "-r", target, NULL};
    return run_program(!strcmp(value, "loaded") ? load : unload, e);
}

const struct knob knob_module = {"module", may, get, set, NULL};
