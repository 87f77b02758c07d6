/* SPDX-License-Identifier: MIT */
/* The sources of machine facts, fed with dumps of other machines and with the live one. */
#include "base/mem.h"
#include "base/unit.h"
#include "bag.h"
#include "sense/cgroup.h"
#include "sense/sources.h"
#include "sense/text.h"
#include "../tidy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <cmocka.h>

/* Reads the dump at time 0 and, after `later` has taken its place, 60 s after. */
static void read_dump(struct bag *b, const char *dump, const char *later, uint32_t pid)
{
    char root[1024];
    struct sources s;
    struct source_opts o = {.root = root, .pid = pid, .survey = true};
    b->fail_after = -1;
    snprintf(root, sizeof(root), "%s/%s", DUMPS, dump);
    sources_start(&s, &o, 0);
    sources_sample(&s, 30 * NS_PER_S);
    if (later) {
        snprintf(root, sizeof(root), "%s/%s\n%s/%s", DUMPS, later, DUMPS, dump);
        sources_sample(&s, 59 * NS_PER_S);
    }
    assert_int_equal(sources_facts(&s, later ? 60 * NS_PER_S : 0, bag_add, b), 0);
    sources_stop(&s);
}

static void near(const struct bag *b, const char *kind, const char *subject, const char *name,
                 double want)
{
    double got = bag_number(b, kind, subject, name);
    if (!(fabs(got - want) <= 1e-6 * fabs(want) + 1e-9))
        fail_msg("%s/%s/%s is %g, not %g", kind, subject, name, got, want);
}

static void same(const struct bag *b, const char *kind, const char *subject, const char *name,
                 const char *want)
{
    assert_string_equal(bag_text(b, kind, subject, name), want);
}

static void absent(const struct bag *b, const char *kind, const char *subject, const char *name)
{
    if (bag_find(b, kind, subject, name))
        fail_msg("%s/%s/%s is there", kind, subject, name);
}

static void test_azure(void **state)
{
    struct bag b = {0};
    read_dump(&b, "azure_h100", "azure_h100_60s", 4711);
    near(&b, "job", "", "cores_allowed", 48);
    near(&b, "job", "", "cores_spare", 36); /* 48 cores, a quarter busy */
    absent(&b, "job", "", "cgroup_quota_cores");
    near(&b, "cpu", "", "cores", 96);
    near(&b, "cpu", "", "busy_share", 0.25);
    near(&b, "cpu", "", "switches_rate", 20000);
    near(&b, "cpu", "", "runnable_mean", 22);
    same(&b, "cpu", "", "governor", "performance");
    same(&b, "cpu", "", "model", "Intel(R) Xeon(R) Platinum 8480C");
    near(&b, "memory", "", "total", 1979728528.0 * 1024);
    near(&b, "memory", "", "lowest_available", 1800000000.0 * 1024);
    near(&b, "memory", "", "swap_total", 0);
    near(&b, "memory", "", "cgroup_limit", 1e12); /* of the parent */
    near(&b, "memory", "", "cgroup_used_peak", 123456789);
    near(&b, "memory", "", "major_faults_rate", 10);
    near(&b, "memory", "", "direct_reclaim_rate", 100);
    near(&b, "memory", "", "alloc_stall_rate", 1);
    near(&b, "memory", "", "refault_rate", 256.0 * (double)sysconf(_SC_PAGESIZE));
    absent(&b, "memory", "", "shm_size");
    absent(&b, "psi", "", "cpu_some_share");
    bag_clear(&b);
}

static void test_azure_disks(void **state)
{
    struct bag b = {0};
    read_dump(&b, "azure_h100", "azure_h100_60s", 4711);
    near(&b, "disk", "nvme0n1", "size", 7501476528.0 * 512);
    near(&b, "disk", "nvme0n1", "nvme", 1);
    near(&b, "disk", "nvme0n1", "local", 1);
    near(&b, "disk", "nvme0n1", "rotational", 0);
    near(&b, "disk", "nvme0n1", "in_use", 1); /* by md0 */
    same(&b, "disk", "nvme0n1", "mounted_at", "/mnt/local nvme");
    near(&b, "disk", "nvme0n1", "busy_share", 0.5);
    near(&b, "disk", "nvme0n1", "read_rate", 256 * 512 * 1000.0);
    near(&b, "disk", "nvme0n1", "reads_rate", 1000);
    near(&b, "disk", "nvme0n1", "read_latency", 1e-4);
    near(&b, "disk", "nvme0n1", "queue_mean", 0.2);
    absent(&b, "disk", "nvme0n1", "write_latency"); /* none was written */
    near(&b, "disk", "nvme1n1", "in_use", 0);
    near(&b, "disk", "nvme1n1", "mounted", 0);
    near(&b, "disk", "nvme1n1", "busy_share", 0);
    near(&b, "disk", "nvme2n1", "local", 0); /* a network volume behind an NVMe face */
    same(&b, "disk", "nvme2n1", "mounted_at", "/data");
    absent(&b, "disk", "nvme2n1", "busy_share"); /* not in diskstats */
    same(&b, "disk", "sda", "mounted_at", "/");
    absent(&b, "disk", "sda", "local");
    same(&b, "disk", "md0", "mounted_at", "/mnt/local nvme");
    absent(&b, "disk", "loop0", "size");
    bag_clear(&b);
}

static void test_azure_nics(void **state)
{
    struct bag b = {0};
    read_dump(&b, "azure_h100", "azure_h100_60s", 4711);
    near(&b, "nic", "eth0", "speed", 40e9);
    near(&b, "nic", "eth0", "rx_rate", 1e8);
    near(&b, "nic", "eth0", "tx_rate", 1e7);
    near(&b, "nic", "eth0", "busy_share", 0.02);
    near(&b, "nic", "eth0", "drops", 7);
    near(&b, "nic", "eth0", "virtual", 0);
    same(&b, "nic", "eth0", "driver", "mlx5_core");
    same(&b, "nic", "ib0", "state", "down");
    absent(&b, "nic", "ib0", "speed");
    absent(&b, "nic", "lo", "mtu");
    bag_clear(&b);
}

static void test_azure_job(void **state)
{
    struct bag b = {0};
    read_dump(&b, "azure_h100", "azure_h100_60s", 4711);
    same(&b, "job", "", "command",
         "/usr/bin/python3 -m torch.distributed.run train.py --data "
         "https://acct.blob.core.windows.net/set?sp=r&sig=*** --hub-token ***");
    near(&b, "job", "", "processes_peak", 4);
    near(&b, "job", "", "threads_peak", 44);
    same(&b, "env", "NCCL_DEBUG", "value", "INFO");
    absent(&b, "env", "NCCL_DEBUG", "differs");
    same(&b, "env", "SLURM_JOB_ID", "value", "9");
    near(&b, "env", "RANK", "differs", 1);
    same(&b, "env", "MASTER_ADDR", "value", "http://u:***@10.0.0.4");
    same(&b, "env", "NCCL_CONF_TOKEN", "value", "***");
    absent(&b, "env", "OMP_NUM_THREADS", "value"); /* set to nothing */
    absent(&b, "env", "AWS_SECRET_ACCESS_KEY", "value");
    absent(&b, "env", "PATH", "value");
    absent(&b, "env", "NCCL_NEIGHBOUR", "value"); /* of another job */
    near(&b, "rank", "1", "pid", 4721);
    for (size_t i = 0; i < b.count; i++)
        assert_null(strstr(b.facts[i].text, "SECRET"));
    bag_clear(&b);
}

static void test_azure_mounts(void **state)
{
    struct bag b = {0};
    read_dump(&b, "azure_h100", "azure_h100_60s", 4711);
    same(&b, "mount", "/mnt/nfs", "fstype", "nfs4");
    near(&b, "mount", "/mnt/nfs", "remote", 1);
    near(&b, "mount", "/mnt/nfs", "rsize", 1048576);
    near(&b, "mount", "/mnt/nfs", "nconnect", 8);
    same(&b, "mount", "/mnt/nfs", "resource", "nfs://10.0.0.4/vol");
    near(&b, "mount", "/mnt/blob", "remote", 1);
    near(&b, "mount", "/mnt/local nvme", "remote", 0);
    same(&b, "mount", "/mnt/local nvme", "fstype", "xfs");
    absent(&b, "mount", "/proc", "fstype");
    absent(&b, "mount", "/data", "size"); /* a dump cannot tell */
    assert_null(strstr(bag_text(&b, "mount", "/mnt/cifs", "options"), "SECRET"));
    bag_clear(&b);
}

static bool told(const struct bag *b, const char *name)
{
    for (size_t i = 0; i < b->count; i++)
        if (!strcmp(b->facts[i].name, name))
            return true;
    return false;
}

/* The simulated library answers as NVIDIA's does. */
static void test_nvml(void **state)
{
    void *nvml;
    struct error e;
    struct bag b = {.fail_after = -1};
    struct source_opts o = {.nvml = SIM_NVML};
    char dir[] = "/tmp/gpufeed-test-nvml-XXXXXX";
    assert_non_null(mkdtemp(dir));
    tidy_at_exit(dir);
    setenv("GPUFEED_SIM_DIR", dir, 1);
    setenv("GPUFEED_SIM_DEVICES", "2", 1);
    setenv("GPUFEED_SIM_NVLINKS", "18", 1);
    if (source_nvml.start(&nvml, &o, 0, &e))
        fail_msg("%s", e.text);
    bool all = false; /* its thread looks once a second */
    for (int i = 0; i < 600 && !all; i++) {
        usleep(100000);
        bag_clear(&b);
        b.fail_after = -1;
        assert_int_equal(source_nvml.facts(nvml, NS_PER_S, bag_add, &b), 0);
        all = told(&b, "power_mean_w") && told(&b, "utilisation_nvml");
    }
    source_nvml.stop(nvml);
    rmdir(dir);
    const char *first = NULL, *second = NULL;
    for (size_t i = 0; i < b.count; i++) {
        if (strcmp(b.facts[i].name, "index"))
            continue;
        *(b.facts[i].number > 0 ? &second : &first) = b.facts[i].subject;
    }
    assert_non_null(first);
    assert_non_null(second);
    assert_string_not_equal(first, second);
    assert_string_equal(bag_text(&b, "gpu", first, "name"), "Simulated GPU");
    assert_true(bag_number(&b, "gpu", first, "utilisation_nvml") == 0); /* nothing runs */
    assert_true(bag_number(&b, "gpu", first, "power_mean_w") > 0);
    assert_true(bag_number(&b, "gpu", first, "memory_total") > 1e9);
    assert_true(bag_number(&b, "gpu", first, "pcie_gen_max") >= 1);
    assert_string_equal(bag_text(&b, "gpu", second, "pci"), "0000:18:00.0");
    near(&b, "gpu", first, "persistence", 1);
    near(&b, "gpu", first, "nvlinks", 18);
    near(&b, "gpu", first, "nvlinks_active", 18);
    near(&b, "gpu", first, "p2p_peers", 1);
    near(&b, "gpu", first, "p2p_ok", 1);
    near(&b, "gpu", first, "p2p_nvlink", 1);
    same(&b, "gpu", first, "fabric", "completed");
    near(&b, "gpu", first, "fabric_status", 0);
    near(&b, "gpu", first, "fabric_cluster", 0);
    absent(&b, "gpu", first, "fabric_fault");
    assert_true(bag_number(&b, "gpu", "", "cuda_driver") == 13);
    assert_true(strlen(bag_text(&b, "gpu", "", "driver")) > 0);
    bag_clear(&b);
}

static void test_nvml_missing(void **state)
{
    void *nvml = NULL;
    struct error e;
    struct source_opts o = {.nvml = "/no/such/lib.so"};
    assert_int_equal(source_nvml.start(&nvml, &o, 0, &e), STATUS_MISSING);
    assert_non_null(strstr(e.text, "/no/such/lib.so"));
    o.nvml = "libm.so.6"; /* a library, but another one */
    assert_int_equal(source_nvml.start(&nvml, &o, 0, &e), STATUS_MISSING);
    assert_non_null(strstr(e.text, "nvmlInit_v2"));
    assert_null(nvml);
}

static void test_laptop(void **state)
{
    struct bag b = {0};
    read_dump(&b, "laptop", NULL, 77);
    near(&b, "job", "", "cores_allowed", 3);
    absent(&b, "job", "", "cores_spare"); /* no time has passed */
    absent(&b, "job", "", "cgroup_quota_cores");
    absent(&b, "memory", "", "cgroup_limit");
    near(&b, "memory", "", "cgroup_used_peak", 4096);
    near(&b, "memory", "", "swap_free", 6000000.0 * 1024);
    absent(&b, "memory", "", "page_cache");
    near(&b, "disk", "sda", "rotational", 1);
    near(&b, "disk", "vda", "size", 41943040.0 * 512);
    absent(&b, "disk", "vda", "rotational"); /* a virtual disk says so whatever it lies on */
    absent(&b, "disk", "sdb", "rotational");
    same(&b, "disk", "nvme0n1", "mounted_at", "/");
    absent(&b, "nic", "wlan0", "speed");
    same(&b, "nic", "wlan0", "state", "up");
    bag_clear(&b);
    /* Pressure is on here: one file says "full" too, and nothing grew in a minute. */
    read_dump(&b, "laptop", "laptop", 77);
    near(&b, "psi", "", "memory_full_share", 0);
    near(&b, "psi", "", "cpu_some_share", 0);
    absent(&b, "psi", "", "cpu_full_share");
    bag_clear(&b);
}

/* Where mounts cannot be read no disk is unused. */
static void test_no_mounts(void **state)
{
    struct bag b = {0};
    read_dump(&b, "no_mounts", NULL, 0);
    near(&b, "disk", "nvme0n1", "size", 7501476528.0 * 512);
    absent(&b, "disk", "nvme0n1", "mounted");
    absent(&b, "disk", "nvme0n1", "in_use");
    bag_clear(&b);
}

static void test_container(void **state)
{
    struct bag b = {0};
    read_dump(&b, "container_v2", "container_v2", 1);
    near(&b, "job", "", "cgroup_quota_cores", 2.5);
    near(&b, "job", "", "cores_allowed", 2.5);
    near(&b, "job", "", "affinity_cores", 16);
    near(&b, "job", "", "throttled_seconds", 0); /* the same reading twice */
    near(&b, "memory", "", "cgroup_limit", 8589934592.0);
    absent(&b, "disk", "sda", "size");
    bag_clear(&b);
}

/* A trainer whose counters are not ours to see: what it reads is unknown, not nothing. */
static void test_hidden_trainer(void **state)
{
    struct source_opts o = {.root = DUMPS "/trainer", .pid = 50, .survey = true};
    struct bag b = {.fail_after = -1};
    struct error e;
    void *loader;
    assert_int_equal(source_loader.start(&loader, &o, 0, &e), STATUS_OK);
    assert_int_equal(source_loader.facts(loader, NS_PER_S, bag_add, &b), 0);
    near(&b, "job", "", "trainers", 1);
    absent(&b, "job", "", "trainer_read_rate");
    source_loader.stop(loader);
    bag_clear(&b);
}

static void test_hostile(void **state)
{
    struct bag b = {0};
    read_dump(&b, "hostile", "hostile", 5);
    near(&b, "cpu", "", "cores", 2);
    absent(&b, "cpu", "", "cores_present");
    absent(&b, "cpu", "", "cores_online");
    absent(&b, "job", "", "affinity_cores");
    absent(&b, "job", "", "cgroup_quota_cores");
    absent(&b, "memory", "", "total");
    absent(&b, "memory", "", "cgroup_limit");
    absent(&b, "disk", "neg", "size");
    absent(&b, "nic", "eth0", "mtu");
    absent(&b, "nic", "eth1", "speed");
    bag_clear(&b);
    read_dump(&b, "no-such-dump", NULL, 1);
    for (size_t i = 0; i < b.count; i++)
        assert_string_equal(b.facts[i].kind, "tool"); /* its own cost is all it knows */
    bag_clear(&b);
}

static void test_missing_has_a_reason(void **state)
{
    struct sources s;
    struct source_opts o = {.root = "/no/such/root", .survey = true};
    sources_start(&s, &o, 0);
    for (size_t i = 0; i < sources_count(); i++) {
        const char *why = sources_missing(&s, i);
        if (why)
            assert_true(strlen(why) > 10);
        assert_non_null(sources_at(i)->what);
    }
    assert_non_null(sources_missing(&s, 0));
    sources_stop(&s);
}

static void test_live(void **state)
{
    struct sources s;
    struct bag b = {.fail_after = -1};
    struct source_opts o = {.pid = (uint32_t)getpid(), .survey = true};
    sources_start(&s, &o, 0);
    usleep(50000);
    assert_int_equal(sources_facts(&s, 50 * NS_PER_MS, bag_add, &b), 0);
    assert_true(bag_number(&b, "job", "", "cores_allowed") > 0);
    assert_true(bag_number(&b, "job", "", "cores_spare") >= 0);
    assert_true(bag_number(&b, "memory", "", "total") > 1e8);
    /* The first failure of the receiver stops everything and is passed on. */
    size_t some = b.count / 2; /* mounts and such come and go meanwhile */
    for (size_t n = 0; n < some; n += 3) {
        bag_clear(&b);
        b.fail_after = (long)n;
        assert_int_equal(sources_facts(&s, NS_PER_S, bag_add, &b), -77);
        assert_int_equal(b.count, n);
    }
    bag_clear(&b);
    sources_stop(&s);
}

/* What the rules of check alone use costs a measured job nothing. */
static void test_a_measurement_reads_less(void **state)
{
    for (int survey = 0; survey < 2; survey++) {
        struct sources s;
        struct bag b = {.fail_after = -1};
        struct source_opts o = {.pid = (uint32_t)getpid(), .survey = survey};
        sources_start(&s, &o, 0);
        assert_int_equal(sources_facts(&s, 50 * NS_PER_MS, bag_add, &b), 0);
        assert_int_equal(bag_find(&b, "library", "nccl", "loaded") != NULL, survey);
        assert_int_equal(bag_find(&b, "kernel", "", "release") != NULL, survey);
        assert_true(bag_number(&b, "job", "", "cores_allowed") > 0);
        bag_clear(&b);
        sources_stop(&s);
    }
}

static void test_no_memory(void **state)
{
    struct source_opts o = {.root = DUMPS "/azure_h100", .pid = 4711, .survey = true};
    for (long n = 0; n < 120; n++) {
        struct sources s;
        struct bag b = {.fail_after = -1};
        mem_fail_after(n);
        sources_start(&s, &o, 0);
        sources_sample(&s, 1);
        sources_facts(&s, 2, bag_add, &b);
        mem_fail_after(-1);
        sources_stop(&s);
        bag_clear(&b);
    }
}

static void test_text(void **state)
{
    uint64_t set[2] = {0};
    assert_int_equal(text_cpu_list("0-3,8,64-65\n", set, 2), 7);
    assert_true(set[0] == 0x10f && set[1] == 3);
    assert_int_equal(text_cpu_list("3-1", NULL, 0), 0);
    assert_int_equal(text_cpu_list("", NULL, 0), 0);
    assert_int_equal(text_cpu_list("0-99999999", NULL, 0), 0);
    assert_int_equal(text_cpu_list("1,x", NULL, 0), 0);
    assert_true(text_number("a 1\nab 2\n", "ab") == 2);
    assert_true(isnan(text_number("ab\n", "ab")));
    assert_true(text_sum("s_a 1\ns_b 2\nx 9\n", "s_") == 3);
    assert_true(isnan(text_sum("", "s_")));
}

static void test_cgroup_escape(void **state)
{
    struct cgroup_dir d;
    /* "/../../../etc" must not be followed; the fallback is the mount point. */
    if (cgroup_find(DUMPS "/hostile", 5, "cpu", &d))
        assert_null(strstr(d.path, ".."));
    assert_false(cgroup_find(DUMPS "/hostile", 6, "cpu", &d));
    assert_true(cgroup_find(DUMPS "/azure_h100", 4711, "memory", &d));
    assert_true(d.v2);
    int ups = 0;
    while (cgroup_up(&d))
        ups++;
    assert_int_equal(ups, 3);
    assert_string_equal(d.path, "/sys/fs/cgroup");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_azure),         cmocka_unit_test(test_azure_disks),
        cmocka_unit_test(test_azure_nics),    cmocka_unit_test(test_azure_job),
        cmocka_unit_test(test_azure_mounts),  cmocka_unit_test(test_nvml),
        cmocka_unit_test(test_nvml_missing),  cmocka_unit_test(test_laptop),
        cmocka_unit_test(test_container),     cmocka_unit_test(test_hidden_trainer),
        cmocka_unit_test(test_hostile),       cmocka_unit_test(test_missing_has_a_reason),
        cmocka_unit_test(test_live),          cmocka_unit_test(test_a_measurement_reads_less),
        cmocka_unit_test(test_no_memory),     cmocka_unit_test(test_text),
        cmocka_unit_test(test_cgroup_escape), cmocka_unit_test(test_no_mounts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
