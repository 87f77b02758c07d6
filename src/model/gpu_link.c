/* SPDX-License-Identifier: MIT */
#include "model/gpu_link.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define BYTES_PER_GB 1e9

static const struct gpu_link links[] = {
#define LINK(word, link, rate) {word, link, rate * BYTES_PER_GB},
#include "gpu_links_list.h"
#undef LINK
};

/* "A10" is not in "A100". */
static bool has_word(const char *name, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = strstr(name, word); at; at = strstr(at + 1, word))
        if ((at == name || !isalnum((unsigned char)at[-1])) && !isdigit((unsigned char)at[n]))
            return true;
    return false;
}

const struct gpu_link *gpu_link_of(const char *name)
{
    for (size_t i = 0; name && i < sizeof(links) / sizeof(links[0]); i++)
        if (has_word(name, links[i].word))
            return &links[i];
    return NULL;
}
