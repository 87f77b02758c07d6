/* SPDX-License-Identifier: MIT */
#include "report/plain.h"

#include <string.h>

/* Length of the UTF-8 sequence that a lead byte opens; 0 if it opens none. */
static int sequence_len(unsigned char lead)
{
    if (lead < 0x80)
        return 1;
    if (lead >= 0xc2 && lead <= 0xdf)
        return 2;
    if (lead >= 0xe0 && lead <= 0xef)
        return 3;
    return lead >= 0xf0 && lead <= 0xf4 ? 4 : 0;
}

uint32_t plain_next(const char **text)
{
    static const uint32_t lowest[] = {0, 0, 0x80, 0x800, 0x10000};
    static const unsigned char lead_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    const unsigned char *p = (const unsigned char *)*text;
    int n = sequence_len(p[0]);
    uint32_t code = n ? p[0] & lead_bits[n] : 0;
    (*text)++;
    if (!n)
        return PLAIN_INVALID;
    for (int i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return PLAIN_INVALID;
        code = code << 6 | (p[i] & 0x3f);
    }
    if (code < lowest[n] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        return PLAIN_INVALID;
    *text += n - 1;
    return code;
}

bool plain_is_unsafe(uint32_t code)
{
    static const struct {
        uint32_t first, last;
    } ranges[] = {
        {0, 0x1f},        {0x7f, 0x9f},        /* C0, DEL, C1 */
        {0xad, 0xad},     {0x61c, 0x61c},      /* soft hyphen, Arabic letter mark */
        {0x200b, 0x200f}, {0x2028, 0x202e},    /* zero width, separators, directions */
        {0x2060, 0x206f}, {0xfeff, 0xfeff},    /* invisible operators, isolates, byte order */
        {0xfff9, 0xfffb}, {0xe0000, 0x10ffff}, /* annotations, tags, private planes */
        {0xe000, 0xf8ff}, {0xfe00, 0xfe0f},    /* private use, variation selectors */
    };
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
        if (code >= ranges[i].first && code <= ranges[i].last)
            return true;
    return code > 0x10ffff;
}

static const char *spelt_out(uint32_t code)
{
    static const struct {
        uint32_t code;
        const char *ascii;
    } table[] = {{0x20ac, "EUR"}, {0xa3, "GBP"},   {0xd7, "x"},   {0xb5, "u"},   {0x2190, "<-"},
                 {0x2192, "->"},  {0x2026, "..."}, {0xb7, "-"},   {0x2013, "-"}, {0x2014, "-"},
                 {0x2264, "<="},  {0x2265, ">="},  {0x2018, "'"}, {0x2019, "'"}, {0x201c, "\""},
                 {0x201d, "\""},  {0xa0, " "},     {0x2212, "-"}};
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (table[i].code == code)
            return table[i].ascii;
    return "?";
}

/* Adds one character; `from` is where it began, `len` its bytes. */
static void add_code(struct str *out, uint32_t code, const char *from, size_t len, bool unicode)
{
    if (code == '\n' || code == '\t' || code == '\r')
        str_add(out, " ");
    else if (plain_is_unsafe(code))
        str_add(out, unicode ? "\xef\xbf\xbd" : "?");
    else if (code < 0x80 || unicode)
        str_addn(out, from, len);
    else
        str_add(out, spelt_out(code));
}

static void add_bytes(struct str *out, const char *text, const char *end, bool unicode)
{
    while (text < end) {
        const char *from = text;
        uint32_t code = plain_next(&text);
        add_code(out, code, from, (size_t)(text - from), unicode);
    }
}

void plain_add(struct str *out, const char *text, bool unicode)
{
    if (text)
        add_bytes(out, text, text + strlen(text), unicode);
}

static int code_width(uint32_t c)
{
    if ((c >= 0x300 && c <= 0x36f) || (c >= 0x20d0 && c <= 0x20ff))
        return 0;
    if ((c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xa4cf) ||
        (c >= 0xac00 && c <= 0xd7a3) || (c >= 0xf900 && c <= 0xfaff) ||
        (c >= 0xfe30 && c <= 0xfe6f) || (c >= 0xff00 && c <= 0xff60) ||
        (c >= 0xffe0 && c <= 0xffe6) || (c >= 0x1f300 && c <= 0x1faff) ||
        (c >= 0x20000 && c <= 0x3fffd))
        return 2;
    return 1;
}

int plain_width(const char *safe)
{
    int n = 0;
    while (*safe)
        n += code_width(plain_next(&safe));
    return n;
}

/* The longest head of `safe` that takes at most `columns`. */
static size_t head_bytes(const char *safe, int columns)
{
    const char *p = safe;
    while (*p) {
        const char *at = p;
        columns -= code_width(plain_next(&p));
        if (columns < 0)
            return (size_t)(at - safe);
    }
    return (size_t)(p - safe);
}

/* Where the longest tail of `safe` begins that takes at most `columns`. */
static const char *tail_of(const char *safe, int columns)
{
    int width = plain_width(safe);
    while (*safe && width > columns)
        width -= code_width(plain_next(&safe));
    return safe;
}

int plain_fit(struct str *out, const char *text, int columns, bool unicode, enum plain_cut cut)
{
    struct str safe = {0};
    const char *dots = unicode ? "\xe2\x80\xa6" : "...";
    int room = columns - (unicode ? 1 : 3);
    plain_add(&safe, text, unicode);
    int width = plain_width(str_text(&safe));
    if (columns < 1) {
        width = 0;
    } else if (width <= columns) {
        str_add(out, str_text(&safe));
    } else {
        bool narrow = room < 0; /* not even the ellipsis fits */
        int tail = cut == PLAIN_CUT_MIDDLE && !narrow ? room / 2 : 0;
        size_t before = out->len;
        str_addn(out, str_text(&safe), head_bytes(str_text(&safe), narrow ? columns : room - tail));
        str_add(out, narrow ? "" : dots);
        str_add(out, tail_of(str_text(&safe), tail));
        width = out->failed ? 0 : plain_width(out->data + before);
    }
    out->failed |= safe.failed;
    str_clear(&safe);
    return width;
}

bool plain_is_glue(uint32_t before, const char *after)
{
    static const char *const units[] = {"%", "s", "ms", "us", "ns", "h", "min", "\xc2\xb5s"};
    bool digit = before >= '0' && before <= '9';
    if (before == 0x20ac || before == '$' || before == 0xa3) /* euro, dollar, pound */
        return *after >= '0' && *after <= '9';
    for (size_t i = 0; digit && i < sizeof(units) / sizeof(units[0]); i++) {
        size_t n = strlen(units[i]);
        if (!strncmp(after, units[i], n) && !(after[n] >= 'a' && after[n] <= 'z'))
            return true;
    }
    return false;
}

/* Whether "EUR", "CHF" or the like ends at safe[at] and an amount follows. */
static bool is_amount(const char *safe, size_t at)
{
    size_t letters = 0;
    while (letters < at && safe[at - letters - 1] >= 'A' && safe[at - letters - 1] <= 'Z')
        letters++;
    return letters == 3 && (at == 3 || safe[at - 4] == ' ') && safe[at + 1] >= '0' &&
           safe[at + 1] <= '9';
}

/* The same for the space at safe[at]. */
static bool is_glue(const char *safe, size_t at)
{
    size_t start = at;
    if (is_amount(safe, at))
        return true;
    while (start && ((unsigned char)safe[--start] & 0xc0) == 0x80)
        ;
    const char *before = safe + start;
    return at && plain_is_glue(plain_next(&before), safe + at + 1);
}

/* Bytes of the next line of `safe` within `columns`; *skip: spaces after it. */
static size_t line_bytes(const char *safe, int columns, size_t *skip)
{
    size_t fit = head_bytes(safe, columns);
    *skip = 0;
    if (!safe[fit])
        return fit;
    if (!fit) {
        const char *p = safe;
        plain_next(&p);
        return (size_t)(p - safe);
    }
    size_t at = fit;
    while (at && (safe[at] != ' ' || is_glue(safe, at)))
        at--;
    if (!at)
        return fit;
    size_t end = at;
    while (end && safe[end - 1] == ' ')
        end--;
    while (safe[at + *skip] == ' ')
        (*skip)++;
    *skip += at - end;
    return end ? end : fit;
}

/* more: other paragraphs follow. */
static int wrap_paragraph(struct str *out, const char *safe, const struct plain_block *b, int line,
                          bool more)
{
    const char *dots = b->unicode ? " \xe2\x80\xa6" : " ...";
    int columns = b->width - plain_width(b->first);
    do {
        size_t skip;
        size_t n = line_bytes(safe, columns, &skip);
        bool last = line + 1 == b->lines;
        str_add(out, line ? b->next : b->first);
        str_add(out, b->on);
        if (last && safe[n])
            plain_fit(out, safe, columns, b->unicode, PLAIN_CUT_END);
        else
            str_addn(out, safe, n);
        if (last && more && !safe[n] && plain_width(safe) + 4 <= columns)
            str_add(out, dots);
        str_add(out, b->off);
        str_add(out, "\n");
        line++;
        safe += n + skip;
    } while (*safe && line < b->lines);
    return line;
}

int plain_wrap(struct str *out, const char *text, const struct plain_block *b)
{
    struct str safe = {0};
    int line = 0;
    while (text && *text && line < b->lines) {
        const char *end = strchrnul(text, '\n');
        str_reset(&safe);
        add_bytes(&safe, text, end, b->unicode);
        if (safe.len)
            line = wrap_paragraph(out, str_text(&safe), b, line, *end && end[1]);
        out->failed |= safe.failed;
        text = *end ? end + 1 : end;
    }
    str_clear(&safe);
    return line;
}
