/* SPDX-License-Identifier: MIT */
#include "report/chains.h"

#include "base/unit.h"
#include "report/page.h"
#include "report/phrase.h"

enum { LINK_LINES = 4 };

static void put_link(struct page *p, const struct chain_link *link, int depth)
{
    struct str lead = {0};
    struct str *s = page_scratch(p);
    for (int i = 0; i < depth; i++)
        str_add(&lead, "  ");
    str_add(&lead, !depth ? "  " : p->unicode ? "\xe2\x94\x94\xe2\x86\x90 " : "`- ");
    str_addf(s, "%s %s", link->who, link->did);
    page_wrap(p, depth ? TONE_PLAIN : TONE_BOLD, str_text(&lead), str_text(s), LINK_LINES);
    p->out->failed |= lead.failed;
    str_clear(&lead);
}

static void put_chain(struct page *p, const struct report *r, size_t index)
{
    const struct chain_example *c = &r->chains[index];
    char at[32];
    struct str *s = page_scratch(p);
    str_addf(s, "%zu. ", index + 1);
    phrase_chain_head(r, index, s);
    if (c->t0 >= 0 && c->t0 <= r->span_ns)
        str_addf(s, ", %s after the start", unit_format_ns(at, sizeof(at), c->t0));
    page_wrap(p, TONE_BAD, "", str_text(s), LINK_LINES);
    for (int i = 0; i < c->count && i < CHAIN_LINKS_MAX; i++)
        put_link(p, &c->links[i], i);
}

void report_chains(const struct report *r, const struct report_text_options *options,
                   struct str *out)
{
    struct page p = {.out = out,
                     .width = page_width(options->width),
                     .colour = options->colour,
                     .unicode = options->unicode};
    for (size_t i = 0; i < r->chain_count; i++) {
        if (i)
            page_end(&p);
        put_chain(&p, r, i);
    }
    if (!r->chain_count)
        page_wrap(&p, TONE_PLAIN, "",
                  r->accelerator_count ? "no wait chains are stored: no wait lasted a millisecond"
                                       : "no wait chains are stored: no accelerator was seen",
                  2);
    page_scratch(&p);
    str_clear(&p.text);
}
