/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include "build.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define H100 "NVIDIA H100 80GB HBM3"
#define AZBLOB "azblob://imagestore/train-2024"
#define HOSTILE                                                                                    \
    "evil\033[31m\033]0;own\007\r\n</script><img src=x onerror=alert(1)>\"'&\xff\xe2\x80\xaetxt"

#define LONG_TITLE                                                                                 \
    "The training thread loads and prepares its batches by itself, while the GPU stands still "    \
    "and "                                                                                         \
    "waits for each of them"

const char *const fixture_names[] = {"healthy", "starving", "two",   "many", "unknown",
                                     "cut",     "hostile",  "empty", "fed",  NULL};

static void begin(struct report *r, const char *title, int64_t span, const char *mode)
{
    report_init(r);
    r->title = build_text(title);
    r->span_ns = span;
    r->mode = build_text(mode);
    r->start_unix_ns = S(1735689600);
    r->exit_code = 0;
    r->tool.version = build_text("0.1.0");
    r->tool.cpu_seconds = (double)span / 1e9 * 0.004;
    r->tool.peak_rss_bytes = 31.0 * 1024 * 1024;
    r->tool.slowdown_bound = 0.006;
}

static void verdict(struct report *r, const char *limited_by, double after, double faster, int more,
                    const char *sentence)
{
    r->verdict.limited_by = build_text(limited_by);
    r->verdict.utilisation_after_fixes = after;
    r->verdict.faster_accelerator_max_speedup = faster;
    r->verdict.more_accelerators_help = more;
    r->verdict.sentence = build_text(sentence);
}

static void host_facts(struct report *r)
{
    build_evidence(&r->evidence, "cores", 24, NULL, "/proc/cpuinfo");
    build_evidence(&r->evidence, "spare cores", 15.5, NULL, "/proc/stat");
    build_evidence(&r->evidence, "memory", 216.0 * 1024 * 1024 * 1024, "bytes", "/proc/meminfo");
    build_evidence_text(&r->evidence, "kernel", "6.1.0-28-amd64", "uname");
    build_evidence_text(&r->evidence, "unused disk", "nvme0n1 on /mnt/nvme, 3.5 TiB free, ext4",
                        "/proc/self/mountinfo");
}

static void make_healthy(struct report *r)
{
    begin(r, "python3 train.py --epochs 30", S(5400), "wait chain");
    size_t a = build_accelerator(r, "GPU-5c1f:0", H100, false);
    const char *w = "python3 train.py (4711)";
    build_row(r, a, w, STATE_COMPUTE, CAUSE_NONE, NULL, S(5184), EVIDENCE_DEVICE);
    build_row(r, a, w, STATE_WAIT, CAUSE_LAUNCH, NULL, S(108), EVIDENCE_DEVICE);
    build_row(r, a, w, STATE_WAIT, CAUSE_STORAGE, "disk nvme0n1", S(61), EVIDENCE_CHAIN);
    build_row(r, a, w, STATE_COPY, CAUSE_LINK, "PCIe 5.0 x16", S(30), EVIDENCE_DEVICE);
    build_row(r, a, w, STATE_WAIT, CAUSE_STARTUP, NULL, S(11), EVIDENCE_CHAIN);
    build_row(r, a, w, STATE_WAIT, CAUSE_UNKNOWN, NULL, S(6), EVIDENCE_CHAIN);
    host_facts(r);
    build_finding(r, SEVERITY_INFO, "healthy", "Nothing worth fixing", NULL, NAN);
    struct chain_example *c = build_chain(r, S(100), MS(41), CAUSE_STORAGE, "disk nvme0n1");
    build_link(c, "python3 (4711)", "waited 41 ms for its loader queue");
    build_link(c, "worker 2 (4720)", "read /data/shard-0007.tar, 39 ms");
    verdict(r, "compute", 0.975, 12.5, 1,
            "GPU 0 computed 96 % of 1 h 30 min; nothing is worth fixing. A faster GPU would help.");
    build_finish(r, "EUR", 28, S(5));
}

static void starving_rows(struct report *r, size_t a)
{
    const char *w = "python3 train_images.py (4711)";
    build_row(r, a, w, STATE_COMPUTE, CAUSE_NONE, NULL, MS(336600), EVIDENCE_DEVICE);
    build_row(r, a, w, STATE_WAIT, CAUSE_STORAGE, AZBLOB, MS(250920), EVIDENCE_CHAIN);
    build_row(r, a, w, STATE_COPY, CAUSE_PAGEABLE_COPY, "host to device", MS(9180),
              EVIDENCE_DEVICE);
    build_row(r, a, w, STATE_WAIT, CAUSE_PREPARE, "decode and augment", MS(6120), EVIDENCE_CHAIN);
    build_row(r, a, w, STATE_WAIT, CAUSE_STARTUP, NULL, MS(4284), EVIDENCE_CHAIN);
    build_row(r, a, w, STATE_WAIT, CAUSE_CHECKPOINT, "disk sda", MS(3060), EVIDENCE_CHAIN);
    build_row(r, a, w, STATE_WAIT, CAUSE_UNKNOWN, NULL, MS(1836), EVIDENCE_CHAIN);
}

static void starving_findings(struct report *r)
{
    struct report_finding *f = build_finding(
        r, SEVERITY_CRITICAL, "storage-remote-live-read",
        "Training reads live from remote object storage",
        "Copy the training set to the local NVMe once, then point --data at the copy:\n"
        "azcopy copy 'https://imagestore.blob.core.windows.net/train-2024/*' /mnt/nvme/train-2024",
        240.3);
    f->why = build_text("Every epoch reads each object again over the network; the workers wait "
                        "for one answer at a time, so latency and not bandwidth decides.");
    build_evidence(&f->evidence, "storage wait", 0.41, "share", "ledger");
    build_evidence(&f->evidence, "read latency", 4.1e6, "ns", "wait chain");
    build_evidence(&f->evidence, "reads in flight", 8, NULL, "wait chain");
    build_evidence(&f->evidence, "received", 71.2 * 1024 * 1024, "bytes/s", "sockets");
    f = build_finding(r, SEVERITY_WARNING, "copy-pageable", "Copies come from pageable memory",
                      "DataLoader(..., pin_memory=True) and batch.to(device, non_blocking=True)",
                      7.9);
    f->gain_bounded = true;
    build_evidence(&f->evidence, "pageable copies", 4812, NULL, "probe");
    build_evidence(&f->evidence, "rate", 2.9 * 1024 * 1024 * 1024, "bytes/s", "probe");
    f = build_finding(r, SEVERITY_INFO, "nvme-unused", "A local NVMe disk is mounted and idle",
                      "Use /mnt/nvme (3.5 TiB free) for the training set", NAN);
    build_evidence_text(&f->evidence, "disk", "nvme0n1 on /mnt/nvme", "/proc/self/mountinfo");
}

static void starving_chains(struct report *r)
{
    struct chain_example *c = build_chain(r, MS(201337), MS(412), CAUSE_STORAGE, AZBLOB);
    build_link(c, "python3 (4711)", "waited 412 ms for its loader queue");
    build_link(c, "worker 3 (4722)", "read /mnt/blob/0/0041.jpg for 396 ms, decoded for 16 ms");
    build_link(c, "blobfuse2 (998)", "waited 391 ms for 20.60.1.2:443");
    build_link(c, "imagestore.blob.core.windows.net", "sent 1.2 MiB, first byte after 388 ms");
    c = build_chain(r, MS(77120), MS(388), CAUSE_STORAGE, AZBLOB);
    build_link(c, "python3 (4711)", "waited 388 ms for its loader queue");
    build_link(c, "worker 1 (4720)", "read /mnt/blob/0/0017.jpg for 371 ms, decoded for 17 ms");
    build_link(c, "blobfuse2 (998)", "waited 366 ms for 20.60.1.2:443");
    c = build_chain(r, MS(498004), MS(240), CAUSE_CHECKPOINT, "disk sda");
    build_link(c, "python3 (4711)", "synced /home/ml/ckpt/last.pt for 240 ms");
    build_link(c, "disk sda", "wrote 181 MiB");
}

static void make_starving(struct report *r)
{
    begin(r, "python3 train_images.py --data /mnt/blob", S(612), "wait chain");
    starving_rows(r, build_accelerator(r, "GPU-5c1f:0", H100, false));
    host_facts(r);
    starving_findings(r);
    starving_chains(r);
    verdict(r, "storage", 0.93, 1.04, 0,
            "GPU 0 computed 55 % of 612 s; 41 % it waited for storage " AZBLOB
            " (4.1 ms a read, 8 reads in flight). A faster GPU gains at most 1.04×. Fix storage "
            "first: up to 1.65×, € 10.99/h.");
    build_finish(r, "EUR", 28, S(1));
}

/* The starving job after its first fix. */
static void make_fed(struct report *r)
{
    const char *w = "python3 train_images.py (5120)";
    begin(r, "python3 train_images.py --data /mnt/nvme/train-2024", S(371), "wait chain");
    size_t a = build_accelerator(r, "GPU-5c1f:0", H100, false);
    build_row(r, a, w, STATE_COMPUTE, CAUSE_NONE, NULL, MS(336600), EVIDENCE_DEVICE);
    build_row(r, a, w, STATE_WAIT, CAUSE_PREPARE, "decode and augment", MS(14020), EVIDENCE_CHAIN);
    build_row(r, a, w, STATE_COPY, CAUSE_PAGEABLE_COPY, "host to device", MS(9180),
              EVIDENCE_DEVICE);
    build_row(r, a, w, STATE_WAIT, CAUSE_STORAGE, "disk nvme0n1", MS(4900), EVIDENCE_CHAIN);
    build_row(r, a, w, STATE_WAIT, CAUSE_STARTUP, NULL, MS(4300), EVIDENCE_CHAIN);
    build_row(r, a, w, STATE_WAIT, CAUSE_NONE, NULL, MS(2000), EVIDENCE_CHAIN);
    build_finding(r, SEVERITY_WARNING, "copy-pageable", "Copies come from pageable memory",
                  "DataLoader(..., pin_memory=True)", 7.9);
    build_finding(r, SEVERITY_INFO, "prepare-cpu-bound", "Workers are busy decoding",
                  "DataLoader(num_workers=10)", 9.5);
    verdict(r, "compute", 0.95, 9.8, 1, "GPU 0 computed 91 % of 371 s.");
    build_finish(r, "EUR", 28, S(1));
}

static void make_two(struct report *r)
{
    begin(r, "torchrun --nproc-per-node 2 train_ddp.py", S(300), "wait chain");
    for (int i = 0; i < 2; i++) {
        char id[16], work[40];
        snprintf(id, sizeof(id), "sim:%d", i);
        snprintf(work, sizeof(work), "rank %d (%d)", i, 812 + i);
        size_t a = build_accelerator(r, id, "gpufeed simulated GPU", true);
        build_row(r, a, work, STATE_COMPUTE, CAUSE_NONE, NULL, S(180 - 20 * i), EVIDENCE_DEVICE);
        build_row(r, a, work, STATE_COMM, CAUSE_NETWORK, "nic eth0 → 10.0.0.2", S(70),
                  EVIDENCE_CHAIN);
        build_row(r, a, work, STATE_WAIT, CAUSE_LATE_PEER, i ? "rank 0" : "rank 1", S(20 + 20 * i),
                  EVIDENCE_CHAIN);
        build_row(r, a, work, STATE_WAIT, CAUSE_LAUNCH, NULL, S(18), EVIDENCE_DEVICE);
        build_row(r, a, work, STATE_UNUSED, CAUSE_NONE, NULL, S(12), EVIDENCE_DEVICE);
    }
    host_facts(r);
    struct report_finding *f =
        build_finding(r, SEVERITY_WARNING, "network-collective-slow",
                      "All-reduce runs at a tenth of the link's rate",
                      "Set NCCL_SOCKET_IFNAME=eth1: eth1 is 25 Gbit/s and idle", 58);
    build_evidence(&f->evidence, "rate", 118.0 * 1024 * 1024, "bytes/s", "sockets");
    build_evidence_text(&f->evidence, "link", "eth0 1 Gbit/s", "/sys/class/net");
    struct chain_example *c = build_chain(r, S(40), MS(95), CAUSE_NETWORK, "nic eth0 → 10.0.0.2");
    build_link(c, "rank 0 (812)", "waited 95 ms in all_reduce");
    build_link(c, "rank 1 (813)", "sent 11 MiB to 10.0.0.1:29500, 9.8 MiB still queued");
    verdict(r, "network", 0.78, 1.31, 0,
            "2 GPUs computed 57 % of 300 s; 23 % they waited for the network. Fix it first.");
    build_finish(r, NULL, NAN, S(1));
}

static void make_many(struct report *r)
{
    begin(r, "torchrun --nproc-per-node 16 pretrain.py", S(1800), "wait chain");
    for (int i = 0; i < 16; i++) {
        char id[24], work[40];
        bool slow = i == 7;
        snprintf(id, sizeof(id), "GPU-%04x:%d", i * 977, i);
        snprintf(work, sizeof(work), "rank %d (%d)", i, 9000 + i);
        size_t a = build_accelerator(r, id, H100, false);
        build_row(r, a, work, STATE_COMPUTE, CAUSE_NONE, NULL, S(slow ? 1500 : 1240 + i),
                  EVIDENCE_DEVICE);
        build_row(r, a, work, STATE_COMM, CAUSE_COLLECTIVE, "all_reduce", S(120), EVIDENCE_CHAIN);
        build_row(r, a, work, STATE_WAIT, slow ? CAUSE_PREPARE : CAUSE_LATE_PEER,
                  slow ? "tokenise" : "rank 7", S(slow ? 150 : 410 - i), EVIDENCE_CHAIN);
        build_row(r, a, work, STATE_WAIT, CAUSE_STARTUP, NULL, S(30), EVIDENCE_CHAIN);
    }
    host_facts(r);
    struct report_finding *f = build_finding(
        r, SEVERITY_WARNING, "loader-few-workers", "Rank 7 prepares its data with too few workers",
        "DataLoader(num_workers=6) on rank 7: 9 cores of its NUMA node are spare", 300);
    build_evidence(&f->evidence, "workers", 2, NULL, "process tree");
    build_evidence(&f->evidence, "spare cores", 9, NULL, "/proc/stat");
    struct chain_example *c = build_chain(r, S(17), MS(812), CAUSE_LATE_PEER, "rank 7");
    build_link(c, "rank 3 (9003)", "waited 812 ms in all_reduce");
    build_link(c, "rank 7 (9007)", "arrived 812 ms later: waited for its loader queue");
    build_link(c, "worker 1 (9107)", "ran tokenise for 797 ms");
    verdict(r, "late-peer", 0.86, 1.22, 0,
            "16 GPUs computed 70 % of 30 min; 21 % they waited for rank 7.");
    build_finish(r, "USD", 98.32, S(2));
}

/* Nothing is known beyond the times. */
static void make_unknown(struct report *r)
{
    report_init(r);
    r->span_ns = S(60);
    size_t a = build_accelerator(r, NULL, NULL, false);
    build_row(r, a, NULL, STATE_WAIT, CAUSE_NONE, NULL, S(30), EVIDENCE_SAMPLED);
    build_row(r, a, NULL, STATE_WAIT, CAUSE_UNKNOWN, NULL, S(6), EVIDENCE_BOUND);
    build_row(r, a, NULL, STATE_UNSEEN, CAUSE_UNKNOWN, NULL, S(24), EVIDENCE_BOUND);
    for (size_t i = 0; i < r->row_count; i++)
        r->rows[i].share = NAN;
    build_finding(r, SEVERITY_WARNING, "some-rule", NULL, NULL, NAN);
    build_evidence(&r->findings[0].evidence, NULL, NAN, NULL, NULL);
    r->mode = build_text("sampler");
    r->note_explains = true;
    build_note(r, "no wait chain: BPF is not permitted; run as root or grant CAP_BPF and "
                  "CAP_PERFMON to gpufeed");
}

static void make_cut(struct report *r)
{
    make_starving(r);
    r->cut_short = build_text("gpufeed was killed; the last 1.4 s are missing");
    r->exit_code = -1;
    r->tool.events_lost = 18211;
    r->tool.slowdown_bound = NAN;
    r->tool.cpu_seconds = NAN;
    size_t a = build_accelerator(r, "GPU-77aa:1", H100, false);
    build_row(r, a, NULL, STATE_UNSEEN, CAUSE_UNKNOWN, NULL, S(80), EVIDENCE_BOUND);
    build_row(r, a, NULL, STATE_UNUSED, CAUSE_NONE, NULL, S(532), EVIDENCE_DEVICE);
    for (size_t i = 0; i < r->row_count; i++)
        r->rows[i].share =
            (double)r->rows[i].ns / (double)r->accelerators[r->rows[i].accelerator].ns;
    build_note(r, "18211 wait events were lost because the ring was full: their time is unknown");
}

static void make_hostile(struct report *r)
{
    char big[3000];
    memset(big, 'A', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    begin(r, HOSTILE, S(10), HOSTILE);
    size_t a = build_accelerator(r, HOSTILE ":0", HOSTILE, false);
    build_row(r, a, HOSTILE, STATE_WAIT, CAUSE_STORAGE, HOSTILE, S(6), EVIDENCE_CHAIN);
    build_row(r, a, big, STATE_WAIT, CAUSE_NETWORK, big, S(3), EVIDENCE_SAMPLED);
    build_row(r, a, big, STATE_WAIT, CAUSE_LOCK, "データ/学習/画像/0001.jpg", S(1), EVIDENCE_BOUND);
    build_evidence_text(&r->evidence, HOSTILE, big, HOSTILE);
    for (int i = 0; i < 12; i++) {
        struct report_finding *f =
            build_finding(r, SEVERITY_CRITICAL, HOSTILE, i % 2 ? HOSTILE : big, big, 6.0 - i * 0.1);
        f->why = build_text(HOSTILE);
        build_evidence_text(&f->evidence, HOSTILE, HOSTILE, HOSTILE);
        build_note(r, i % 2 ? HOSTILE : big);
    }
    for (int i = 0; i < 3; i++) {
        struct chain_example *c = build_chain(r, S(1), S(6), CAUSE_STORAGE, HOSTILE);
        for (int k = 0; k < CHAIN_LINKS_MAX; k++)
            build_link(c, k % 2 ? HOSTILE : big, k % 3 ? big : HOSTILE);
    }
    verdict(r, "storage", 0.9, 1.0, -1, big);
    build_finish(r, "EUR\033[2J<b>", 28, S(1));
    r->tool.events_lost = 18000000000;
    r->cut_short = build_text(HOSTILE);
}

static void make_empty(struct report *r)
{
    begin(r, "python3 -c pass", MS(103), "wait chain");
    build_note(r, "the job never touched an accelerator");
}

static uint64_t dice(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

static void random_rows(struct report *r, uint64_t *seed)
{
    static const char *const resources[] = {NULL, "nfs://10.0.0.4/data", "disk sda", "rank 17",
                                            "fuse:blobfuse2 /mnt/data"};
    for (size_t a = 0; a < r->accelerator_count; a++) {
        int rows = (int)(dice(seed) % 14);
        build_row(r, a, "job (1)", STATE_COMPUTE, CAUSE_NONE, NULL,
                  (int64_t)(dice(seed) % UINT64_C(900000000)) * 1000 + 1, EVIDENCE_DEVICE);
        for (int i = 0; i < rows; i++) {
            enum state s = STATE_COMM + (enum state)(dice(seed) % 5);
            bool cause = s != STATE_UNUSED;
            build_row(
                r, a, "job (1)", s,
                cause ? CAUSE_UNKNOWN + (enum cause)(dice(seed) % (CAUSE_COUNT - 1)) : CAUSE_NONE,
                cause ? resources[dice(seed) % 5] : NULL,
                (int64_t)(dice(seed) % UINT64_C(100000000)) * (int64_t)(dice(seed) % 3000) + 1,
                EVIDENCE_CHAIN + (enum evidence)(dice(seed) % EVIDENCE_COUNT));
        }
    }
}

static void make_random(struct report *r, uint64_t seed)
{
    seed = seed * 977 + 13;
    begin(r, "job", S(1 + dice(&seed) % 9000), dice(&seed) % 2 ? "wait chain" : "sampler");
    size_t devices = 1 + dice(&seed) % 12;
    for (size_t i = 0; i < devices; i++) {
        char id[24];
        snprintf(id, sizeof(id), "GPU-x:%zu", i);
        build_accelerator(r, id, H100, false);
    }
    random_rows(r, &seed);
    for (int i = (int)(dice(&seed) % 5); i > 0; i--) {
        struct report_finding *f = build_finding(
            r, (enum severity)(dice(&seed) % 3), "some-rule", i % 2 ? "Some title" : LONG_TITLE,
            "A fix", (double)r->span_ns / 1e9 * (double)(dice(&seed) % 97) / 100);
        f->gain_bounded = dice(&seed) % 2;
    }
    verdict(r, "unknown", NAN, NAN, -1, "A sentence without figures.");
    build_finish(r, dice(&seed) % 2 ? "EUR" : NULL, 28, dice(&seed) % 2 ? S(10) : 0);
}

bool fixture_make(const char *name, struct report *r)
{
    static const struct {
        const char *name;
        void (*make)(struct report *r);
    } table[] = {{"healthy", make_healthy}, {"starving", make_starving}, {"two", make_two},
                 {"many", make_many},       {"unknown", make_unknown},   {"cut", make_cut},
                 {"hostile", make_hostile}, {"empty", make_empty},       {"fed", make_fed}};
    if (!strncmp(name, "random:", 7)) {
        make_random(r, strtoull(name + 7, NULL, 10));
        return true;
    }
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (!strcmp(name, table[i].name)) {
            table[i].make(r);
            return true;
        }
    return false;
}
