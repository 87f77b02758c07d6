/* SPDX-License-Identifier: MIT */
#include "cmd/show.h"

#include "cmd/say.h"
#include "import/import.h"
#include "record/read.h"
#include "record/record.h"
#include "report/chains.h"
#include "report/html.h"
#include "report/json.h"

#include <errno.h>
#include <langinfo.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Per hour; no machine costs that. The text is what messages say of it. */
#define PRICE_MAX 1e9
#define PRICE_MAX_TEXT "1000000000"

void show_init(struct show_options *o)
{
    *o = (struct show_options){.price = NAN, .fail_on = -1};
}

bool show_option(struct show_options *o, int option, const char *value, const char **bad)
{
    char *end;
    struct stat st;
    switch (option) {
    case SHOW_PRICE:
        o->price = strtod(value, &end);
        if (end == value || *end || strspn(value, "0123456789.") != strlen(value))
            *bad = "--price wants an amount per hour in digits, such as 28 or 3.67";
        else if (o->price > PRICE_MAX)
            *bad = "--price wants an amount per hour of at most " PRICE_MAX_TEXT;
        return true;
    case SHOW_CURRENCY:
        o->currency = value;
        if (strlen(value) != 3 || strspn(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != 3)
            *bad = "--currency wants a code of three capital letters, such as EUR or USD";
        return true;
    case SHOW_RULES:
        o->rules = value;
        if (stat(value, &st) || !S_ISDIR(st.st_mode))
            *bad = "--rules wants a folder with rules in files NAME.sql";
        return true;
    case SHOW_JSON:
        o->json = true;
        return true;
    case SHOW_CHAINS:
        o->chains = true;
        return true;
    case SHOW_HTML:
        o->html = value;
        if (!value[0])
            *bad = "--html wants the name of a file";
        return true;
    case SHOW_FAIL_ON:
        o->fail_on = severity_of_name(value);
        if (o->fail_on < 0)
            *bad = "--fail-on wants info, warning or critical";
        return true;
    default:
        return false;
    }
}

static int columns(FILE *stream)
{
    struct winsize ws;
    const char *env = getenv("COLUMNS");
    if (ioctl(fileno(stream), TIOCGWINSZ, &ws) == 0 && ws.ws_col)
        return ws.ws_col;
    return env ? atoi(env) : 0;
}

struct report_text_options show_text_options(const struct show_options *o, FILE *stream)
{
    bool terminal = (!o->to || show_is_stdout(o->to)) && isatty(fileno(stream));
    const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");
    return (struct report_text_options){
        .colour = terminal && !(no_colour && *no_colour) && !(term && !strcmp(term, "dumb")),
        .unicode = !strcmp(nl_langinfo(CODESET), "UTF-8"),
        .width = terminal ? columns(stream) : 0,
    };
}

static void render(const struct report *r, const struct show_options *o, FILE *stream,
                   struct str *out)
{
    struct report_text_options to = show_text_options(o, show_is_stdout(o->to) ? stdout : stream);
    if (o->json) {
        report_json(r, out);
    } else if (o->chains) {
        report_chains(r, &to, out);
    } else {
        report_text(r, &to, out);
    }
}

/* A device, a pipe or a link stays what it is. */
static int write_through(const struct str *text, const char *to, struct error *e)
{
    FILE *f = fopen(to, "we");
    if (!f)
        return error_errno(e, "cannot write \"%s\"", to);
    bool ok = fwrite(str_text(text), 1, text->len, f) == text->len;
    ok = fclose(f) == 0 && ok;
    return ok ? STATUS_OK : error_errno(e, "cannot write \"%s\"", to);
}

static int write_file(const struct str *text, const char *to, struct error *e)
{
    char tmp[PATH_MAX];
    struct stat st;
    if (lstat(to, &st) == 0 && !S_ISREG(st.st_mode))
        return write_through(text, to, e);
    if (snprintf(tmp, sizeof(tmp), "%s.part", to) >= (int)sizeof(tmp))
        return error_set(e, STATUS_INPUT, "cannot write \"%s\": the name is too long", to);
    FILE *f = fopen(tmp, "we");
    if (!f)
        return error_errno(e, "cannot write \"%s\"", to);
    bool ok = fwrite(str_text(text), 1, text->len, f) == text->len;
    ok = fclose(f) == 0 && ok;
    if (ok && rename(tmp, to) == 0)
        return STATUS_OK;
    int rc = error_errno(e, "cannot write \"%s\"", to);
    unlink(tmp);
    return rc;
}

bool show_is_stdout(const char *to)
{
    return to && !strcmp(to, "-");
}

const char *show_clash(const struct show_options *o, bool report_to_stdout)
{
    bool taken = o->to ? show_is_stdout(o->to) : report_to_stdout && (o->json || o->chains);
    return show_is_stdout(o->html) && taken && (o->to || !o->quiet)
               ? "--html - takes the standard output: write the other report to a file"
               : NULL;
}

int show_write(const struct str *text, const char *to, FILE *stream, struct error *e)
{
    if (text->failed)
        return error_set(e, STATUS_MEMORY, "out of memory writing the report");
    if (to && !show_is_stdout(to))
        return write_file(text, to, e);
    stream = to ? stdout : stream;
    if (fwrite(str_text(text), 1, text->len, stream) != text->len || fflush(stream))
        return error_errno(e, "cannot write the report");
    return STATUS_OK;
}

int show_exit_code(const struct report *r, int fail_on)
{
    for (size_t i = 0; fail_on >= 0 && i < r->finding_count; i++)
        if ((int)r->findings[i].severity >= fail_on)
            return EXIT_FINDINGS;
    return EXIT_DONE;
}

/* Renders r, and clears it. */
static int show(const struct command *c, struct report *r, const struct show_options *o,
                FILE *stream)
{
    struct error e = {0};
    struct str out = {0};
    int rc = STATUS_OK;
    bool page_alone = show_is_stdout(o->html) && !o->to && stream == stdout;
    if ((o->to || !o->quiet) && !page_alone) {
        render(r, o, stream, &out);
        rc = show_write(&out, o->to, stream, &e);
    }
    if (!rc && o->html) {
        str_reset(&out);
        report_html(r, &out);
        rc = show_write(&out, o->html, stream, &e);
    }
    if (!rc && o->fail_on >= 0 && r->too_short)
        say(c->name, "too short to judge (%s): --fail-on knows nothing of its waits", r->too_short);
    int code = rc ? cmd_fail(c, &e) : show_exit_code(r, o->fail_on);
    str_clear(&out);
    report_clear(r);
    return code;
}

static struct record_options record_options_of(const struct show_options *o)
{
    return (struct record_options){
        .price_per_hour = o->price, .currency = o->currency, .rules_dir = o->rules};
}

int show_recording(const struct command *c, const char *path, const struct show_options *o,
                   FILE *stream)
{
    struct report r;
    struct error e = {0};
    struct record_options ro = record_options_of(o);
    return record_report(path, &ro, &r, &e) ? cmd_fail(c, &e) : show(c, &r, o, stream);
}

static int load_foreign(const char *const *paths, size_t count, const struct show_options *o,
                        struct report *ret, struct error *e)
{
    struct record *record;
    struct record_options ro = record_options_of(o);
    int rc = import_files(paths, count, GPUFEED_VERSION, &record, e);
    if (rc)
        return rc;
    rc = record_report_memory(record, &ro, ret, e);
    record_close(record);
    return rc;
}

int show_foreign(const struct command *c, char *const *paths, size_t count,
                 const struct show_options *o, FILE *stream)
{
    struct report r;
    struct error e = {0};
    return load_foreign((const char *const *)paths, count, o, &r, &e) ? cmd_fail(c, &e)
                                                                      : show(c, &r, o, stream);
}

int show_load(const char *path, const struct show_options *o, struct report *ret, struct error *e)
{
    struct record_options ro = record_options_of(o);
    switch (import_look(path, e)) {
    case IMPORT_RECORDING:
        return record_report(path, &ro, ret, e);
    case IMPORT_FOREIGN:
        return load_foreign(&path, 1, o, ret, e);
    default:
        return e->status;
    }
}
