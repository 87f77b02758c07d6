/* SPDX-License-Identifier: MIT */
#include "import/machine.h"

#include "base/rootfs.h"
#include "import/source.h"
#include "import/untar.h"
#include "import/wrapped.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define AROUND_MAX 4 /* folders around a machine */
#define DEPTH_MAX 6  /* of what is copied of an RDMA device */
#define ENTRIES_MAX 10000

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    remove(path);
    return 0;
}

void machine_close(struct machine_files *m)
{
    if (!m->made[0])
        return;
    nftw(m->made, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    m->made[0] = '\0';
    sigprocmask(SIG_SETMASK, &m->before, NULL);
}

/* The program is not ended while a folder is there, so that nothing is left behind. Before a thread is
 * made that inflates: it holds back what this one does. */
static void hold_signals(struct machine_files *m)
{
    sigset_t ending;
    sigemptyset(&ending);
    sigaddset(&ending, SIGINT);
    sigaddset(&ending, SIGTERM);
    sigaddset(&ending, SIGHUP);
    sigprocmask(SIG_BLOCK, &ending, &m->before);
}

/* Thousands of small files: in memory where there is room for them. */
static const char *temporary(void)
{
    const char *tmp = getenv("TMPDIR");
    struct rootfs_size size;
    if (tmp && tmp[0] == '/')
        return tmp;
    bool roomy = !access("/dev/shm", W_OK | X_OK) && rootfs_size(NULL, "/dev/shm", &size) &&
                 size.free_bytes >= 2 * (double)UNTAR_BYTES_MAX;
    return roomy ? "/dev/shm" : "/tmp";
}

static int make_folder(struct machine_files *m, struct error *e)
{
    if (snprintf(m->made, sizeof(m->made), "%s/gpufeed-root-XXXXXX", temporary()) <
            (int)sizeof(m->made) &&
        mkdtemp(m->made))
        return STATUS_OK;
    int status = error_errno(e, "cannot make a folder for temporary files \"%s\"", m->made);
    m->made[0] = '\0';
    return status;
}

static bool is_folder(const char *folder, const char *name)
{
    char path[PATH_MAX];
    struct stat st;
    return snprintf(path, sizeof(path), "%s/%s", folder, name) < (int)sizeof(path) &&
           !lstat(path, &st) && S_ISDIR(st.st_mode);
}

struct entries {
    const char *folder;
    unsigned count, devices;
    char last[NAME_MAX + 1];
};

static void see(void *arg, const char *name)
{
    static const char *const files[] = {"fw_ver", "node_guid", "hca_type", "node_type"};
    struct entries *x = arg;
    char path[NAME_MAX + 16];
    bool device = false;
    x->count++;
    if (!str_copy(x->last, sizeof(x->last), name))
        return;
    snprintf(path, sizeof(path), "%s/ports", name);
    if (!is_folder(x->folder, name) || !is_folder(x->folder, path))
        return;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", name, files[i]);
        device |= rootfs_exists(x->folder, path);
    }
    x->devices += device;
}

enum what { MACHINE, INFINIBAND, NOTHING };

/* Goes into folder (PATH_MAX) as long as nothing else is there. */
static enum what find(char *folder)
{
    for (int i = 0; i < AROUND_MAX; i++) {
        struct entries x = {.folder = folder};
        size_t n = strlen(folder);
        if (rootfs_exists(folder, "/proc") || rootfs_exists(folder, "/sys"))
            return MACHINE;
        rootfs_each(NULL, folder, see, &x);
        if (x.count && x.devices == x.count)
            return INFINIBAND;
        if (x.count != 1 || !is_folder(folder, x.last) ||
            snprintf(folder + n, PATH_MAX - n, "/%s", x.last) >= (int)(PATH_MAX - n))
            return NOTHING;
    }
    return NOTHING;
}

struct copy {
    const char *from, *to;
    int depth;
    unsigned *count;
};

static void copy_one(void *arg, const char *name)
{
    struct copy c = *(struct copy *)arg;
    char from[PATH_MAX], to[PATH_MAX];
    struct stat st;
    struct str text = {0};
    if (snprintf(from, sizeof(from), "%s/%s", c.from, name) >= (int)sizeof(from) ||
        snprintf(to, sizeof(to), "%s/%s", c.to, name) >= (int)sizeof(to) || lstat(from, &st) ||
        ++*c.count > ENTRIES_MAX)
        return;
    if (S_ISDIR(st.st_mode) && c.depth < DEPTH_MAX && !mkdir(to, 0700)) {
        struct copy in = {from, to, c.depth + 1, c.count};
        rootfs_each(NULL, from, copy_one, &in);
    }
    FILE *f = S_ISREG(st.st_mode) && !rootfs_read(NULL, from, &text, NULL) ? fopen(to, "we") : NULL;
    if (f) {
        fwrite(str_text(&text), 1, text.len, f);
        fclose(f);
    }
    str_clear(&text);
}

/* Puts the folder where a machine has it: moves it if it is ours, else copies it. */
static int as_infiniband(struct machine_files *m, const char *folder, struct error *e)
{
    static const char *const parts[] = {"", "/sys", "/sys/class"};
    char path[PATH_MAX + 64];
    bool ours = m->made[0];
    int status = ours ? STATUS_OK : make_folder(m, e);
    if (status)
        return status;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        snprintf(path, sizeof(path), "%s/machine%s", m->made, parts[i]);
        if (mkdir(path, 0700))
            return error_errno(e, "cannot make \"%s\"", path);
    }
    snprintf(path, sizeof(path), "%s/machine/sys/class/infiniband", m->made);
    if (ours ? rename(folder, path) : mkdir(path, 0700))
        return error_errno(e, "cannot make \"%s\"", path);
    if (!ours) {
        unsigned count = 0;
        struct copy c = {folder, path, 0, &count};
        rootfs_each(NULL, folder, copy_one, &c);
    }
    return snprintf(m->root, sizeof(m->root), "%s/machine", m->made) < (int)sizeof(m->root)
               ? STATUS_OK
               : error_set(e, STATUS_INPUT, "\"%s\" is too long a name", m->made);
}

static int no_archive(const char *path, const char *head, size_t size, struct error *e)
{
    const char *how = wrapped_how(path, head, size);
    if (how)
        return error_set(e, STATUS_INPUT, "\"%s\" %s; --root takes a folder, .tar and .tar.gz",
                         path, how);
    return error_set(e, STATUS_INPUT,
                     "\"%s\" is neither a folder nor a tar archive of a machine's files", path);
}

static int unpack(const char *path, struct machine_files *m, struct error *e)
{
    struct source *s;
    const char *head;
    size_t size;
    int status = source_open(path, &s, e);
    if (status)
        return status;
    status = source_head(s, &head, &size, e);
    if (!status && !untar_recognise(head, size))
        status = no_archive(path, head, size, e);
    if (!status)
        status = make_folder(m, e);
    if (!status && snprintf(m->root, sizeof(m->root), "%s/files", m->made) >= (int)sizeof(m->root))
        status = error_set(e, STATUS_INPUT, "\"%s\" is too long a name", m->made);
    if (!status && mkdir(m->root, 0700))
        status = error_errno(e, "cannot make \"%s\"", m->root);
    if (!status)
        status = untar(s, m->root, e);
    source_close(s);
    return status;
}

/* Finds the machine in m->root, which `path` has been made into. */
static int settle(const char *path, struct machine_files *m, struct error *e)
{
    char folder[PATH_MAX];
    str_copy(folder, sizeof(folder), m->root);
    switch (find(folder)) {
    case MACHINE:
        str_copy(m->root, sizeof(m->root), folder);
        return STATUS_OK;
    case INFINIBAND:
        return as_infiniband(m, folder, e);
    case NOTHING:
        break;
    }
    return error_set(e, STATUS_INPUT,
                     "\"%s\" is no machine: it has neither proc nor sys. Files must lie as on the "
                     "machine, such as proc/meminfo and sys/class/infiniband/mlx5_0/ports/1/state",
                     path);
}

int machine_open(const char *path, struct machine_files *ret, struct error *e)
{
    struct machine_files m = {0};
    struct stat st;
    if (stat(path, &st))
        return error_errno(e, "--root: cannot read \"%s\"", path);
    if (!str_copy(m.root, sizeof(m.root), path))
        return error_set(e, STATUS_INPUT, "the name of the root folder is too long");
    hold_signals(&m);
    int status = S_ISDIR(st.st_mode) ? STATUS_OK : unpack(path, &m, e);
    if (!status)
        status = settle(path, &m, e);
    if (status)
        machine_close(&m);
    if (!m.made[0])
        sigprocmask(SIG_SETMASK, &m.before, NULL);
    if (!status)
        *ret = m;
    return status;
}
