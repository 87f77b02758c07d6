/* SPDX-License-Identifier: MIT */
/* Plain and compressed files as streams: the same bytes, the same offsets, damage told where it is. */
#include "import/source.h"

#include "temp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include <cmocka.h>

#define SIZE ((size_t)1500001) /* several blocks, not a multiple */

static char *made(void)
{
    char *text = malloc(SIZE + 1);
    uint32_t x = 12345;
    for (size_t i = 0; i < SIZE; i++) {
        x = x * 1664525u + 1013904223u;
        text[i] = (char)(x >> 28 ? 'a' + (x >> 24) % 26 : '\n');
    }
    text[SIZE] = '\0';
    return text;
}

/* Reads all and compares; returns the status of the last call. */
static int compare(const char *path, const char *want, size_t size, size_t *got, struct error *e)
{
    struct source *s;
    const char *bytes;
    size_t n;
    *got = 0;
    int status = source_open(path, &s, e);
    if (status)
        return status;
    while (!(status = source_next(s, &bytes, &n, e)) && n) {
        assert_int_equal(source_offset(s), *got);
        assert_true(*got + n <= size);
        assert_memory_equal(bytes, want + *got, n);
        *got += n;
    }
    source_close(s);
    return status;
}

static void test_plain_and_gzip(void **state)
{
    char *text = made();
    size_t packed, got;
    void *gz = temp_gzip(text, SIZE, &packed);
    struct temp plain = temp_file(text, SIZE), zipped = temp_file(gz, packed);
    assert_int_equal(compare(plain.path, text, SIZE, &got, NULL), 0);
    assert_int_equal(got, SIZE);
    assert_int_equal(compare(zipped.path, text, SIZE, &got, NULL), 0);
    assert_int_equal(got, SIZE);
    unlink(plain.path);
    unlink(zipped.path);
    free(gz);
    free(text);
}

/* gzip files may be put one after the other, and padded with zeros. */
static void test_members(void **state)
{
    char *text = made(), *twice = malloc(2 * SIZE);
    size_t packed, got;
    char *gz = temp_gzip(text, SIZE, &packed), *file = calloc(1, 2 * packed + 100);
    memcpy(twice, text, SIZE);
    memcpy(twice + SIZE, text, SIZE);
    memcpy(file, gz, packed);
    memcpy(file + packed, gz, packed);
    struct temp t = temp_file(file, 2 * packed + 100);
    assert_int_equal(compare(t.path, twice, 2 * SIZE, &got, NULL), 0);
    assert_int_equal(got, 2 * SIZE);
    unlink(t.path);
    file[2 * packed + 50] = 'x';
    t = temp_file(file, 2 * packed + 100);
    struct error e = {0};
    assert_int_equal(compare(t.path, twice, 2 * SIZE, &got, &e), STATUS_INPUT);
    assert_int_equal(got, 2 * SIZE);
    assert_non_null(strstr(e.text, "rubbish"));
    unlink(t.path);
    free(file);
    free(gz);
    free(twice);
    free(text);
}

static void test_cut_and_damaged(void **state)
{
    char *text = made();
    size_t packed, got;
    char *gz = temp_gzip(text, SIZE, &packed);
    for (size_t cut = 3; cut < packed; cut += packed / 9) {
        struct error e = {0};
        struct temp t = temp_file(gz, cut);
        assert_int_equal(compare(t.path, text, SIZE, &got, &e), STATUS_INPUT);
        assert_non_null(strstr(e.text, "too early"));
        assert_non_null(strstr(e.text, t.path));
        unlink(t.path);
    }
    memset(gz + packed / 2, 0xff, 64);
    struct error e = {0};
    struct temp t = temp_file(gz, packed);
    struct source *s;
    const char *bytes;
    int status;
    assert_int_equal(source_open(t.path, &s, &e), 0);
    while (!(status = source_next(s, &bytes, &got, &e)) && got)
        ;
    assert_int_equal(status, STATUS_INPUT);
    assert_non_null(strstr(e.text, "damaged"));
    source_close(s);
    unlink(t.path);
    free(gz);
    free(text);
}

static void test_lines(void **state)
{
    char *text = made();
    struct temp t = temp_file(text, SIZE);
    struct source *s;
    char *line;
    size_t n, at = 0;
    uint64_t number = 0;
    assert_int_equal(source_open(t.path, &s, NULL), 0);
    while (source_line(s, &line, &n, NULL) == 0 && line) {
        assert_int_equal(source_offset(s), at);
        assert_int_equal(source_line_number(s), ++number);
        assert_memory_equal(line, text + at, n);
        assert_int_equal(line[n], '\0');
        at += n + (at + n < SIZE);
    }
    assert_int_equal(at, SIZE);
    source_close(s);
    unlink(t.path);
    free(text);
}

static void one(const char *text, size_t size, const char *const *want)
{
    struct temp t = temp_file(text, size);
    struct source *s;
    char *line;
    size_t n;
    assert_int_equal(source_open(t.path, &s, NULL), 0);
    for (; *want; want++) {
        assert_int_equal(source_line(s, &line, &n, NULL), 0);
        assert_non_null(line);
        assert_string_equal(line, *want);
    }
    assert_int_equal(source_line(s, &line, &n, NULL), 0);
    assert_null(line);
    source_close(s);
    unlink(t.path);
}

static void test_ends_of_lines(void **state)
{
    one("", 0, (const char *const[]){NULL});
    one("\n", 1, (const char *const[]){"", NULL});
    one("a\r\n\r\nb", 6, (const char *const[]){"a", "", "b", NULL});
    one("a\nb\n", 4, (const char *const[]){"a", "b", NULL});
}

/* What is left open by a reader that stops early is joined and freed. */
static void test_close_early(void **state)
{
    char *text = made();
    size_t packed, n;
    char *gz = temp_gzip(text, SIZE, &packed);
    struct temp t = temp_file(gz, packed);
    struct source *s;
    const char *bytes;
    assert_int_equal(source_open(t.path, &s, NULL), 0);
    assert_int_equal(source_head(s, &bytes, &n, NULL), 0);
    assert_memory_equal(bytes, text, n);
    source_close(s);
    unlink(t.path);
    free(gz);
    free(text);
}

static void test_what_is_no_file(void **state)
{
    struct source *s = NULL;
    struct error e = {0};
    assert_int_equal(source_open("/tmp", &s, &e), STATUS_INPUT);
    assert_int_equal(source_open("/nowhere/x", &s, &e), STATUS_MISSING);
    assert_int_equal(source_open("/dev/null", &s, &e), STATUS_INPUT);
    assert_null(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_and_gzip),  cmocka_unit_test(test_members),
        cmocka_unit_test(test_cut_and_damaged), cmocka_unit_test(test_lines),
        cmocka_unit_test(test_ends_of_lines),   cmocka_unit_test(test_close_early),
        cmocka_unit_test(test_what_is_no_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
