/* SPDX-License-Identifier: MIT */
#include "report/page.h"

#include <string.h>

#define ESCAPE "\033["
#define RESET ESCAPE "0m"

enum { WIDTH_DEFAULT = 100, WIDTH_MIN = 40, WIDTH_MAX = 160, TITLE_LINES = 3 };

static const char *const tones[TONE_COUNT] = {
    [TONE_PLAIN] = "",
    [TONE_BOLD] = ESCAPE "1m",
    [TONE_DIM] = ESCAPE "2m",
    [TONE_GOOD] = ESCAPE "38;5;36m",
    [TONE_WARN] = ESCAPE "38;5;172m",
    [TONE_BAD] = ESCAPE "1;38;5;202m",
};

/* colour: 256-colour code, told apart by people with any colour vision by lightness too. */
static const struct {
    const char *colour, *coloured, *unicode, *ascii;
} signs[STATE_COUNT] = {
    [STATE_COMPUTE] = {ESCAPE "38;5;36m", "\xe2\x96\x88", "\xe2\x96\x88", "#"},
    [STATE_COMM] = {ESCAPE "38;5;98m", "\xe2\x96\x88", "\xe2\x96\x93", "="},
    [STATE_COPY] = {ESCAPE "38;5;178m", "\xe2\x96\x88", "\xe2\x96\x92", "+"},
    [STATE_WAIT] = {ESCAPE "38;5;202m", "\xe2\x96\x88", "\xe2\x96\x91", "."},
    [STATE_UNUSED] = {ESCAPE "38;5;245m", "\xe2\x96\x91", "\xc2\xb7", "-"},
    [STATE_UNSEEN] = {ESCAPE "38;5;245m", "?", "?", "?"},
};

int page_width(int asked)
{
    int width = asked > 0 ? asked : WIDTH_DEFAULT;
    return width < WIDTH_MIN ? WIDTH_MIN : width > WIDTH_MAX ? WIDTH_MAX : width;
}

struct str *page_scratch(struct page *p)
{
    p->out->failed |= p->text.failed;
    str_reset(&p->text);
    return &p->text;
}

enum tone page_severity(enum severity s)
{
    return s == SEVERITY_CRITICAL ? TONE_BAD : s == SEVERITY_WARNING ? TONE_WARN : TONE_GOOD;
}

const char *page_on(const struct page *p, enum tone tone)
{
    return p->colour ? tones[tone] : "";
}

const char *page_off(const struct page *p, enum tone tone)
{
    return p->colour && tone != TONE_PLAIN ? RESET : "";
}

int page_put(struct page *p, enum tone tone, const char *text, int columns)
{
    str_add(p->out, page_on(p, tone));
    int width = plain_fit(p->out, text ? text : "", columns, p->unicode, PLAIN_CUT_END);
    str_add(p->out, page_off(p, tone));
    return width;
}

void page_spaces(struct page *p, int count)
{
    while (count-- > 0)
        str_add(p->out, " ");
}

void page_left(struct page *p, enum tone tone, const char *text, int columns)
{
    page_spaces(p, columns - page_put(p, tone, text, columns));
}

void page_right(struct page *p, enum tone tone, const char *text, int columns)
{
    struct str cell = {0};
    int width = plain_fit(&cell, text, columns - 1, p->unicode, PLAIN_CUT_END);
    page_spaces(p, columns - width);
    str_add(p->out, page_on(p, tone));
    str_add(p->out, str_text(&cell));
    str_add(p->out, page_off(p, tone));
    p->out->failed |= cell.failed;
    str_clear(&cell);
}

void page_end(struct page *p)
{
    while (p->out->len && p->out->data[p->out->len - 1] == ' ')
        p->out->data[--p->out->len] = '\0';
    str_add(p->out, "\n");
}

void page_heading(struct page *p, const char *text)
{
    page_end(p);
    page_put(p, TONE_BOLD, text, p->width);
    page_end(p);
}

void page_wrap(struct page *p, enum tone tone, const char *lead, const char *text, int lines)
{
    char indent[64];
    int columns = plain_width(lead);
    if (columns >= (int)sizeof(indent))
        columns = sizeof(indent) - 1;
    memset(indent, ' ', (size_t)columns);
    indent[columns] = '\0';
    struct plain_block b = {.first = lead,
                            .next = indent,
                            .width = p->width,
                            .lines = lines,
                            .unicode = p->unicode,
                            .on = page_on(p, tone),
                            .off = page_off(p, tone)};
    plain_wrap(p->out, text, &b);
}

void page_title(struct page *p, const struct report_finding *f, int used)
{
    static const char blanks[] = "                ";
    const char *indent = blanks + (used < 15 ? 15 - used : 0);
    const char *title = f->title ? f->title : f->id ? f->id : "";
    struct str id = {0}, safe = {0};
    if (f->id && f->title)
        str_addf(&id, "[%s]", f->id);
    plain_add(&safe, title, p->unicode);
    int width = plain_width(str_text(&safe)), id_width = plain_width(str_text(&id));
    bool beside = used + 1 + width + (id.len ? 1 : 0) + id_width <= p->width;
    if (beside) {
        page_spaces(p, 1);
        page_put(p, TONE_BOLD, title, width);
        if (id.len) {
            page_spaces(p, 1);
            page_put(p, TONE_DIM, str_text(&id), p->width);
        }
        page_end(p);
    } else {
        struct plain_block b = {.first = " ",
                                .next = indent,
                                .width = p->width - used,
                                .lines = TITLE_LINES,
                                .unicode = p->unicode,
                                .on = page_on(p, TONE_BOLD),
                                .off = page_off(p, TONE_BOLD)};
        plain_wrap(p->out, title, &b);
        page_wrap(p, TONE_DIM, indent, str_text(&id), 1);
    }
    p->out->failed |= id.failed || safe.failed;
    str_clear(&id);
    str_clear(&safe);
}

const char *page_state_sign(const struct page *p, enum state s)
{
    if (!p->unicode)
        return signs[s].ascii;
    return p->colour ? signs[s].coloured : signs[s].unicode;
}

/* cells[]: largest remainders, so that they add up to `columns`. */
static void share_out(const int64_t ns[STATE_COUNT], int columns, int cells[STATE_COUNT])
{
    double total = 0, rest[STATE_COUNT];
    int used = 0;
    for (int s = 0; s < STATE_COUNT; s++)
        total += (double)ns[s];
    for (int s = 0; s < STATE_COUNT; s++) {
        double exact = total > 0 ? (double)ns[s] / total * columns : 0;
        cells[s] = (int)exact;
        rest[s] = exact - cells[s];
        used += cells[s];
    }
    for (; total > 0 && used < columns; used++) {
        int best = 0;
        for (int s = 1; s < STATE_COUNT; s++)
            if (rest[s] > rest[best])
                best = s;
        cells[best]++;
        rest[best] = -1;
    }
}

void page_state_bar(struct page *p, const int64_t ns[STATE_COUNT], int columns)
{
    int cells[STATE_COUNT], used = 0;
    share_out(ns, columns, cells);
    for (int s = 0; s < STATE_COUNT; s++) {
        if (!cells[s])
            continue;
        str_add(p->out, p->colour ? signs[s].colour : "");
        for (int i = 0; i < cells[s]; i++)
            str_add(p->out, page_state_sign(p, s));
        str_add(p->out, p->colour ? RESET : "");
        used += cells[s];
    }
    page_spaces(p, columns - used);
}

void page_state_mark(struct page *p, enum state s)
{
    str_add(p->out, p->colour ? signs[s].colour : "");
    str_add(p->out, page_state_sign(p, s));
    str_add(p->out, p->colour ? RESET : "");
}

void page_share_bar(struct page *p, double share, int columns)
{
    int cells = share > 0 ? (int)(share * columns + 0.5) : 0;
    if (cells > columns)
        cells = columns;
    if (!cells && share > 0)
        cells = 1;
    str_add(p->out, cells && p->colour ? signs[STATE_WAIT].colour : "");
    for (int i = 0; i < cells; i++)
        str_add(p->out, p->unicode ? "\xe2\x96\xa0" : "#");
    str_add(p->out, cells && p->colour ? RESET : "");
    page_spaces(p, columns - cells);
}
