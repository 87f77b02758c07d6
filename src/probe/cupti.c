/* SPDX-License-Identifier: MIT */
#include "probe/cupti.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES 1024
#define FOLDERS_MAX 64
#define TRIES_MAX 6 /* libraries loaded in vain at most */

struct search {
    struct cupti *ret;
    bool (*accept)(void *, struct cupti *);
    void *arg;
    int driver_version;
    int tries;
    char folders[FOLDERS_MAX][PATH_BYTES];
    int folder_count;
};

static const struct {
    const char *symbol;
    size_t at;
} functions[] = {
    {"cuptiSubscribe", offsetof(struct cupti, subscribe)},
    {"cuptiUnsubscribe", offsetof(struct cupti, unsubscribe)},
    {"cuptiEnableCallback", offsetof(struct cupti, enable_callback)},
    {"cuptiActivityEnable", offsetof(struct cupti, activity_enable)},
    {"cuptiActivityDisable", offsetof(struct cupti, activity_disable)},
    {"cuptiActivityRegisterCallbacks", offsetof(struct cupti, register_buffers)},
    {"cuptiActivityFlushAll", offsetof(struct cupti, flush_all)},
    {"cuptiActivityGetNextRecord", offsetof(struct cupti, next_record)},
    {"cuptiActivityGetNumDroppedRecords", offsetof(struct cupti, dropped)},
    {"cuptiGetTimestamp", offsetof(struct cupti, timestamp)},
    {"cuptiGetDeviceId", offsetof(struct cupti, device_of)},
};

static bool resolve(struct cupti *c, void *library)
{
    memset(c, 0, sizeof(*c));
    c->library = library;
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        void *f = dlsym(library, functions[i].symbol);
        if (!f)
            return false;
        memcpy((char *)c + functions[i].at, &f, sizeof(f));
    }
    void *version = dlsym(library, "cuptiGetVersion");
    memcpy(&c->version, &version, sizeof(version));
    return true;
}

static bool offer(struct search *s, const char *path, int mode)
{
    if (s->tries >= TRIES_MAX)
        return false;
    void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL | mode);
    if (!library)
        return false;
    s->tries++;
    return resolve(s->ret, library) && s->accept(s->arg, s->ret);
}

/* Sonames in the order that suits the driver: its own major version first, then older ones. */
static bool offer_versions(struct search *s, const char *folder)
{
    static const struct {
        const char *soname;
        int major;
    } versions[] = {{"libcupti.so.13", 13}, {"libcupti.so.12", 12}, {"libcupti.so.11.8", 11}};
    char path[PATH_BYTES + 32];

    for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
        if (s->driver_version > 0 && versions[i].major > s->driver_version / 1000)
            continue;
        snprintf(path, sizeof(path), "%s%s%s", folder ? folder : "", folder ? "/" : "",
                 versions[i].soname);
        if (folder && access(path, R_OK) != 0)
            continue;
        if (offer(s, path, 0))
            return true;
    }
    return false;
}

/* --- what is mapped -------------------------------------------------------------------------- */

struct mapped {
    const char *below; /* only libraries in this folder; NULL any */
    char path[PATH_BYTES];
};

static int is_cupti(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct mapped *m = arg;
    const char *base = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;

    (void)size;
    if (!base || strncmp(base, "/libcupti.so", 12) != 0)
        return 0;
    if (m->below && strncmp(info->dlpi_name, m->below, strlen(m->below)) != 0)
        return 0;
    snprintf(m->path, sizeof(m->path), "%s", info->dlpi_name);
    return 1;
}

static bool offer_mapped(struct search *s, const char *below)
{
    struct mapped m = {.below = below};

    return dl_iterate_phdr(is_cupti, &m) && offer(s, m.path, RTLD_NOLOAD);
}

/* --- the job's own packages ------------------------------------------------------------------ */

static void add_folder(struct search *s, const char *prefix, size_t prefix_len, const char *rest)
{
    char folder[PATH_BYTES];

    if (s->folder_count >= FOLDERS_MAX ||
        snprintf(folder, sizeof(folder), "%.*s%s", (int)prefix_len, prefix, rest) >=
            (int)sizeof(folder))
        return;
    for (int i = 0; i < s->folder_count; i++) {
        if (strcmp(s->folders[i], folder) == 0)
            return;
    }
    strcpy(s->folders[s->folder_count++], folder);
}

/* Where a mapped library says that CUDA packages may lie. */
static int note_folders(struct dl_phdr_info *info, size_t size, void *arg)
{
    static const char *const roots[] = {"/site-packages/", "/dist-packages/"};
    struct search *s = arg;
    const char *name = info->dlpi_name, *at;

    (void)size;
    if (!name || name[0] != '/')
        return 0;
    for (size_t i = 0; i < 2; i++) {
        if ((at = strstr(name, roots[i]))) {
            size_t len = (size_t)(at - name) + strlen(roots[i]);
            add_folder(s, name, len, "nvidia/cuda_cupti/lib"); /* CUDA 11 and 12 wheels */
            add_folder(s, name, len, "nvidia/cu13/lib");
            add_folder(s, name, len, "torch/lib");
        }
    }
    at = strrchr(name, '/');
    if (strstr(at, "libcudart") || strstr(at, "libcublas") || strstr(at, "libcudnn")) {
        add_folder(s, name, (size_t)(at - name), "");
        add_folder(s, name, (size_t)(at - name), "/../extras/CUPTI/lib64");
    }
    return 0;
}

/* --- the usual CUDA folders ------------------------------------------------------------------ */

static bool offer_toolkit(struct search *s, const char *home)
{
    static const char *const below[] = {
        "extras/CUPTI/lib64",
        "lib64",
#if defined(__aarch64__)
        "targets/sbsa-linux/lib",
#else
        "targets/x86_64-linux/lib",
#endif
        "lib"
    };
    char folder[PATH_BYTES];

    for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); i++) {
        if (snprintf(folder, sizeof(folder), "%s/%s", home, below[i]) < (int)sizeof(folder) &&
            offer_versions(s, folder))
            return true;
    }
    return false;
}

static bool offer_toolkits(struct search *s)
{
    static const char *const variables[] = {"CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX"};
    glob_t found = {0};
    bool done = false;

    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        const char *home = getenv(variables[i]);
        if (home && home[0] == '/' && offer_toolkit(s, home))
            return true;
    }
    if (glob("/usr/local/cuda*", 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc && !done; i++)
            done = offer_toolkit(s, found.gl_pathv[i]);
    }
    globfree(&found);
    return done;
}

bool cupti_find(struct cupti *ret, int driver_version, bool (*accept)(void *, struct cupti *),
                void *arg)
{
    const char *simulate = getenv(SIMULATE_ENV);
    const char *simulator = getenv(SIM_LIBDIR_ENV);
    struct search *s = calloc(1, sizeof(*s));
    bool found = false;

    if (!s)
        return false;
    s->ret = ret;
    s->accept = accept;
    s->arg = arg;
    s->driver_version = driver_version;
    if (simulate && strcmp(simulate, "1") == 0) {
        found = offer_mapped(s, simulator) || offer_versions(s, simulator);
    } else if (!(found = offer_mapped(s, NULL))) {
        dl_iterate_phdr(note_folders, s);
        for (int i = 0; i < s->folder_count && !found; i++)
            found = offer_versions(s, s->folders[i]);
        found = found || offer_versions(s, NULL) || offer_toolkits(s);
    }
    free(s);
    return found;
}
