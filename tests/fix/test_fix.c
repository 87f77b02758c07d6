/* SPDX-License-Identifier: MIT */
/* Plan, apply, verify, undo: knobs are files of a made-up /sys, and limits of a child process. */
#include "fix/fix.h"

#include "base/mem.h"
#include "base/rootfs.h"
#include "fix/blank.h"
#include "fix/journal.h"
#include "fix/knob.h"
#include "../tidy.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define AHEAD "/sys/block/sda/queue/read_ahead_kb"
#define SCHEDULER "/sys/block/sda/queue/scheduler"

static char root[128], path[160];

static int remove_entry(const char *name, const struct stat *st, int type, struct FTW *ftw)
{
    return remove(name);
}

static void put(const char *file, const char *text)
{
    char full[512];
    snprintf(full, sizeof(full), "%s%s", root, file);
    for (char *p = full + strlen(root) + 1; (p = strchr(p, '/')); p++) {
        *p = '\0';
        mkdir(full, 0755);
        *p = '/';
    }
    FILE *f = fopen(full, "we");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void is(const char *file, const char *text)
{
    char line[64] = "";
    rootfs_line(root, file, line, sizeof(line));
    assert_string_equal(line, text);
}

static int set_up(void **state)
{
    snprintf(root, sizeof(root), "/tmp/gpufeed-fix-XXXXXX");
    assert_non_null(mkdtemp(root));
    tidy_at_exit(root);
    snprintf(path, sizeof(path), "%s/var/fix.journal", root);
    put(AHEAD, "128\n");
    put(SCHEDULER, "none [mq-deadline] bfq\n");
    put("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
    put("/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance\n");
    put("/sys/devices/system/cpu/cpuidle/x", "");
    return 0;
}

static int tear_down(void **state)
{
    return nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void plan(struct fix_plan *p, const char *text)
{
    struct fix_context c = {.root = root};
    struct error e = {0};
    if (fix_plan_add(p, &c, "a-rule", text, &e))
        fail_msg("%s", e.text);
}

static void apply(struct fix_plan *p)
{
    struct fix_journal j = {.path = path, .root = root, .unix_ns = 1};
    struct error e = {0};
    if (fix_apply(p, &j, &e))
        fail_msg("%s", e.text);
}

static void undo(struct fix_plan *p)
{
    struct fix_journal j = {.path = path, .root = root, .unix_ns = 2};
    struct error e = {0};
    *p = (struct fix_plan){0};
    if (fix_undo(&j, p, &e))
        fail_msg("%s", e.text);
}

/* A step that cannot be kept is told, not left out. */
static void test_no_memory_for_a_step(void **state)
{
    static const char *const steps[] = {"sysfs " AHEAD " 4096", "governor all performance"};
    struct fix_context c = {.root = root};
    for (size_t i = 0; i < 2; i++) {
        struct fix_plan p = {0};
        struct error e = {0};
        mem_fail_after(0);
        int status = fix_plan_add(&p, &c, "a-rule", steps[i], &e);
        mem_fail_after(-1);
        assert_int_equal(status, STATUS_MEMORY);
        fix_plan_clear(&p);
    }
}

static void test_there_and_back(void **state)
{
    struct fix_plan p = {0};
    plan(&p, "sysfs " AHEAD " 4096");
    plan(&p, "sysfs " AHEAD " 4096"); /* of a second finding */
    assert_int_equal(p.count, 1);
    assert_string_equal(p.steps[0].before, "128");
    is(AHEAD, "128");
    apply(&p);
    assert_int_equal(p.steps[0].state, FIX_DONE);
    is(AHEAD, "4096");
    fix_plan_clear(&p);
    undo(&p);
    assert_int_equal(p.count, 1);
    assert_int_equal(p.steps[0].state, FIX_UNDONE);
    is(AHEAD, "128");
    fix_plan_clear(&p);
    undo(&p); /* nothing is left to undo */
    assert_int_equal(p.count, 0);
    fix_plan_clear(&p);
}

static void test_what_has_its_value_is_kept(void **state)
{
    struct fix_plan p = {0};
    plan(&p, "sysfs " AHEAD " 128");
    assert_int_equal(p.steps[0].state, FIX_KEPT);
    apply(&p);
    assert_int_equal(access(path, F_OK), -1); /* no journal for nothing */
    fix_plan_clear(&p);
}

static void test_a_change_since_is_left_alone(void **state)
{
    struct fix_plan p = {0};
    plan(&p, "sysfs " AHEAD " 4096");
    apply(&p);
    fix_plan_clear(&p);
    put(AHEAD, "512\n");
    undo(&p);
    assert_int_equal(p.steps[0].state, FIX_LEFT);
    assert_non_null(strstr(p.steps[0].why, "512"));
    is(AHEAD, "512");
    fix_plan_clear(&p);
}

static void test_two_changes_of_one_knob_go_back_to_the_first(void **state)
{
    struct fix_plan p = {0};
    plan(&p, "sysfs " AHEAD " 4096");
    apply(&p);
    fix_plan_clear(&p);
    plan(&p, "sysfs " AHEAD " 8192");
    apply(&p);
    fix_plan_clear(&p);
    undo(&p);
    assert_int_equal(p.count, 2);
    is(AHEAD, "128");
    fix_plan_clear(&p);
}

static void test_choices_in_brackets(void **state)
{
    struct fix_plan p = {0};
    plan(&p, "sysfs " SCHEDULER " none");
    assert_string_equal(p.steps[0].before, "mq-deadline");
    fix_plan_clear(&p);
}

static void test_governor_of_all_cores(void **state)
{
    struct fix_plan p = {0};
    plan(&p, "governor all performance");
    assert_int_equal(p.count, 2);
    apply(&p);
    is("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance");
    fix_plan_clear(&p);
    undo(&p);
    assert_int_equal(p.count, 1); /* the other one had it */
    is("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave");
    is("/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance");
    fix_plan_clear(&p);
}

static void test_what_is_no_knob(void **state)
{
    static const char *const bad[] = {
        "sysfs /etc/passwd x",
        "sysfs /sys/block/../../etc/queue/read_ahead_kb 1",
        "sysfs /sys/block/sda/queue/read_ahead_kb $(id)",
        "sysfs /sys/block/sda/queue/nr_requests 1",
        "module evil loaded",
        "module nvidia_peermem gone",
        "link ../x up",
        "link eth0 sideways",
        "atime relative noatime",
        "atime / sync",
        "scratch /etc/passwd:/mnt mounted",
        "scratch /dev/sda:relative mounted",
        "scratch /dev/../etc/x:/mnt mounted",
        "scratch /dev/sda,/dev/sda:/mnt mounted",
        "format /dev/sda now",
        "sysfs",
        "",
        "sysfs x",
    };
    struct fix_context c = {.root = root};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct fix_plan p = {0};
        struct error e = {0};
        if (!fix_plan_add(&p, &c, "", bad[i], &e))
            fail_msg("\"%s\" was planned", bad[i]);
        assert_int_equal(e.status, STATUS_INPUT);
        assert_int_equal(p.count, 0);
        fix_plan_clear(&p);
    }
}

static void test_what_is_not_there_fails_alone(void **state)
{
    struct fix_plan p = {0};
    plan(&p, "sysfs /sys/block/sdz/queue/read_ahead_kb 4096");
    plan(&p, "sysfs " AHEAD " 4096");
    assert_int_equal(p.steps[0].state, FIX_FAILED);
    apply(&p);
    is(AHEAD, "4096");
    fix_plan_clear(&p);
}

static void die(void *arg)
{
    raise(SIGKILL);
}

static int killed_while_applying(void)
{
    int code;
    pid_t pid = fork();
    if (!pid) {
        struct fix_plan p = {0};
        struct fix_journal j = {.path = path, .root = root, .moment = die};
        plan(&p, "sysfs " AHEAD " 4096");
        fix_apply(&p, &j, NULL);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &code, 0), pid);
    return WIFSIGNALED(code) ? WTERMSIG(code) : 0;
}

/* The journal is written, the knob is not set. */
static void test_killed_before_it_was_set(void **state)
{
    struct fix_plan p = {0};
    assert_int_equal(killed_while_applying(), SIGKILL);
    is(AHEAD, "128");
    undo(&p);
    assert_int_equal(p.count, 1);
    assert_int_equal(p.steps[0].state, FIX_UNDONE);
    is(AHEAD, "128");
    fix_plan_clear(&p);
}

/* The knob is set, the journal does not say so yet. */
static void test_killed_after_it_was_set(void **state)
{
    struct fix_plan p = {0};
    assert_int_equal(killed_while_applying(), SIGKILL);
    put(AHEAD, "4096\n");
    undo(&p);
    assert_int_equal(p.steps[0].state, FIX_UNDONE);
    is(AHEAD, "128");
    fix_plan_clear(&p);
}

static void journal_is(const char *text)
{
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* A line that a crash cut off counts for nothing, and the next one does not grow onto it. */
static void test_a_torn_line(void **state)
{
    struct fix_plan p = {0};
    struct str text = {0};
    plan(&p, "sysfs " AHEAD " 4096");
    apply(&p);
    fix_plan_clear(&p);
    FILE *f = fopen(path, "ae");
    assert_non_null(f);
    fputs("1.0\t2\tbegin\tsysfs\t/sys/blo", f);
    fclose(f);
    undo(&p);
    assert_int_equal(p.count, 1);
    is(AHEAD, "128");
    fix_plan_clear(&p);
    assert_int_equal(rootfs_read(NULL, path, &text, NULL), 0);
    assert_null(strstr(str_text(&text), "/sys/blo\t"));
    assert_non_null(strstr(str_text(&text), "\tundone\t"));
    str_clear(&text);
}

static void test_no_journal_of_ours(void **state)
{
    static const char *const bad[] = {
        "something else\n",
        "gpufeed.fix/2\n",
        "gpufeed.fix/1\nnonsense\n",
        "gpufeed.fix/1\n1\t1\tdone\tsysfs\t" AHEAD "\t1\t2\tx\n", /* done without begin */
        "gpufeed.fix/1\n1\t0\tbegin\tsysfs\t" AHEAD "\t1\t2\tx\n",
        "gpufeed.fix/1\n1\t1\tbegun\tsysfs\t" AHEAD "\t1\t2\tx\n",
    };
    struct fix_journal j = {.path = path, .root = root};
    mkdir(strcat(strcpy((char[160]){0}, root), "/var"), 0755);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct fix_plan p = {0};
        struct error e = {0};
        journal_is(bad[i]);
        assert_int_equal(fix_undo(&j, &p, &e), STATUS_INPUT);
        assert_non_null(strstr(e.text, path));
    }
    unlink(path);
    assert_int_equal(fix_undo(&j, &(struct fix_plan){0}, NULL), STATUS_MISSING);
    is(AHEAD, "128");
}

/* A journal asks for what no rule could: it is left alone. */
static void test_a_hostile_journal(void **state)
{
    struct fix_plan p = {0};
    mkdir(strcat(strcpy((char[160]){0}, root), "/var"), 0755);
    put("/etc/passwd", "mine\n");
    journal_is("gpufeed.fix/1\n1\t1\tbegin\tsysfs\t/etc/passwd\tyours\tmine\tx\n"
               "1\t2\tbegin\tshell\trm\ta\tb\tx\n");
    undo(&p);
    assert_int_equal(p.count, 2);
    assert_int_equal(p.steps[0].state, FIX_LEFT);
    assert_int_equal(p.steps[1].state, FIX_LEFT);
    is("/etc/passwd", "mine");
    fix_plan_clear(&p);
}

static void test_one_at_a_time(void **state)
{
    struct journal held;
    struct fix_plan p = {0};
    struct error e = {0};
    struct fix_journal j = {.path = path, .root = root};
    assert_int_equal(journal_open(path, true, &held, NULL), 0);
    plan(&p, "sysfs " AHEAD " 4096");
    assert_int_not_equal(fix_apply(&p, &j, &e), 0);
    assert_non_null(strstr(e.text, "another"));
    is(AHEAD, "128");
    journal_close(&held);
    fix_plan_clear(&p);
}

/* No journal, no change. */
static void test_a_journal_that_cannot_be_kept(void **state)
{
    struct fix_plan p = {0};
    struct error e = {0};
    struct fix_journal j = {.path = "/proc/nowhere/journal", .root = root};
    plan(&p, "sysfs " AHEAD " 4096");
    assert_int_not_equal(fix_apply(&p, &j, &e), 0);
    is(AHEAD, "128");
    fix_plan_clear(&p);
}

static rlim_t soft_of(pid_t pid)
{
    struct rlimit l;
    assert_int_equal(prlimit(pid, RLIMIT_NOFILE, NULL, &l), 0);
    return l.rlim_cur;
}

static pid_t start_child(void)
{
    struct rlimit l = {64, 128};
    pid_t pid = fork();
    if (!pid) {
        setrlimit(RLIMIT_NOFILE, &l);
        for (;;)
            pause();
    }
    for (int i = 0; i < 60000 && soft_of(pid) != 64; i++)
        usleep(1000);
    return pid;
}

static void test_limits_of_a_process(void **state)
{
    pid_t pid = start_child();
    struct fix_plan p = {0};
    struct fix_context c = {.pid = (uint32_t)pid};
    struct fix_journal j = {.path = path};
    assert_int_equal(fix_plan_add(&p, &c, "nofile-low", "limit nofile hard", NULL), 0);
    assert_int_equal(p.count, 1);
    assert_string_equal(p.steps[0].before, "64 128");
    assert_string_equal(p.steps[0].after, "128 128");
    assert_int_equal(fix_apply(&p, &j, NULL), 0);
    assert_int_equal(soft_of(pid), 128);
    fix_plan_clear(&p);
    /* there is no more to be had */
    assert_int_equal(fix_plan_add(&p, &c, "nofile-low", "limit nofile hard", NULL), 0);
    assert_int_equal(p.steps[0].state, FIX_KEPT);
    assert_non_null(strstr(p.steps[0].why, "root has to raise"));
    fix_plan_clear(&p);
    assert_int_equal(fix_undo(&j, &p, NULL), 0);
    assert_int_equal(soft_of(pid), 64);
    fix_plan_clear(&p);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void becomes_a_folder(void *arg)
{
    char full[512];
    snprintf(full, sizeof(full), "%s%s", root, (const char *)arg);
    assert_int_equal(remove(full), 0);
    assert_int_equal(mkdir(full, 0755), 0);
}

/* What can be neither set nor set back is said, and may be undone later. */
static void test_what_cannot_be_set_back_stays_in_the_journal(void **state)
{
    struct fix_plan p = {0};
    struct fix_journal j = {
        .path = path, .root = root, .moment = becomes_a_folder, .arg = (char[]){AHEAD}};
    char full[512];
    plan(&p, "sysfs " AHEAD " 4096");
    assert_int_equal(fix_apply(&p, &j, NULL), 0);
    assert_int_equal(p.steps[0].state, FIX_FAILED);
    assert_non_null(strstr(p.steps[0].why, "128 could not be set again"));
    fix_plan_clear(&p);
    snprintf(full, sizeof(full), "%s%s", root, AHEAD);
    assert_int_equal(rmdir(full), 0);
    put(AHEAD, "4096\n");
    undo(&p);
    assert_int_equal(p.count, 1);
    assert_int_equal(p.steps[0].state, FIX_UNDONE);
    is(AHEAD, "128");
    fix_plan_clear(&p);
}

/* Its number may be another's by then. */
static void test_limits_of_a_process_that_has_ended(void **state)
{
    pid_t pid = start_child();
    struct fix_plan p = {0};
    struct fix_context c = {.pid = (uint32_t)pid};
    struct fix_journal j = {.path = path};
    assert_int_equal(fix_plan_add(&p, &c, "nofile-low", "limit nofile hard", NULL), 0);
    assert_int_equal(fix_apply(&p, &j, NULL), 0);
    fix_plan_clear(&p);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_int_equal(fix_undo(&j, &p, NULL), 0);
    assert_int_equal(p.steps[0].state, FIX_LEFT);
    fix_plan_clear(&p);
}

/* Disks that are none, and a file: nothing is ever written to them. */
static void test_no_disk_is_blank_but_a_blank_one(void **state)
{
    struct error e = {0};
    put("/file", "");
    char file[160];
    snprintf(file, sizeof(file), "%s/file", root);
    assert_int_equal(blank_check(file, &e), STATUS_INPUT);
    assert_int_equal(blank_check("/dev/null", &e), STATUS_INPUT);
    assert_int_equal(blank_check("/dev/gpufeed-none", &e), STATUS_MISSING);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_no_memory_for_a_step),
        TEST(test_there_and_back),
        TEST(test_what_has_its_value_is_kept),
        TEST(test_a_change_since_is_left_alone),
        TEST(test_two_changes_of_one_knob_go_back_to_the_first),
        TEST(test_choices_in_brackets),
        TEST(test_governor_of_all_cores),
        TEST(test_what_is_no_knob),
        TEST(test_what_is_not_there_fails_alone),
        TEST(test_killed_before_it_was_set),
        TEST(test_killed_after_it_was_set),
        TEST(test_a_torn_line),
        TEST(test_no_journal_of_ours),
        TEST(test_a_hostile_journal),
        TEST(test_one_at_a_time),
        TEST(test_a_journal_that_cannot_be_kept),
        TEST(test_what_cannot_be_set_back_stays_in_the_journal),
        TEST(test_limits_of_a_process),
        TEST(test_limits_of_a_process_that_has_ended),
        TEST(test_no_disk_is_blank_but_a_blank_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
