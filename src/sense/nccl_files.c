/* SPDX-License-Identifier: MIT */
/*
 * nccl_files: what files tell NCCL, as the job sees them: settings of ~/.nccl.conf (or
 * NCCL_CONF_FILE) and /etc/nccl.conf, the first that names a variable winning; topology files;
 * and whether Azure's agent was told to set up RDMA.
 *
 * Source: NCCL user guide, "Environment variables"; WALinuxAgent README (OS.EnableRDMA is n
 * unless set).
 */
#include "sense/source.h"

#include "base/mem.h"
#include "base/redact.h"
#include "base/rootfs.h"
#include "base/unit.h"
#include "sense/job.h"
#include "sense/out.h"
#include "sense/plain.h"
#include "sense/text.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define FILE_MAX (64 * KIB)
#define SETTINGS_MAX 128
#define WAAGENT "/etc/waagent.conf"
#define ETC "/etc/nccl.conf"

/* Where images of Azure and NVIDIA's topology daemon put them. */
static const char *const topologies[] = {
    "/opt/microsoft/ndv4/topo.xml", "/opt/microsoft/ndv5/topo.xml",
    "/opt/microsoft/ndv4-topo.xml", "/opt/microsoft/ndv5-topo.xml",
    "/opt/microsoft/ncv4/topo.xml", "/var/run/nvidia-topologyd/virtualTopology.xml",
};
#define TOPOLOGIES (sizeof(topologies) / sizeof(topologies[0]))

struct setting {
    char name[64];
    char *value; /* owned; not redacted */
    const char *file;
};

struct conf {
    const struct source_opts *o;
    char root[64]; /* before each path */
    struct setting list[SETTINGS_MAX];
    size_t count;
    int files;
};

static const struct setting *find(const struct conf *c, const char *name, size_t len)
{
    for (size_t i = 0; i < c->count; i++)
        if (!strncmp(c->list[i].name, name, len) && !c->list[i].name[len])
            return &c->list[i];
    return NULL;
}

static void trim(const char **p, size_t *len)
{
    while (*len && isspace((unsigned char)**p))
        ++*p, --*len;
    while (*len && isspace((unsigned char)(*p)[*len - 1]))
        --*len;
}

static void keep(struct conf *c, const char *file, const char *line, size_t len)
{
    const char *eq = memchr(line, '=', len);
    const char *value = eq ? eq + 1 : line;
    size_t n = eq ? (size_t)(eq - line) : 0, rest = eq ? len - n - 1 : 0, i = 0;
    trim(&line, &n);
    trim(&value, &rest);
    while (i < n &&
           (isupper((unsigned char)line[i]) || isdigit((unsigned char)line[i]) || line[i] == '_'))
        i++;
    if (!n || i < n || n >= sizeof(c->list[0].name) || c->count == SETTINGS_MAX ||
        memchr(value, '\0', rest) || find(c, line, n))
        return;
    struct str text = {0};
    str_addn(&text, value, rest);
    struct setting *s = &c->list[c->count];
    s->value = mem_strdup(str_text(&text));
    s->file = file;
    memcpy(s->name, line, n);
    s->name[n] = '\0';
    c->count += s->value != NULL;
    str_clear(&text);
}

static bool read_conf(struct conf *c, const char *file)
{
    char path[PATH_MAX + 64];
    struct str text = {0};
    const char *line;
    size_t len;
    snprintf(path, sizeof(path), "%s%s", c->root, file);
    bool there = rootfs_bytes(c->o->root, path, FILE_MAX, &text);
    for (const char *p = str_text(&text); text_line(&p, &line, &len);)
        if (line[0] != '#')
            keep(c, file, line, len);
    c->files += there;
    str_clear(&text);
    return there;
}

static void conf_facts(const struct conf *c, bool etc, struct out *out)
{
    out->kind = "nccl_conf";
    out->source = ETC;
    out_number(out, "files", c->files, "count");
    out_number(out, "etc", etc, "1");
    for (size_t i = 0; i < c->count; i++) {
        struct str value = {0};
        const struct setting *s = &c->list[i];
        redact_add_value(&value, s->name, s->value);
        out->subject = s->name;
        out->source = s->file;
        out_text(out, "value", str_text(&value));
        out_text(out, "file", s->file);
        str_clear(&value);
    }
}

static void topology_fact(const struct conf *c, const char *file, bool named, struct out *out)
{
    char path[PATH_MAX + 64];
    if (file[0] != '/' || snprintf(path, sizeof(path), "%s%s", c->root, file) >= (int)sizeof(path))
        return;
    bool there = rootfs_exists(c->o->root, path);
    out->subject = file;
    out->source = file;
    if (there || named)
        out_number(out, "exists", there, "1");
    if (named)
        out_number(out, "named", 1, "1");
}

static void topology_facts(const struct conf *c, struct out *out)
{
    char named[PATH_MAX];
    const struct setting *s = find(c, "NCCL_TOPO_FILE", strlen("NCCL_TOPO_FILE"));
    if (!job_env(c->o, "NCCL_TOPO_FILE", named, sizeof(named)))
        str_copy(named, sizeof(named), s ? s->value : "");
    out->kind = "topology_file";
    topology_fact(c, named, true, out);
    for (size_t i = 0; i < TOPOLOGIES; i++)
        if (strcmp(named, topologies[i]))
            topology_fact(c, topologies[i], false, out);
}

static void waagent_facts(const struct conf *c, struct out *out)
{
    static const char key[] = "OS.EnableRDMA";
    struct str text = {0};
    const char *line;
    size_t len, n = strlen(key);
    double on = 0;
    if (!rootfs_bytes(c->o->root, WAAGENT, FILE_MAX, &text)) {
        str_clear(&text);
        return;
    }
    for (const char *p = str_text(&text); text_line(&p, &line, &len);) {
        const char *eq = memchr(line, '=', len);
        size_t left = eq ? len - (size_t)(eq - line) - 1 : 0;
        if (!eq || (size_t)(eq - line) < n || strncasecmp(line, key, n))
            continue;
        const char *value = eq + 1;
        trim(&value, &left);
        on = left && tolower((unsigned char)*value) == 'y';
    }
    out->kind = "waagent";
    out->subject = "";
    out->source = WAAGENT;
    out_number(out, "enable_rdma", on, "1");
    str_clear(&text);
}

/* NCCL reads the user's file first; what it sets, the host's file does not change. */
static void read_all(struct conf *c, char *own, size_t size, bool *ret_etc)
{
    char home[PATH_MAX];
    if (!job_env(c->o, "NCCL_CONF_FILE", own, size)) {
        own[0] = '\0';
        if (job_env(c->o, "HOME", home, sizeof(home)) && home[0] == '/' &&
            snprintf(own, size, "%s/.nccl.conf", home) >= (int)size)
            own[0] = '\0';
    }
    if (own[0] == '/')
        read_conf(c, own);
    *ret_etc = read_conf(c, ETC);
}

static int nccl_files_facts(void *self, int64_t now, fact_fn fn, void *arg)
{
    struct out out = {.fn = fn, .arg = arg};
    struct conf *c = mem_zalloc(sizeof(*c));
    char own[PATH_MAX], etc_folder[80];
    bool etc;
    if (!c)
        return 0;
    c->o = self;
    if (job_root(c->o, c->root, sizeof(c->root))) {
        snprintf(etc_folder, sizeof(etc_folder), "%s/etc", c->root);
        read_all(c, own, sizeof(own), &etc);
        if (c->files || rootfs_exists(c->o->root, etc_folder))
            conf_facts(c, etc, &out);
        topology_facts(c, &out);
    }
    waagent_facts(c, &out);
    for (size_t i = 0; i < c->count; i++)
        free(c->list[i].value);
    free(c);
    return out.rc;
}

const struct source source_nccl_files = {
    "nccl_files",     "files that tell NCCL how to behave",
    plain_start,      NULL,
    nccl_files_facts, plain_stop,
    .survey = true,
};
