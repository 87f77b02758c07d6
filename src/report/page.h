/* SPDX-License-Identifier: MIT */
/*
 * report/page: a terminal page in the making: colours, columns, headings.
 * All text that goes through it is made safe. Only text renderers include it.
 */
#ifndef GPUFEED_REPORT_PAGE_H
#define GPUFEED_REPORT_PAGE_H

#include "base/str.h"
#include "model/report.h"
#include "report/plain.h"

struct page {
    struct str *out; /* borrowed */
    int width;
    bool colour, unicode;
    struct str text; /* scratch for one phrase */
};

/* Columns of a page: 100 where nobody asks (<= 0), never less than 40 or more than 160. */
int page_width(int asked);
/* The scratch string, emptied: phrases are made in it before they are laid out. Whether it failed is
 * handed on to the page. */
struct str *page_scratch(struct page *p);

enum tone { TONE_PLAIN, TONE_BOLD, TONE_DIM, TONE_GOOD, TONE_WARN, TONE_BAD, TONE_COUNT };

/* The escape sequence that turns a tone on, "" without colour or for TONE_PLAIN. */
const char *page_on(const struct page *p, enum tone tone);
const char *page_off(const struct page *p, enum tone tone);
enum tone page_severity(enum severity s);
/* Adds text cut to `columns`, in a tone; returns its columns. */
int page_put(struct page *p, enum tone tone, const char *text, int columns);
/* The same in a column of fixed width, at its left or right end; right leaves one space before. */
void page_left(struct page *p, enum tone tone, const char *text, int columns);
void page_right(struct page *p, enum tone tone, const char *text, int columns);
void page_spaces(struct page *p, int count);
void page_end(struct page *p); /* ends the line */
/* An empty line and a bold heading. */
void page_heading(struct page *p, const char *text);
/* Wraps after a lead of the given columns; further lines begin below the text. */
void page_wrap(struct page *p, enum tone tone, const char *lead, const char *text, int lines);

/* The rest of a line of which `used` columns are taken: a finding's title, broken where it is long. Its id always
 * follows. */
void page_title(struct page *p, const struct report_finding *f, int used);

/* The sign that stands for a state in bars and legends. */
const char *page_state_sign(const struct page *p, enum state s);
/* A bar of `columns` cells in proportion to ns[]; all zero leaves it empty. */
void page_state_bar(struct page *p, const int64_t ns[STATE_COUNT], int columns);
/* One sign in its state's colour. */
void page_state_mark(struct page *p, enum state s);
/* A bar of up to `columns` cells for a share of 1, padded. */
void page_share_bar(struct page *p, double share, int columns);

#endif
