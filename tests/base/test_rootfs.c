/* SPDX-License-Identifier: MIT */
/* Roots of one and several folders, links that must not lead out, sizes, and who sees what is read. */
#include "base/rootfs.h"

#include "../tidy.h"

#include <ftw.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64], first[80], both[200];

static int remove_entry(const char *name, const struct stat *st, int type, struct FTW *ftw)
{
    return remove(name);
}

static void put(const char *path, const char *text)
{
    char full[256];
    snprintf(full, sizeof(full), "%s/%s", folder, path);
    for (char *p = full + strlen(folder) + 1; (p = strchr(p, '/')); p++) {
        *p = '\0';
        mkdir(full, 0755);
        *p = '/';
    }
    FILE *f = fopen(full, "we");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int set_up(void **state)
{
    snprintf(folder, sizeof(folder), "/tmp/gpufeed-root-XXXXXX");
    assert_non_null(mkdtemp(folder));
    tidy_at_exit(folder);
    snprintf(first, sizeof(first), "%s/first", folder);
    snprintf(both, sizeof(both), "%s/later\n%s/first", folder, folder);
    put("first/a", "1\n");
    put("first/b", "2\n");
    put("later/a", "10\n");
    put("outside", "99\n");
    put("first/.gpufeed/statfs", "/data 1000 10 7 3\n/ 5 4\n");
    return 0;
}

static int tear_down(void **state)
{
    return nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void test_several_folders(void **state)
{
    int64_t v;
    assert_true(rootfs_int(first, "/a", &v) && v == 1);
    assert_true(rootfs_int(both, "/a", &v) && v == 10);
    assert_true(rootfs_int(both, "/b", &v) && v == 2);
    assert_false(rootfs_exists(both, "/c"));
    assert_false(rootfs_exists("\n\n", "/a"));
}

static void note(void *arg, const char *name)
{
    char *log = arg;
    snprintf(log + strlen(log), 64 - strlen(log), "%s ", name);
}

static void test_a_folder_that_several_have(void **state)
{
    char log[64] = "";
    put("first/d/x", "1\n");
    put("first/d/y", "2\n");
    put("later/d/x", "3\n");
    assert_true(rootfs_each(both, "/d", note, log));
    assert_string_equal(log, "x y ");
    assert_false(rootfs_each(both, "/none", note, log));
    assert_false(rootfs_each(both, "/a", note, log));
}

static void test_links_stay_within(void **state)
{
    char path[160], target[160];
    int64_t v;
    snprintf(target, sizeof(target), "%s/outside", folder);
    snprintf(path, sizeof(path), "%s/absolute", first);
    assert_int_equal(symlink(target, path), 0);
    snprintf(path, sizeof(path), "%s/upwards", first);
    assert_int_equal(symlink("../outside", path), 0);
    snprintf(path, sizeof(path), "%s/within", first);
    assert_int_equal(symlink("/a", path), 0);
    assert_false(rootfs_exists(first, "/absolute"));
    assert_false(rootfs_exists(first, "/upwards"));
    assert_false(rootfs_exists(first, "/../outside"));
    assert_true(rootfs_int(first, "/within", &v) && v == 1);
    assert_true(rootfs_link(first, "/upwards", path, sizeof(path)));
    assert_string_equal(path, "../outside");
}

static void test_a_pipe_holds_nobody(void **state)
{
    char path[160], line[16];
    snprintf(path, sizeof(path), "%s/pipe", first);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_false(rootfs_line(first, "/pipe", line, sizeof(line)));
}

static void test_sizes(void **state)
{
    struct rootfs_size s;
    assert_true(rootfs_size(first, "/data", &s));
    assert_true(s.bytes == 1000 && s.free_bytes == 10 && s.files == 7 && s.free_files == 3);
    assert_true(rootfs_size(first, "/", &s));
    assert_true(s.bytes == 5 && isnan(s.files));
    assert_false(rootfs_size(first, "/dat", &s));
    assert_true(rootfs_size(NULL, "/", &s) && s.bytes > 0);
}

struct seen {
    char log[512];
};

static void see(void *arg, enum rootfs_kind kind, const char *path, const char *data, size_t len)
{
    struct seen *s = arg;
    size_t n = strlen(s->log);
    snprintf(s->log + n, sizeof(s->log) - n, "%c%s=%.*s;",
             kind == ROOTFS_FILE     ? 'f'
             : kind == ROOTFS_LINK   ? 'l'
             : kind == ROOTFS_SIZE   ? 's'
             : kind == ROOTFS_FOLDER ? 'd'
                                     : 'e',
             path, data ? (int)len : 0, data ? data : "");
}

static void test_who_sees(void **state)
{
    struct seen s = {""};
    struct rootfs_size size;
    int64_t v;
    rootfs_observe(see, &s);
    rootfs_int(first, "/a", &v);
    rootfs_int(first, "/none", &v);
    rootfs_exists(first, "/b");
    rootfs_exists(first, "/");
    rootfs_size(first, "/", &size);
    rootfs_observe(NULL, NULL);
    rootfs_int(first, "/b", &v);
    assert_non_null(strstr(s.log, "f/a=1\n;e/b=;d/=;"));
    assert_non_null(strstr(s.log, "s/=5 4;"));
    assert_null(strstr(s.log, "none"));
    assert_null(strstr(s.log, "f/b"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_several_folders),
                                       TEST(test_a_folder_that_several_have),
                                       TEST(test_links_stay_within),
                                       TEST(test_a_pipe_holds_nobody),
                                       TEST(test_sizes),
                                       TEST(test_who_sees)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
