/* SPDX-License-Identifier: MIT */
/*
 * import FILE [ROUNDS]: how fast a trace is read. In each round, one after the other on the same file:
 *
 *   yajl     the bare tokenizer of the JSON library, no callbacks
 *   scan     our own scanner, all values skipped
 *   import   the whole: parsing, ledger, rules, report
 *   gzip     the whole of the same file compressed, inflated on a second thread
 *   inflate  zlib alone on that
 *
 * Prints MB/s of the medians and the medians of the ratios within rounds; the last lines are for
 * bench.py. Times are CPU-bound: give it a core of its own.
 */
#include "base/unit.h"
#include "import/import.h"
#include "import/scan.h"
#include "record/read.h"
#include "record/record.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <yajl/yajl_parse.h>
#include <zlib.h>

#define ROUNDS_MAX 99

static double now(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / (double)NS_PER_S;
}

static void die(const char *what)
{
    fprintf(stderr, "import: %s\n", what);
    exit(1);
}

static struct source *open_it(const char *path)
{
    struct error e = {0};
    struct source *s;
    if (source_open(path, &s, &e))
        die(e.text);
    return s;
}

static double run_yajl(const char *path)
{
    struct source *s = open_it(path);
    yajl_handle y = yajl_alloc(NULL, NULL, NULL);
    const char *bytes;
    size_t n;
    double t = now();
    while (!source_next(s, &bytes, &n, NULL) && n)
        if (yajl_parse(y, (const unsigned char *)bytes, n) != yajl_status_ok)
            die("yajl refuses it");
    if (yajl_complete_parse(y) != yajl_status_ok)
        die("yajl refuses it");
    t = now() - t;
    yajl_free(y);
    source_close(s);
    return t;
}

static double run_scan(const char *path)
{
    struct source *source = open_it(path);
    struct error e = {0};
    struct scan s;
    double t = now();
    scan_init(&s, source, &e);
    if (!scan_skip(&s) || scan_next(&s) != SCAN_END)
        die(e.text);
    t = now() - t;
    scan_clear(&s);
    source_close(source);
    return t;
}

static double run_import(const char *path)
{
    struct error e = {0};
    struct record *record;
    struct report r;
    struct record_options o = {.price_per_hour = NAN};
    double t = now();
    if (import_files(&path, 1, "bench", &record, &e) || record_report_memory(record, &o, &r, &e))
        die(e.text);
    t = now() - t;
    report_clear(&r);
    record_close(record);
    return t;
}

static double run_inflate(const char *path)
{
    static char block[SOURCE_BLOCK];
    gzFile f = gzopen(path, "rb");
    int n;
    if (!f)
        die(path);
    gzbuffer(f, 64 << 10);
    double t = now();
    while ((n = gzread(f, block, sizeof(block))) > 0)
        ;
    t = now() - t;
    gzclose(f);
    return t;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(const double *v, int n)
{
    double sorted[ROUNDS_MAX];
    memcpy(sorted, v, sizeof(*v) * (size_t)n);
    qsort(sorted, (size_t)n, sizeof(*sorted), by_value);
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

/* Median over rounds of a[i] / b[i]. */
static double ratio(const double *a, const double *b, int n)
{
    double r[ROUNDS_MAX];
    for (int i = 0; i < n; i++)
        r[i] = a[i] / b[i];
    return median(r, n);
}

static void compress_to(const char *from, const char *to)
{
    struct source *s = open_it(from);
    const char *bytes;
    size_t n;
    gzFile f = gzopen(to, "wb6");
    if (!f)
        die(to);
    while (!source_next(s, &bytes, &n, NULL) && n)
        if (gzwrite(f, bytes, (unsigned)n) != (int)n)
            die(to);
    if (gzclose(f) != Z_OK)
        die(to);
    source_close(s);
}

int main(int argc, char **argv)
{
    double yajl[ROUNDS_MAX], scan[ROUNDS_MAX], import[ROUNDS_MAX], gzip[ROUNDS_MAX],
        inflate[ROUNDS_MAX], slower[ROUNDS_MAX];
    char zipped[512];
    struct stat st;
    int rounds = argc > 2 ? atoi(argv[2]) : 5;
    if (argc < 2 || rounds < 1 || rounds > ROUNDS_MAX || stat(argv[1], &st))
        die("usage: import FILE [ROUNDS]");
    snprintf(zipped, sizeof(zipped), "%s.bench.gz", argv[1]);
    compress_to(argv[1], zipped);
    for (int i = 0; i < rounds; i++) {
        yajl[i] = run_yajl(argv[1]);
        scan[i] = run_scan(argv[1]);
        import[i] = run_import(argv[1]);
        gzip[i] = run_import(zipped);
        inflate[i] = run_inflate(zipped);
        slower[i] = inflate[i] > import[i] ? inflate[i] : import[i];
    }
    unlink(zipped);
    double mb = (double)st.st_size / 1e6;
    printf("%.0f MB, median of %d rounds\n", mb, rounds);
    printf("  yajl %.0f MB/s, scan %.0f, import %.0f, gzip %.0f, inflate %.0f\n",
           mb / median(yajl, rounds), mb / median(scan, rounds), mb / median(import, rounds),
           mb / median(gzip, rounds), mb / median(inflate, rounds));
    printf("scan_of_yajl %.3f\nimport_of_yajl %.3f\ngzip_of_slower %.3f\n",
           ratio(yajl, scan, rounds), ratio(yajl, import, rounds), ratio(slower, gzip, rounds));
    return 0;
}
