/* SPDX-License-Identifier: MIT */
#include "base/mem.h"
#include "base/redact.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const struct {
    const char *in, *out;
} texts[] = {
    {"", ""},
    {"python3 train.py --lr 0.1 --epochs=3", "python3 train.py --lr 0.1 --epochs=3"},
    {"https://a.blob.core.windows.net/c/x?sv=2021&sp=r&sig=ab%2Fc%3D&se=9",
     "https://a.blob.core.windows.net/c/x?sv=2021&sp=r&sig=***&se=9"},
    {"x?sig%3Dabc%26sp%3Dr", "x?sig%3D***%26sp%3Dr"},
    {"AccountName=acct;AccountKey=aGVsbG8=;EndpointSuffix=core.windows.net",
     "AccountName=acct;AccountKey=***;EndpointSuffix=core.windows.net"},
    {"postgres://bob:hunter2@db:5432/x", "postgres://bob:***@db:5432/x"},
    {"postgres://bob:hun/ter@db:5432/x", "postgres://bob:***@db:5432/x"},
    {"http://:pw@h/", "http://:***@h/"},
    {"http://10.0.0.4:8080/a@b", "http://10.0.0.4:8080/a@b"},
    {"abfss://box@acct.dfs.core.windows.net/p", "abfss://box@acct.dfs.core.windows.net/p"},
    {"Authorization: Bearer abcdefghijkl", "Authorization: Bearer ***"},
    {"curl -H \"Authorization: Basic dXNlcjpwYXNz\" u", "curl -H \"Authorization: Basic ***\" u"},
    {"{\"token\": \"a\\\"b c\", \"n\": 1}", "{\"token\": \"***\", \"n\": 1}"},
    {"password: hunter2 rest", "password: *** rest"},
    {"--password hunter2 --token-file f", "--password *** --token-file f"},
    {"X-Amz-Credential=AKIA&X-Amz-Signature=0f0f&X-Amz-Date=1",
     "X-Amz-Credential=***&X-Amz-Signature=***&X-Amz-Date=1"},
    {"AWS_SECRET_ACCESS_KEY=abc HF_TOKEN='q w' A=1",
     "AWS_SECRET_ACCESS_KEY=*** HF_TOKEN='***' A=1"},
    {"login hf_abcdefghijklmnopqrstuvwx now", "login *** now"},
    {"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N", "***"},
    {"k "
     "0123456789abcdefABCDEF+/0123456789abcdefABCDEF+/0123456789abcdefABCDEF+/"
     "01234567890123456789==",
     "k ***"},
    {"a -----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY----- b", "a *** b"},
    {"-----BEGIN PRIVATE KEY-----\ncut", "***"},
    {"-----BEGIN CERTIFICATE-----", "-----BEGIN CERTIFICATE-----"},
    {"--max-tokens=5 --eval_tokens 6 PWD=/home/a OLDPWD=/b",
     "--max-tokens=5 --eval_tokens 6 PWD=/home/a OLDPWD=/b"},
    {"bearer of news", "bearer of news"},
    {"sig=", "sig="},
    {"cannot run \"/etc/passwd\": Permission denied",
     "cannot run \"/etc/passwd\": Permission denied"},
    {"\"my_passwd\": No such file or directory", "\"my_passwd\": No such file or directory"},
    {"/etc/passwd: Permission denied", "/etc/passwd: Permission denied"},
    {"\"a.token\": gzip: cut", "\"a.token\": gzip: cut"},
    {"{\"token\": \"two words\"}", "{\"token\": \"***\"}"},
    {"{\"password\": 123456, \"n\": 1}", "{\"password\": *** \"n\": 1}"},
    {"\"password\": hunter2 rest", "\"password\": *** rest"},
    {"\"password\": hunter", "\"password\": ***"},
    {"password: Permission denied", "password: *** denied"},
};

static void test_texts(void **state)
{
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct str s = {0};
        redact_add(&s, texts[i].in);
        assert_string_equal(str_text(&s), texts[i].out);
        str_clear(&s);
    }
}

/* What was redacted once stays as it is. */
static void test_idempotent(void **state)
{
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct str s = {0};
        redact_add(&s, texts[i].out);
        assert_string_equal(str_text(&s), texts[i].out);
        str_clear(&s);
    }
}

static void test_cmdline(void **state)
{
    static const char args[] = "prog\0--api-key\0se cret\0--token=a b&c\0--tokens\0"
                               "5\0-p\0url?sig=x";
    struct str s = {0};
    redact_add_cmdline(&s, args, sizeof(args));
    assert_string_equal(str_text(&s), "prog --api-key *** --token=*** --tokens 5 -p url?sig=***");
    str_clear(&s);
    redact_add_cmdline(&s, "ends-open", 9);
    assert_string_equal(str_text(&s), "ends-open");
    str_clear(&s);
}

static void test_values(void **state)
{
    struct str s = {0};
    redact_add_value(&s, "WANDB_API_KEY", "0123");
    str_add(&s, ",");
    redact_add_value(&s, "MASTER_ADDR", "10.0.0.1");
    str_add(&s, ",");
    redact_add_value(&s, "NCCL_X", "u?sig=1");
    assert_string_equal(str_text(&s), "***,10.0.0.1,u?sig=***");
    str_clear(&s);
}

/* Made-up garbage: no crash, ends, and a planted secret never survives. */
static void test_garbage(void **state)
{
    static const char alphabet[] = "aB0 =:/?&@-_.%3D\"'\\\n;+{}sig";
    uint32_t seed = 7;
    for (int round = 0; round < 2000; round++) {
        char text[300];
        size_t n = 0;
        for (; n < 200; n++) {
            seed = seed * 1664525u + 1013904223u;
            text[n] = alphabet[(seed >> 16) % (sizeof(alphabet) - 1)];
        }
        strcpy(text + n, " &sig=PLANTED");
        struct str s = {0};
        redact_add(&s, text);
        assert_null(strstr(str_text(&s), "PLANTED"));
        str_clear(&s);
    }
}

/* A hostile text of 1 MiB takes linear time. */
static void test_long(void **state)
{
    size_t n = 1 << 20;
    char *text = malloc(n + 1);
    static const char *const units[] = {"a/", "://a:b", "-----BEGIN ", "sig=", "\\\""};
    for (size_t u = 0; u < 5; u++) {
        size_t len = strlen(units[u]);
        for (size_t i = 0; i < n; i++)
            text[i] = units[u][i % len];
        text[n] = '\0';
        struct str s = {0};
        redact_add(&s, text);
        assert_false(s.failed);
        str_clear(&s);
    }
    free(text);
}

static void test_no_memory(void **state)
{
    struct str s = {0};
    mem_fail_after(0);
    redact_add(&s, "a sig=x");
    mem_fail_after(-1);
    assert_true(s.failed);
    str_clear(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),     cmocka_unit_test(test_idempotent),
        cmocka_unit_test(test_cmdline),   cmocka_unit_test(test_values),
        cmocka_unit_test(test_garbage),   cmocka_unit_test(test_long),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
