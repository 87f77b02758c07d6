/* SPDX-License-Identifier: MIT */
#include "probe/probe.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static void resolve(void *library, const char *symbol, void *ret)
{
    void *f = dlsym(library, symbol);

    memcpy(ret, &f, sizeof(f));
}

void device_find_driver(struct probe *p)
{
    void *cuda = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);

    if (!cuda)
        return;
    resolve(cuda, "cuDriverGetVersion", &p->driver.version);
    resolve(cuda, "cuDeviceGet", &p->driver.device);
    resolve(cuda, "cuDeviceGetName", &p->driver.name);
    resolve(cuda, "cuDeviceGetUuid_v2", &p->driver.uuid); /* knows MIG instances */
    if (!p->driver.uuid)
        resolve(cuda, "cuDeviceGetUuid", &p->driver.uuid);
}

static void format_uuid(char *out, size_t size, const char *name, const struct abi_cu_uuid *uuid)
{
    const unsigned char *b = (const unsigned char *)uuid->bytes;

    snprintf(out, size, "%s-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
             strstr(name, " MIG ") ? "MIG" : "GPU", b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7],
             b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

static void name_device(struct probe *p, unsigned ordinal)
{
    struct ring_device *out = &p->ring.header->devices[ordinal];
    struct abi_cu_uuid uuid;
    abi_cu_device device;
    char text[sizeof(out->uuid)];
    char name[sizeof(out->name)] = "";

    if (!p->driver.device || !p->driver.uuid || !p->driver.name ||
        p->driver.device(&device, (int)ordinal) != ABI_CU_SUCCESS ||
        p->driver.uuid(&uuid, device) != ABI_CU_SUCCESS ||
        p->driver.name(name, sizeof(name), device) != ABI_CU_SUCCESS)
        return;
    format_uuid(text, sizeof(text), name, &uuid);
    out->simulated = p->simulated;
    snprintf(out->name, sizeof(out->name), "%s", name);
    /* the reader takes the entry as whole once its first byte is there */
    memcpy(out->uuid + 1, text + 1, sizeof(text) - 1);
    __atomic_store_n(&out->uuid[0], text[0], __ATOMIC_RELEASE);
    if (ordinal + 1 > p->ring.header->device_count)
        p->ring.header->device_count = ordinal + 1;
}

void device_name_all(struct probe *p)
{
    for (unsigned i = 0; i < RING_DEVICES; i++) {
        if (__atomic_load_n(&p->held[i], __ATOMIC_RELAXED) > 0 &&
            p->ring.header->devices[i].uuid[0] == '\0')
            name_device(p, i);
    }
}
