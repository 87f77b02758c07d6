/* SPDX-License-Identifier: MIT */
/* Mount tables, disks below devices, and the names of what threads wait for. */
#include "base/mem.h"
#include "model/event.h"
#include "sense/disk_name.h"
#include "sense/fs_name.h"
#include "sense/mounts.h"
#include "sense/resource.h"
#include "../tidy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEV(major, minor) ((uint32_t)(major) << 20 | (minor))

/* A GPU machine: local NVMe on RAID and LVM, NFS, FUSE, containers. Written after real tables. */
static const char table[] =
    "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,discard\n"
    "23 22 0:21 / /proc rw,nosuid shared:2 - proc proc rw\n"
    "24 22 0:25 / /dev/shm rw,nosuid,nodev shared:3 - tmpfs tmpfs rw,inode64\n"
    "25 22 259:2 / /data rw,relatime shared:4 master:7 propagate_from:2 - xfs /dev/nvme0n1p2 rw\n"
    "26 22 259:2 /sets/a /mnt/a\\040b rw - xfs /dev/nvme0n1p2 rw\n"
    "27 22 0:50 / /mnt/nfs rw - nfs4 10.0.0.4:/export/data rw,vers=4.2,addr=10.0.0.4\n"
    "28 22 0:51 / /mnt/blob rw - fuse.blobfuse2 blobfuse2 rw,user_id=0\n"
    "29 22 0:52 / /mnt/smb rw - cifs //files.example.com/share rw,username=x\n"
    "30 22 0:53 / /mnt/lustre rw - lustre 10.1.1.1@tcp:10.1.1.2@tcp:/fs0 rw\n"
    "31 22 0:54 / /merged rw - overlay overlay rw,lowerdir=/l1:/l2,upperdir=/data/up,workdir=/w\n"
    "32 22 0:55 / /btr rw - btrfs /dev/nvme1n1 rw,subvol=/\n"
    "33 22 253:0 / /lvm rw - ext4 /dev/mapper/vg-data rw\n"
    "34 22 9:0 / /raid rw - ext4 /dev/md0 rw\n"
    "35 22 0:56 / /dav rw - fuse.davfs https://user:secret@dav.example.com/x rw\n"
    "36 22 0:57 / /zfs rw - zfs tank/data rw\n"
    "37 22 0:58 / /ceph rw - ceph 10.2.0.1:6789,10.2.0.2:6789:/ rw\n"
    "38 22 0:59 / /nfs6 ro - nfs [fd00::4]:/x ro\n";

static char root[64];

static void put(const char *path, const char *text)
{
    char full[256], *slash;
    snprintf(full, sizeof(full), "%s%s", root, path);
    for (slash = strchr(full + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(full, 0755);
        *slash = '/';
    }
    FILE *f = fopen(full, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void link_to(const char *target, const char *path)
{
    char full[256];
    put(path, "");
    snprintf(full, sizeof(full), "%s%s", root, path);
    unlink(full);
    assert_int_equal(symlink(target, full), 0);
}

static void disk(const char *name, const char *dev, const char *parent)
{
    char path[256], target[256];
    snprintf(target, sizeof(target), "../../devices/%s%s%s", parent, *parent ? "/" : "", name);
    snprintf(path, sizeof(path), "/sys/dev/block/%s", dev);
    link_to(target, path);
    snprintf(path, sizeof(path), "/sys/devices/%s%s%s/dev", parent, *parent ? "/" : "", name);
    put(path, dev);
    if (*parent) {
        snprintf(path, sizeof(path), "/sys/devices/%s/%s/partition", parent, name);
        put(path, "1\n");
    }
    snprintf(path, sizeof(path), "/sys/class/block/%s", name);
    link_to(target, path);
}

static int set_up(void **state)
{
    snprintf(root, sizeof(root), "/tmp/gpufeed-names-XXXXXX");
    if (!mkdtemp(root))
        return -1;
    tidy_at_exit(root);
    put("/proc/self/mountinfo", table);
    put("/proc/77/mountinfo", "90 1 0:99 / /inner rw - fuse.gcsfuse bucket rw\n");
    put("/proc/devices", "Character devices:\n  1 mem\n195 nvidia\n226 drm\n510 nvidia-uvm\n\n"
                         "Block devices:\n  8 sd\n");
    disk("sda", "8:0", "");
    disk("sda1", "8:1", "sda");
    disk("nvme0n1", "259:0", "");
    disk("nvme0n1p2", "259:2", "nvme0n1");
    disk("nvme1n1", "259:1", "");
    disk("dm-0", "253:0", "");
    put("/sys/devices/dm-0/dm/name", "vg-data\n");
    put("/sys/devices/dm-0/slaves/nvme0n1p2", "");
    disk("md0", "9:0", "");
    put("/sys/devices/md0/slaves/nvme0n1", "");
    put("/sys/devices/md0/slaves/nvme1n1", "");
    return 0;
}

static int drop(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    return remove(path);
}

static int tear_down(void **state)
{
    return nftw(root, drop, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- mounts ---- */

static void test_parse_real_table(void **state)
{
    struct mounts m = {0};
    struct error e = {0};
    assert_int_equal(mounts_parse(&m, table, &e), STATUS_OK);
    assert_int_equal(m.count, 17);
    assert_int_equal(m.bad, 0);
    const struct mount *data = mounts_by_dev(&m, DEV(259, 2));
    assert_string_equal(data->point, "/data"); /* the whole file system, not the bind mount */
    assert_string_equal(data->fstype, "xfs");
    assert_string_equal(mounts_by_path(&m, "/mnt/a b/x")->root, "/sets/a");
    assert_string_equal(mounts_by_path(&m, "/mnt/a bc")->point, "/");
    assert_string_equal(mounts_by_path(&m, "/data")->point, "/data");
    assert_string_equal(mounts_by_path(&m, "/database")->point, "/");
    assert_null(mounts_by_dev(&m, DEV(7, 7)));
    assert_null(mounts_by_path(&m, "relative"));
    assert_null(strstr(mounts_by_dev(&m, DEV(0, 56))->source, "secret"));
    assert_string_equal(mounts_by_dev(&m, DEV(0, 53))->source, "10.1.1.1@tcp:10.1.1.2@tcp:/fs0");
    mounts_clear(&m);
}

static void test_last_mount_on_a_point_wins(void **state)
{
    struct mounts m = {0};
    assert_int_equal(mounts_parse(&m,
                                  "1 0 8:1 / / rw - ext4 /dev/a rw\n"
                                  "2 1 8:2 / /d rw - ext4 /dev/b rw\n"
                                  "3 2 8:3 / /d rw - xfs /dev/c rw\n",
                                  NULL),
                     STATUS_OK);
    assert_int_equal(mounts_by_path(&m, "/d/x")->dev, DEV(8, 3));
    mounts_clear(&m);
}

static void test_hostile_lines_are_left_out(void **state)
{
    static const char *const lines[] = {
        "",
        "\n",
        " ",
        "x",
        "1 2",
        "1 2 8:1 / /x rw",
        "1 2 8:1 / /x rw -",
        "1 2 8:1 / /x rw - ext4",
        "1 2 8 / /x rw - ext4 a b",
        "1 2 8:-1 / /x rw - ext4 a b",
        "1 2 :: / /x rw - ext4 a b",
        "1 2 99999999:1 / /x rw - ext4 a b",
        "1 2 8:1 / relative rw - ext4 a b",
        "1 2 8:1 / /x rw master:1 ext4 a b",
        "- - - - - - - - -",
        "1 2 8:4294967296 / /x rw - ext4 a b",
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct mounts m = {0};
        assert_int_equal(mounts_parse(&m, lines[i], NULL), STATUS_OK);
        assert_int_equal(m.count, 0);
        mounts_clear(&m);
    }
    struct mounts m = {0}; /* escapes that are none stay as they are, at the very end too */
    assert_int_equal(mounts_parse(&m, "1 2 8:1 / /a\\9\\04 rw - ext4 b\\", NULL), STATUS_OK);
    assert_int_equal(m.count, 1);
    assert_string_equal(m.list[0].point, "/a\\9\\04");
    assert_string_equal(m.list[0].source, "b\\");
    mounts_clear(&m);
}

/* Bytes turned over at random: never a crash, and what stands is whole. */
static void test_mutated_tables(void **state)
{
    unsigned seed = 7;
    for (int round = 0; round < 2000; round++) {
        char text[sizeof(table)];
        struct mounts m = {0};
        memcpy(text, table, sizeof(table));
        for (int n = 0; n < 8; n++) {
            seed = seed * 1103515245 + 12345;
            text[(seed >> 8) % (sizeof(table) - 1)] = (char)(seed >> 16);
        }
        assert_int_equal(mounts_parse(&m, text, NULL), STATUS_OK);
        for (size_t i = 0; i < m.count; i++)
            assert_true(m.list[i].point && m.list[i].source && m.list[i].fstype[0]);
        mounts_clear(&m);
    }
}

static void test_mounts_without_memory(void **state)
{
    struct mounts m = {0};
    struct error e = {0};
    int rc = STATUS_MEMORY;
    for (long n = 0; rc == STATUS_MEMORY && n < 1000; n++) {
        mem_fail_after(n);
        rc = mounts_parse(&m, table, &e);
        mem_fail_after(-1);
        assert_true(rc == STATUS_OK || m.count == 0);
    }
    assert_int_equal(rc, STATUS_OK);
    mounts_clear(&m);
}

/* ---- disks ---- */

static void assert_disk(uint32_t dev, const char *want)
{
    char name[64];
    assert_true(disk_name_of_dev(root, dev, name, sizeof(name)));
    assert_string_equal(name, want);
}

static void test_disk_below_a_device(void **state)
{
    char name[64];
    assert_disk(DEV(8, 1), "sda");
    assert_disk(DEV(259, 2), "nvme0n1");
    assert_disk(DEV(253, 0), "nvme0n1"); /* a volume on one partition */
    assert_disk(DEV(9, 0), "md0");       /* on two disks: neither of them */
    assert_false(disk_name_of_dev(root, DEV(8, 99), name, sizeof(name)));
    assert_false(disk_name_of_dev(root, DEV(259, 2), name, 4)); /* too small a buffer */
    assert_true(disk_name_of_node(root, "/dev/mapper/vg-data", name, sizeof(name)));
    assert_string_equal(name, "nvme0n1");
    assert_true(disk_name_of_node(root, "/dev/sda1", name, sizeof(name)));
    assert_string_equal(name, "sda");
    assert_false(disk_name_of_node(root, "/dev/none", name, sizeof(name)));
    assert_false(disk_name_of_node(root, "/dev/", name, sizeof(name)));
}

/* ---- resources ---- */

struct names {
    struct intern texts;
    struct resources *r;
};

static void names_open(struct names *n, const char *origin)
{
    struct error e = {0};
    *n = (struct names){0};
    struct resource_opts o = {
        .root = root, .names = &n->texts, .origins = &origin, .origin_count = origin ? 1 : 0};
    assert_int_equal(resources_new(&n->r, &o, &e), STATUS_OK);
}

static void names_close(struct names *n)
{
    resources_free(n->r);
    intern_clear(&n->texts);
}

static void test_file_systems(void **state)
{
    static const struct {
        uint32_t dev;
        const char *name;
        bool remote;
    } want[] = {
        {DEV(8, 1), "disk sda (/)", false},
        {DEV(259, 2), "disk nvme0n1 (/data)", false},
        {DEV(0, 25), "tmpfs /dev/shm", false},
        {DEV(0, 50), "nfs://10.0.0.4/export/data", true},
        {DEV(0, 51), "fuse:blobfuse2 /mnt/blob", true},
        {DEV(0, 52), "smb://files.example.com/share", true},
        {DEV(0, 53), "lustre://10.1.1.1@tcp:10.1.1.2@tcp/fs0", true},
        {DEV(0, 54), "disk nvme0n1 (/data)", false}, /* the overlay's upper layer */
        {DEV(0, 55), "disk nvme1n1 (/btr)", false},
        {DEV(253, 0), "disk nvme0n1 (/lvm)", false},
        {DEV(9, 0), "disk md0 (/raid)", false},
        {DEV(0, 57), "zfs tank (/zfs)", false},
        {DEV(0, 58), "ceph 10.2.0.1:6789,10.2.0.2:6789:/", true},
        {DEV(0, 59), "nfs://[fd00::4]/x", true},
    };
    struct names n;
    names_open(&n, NULL);
    for (int pass = 0; pass < 2; pass++) /* asked, then from the cache */
        for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
            uint16_t flags = 0;
            uint32_t number = resource_of_dev(n.r, 0, want[i].dev, 0, &flags);
            assert_string_equal(intern_text(&n.texts, number), want[i].name);
            assert_int_equal(flags, want[i].remote ? WAIT_REMOTE_FS : 0);
        }
    names_close(&n);
}

static void test_mount_of_another_namespace(void **state)
{
    struct names n;
    uint16_t flags = 0;
    names_open(&n, NULL);
    uint32_t number = resource_of_dev(n.r, 77, DEV(0, 99), FS_MAGIC_FUSE, &flags);
    assert_string_equal(intern_text(&n.texts, number), "fuse:gcsfuse /inner");
    assert_int_equal(flags, WAIT_REMOTE_FS);
    names_close(&n);
}

static void test_unmounted_and_late_mounts(void **state)
{
    struct names n;
    uint16_t flags = 0;
    names_open(&n, NULL);
    uint32_t number = resource_of_dev(n.r, 0, DEV(0, 200), FS_MAGIC_FUSE, &flags);
    assert_string_equal(intern_text(&n.texts, number), "fuse");
    assert_int_equal(flags, WAIT_REMOTE_FS);
    number = resource_of_dev(n.r, 0, DEV(259, 1), 0xef53, NULL);
    assert_string_equal(intern_text(&n.texts, number), "disk nvme1n1");
    number = resource_of_dev(n.r, 0, DEV(0, 201), 0, NULL);
    assert_string_equal(intern_text(&n.texts, number), "file system 0:201");

    char later[sizeof(table) + 128];
    snprintf(later, sizeof(later), "%s99 22 0:200 / /late rw - fuse.rclone r: rw\n", table);
    put("/proc/self/mountinfo", later);
    for (int i = 0; i < 300; i++) /* looked up again after a while */
        number = resource_of_dev(n.r, 0, DEV(0, 200), FS_MAGIC_FUSE, NULL);
    assert_string_equal(intern_text(&n.texts, number), "fuse:rclone /late");
    put("/proc/self/mountinfo", table);
    names_close(&n);
}

static struct resource_socket v4(const char *peer, uint16_t port, uint16_t local_port)
{
    struct resource_socket s = {.port = port, .local_port = local_port, .netns = 1};
    s.addr[10] = s.addr[11] = s.local_addr[10] = s.local_addr[11] = 0xff;
    assert_int_equal(inet_pton(AF_INET, peer, s.addr + 12), 1);
    assert_int_equal(
        inet_pton(AF_INET, strncmp(peer, "127.", 4) ? "10.0.0.9" : "127.0.0.1", s.local_addr + 12),
        1);
    return s;
}

static void assert_peer(struct names *n, const struct resource_socket *s, const char *want,
                        uint16_t want_flags)
{
    for (int pass = 0; pass < 2; pass++) {
        uint16_t flags = 0;
        assert_string_equal(intern_text(&n->texts, resource_of_socket(n->r, s, &flags)), want);
        assert_int_equal(flags, want_flags);
    }
}

static void test_peers(void **state)
{
    struct names n;
    names_open(&n, "http://127.0.0.1:8080/bucket");
    struct resource_socket blob = v4("20.60.1.2", 443, 40000), none = v4("0.0.0.0", 0, 8080);
    struct resource_socket nfs = v4("10.0.0.4", 2049, 900), origin = v4("127.0.0.1", 8080, 40001);
    struct resource_socket client = v4("10.0.0.7", 51000, 8080),
                           rank = v4("10.0.0.7", 29500, 40002);
    struct resource_socket six = {.port = 443, .local_port = 40003};
    inet_pton(AF_INET6, "fd00::4", six.addr);
    assert_peer(&n, &blob, "20.60.1.2:443", 0);
    resource_learn_host(n.r, blob.addr, "acct.blob.core.windows.net");
    assert_peer(&n, &blob, "acct.blob.core.windows.net:443", WAIT_STORAGE_PEER);
    resource_learn_host(n.r, blob.addr, "20.60.1.2"); /* an address is no name */
    assert_peer(&n, &blob, "acct.blob.core.windows.net:443", WAIT_STORAGE_PEER);
    resource_learn_host(n.r, blob.addr, "other.example.com");
    assert_peer(&n, &blob, "other.example.com:443", 0);
    assert_peer(&n, &nfs, "10.0.0.4:2049", WAIT_STORAGE_PEER);
    assert_peer(&n, &origin, "127.0.0.1:8080", WAIT_STORAGE_PEER | WAIT_LOOPBACK);
    assert_peer(&n, &client, "10.0.0.7 to port 8080", WAIT_ACCEPTED);
    assert_peer(&n, &rank, "10.0.0.7:29500", 0);
    assert_peer(&n, &six, "[fd00::4]:443", 0);
    assert_int_equal(resource_of_socket(n.r, &none, NULL), 0);
    assert_int_equal(resource_socket_channel(&none), 0);
    names_close(&n);
}

/* However many connections come and go, the names stay bounded. */
static void test_names_are_bounded(void **state)
{
    struct names n;
    names_open(&n, NULL);
    for (uint32_t i = 0; i < 40000; i++) {
        struct resource_socket s = v4("10.0.0.7", (uint16_t)(32768 + i % 30000), 40000);
        resource_of_socket(n.r, &s, NULL);
        s.local_port = 8080;
        resource_of_socket(n.r, &s, NULL);
    }
    assert_true(n.texts.count < 5000);
    names_close(&n);
}

static void test_channels(void **state)
{
    struct resource_socket a = v4("127.0.0.1", 8080, 40001), b = v4("127.0.0.1", 40001, 8080);
    assert_int_equal(resource_socket_channel(&a), resource_socket_channel(&b));
    b.netns = 2; /* the same ports in another namespace's loopback */
    assert_int_not_equal(resource_socket_channel(&a), resource_socket_channel(&b));
    struct resource_socket c = v4("127.0.0.1", 8080, 40002);
    assert_int_not_equal(resource_socket_channel(&a), resource_socket_channel(&c));
    /* over a link between two namespaces both ends agree too */
    struct resource_socket left = v4("10.0.0.7", 29500, 40002), right = left;
    memcpy(right.addr, left.local_addr, 16);
    memcpy(right.local_addr, left.addr, 16);
    right.port = 40002;
    right.local_port = 29500;
    right.netns = 5;
    assert_int_equal(resource_socket_channel(&left), resource_socket_channel(&right));
    assert_int_equal(resource_inode_channel(2, 0, 5), resource_inode_channel(2, 0, 5));
    assert_int_not_equal(resource_inode_channel(2, 0, 5), resource_inode_channel(1, 0, 5));
    assert_int_not_equal(resource_inode_channel(1, 1, 5), resource_inode_channel(1, 0, 5));
    assert_int_equal(resource_inode_channel(2, 0, 0), 0);
}

static void assert_chardev(struct names *n, uint32_t rdev, const char *want, bool want_fuse)
{
    bool accelerator, fuse;
    uint32_t number = resource_of_chardev(n->r, rdev, &accelerator, &fuse);
    assert_string_equal(intern_text(&n->texts, number), want);
    assert_int_equal(accelerator, *want != '\0');
    assert_int_equal(fuse, want_fuse);
}

static void test_character_devices(void **state)
{
    struct names n;
    names_open(&n, NULL);
    assert_chardev(&n, DEV(195, 3), "device nvidia3", false);
    assert_chardev(&n, DEV(195, 255), "device nvidiactl", false);
    assert_chardev(&n, DEV(510, 0), "device nvidia-uvm", false);
    assert_chardev(&n, DEV(1, 3), "", false);
    assert_chardev(&n, DEV(8, 0), "", false); /* a block driver's number */
    assert_chardev(&n, DEV(10, 229), "", true);
    names_close(&n);
}

static void test_secrets_and_controls_stay_out(void **state)
{
    struct names n;
    put("/proc/self/mountinfo", "1 0 0:70 / /m rw - fuse https://u:hunter2@h/x?sig=abcdef rw\n"
                                "2 0 0:71 / /e\\033[31m rw - fuse.x s rw\n");
    names_open(&n, NULL);
    const char *name = intern_text(&n.texts, resource_of_dev(n.r, 0, DEV(0, 70), 0, NULL));
    assert_null(strstr(name, "hunter2"));
    assert_null(strstr(name, "abcdef"));
    name = intern_text(&n.texts, resource_of_dev(n.r, 0, DEV(0, 71), 0, NULL));
    assert_string_equal(name, "fuse:x /e?[31m");
    put("/proc/self/mountinfo", table);
    names_close(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse_real_table),
        cmocka_unit_test(test_last_mount_on_a_point_wins),
        cmocka_unit_test(test_hostile_lines_are_left_out),
        cmocka_unit_test(test_mutated_tables),
        cmocka_unit_test(test_mounts_without_memory),
        cmocka_unit_test(test_disk_below_a_device),
        cmocka_unit_test(test_file_systems),
        cmocka_unit_test(test_mount_of_another_namespace),
        cmocka_unit_test(test_unmounted_and_late_mounts),
        cmocka_unit_test(test_peers),
        cmocka_unit_test(test_names_are_bounded),
        cmocka_unit_test(test_channels),
        cmocka_unit_test(test_character_devices),
        cmocka_unit_test(test_secrets_and_controls_stay_out),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
