/* SPDX-License-Identifier: MIT */
#include "sense/resource.h"

#include "base/mem.h"
#include "base/redact.h"
#include "base/rootfs.h"
#include "model/event.h"
#include "sense/fs_name.h"
#include "sense/mounts.h"
#include "sense/peers.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOSTS_MAX 4096
#define PEERS_MAX 4096       /* beyond that a peer is named without its port */
#define EPHEMERAL_PORT 32768 /* ip_local_port_range starts here */
#define RETRY_EVERY 256      /* a device without a mount is looked up again after as many asks */
#define FLAG_SHIFT 32        /* cached value: name, flags << FLAG_SHIFT */
/* above it: how often an unknown device was asked for since it was looked up */
#define UNKNOWN_SHIFT 48
#define MISC_MAJOR 10
#define FUSE_MINOR 229
#define NVIDIA_MAJOR 195
#define NVIDIA_CONTROL_MINOR 255

struct host {
    uint8_t addr[16];
    char *name;
};

struct resources {
    char *root;
    struct intern *names; /* borrowed */
    struct peer_origin *origins;
    size_t origin_count;
    struct mounts mounts;                         /* gpufeed's own view */
    struct map by_dev, by_peer, by_char, by_host; /* by_host: index + 1 into hosts */
    struct host *hosts;
    size_t host_count, host_cap;
};

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 33)) * UINT64_C(0xff51afd7ed558ccd);
    x = (x ^ (x >> 33)) * UINT64_C(0xc4ceb9fe1a85ec53);
    return x ^ (x >> 33);
}

static uint64_t mix_addr(const uint8_t addr[16], uint64_t extra)
{
    uint64_t words[2];
    memcpy(words, addr, sizeof(words));
    return mix(mix(words[0] + extra) ^ words[1]);
}

static int copy_origins(struct resources *r, const struct resource_opts *o, struct error *e)
{
    if (!o->origin_count)
        return STATUS_OK;
    r->origins = mem_zalloc(o->origin_count * sizeof(*r->origins));
    if (!r->origins)
        return error_set(e, STATUS_MEMORY, "out of memory");
    for (size_t i = 0; i < o->origin_count; i++)
        if (peer_origin_parse(&r->origins[r->origin_count], o->origins[i]))
            r->origin_count++;
    return STATUS_OK;
}

int resources_new(struct resources **ret, const struct resource_opts *o, struct error *e)
{
    struct resources *r = mem_zalloc(sizeof(*r));
    if (!r || (o->root && !(r->root = mem_strdup(o->root)))) {
        free(r);
        return error_set(e, STATUS_MEMORY, "out of memory");
    }
    r->names = o->names;
    int rc = copy_origins(r, o, e);
    if (rc) {
        resources_free(r);
        return rc;
    }
    mounts_read(&r->mounts, r->root, 0, NULL); /* absent in a partial dump: names fall back */
    *ret = r;
    return STATUS_OK;
}

void resources_free(struct resources *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->host_count; i++)
        free(r->hosts[i].name);
    free(r->hosts);
    free(r->origins);
    free(r->root);
    mounts_clear(&r->mounts);
    map_clear(&r->by_dev);
    map_clear(&r->by_peer);
    map_clear(&r->by_char);
    map_clear(&r->by_host);
    free(r);
}

static uint32_t intern_clean(struct resources *r, const char *text)
{
    struct str clean = {0};
    redact_add(&clean, text);
    for (size_t i = 0; i < clean.len; i++)
        if ((unsigned char)clean.data[i] < ' ' || clean.data[i] == 0x7f)
            clean.data[i] = '?';
    uint32_t number = clean.failed ? 0 : intern_put(r->names, str_text(&clean));
    str_clear(&clean);
    return number;
}

static uint32_t unpack(uint64_t value, uint16_t *flags)
{
    if (flags)
        *flags |= (uint16_t)(value >> FLAG_SHIFT);
    return (uint32_t)value;
}

/* ---- file systems ---- */

static uint64_t name_mount(struct resources *r, const struct mount *m)
{
    struct str name = {0};
    bool remote = false;
    /* overlay: its layers are named as the one who mounted it sees them */
    const struct mount *below = fs_overlay_layer(&r->mounts, m);
    fs_name_add(&name, r->root, below ? below : m, &remote);
    uint64_t value = intern_clean(r, str_text(&name));
    str_clear(&name);
    return value | (uint64_t)(remote ? WAIT_REMOTE_FS : 0) << FLAG_SHIFT;
}

static bool name_by_table(struct resources *r, uint32_t tgid, uint32_t dev, uint64_t *ret)
{
    const struct mount *m = mounts_by_dev(&r->mounts, dev);
    if (m) {
        *ret = name_mount(r, m);
        return true;
    }
    mounts_read(&r->mounts, r->root, 0, NULL);
    m = mounts_by_dev(&r->mounts, dev);
    if (m) {
        *ret = name_mount(r, m);
        return true;
    }
    struct mounts other = {0};
    bool found = tgid && !mounts_read(&other, r->root, tgid, NULL) &&
                 (m = mounts_by_dev(&other, dev)) != NULL;
    if (found)
        *ret = name_mount(r, m);
    mounts_clear(&other);
    return found;
}

uint32_t resource_of_dev(struct resources *r, uint32_t tgid, uint32_t dev, uint32_t magic,
                         uint16_t *flags)
{
    uint64_t key = (uint64_t)magic << 32 | dev, value = 0;
    bool known = map_get(&r->by_dev, key, &value);
    uint64_t asked = value >> UNKNOWN_SHIFT;
    if (known && (!asked || asked % RETRY_EVERY)) {
        if (asked)
            map_put(&r->by_dev, key, value + (UINT64_C(1) << UNKNOWN_SHIFT));
        return unpack(value, flags);
    }
    if (!name_by_table(r, tgid, dev, &value)) {
        struct str name = {0};
        bool remote = fs_name_add_unmounted(&name, r->root, dev, magic);
        value = intern_clean(r, str_text(&name)) |
                (uint64_t)(remote ? WAIT_REMOTE_FS : 0) << FLAG_SHIFT |
                UINT64_C(1) << UNKNOWN_SHIFT;
        str_clear(&name);
    }
    map_put(&r->by_dev, key, value);
    return unpack(value, flags);
}

/* ---- peers ---- */

static bool is_v4(const uint8_t addr[16])
{
    static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};
    return memcmp(addr, prefix, sizeof(prefix)) == 0;
}

static bool is_loopback(const uint8_t addr[16])
{
    static const uint8_t one[16] = {[15] = 1};
    return is_v4(addr) ? addr[12] == IN_LOOPBACKNET : memcmp(addr, one, sizeof(one)) == 0;
}

static void address_text(char *buf, size_t size, const uint8_t addr[16])
{
    if (is_v4(addr))
        inet_ntop(AF_INET, addr + 12, buf, (socklen_t)size);
    else
        inet_ntop(AF_INET6, addr, buf, (socklen_t)size);
}

static const char *host_of(const struct resources *r, const uint8_t addr[16])
{
    uint64_t at;
    if (!map_get(&r->by_host, mix_addr(addr, 0), &at) ||
        memcmp(r->hosts[at - 1].addr, addr, 16) != 0)
        return NULL;
    return r->hosts[at - 1].name;
}

void resource_learn_host(struct resources *r, const uint8_t addr[16], const char *host)
{
    struct in6_addr numeric;
    uint64_t at, key = mix_addr(addr, 0);
    if (!*host || inet_pton(AF_INET, host, &numeric) == 1 ||
        inet_pton(AF_INET6, host, &numeric) == 1)
        return;
    const char *old = host_of(r, addr);
    if (old && strcmp(old, host) == 0)
        return;
    char *copy = mem_strdup(host);
    if (!copy)
        return;
    if (map_get(&r->by_host, key, &at)) {
        free(r->hosts[at - 1].name);
        memcpy(r->hosts[at - 1].addr, addr, 16);
        r->hosts[at - 1].name = copy;
    } else if (r->host_count < HOSTS_MAX &&
               mem_grow((void **)&r->hosts, &r->host_cap, r->host_count + 1, sizeof(*r->hosts)) &&
               map_put(&r->by_host, key, r->host_count + 1)) {
        struct host *h = &r->hosts[r->host_count++];
        memcpy(h->addr, addr, 16);
        h->name = copy;
    } else {
        free(copy);
    }
    map_clear(&r->by_peer); /* named from now on */
}

static bool is_storage(const struct resources *r, const struct resource_socket *s, const char *host,
                       const char *address)
{
    if ((host && peer_storage_name(host)) || peer_storage_port(s->port))
        return true;
    for (size_t i = 0; i < r->origin_count; i++)
        if (peer_origin_matches(&r->origins[i], host, address, s->port))
            return true;
    return false;
}

/* A peer that came to our port has a port of its own for each connection: it does not name it. */
static bool is_client(const struct resource_socket *s)
{
    return s->port >= EPHEMERAL_PORT && s->local_port < EPHEMERAL_PORT;
}

static uint64_t name_peer(struct resources *r, const struct resource_socket *s)
{
    char address[INET6_ADDRSTRLEN], text[400];
    const char *host = host_of(r, s->addr);
    uint16_t flags = 0;
    address_text(address, sizeof(address), s->addr);
    const char *left = !host && !is_v4(s->addr) ? "[" : "";
    const char *right = *left ? "]" : "";
    const char *who = host ? host : address;
    if (is_client(s))
        snprintf(text, sizeof(text), "%s%s%s to port %u", left, who, right, s->local_port);
    else if (r->by_peer.count >= PEERS_MAX)
        snprintf(text, sizeof(text), "%s%s%s", left, who, right);
    else
        snprintf(text, sizeof(text), "%s%s%s:%u", left, who, right, s->port);
    if (!is_client(s) && is_storage(r, s, host, address))
        flags |= WAIT_STORAGE_PEER;
    return intern_clean(r, text) | (uint64_t)flags << FLAG_SHIFT;
}

uint32_t resource_of_socket(struct resources *r, const struct resource_socket *s, uint16_t *flags)
{
    uint64_t value;
    if (!s->port)
        return 0;
    if (flags && (is_loopback(s->addr) || memcmp(s->addr, s->local_addr, 16) == 0))
        *flags |= WAIT_LOOPBACK;
    if (flags && is_client(s))
        *flags |= WAIT_ACCEPTED;
    uint64_t key = mix_addr(s->addr, is_client(s) ? (uint64_t)s->local_port << 16 : s->port);
    if (!map_get(&r->by_peer, key, &value)) {
        value = name_peer(r, s);
        if (r->by_peer.count < 2 * PEERS_MAX)
            map_put(&r->by_peer, key, value);
    }
    return unpack(value, flags);
}

uint64_t resource_socket_channel(const struct resource_socket *s)
{
    if (!s->port)
        return 0;
    uint64_t ends = mix_addr(s->addr, s->port) + mix_addr(s->local_addr, s->local_port);
    return mix(ends + (is_loopback(s->addr) ? s->netns : 0)) | 1;
}

uint64_t resource_inode_channel(uint32_t kind, uint32_t dev, uint64_t ino)
{
    return ino ? mix(mix(ino) + ((uint64_t)kind << 32 | dev)) | 1 : 0;
}

/* ---- character devices ---- */

static const char *const accelerator_names[] = {"nvidia", "drm", "kfd", "accel", "habanalabs"};

static bool is_accelerator(const char *name)
{
    for (size_t i = 0; i < sizeof(accelerator_names) / sizeof(accelerator_names[0]); i++)
        if (strncmp(name, accelerator_names[i], strlen(accelerator_names[i])) == 0)
            return true;
    return false;
}

/* The driver of a major number, from the first part of /proc/devices. */
static bool driver_of(const struct resources *r, uint32_t major, char *buf, size_t size)
{
    struct str text = {0};
    bool found = false;
    if (rootfs_read(r->root, "/proc/devices", &text, NULL) == STATUS_OK) {
        char *at = text.data, *save = NULL;
        for (char *line = at ? strtok_r(at, "\n", &save) : NULL; line && !found;
             line = strtok_r(NULL, "\n", &save)) {
            char *end;
            if (strncmp(line, "Block", 5) == 0)
                break;
            unsigned long number = strtoul(line, &end, 10);
            if (end != line && *end == ' ' && number == major)
                found = str_copy(buf, size, end + 1);
        }
    }
    str_clear(&text);
    return found;
}

static uint64_t name_chardev(struct resources *r, uint32_t rdev)
{
    uint32_t major = rdev >> 20, minor = rdev & 0xfffff;
    char driver[64] = "", text[96];
    if (!driver_of(r, major, driver, sizeof(driver)) && major == NVIDIA_MAJOR)
        snprintf(driver, sizeof(driver), "nvidia");
    if (!is_accelerator(driver))
        return 0;
    if (major == NVIDIA_MAJOR && minor == NVIDIA_CONTROL_MINOR)
        snprintf(text, sizeof(text), "device nvidiactl");
    else if (major == NVIDIA_MAJOR)
        snprintf(text, sizeof(text), "device nvidia%u", minor);
    else
        snprintf(text, sizeof(text), "device %s", driver);
    return intern_clean(r, text);
}

uint32_t resource_of_chardev(struct resources *r, uint32_t rdev, bool *accelerator, bool *fuse)
{
    uint64_t value;
    *fuse = rdev == (MISC_MAJOR << 20 | FUSE_MINOR);
    if (!map_get(&r->by_char, rdev, &value)) {
        value = name_chardev(r, rdev);
        map_put(&r->by_char, rdev, value);
    }
    *accelerator = value != 0;
    return (uint32_t)value;
}
