/* SPDX-License-Identifier: MIT */
#include "machine.h"

#include "base/mem.h"
#include "base/rootfs.h"
#include "base/unit.h"
#include "sense/sources.h"
#include "unit_test.h"
#include "../tidy.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONFIG_BYTES 4096
#define INCLUDES_MAX 4

struct place {
    struct machine *m;
    const char *cases, *file;
    int line, depth;
    bool later; /* what follows is of the second look */
};

static void make_parents(char *path)
{
    for (char *p = path + 1; (p = strchr(p, '/')); p++) {
        *p = '\0';
        if (mkdir(path, 0755) && errno != EEXIST)
            fail_msg("mkdir \"%s\": %s", path, strerror(errno));
        *p = '/';
    }
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st, (void)flag, (void)ftw;
    return remove(path);
}

static void remove_tree(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* \n \t \\ \0 and \xHH become bytes. */
static void unescape(struct str *out, const char *s)
{
    for (; *s; s++) {
        char byte = *s;
        if (byte == '\\') {
            s++;
            byte = *s == 'n' ? '\n' : *s == 't' ? '\t' : *s == '0' ? '\0' : *s;
            if (*s == 'x') {
                char hex[3] = {s[1], s[1] ? s[2] : '\0', '\0'};
                byte = (char)strtoul(hex, NULL, 16);
                s += strlen(hex);
            }
        }
        str_addn(out, &byte, 1);
        if (!*s)
            break;
    }
}

/* "@bytes 0x34=40 0x40=1000": a PCI configuration space, zero elsewhere. */
static void config_space(struct str *out, const char *s)
{
    char bytes[CONFIG_BYTES] = {0};
    while (*(s += strspn(s, " "))) {
        char *end;
        unsigned long at = strtoul(s, &end, 16);
        for (s = end + (*end == '='); isxdigit((unsigned char)s[0]) && at < CONFIG_BYTES; s += 2) {
            char hex[3] = {s[0], s[1], '\0'};
            bytes[at++] = (char)strtoul(hex, NULL, 16);
        }
        if (*s && *s != ' ')
            fail_msg("bad bytes at \"%s\"", s);
    }
    str_addn(out, bytes, sizeof(bytes));
}

static void write_file(const char *path, const char *content)
{
    struct str text = {0};
    if (!strncmp(content, "@bytes", 6))
        config_space(&text, content + 6);
    else
        unescape(&text, content);
    if (text.len && !memchr(text.data, '\0', text.len) && text.data[text.len - 1] != '\n')
        str_add(&text, "\n");
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, str_text(&text), text.len) != (ssize_t)text.len)
        fail_msg("\"%s\": %s", path, strerror(errno));
    close(fd);
    str_clear(&text);
}

/* One entry below one root: "PATH<TAB>CONTENT", "PATH -> TARGET", "PATH/" or "- PATH". */
static void entry(const struct place *at, const char *root, const char *line)
{
    char path[PATH_MAX];
    const char *tab = strchr(line, '\t'), *arrow = strstr(line, " -> ");
    if (!strncmp(line, "- /", 3)) {
        snprintf(path, sizeof(path), "%s/%s%s", at->m->folder, root, line + 2);
        remove_tree(path);
        return;
    }
    size_t n = tab ? (size_t)(tab - line) : arrow ? (size_t)(arrow - line) : strlen(line);
    snprintf(path, sizeof(path), "%s/%s%.*s", at->m->folder, root, (int)n, line);
    make_parents(path);
    if (tab)
        write_file(path, tab + 1);
    else if (arrow && (unlink(path), symlink(arrow + 4, path)))
        fail_msg("%s:%d: symlink: %s", at->file, at->line, strerror(errno));
    else if (!arrow && line[n - 1] != '/')
        fail_msg("%s:%d: no entry \"%s\"", at->file, at->line, line);
}

static void both(const struct place *at, const char *line)
{
    if (!at->later)
        entry(at, "first", line);
    entry(at, "later", line);
}

/* The first "{A..B}" stands for each number from A to B (hexadecimal where A begins with x),
 * "{}" for the same number again. */
static void expand(const struct place *at, const char *line)
{
    unsigned a, b;
    int used = 0;
    const char *open = strchr(line, '{');
    bool hex = open && open[1] == 'x';
    if (!open || sscanf(open, hex ? "{x%x..%x}%n" : "{%u..%u}%n", &a, &b, &used) != 2 || !used) {
        both(at, line);
        return;
    }
    for (unsigned i = a; i <= b; i++) {
        struct str one = {0};
        char number[16];
        snprintf(number, sizeof(number), hex ? "%x" : "%u", i);
        str_addn(&one, line, (size_t)(open - line));
        str_add(&one, number);
        const char *rest = open + used;
        for (const char *same; (same = strstr(rest, "{}")); rest = same + 2) {
            str_addn(&one, rest, (size_t)(same - rest));
            str_add(&one, number);
        }
        str_add(&one, rest);
        expand(at, str_text(&one));
        str_clear(&one);
    }
}

/* "fact KIND<TAB>SUBJECT<TAB>NAME<TAB>VALUE[<TAB>UNIT]": a number where all of it is one and it does not
 * stand in quotes. */
static void add_fact(const struct place *at, const char *line)
{
    struct machine *m = at->m;
    char copy[1024], *field[5] = {0}, *p = copy, *end;
    str_copy(copy, sizeof(copy), line);
    for (int i = 0; i < 5 && p; i++)
        field[i] = strsep(&p, "\t");
    if (!field[3] || !*field[3])
        fail_msg("%s:%d: a fact needs kind, subject, name and value", at->file, at->line);
    assert_true(mem_grow((void **)&m->facts, &m->fact_cap, m->fact_count + 1, sizeof(*m->facts)));
    struct machine_fact *f = &m->facts[m->fact_count++];
    memset(f, 0, sizeof(*f));
    str_copy(f->kind, sizeof(f->kind), field[0]);
    str_copy(f->subject, sizeof(f->subject), field[1]);
    str_copy(f->name, sizeof(f->name), field[2]);
    f->number = strtod(field[3], &end);
    if (field[3][0] == '"') {
        f->number = NAN;
        snprintf(f->text, sizeof(f->text), "%.*s", (int)strcspn(field[3] + 1, "\""), field[3] + 1);
    } else if (*end) {
        f->number = NAN;
        str_copy(f->text, sizeof(f->text), field[3]);
    }
    str_copy(f->unit, sizeof(f->unit), field[4] ? field[4] : isnan(f->number) ? "" : "count");
}

static void text_lines(struct place at, const char *text);

static void include(const struct place *at, const char *name)
{
    char path[128];
    struct str text = {0};
    struct error e = {0};
    struct place inner = {at->m, at->cases, name, 0, at->depth + 1, at->later};
    snprintf(path, sizeof(path), "/%s", name);
    if (inner.depth > INCLUDES_MAX || rootfs_read(at->cases, path, &text, &e))
        fail_msg("%s:%d: include: %s", at->file, at->line, e.text);
    text_lines(inner, str_text(&text));
    str_clear(&text);
}

static void one_line(struct place *at, const char *line)
{
    struct machine *m = at->m;
    if (line[0] == '#') {
        unsigned pid;
        double seconds;
        if (sscanf(line, "# pid: %u", &pid) == 1)
            m->pid = pid;
        if (sscanf(line, "# seconds: %lf", &seconds) == 1)
            m->seconds = seconds;
        if (at->depth == 0) {
            str_add(&m->expect, line);
            str_add(&m->expect, "\n");
        }
    } else if (!strncmp(line, "include ", 8)) {
        include(at, line + 8);
    } else if (!strncmp(line, "fact ", 5)) {
        add_fact(at, line + 5);
    } else if (!strcmp(line, "@later")) {
        m->later = at->later = true;
    } else if (line[0] == '/' || line[0] == '-') {
        expand(at, line);
    } else if (line[0]) {
        fail_msg("%s:%d: not understood: \"%s\"", at->file, at->line, line);
    }
}

static void text_lines(struct place at, const char *text)
{
    struct str line = {0};
    while (*text) {
        size_t n = strcspn(text, "\n");
        at.line++;
        str_reset(&line);
        str_addn(&line, text, n);
        one_line(&at, str_text(&line));
        text += n + (text[n] == '\n');
    }
    str_clear(&line);
}

static void begin(struct machine *m)
{
    /* thousands of small files: in memory where there is such a place */
    const char *tmp = getenv("TMPDIR"), *memory = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
    char path[PATH_MAX];
    if (!tmp && !access("/dev/shm", W_OK | X_OK))
        tmp = "/dev/shm"; /* many small files */
    *m = (struct machine){.seconds = 60};
    snprintf(m->folder, sizeof(m->folder), "%s/gpufeed-machine-XXXXXX", tmp ? tmp : memory);
    assert_non_null(mkdtemp(m->folder));
    tidy_at_exit(m->folder);
    snprintf(path, sizeof(path), "%s/first", m->folder);
    assert_int_equal(mkdir(path, 0755), 0);
    snprintf(path, sizeof(path), "%s/later", m->folder);
    assert_int_equal(mkdir(path, 0755), 0);
}

void machine_make_text(struct machine *m, const char *cases, const char *text)
{
    begin(m);
    text_lines((struct place){.m = m, .cases = cases, .file = "text"}, text);
}

void machine_make(struct machine *m, const char *cases, const char *file)
{
    char path[128];
    struct str text = {0};
    struct error e = {0};
    snprintf(path, sizeof(path), "/%s", file);
    if (rootfs_read(cases, path, &text, &e))
        fail_msg("%s", e.text);
    begin(m);
    text_lines((struct place){.m = m, .cases = cases, .file = file}, str_text(&text));
    str_clear(&text);
}

void machine_facts(const struct machine *m, fact_fn fn, void *arg)
{
    char root[512];
    struct sources *s = calloc(1, sizeof(*s));
    struct source_opts o = {.root = root, .pid = m->pid, .survey = true};
    int64_t now = m->later ? unit_ns(m->seconds) : 0;
    assert_non_null(s);
    snprintf(root, sizeof(root), "%s/first", m->folder);
    sources_start(s, &o, 0);
    sources_sample(s, 0);
    if (m->later)
        snprintf(root, sizeof(root), "%s/later", m->folder);
    assert_int_equal(sources_facts(s, now, fn, arg), 0);
    sources_stop(s);
    free(s);
    for (size_t i = 0; i < m->fact_count; i++) {
        const struct machine_fact *f = &m->facts[i];
        struct fact one = {f->kind,   f->subject, f->name, isnan(f->number) ? f->text : NULL,
                           f->number, f->unit,    "test"};
        assert_int_equal(fn(arg, &one), 0);
    }
}

void machine_clear(struct machine *m)
{
    if (m->folder[0])
        remove_tree(m->folder);
    str_clear(&m->expect);
    free(m->facts);
    *m = (struct machine){0};
}
