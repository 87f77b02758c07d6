/* SPDX-License-Identifier: MIT */
/* Which hosts and ports are storage, and origins as users write them. */
#include "sense/peers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

static void test_names_of_storage(void **state)
{
    static const char *const storage[] = {
        "acct.blob.core.windows.net",
        "ACCT.BLOB.CORE.WINDOWS.NET",
        "a.z12.blob.storage.azure.net",
        "bucket.s3.amazonaws.com",
        "bucket.s3.eu-central-1.amazonaws.com",
        "s3.us-east-1.amazonaws.com",
        "s3-us-west-2.amazonaws.com",
        "b--use1-az4--x-s3.s3express-use1-az4.us-east-1.amazonaws.com",
        "storage.googleapis.com",
        "bucket.storage.googleapis.com",
        "acc.r2.cloudflarestorage.com",
        "minio.default.svc",
        "minio",
        "minio-0.minio-hl",
        "f003.backblazeb2.com",
        "b.oss-cn-beijing.aliyuncs.com",
    };
    static const char *const other[] = {
        "example.com",
        "blob.core.windows.net.evil.com",
        "ec2.us-east-1.amazonaws.com",
        "login.microsoftonline.com",
        "googleapis.com",
        "oauth2.googleapis.com",
        "rank-1",
        "",
        "minions.example.com",
        "s3.example.com",
        "api.wandb.ai",
        "huggingface.co",
    };
    for (size_t i = 0; i < sizeof(storage) / sizeof(storage[0]); i++)
        if (!peer_storage_name(storage[i]))
            fail_msg("\"%s\" is storage", storage[i]);
    for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++)
        if (peer_storage_name(other[i]))
            fail_msg("\"%s\" is no storage", other[i]);
    assert_string_equal(peer_storage_name("x.blob.core.windows.net"), "Azure Blob");
}

static void test_ports_of_storage(void **state)
{
    static const uint16_t storage[] = {2049, 445, 988, 6789, 3300, 6800, 7000, 7300, 9000};
    static const uint16_t other[] = {0, 22, 80, 443, 8080, 29500, 28028, 6799, 7569, 65535};
    for (size_t i = 0; i < sizeof(storage) / sizeof(storage[0]); i++)
        assert_non_null(peer_storage_port(storage[i]));
    for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++)
        assert_null(peer_storage_port(other[i]));
}

static void test_origins(void **state)
{
    static const struct {
        const char *text, *host;
        uint16_t port;
    } want[] = {
        {"10.0.0.5", "10.0.0.5", 0},
        {"store.local:9001", "store.local", 9001},
        {"http://127.0.0.1:8080/bucket/x?y", "127.0.0.1", 8080},
        {"https://acct.blob.core.windows.net/c?sig=s", "acct.blob.core.windows.net", 0},
        {"azblob://acct/container", "acct.blob.core.windows.net", 0},
        {"abfss://fs@acct.dfs.core.windows.net/x", "acct.dfs.core.windows.net", 0},
        {"gs://bucket/x", "storage.googleapis.com", 0},
        {"[fd00::4]:9000", "fd00::4", 9000},
        {"https://[::1]:8443/", "::1", 8443},
        {"fd00::4", "fd00::4", 0},
        {"ftp://user:p@ss@host:21/x", "host", 21},
    };
    static const char *const bad[] = {
        "",       "http://", "/data", "http:///x", "[::1",   "://",        ":80",
        "@",      "foo bar", "host:", "host:x",    "host:0", "host:65536", "host:99999999999",
        "[::1]x", "[::1]:",  "host\n"};
    struct peer_origin o;
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
        assert_true(peer_origin_parse(&o, want[i].text));
        assert_string_equal(o.host, want[i].host);
        assert_int_equal(o.port, want[i].port);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(peer_origin_parse(&o, bad[i]));
    char long_text[600];
    memset(long_text, 'a', sizeof(long_text) - 1);
    long_text[sizeof(long_text) - 1] = '\0';
    assert_false(peer_origin_parse(&o, long_text));
}

static void test_origin_matches(void **state)
{
    struct peer_origin o;
    assert_true(peer_origin_parse(&o, "s3://train/x"));
    assert_true(peer_origin_matches(&o, "train.s3.eu-west-1.amazonaws.com", NULL, 443));
    assert_true(peer_origin_matches(&o, "train.s3.amazonaws.com", NULL, 443));
    assert_false(peer_origin_matches(&o, "other.s3.amazonaws.com", NULL, 443));
    assert_true(peer_origin_parse(&o, "10.0.0.5:8080"));
    assert_true(peer_origin_matches(&o, NULL, "10.0.0.5", 8080));
    assert_true(peer_origin_matches(&o, "store", "10.0.0.5", 8080));
    assert_false(peer_origin_matches(&o, NULL, "10.0.0.5", 8081));
    assert_false(peer_origin_matches(&o, NULL, NULL, 8080));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_of_storage),
        cmocka_unit_test(test_ports_of_storage),
        cmocka_unit_test(test_origins),
        cmocka_unit_test(test_origin_matches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
