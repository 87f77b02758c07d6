/* SPDX-License-Identifier: MIT */
/* The JSON scanner: tokens, texts and numbers; where tokens meet the end of a block; what it refuses. */
#include "import/scan.h"

#include "temp.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* All tokens as one line: "{k:a s:b n:1 }". */
static int tokens(const char *text, size_t size, char *out, size_t cap, struct error *e)
{
    struct temp t = temp_file(text, size);
    struct source *source;
    struct scan s;
    size_t n = 0;
    enum scan_token k;
    *e = (struct error){0};
    assert_int_equal(source_open(t.path, &source, NULL), 0);
    scan_init(&s, source, e);
    while ((k = scan_next(&s)) != SCAN_END && k != SCAN_ERROR && n + 100 < cap) {
        static const char marks[] = "!.{}[]ksntf0";
        bool long_text = s.len > 60;
        if (k == SCAN_KEY || k == SCAN_STRING || k == SCAN_NUMBER)
            n += (size_t)snprintf(out + n, cap - n, "%c:%.*s ", marks[k],
                                  long_text ? 3 : (int)s.len, s.text);
        else
            out[n++] = marks[k];
    }
    out[n] = '\0';
    scan_clear(&s);
    source_close(source);
    unlink(t.path);
    return e->status;
}

static void check(const char *text, const char *want)
{
    char out[2000];
    struct error e;
    if (tokens(text, strlen(text), out, sizeof(out), &e))
        fail_msg("%s: %s", text, e.text);
    assert_string_equal(out, want);
}

static void test_tokens(void **state)
{
    check("{}", "{}");
    check(" [ ] ", "[]");
    check("[1,-0.5e+3,true,false,null,\"\"]", "[n:1 n:-0.5e+3 tf0s: ]");
    check("{\"a\" : {\"b\":[{}, \"x\\\"y\"]},\n\t\"c\":0}", "{k:a {k:b [{}s:x\\\"y ]}k:c n:0 }");
    check("7", "n:7 ");
    check("\xef\xbb\xbf [1]", "[n:1 ]");
    check("true", "t");
    check("\"\\u00e9\\ud83d\\ude00\"", "s:\\u00e9\\ud83d\\ude00 ");
    check("[NaN, -Infinity, nan]", "[000]");
}

/* Every token stands across the end of a block once. */
static void test_block_ends(void **state)
{
    static const char tail[] =
        "\"key with \\u00e9 in it\" : [-12.5e3, true, \"t\\\\xt\", {\"k\":null}]}";
    char out[2000];
    struct error e;
    for (size_t back = 0; back < sizeof(tail) + 2; back++) {
        size_t before = SOURCE_BLOCK - back;
        char *text = malloc(before + sizeof(tail));
        memset(text, ' ', before);
        text[0] = '{';
        memcpy(text + before, tail, sizeof(tail) - 1);
        if (tokens(text, before + sizeof(tail) - 1, out, sizeof(out), &e))
            fail_msg("%zu: %s", back, e.text);
        assert_string_equal(out, "{k:key with \\u00e9 in it [n:-12.5e3 ts:t\\\\xt {k:k 0}]}");
        free(text);
    }
}

/* A word of the grammar that the end of a block cuts, after much white space. */
static void test_cut_words(void **state)
{
    char out[200];
    struct error e;
    for (size_t back = 0; back < 8; back++) {
        size_t before = SOURCE_BLOCK - back;
        char *text = malloc(before + 10);
        memset(text, ' ', before);
        memcpy(text + before, "-Infinity", 10);
        assert_int_equal(tokens(text, before + 9, out, sizeof(out), &e), 0);
        assert_string_equal(out, "0");
        free(text);
    }
}

/* Texts longer than several blocks come whole. */
static void test_long_text(void **state)
{
    size_t n = 3 * SOURCE_BLOCK + 17;
    char *text = malloc(n + 4), out[200];
    struct error e;
    memset(text, 'x', n + 4);
    text[0] = '[';
    text[1] = text[n + 1] = '"';
    text[n + 2] = ']';
    assert_int_equal(tokens(text, n + 3, out, sizeof(out), &e), 0);
    assert_string_equal(out, "[s:xxx ]");
    text[n + 1] = 'x';
    assert_int_equal(tokens(text, n + 1, out, sizeof(out), &e), STATUS_INPUT);
    assert_non_null(strstr(e.text, "ends within a string"));
    free(text);
}

static void test_refused(void **state)
{
    static const struct {
        const char *text, *why;
        int at;
    } rows[] = {
        {"", "ends in the middle of a value", 0},
        {"{", "ends within an object", 1},
        {"[1 2]", "no \",\"", 3},
        {"[1,]", "no JSON", 3},
        {"{\"a\" 1}", "no \":\"", 5},
        {"{\"a\":1,}", "no key", 7},
        {"{a:1}", "no key", 1},
        {"[1}", "\"}\" where \"]\"", 2},
        {"{\"a\":1]", "\"]\" where \"}\"", 6},
        {"[01]", "number", 1},
        {"[1.]", "number", 1},
        {"[1e]", "number", 1},
        {"[-]", "no JSON", 1},
        {"[+1]", "no JSON", 1},
        {"[tru]", "no JSON", 1},
        {"\"a", "within a string", 2},
        {"\"\\x\"", "an escape", 1},
        {"\"\\u12g4\"", "an escape", 1},
        {"\"a\nb\"", "control", 2},
        {"{} {}", "more after", 3},
        {"[1", "ends in the middle", 2},
        {"{\"a\":", "ends in the middle of a value", 5},
    };
    char out[500], offset[32];
    struct error e;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(tokens(rows[i].text, strlen(rows[i].text), out, sizeof(out), &e),
                         STATUS_INPUT);
        if (!strstr(e.text, rows[i].why))
            fail_msg("%s: %s", rows[i].text, e.text);
        snprintf(offset, sizeof(offset), "at byte %d", rows[i].at);
        if (!strstr(e.text, offset))
            fail_msg("%s: %s", rows[i].text, e.text);
    }
}

static void test_depth(void **state)
{
    char text[2 * SCAN_DEPTH_MAX + 10], out[2000];
    struct error e;
    memset(text, '[', SCAN_DEPTH_MAX);
    memset(text + SCAN_DEPTH_MAX, ']', SCAN_DEPTH_MAX);
    assert_int_equal(tokens(text, 2 * SCAN_DEPTH_MAX, out, sizeof(out), &e), 0);
    memset(text, '[', SCAN_DEPTH_MAX + 1);
    assert_int_equal(tokens(text, SCAN_DEPTH_MAX + 1, out, sizeof(out), &e), STATUS_INPUT);
    assert_non_null(strstr(e.text, "256 deep"));
}

static void test_counts(void **state)
{
    static const char text[] =
        "[\"\xff\", \"gr\xc3\xbc\xc3\x9f\", \"\xc0\x80\", \"\xed\xa0\x80\", NaN]";
    struct temp t = temp_file(text, sizeof(text) - 1);
    struct source *source;
    struct scan s;
    struct error e = {0};
    assert_int_equal(source_open(t.path, &source, NULL), 0);
    scan_init(&s, source, &e);
    assert_true(scan_skip(&s));
    assert_int_equal(scan_next(&s), SCAN_END);
    assert_int_equal(s.bad_utf8, 3);
    assert_int_equal(s.nans, 1);
    scan_clear(&s);
    source_close(source);
    unlink(t.path);
}

static void decimal(const char *text, int shift, int64_t want)
{
    int64_t v;
    if (!scan_decimal(text, strlen(text), shift, &v))
        fail_msg("%s is refused", text);
    assert_int_equal(v, want);
}

static void test_decimals(void **state)
{
    int64_t v;
    decimal("1234567890123.456", 3, INT64_C(1234567890123456));
    decimal("4909914690066.123456", 3, INT64_C(4909914690066123));
    decimal("1623142623460111", 3, INT64_C(1623142623460111000));
    decimal("1623142623460111.999", 3, INT64_C(1623142623460111999));
    decimal("-0.001", 3, -1);
    decimal("0", 3, 0);
    decimal("1e3", 0, 1000);
    decimal("12E-1", 3, 1200);
    decimal("9223372036854775807", 0, INT64_MAX);
    decimal("0.00000000000000000000000000000001", 3, 0);
    decimal("3.00000000000000000000000000000001", 3, 3000);
    decimal("1e-999999999", 3, 0);
    assert_false(scan_decimal("9223372036854775808", 19, 0, &v));
    assert_false(scan_decimal("1e999999999", 11, 0, &v));
    assert_false(scan_decimal("9223372036854775807", 19, 3, &v));
    assert_true(isnan(scan_number("", 0)));
    assert_true(scan_number("2.5", 3) == 2.5);
}

static void text_is(const char *raw, const char *want)
{
    char out[64];
    assert_true(scan_text(raw, strlen(raw), out, sizeof(out)));
    assert_string_equal(out, want);
}

static void test_texts(void **state)
{
    char small[4];
    text_is("plain", "plain");
    text_is("a\\\"\\\\\\/\\n\\t", "a\"\\/\n\t");
    text_is("\\u0041\\u00e9\\u20ac\\ud83d\\ude00", "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    text_is("\\ud83d!\\ude00\\u0000", "\xef\xbf\xbd!\xef\xbf\xbd\xef\xbf\xbd");
    assert_false(scan_text("abcdef", 6, small, sizeof(small)));
    assert_string_equal(small, "abc");
    assert_false(scan_text("ab\\u20ac", 8, small, sizeof(small)));
    assert_string_equal(small, "ab");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokens),    cmocka_unit_test(test_block_ends),
        cmocka_unit_test(test_cut_words), cmocka_unit_test(test_long_text),
        cmocka_unit_test(test_refused),   cmocka_unit_test(test_depth),
        cmocka_unit_test(test_counts),    cmocka_unit_test(test_decimals),
        cmocka_unit_test(test_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
