/* SPDX-License-Identifier: MIT */
#include "base/str.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool reserve(struct str *s, size_t more)
{
    if (s->failed)
        return false;
    if (!mem_grow((void **)&s->data, &s->cap, s->len + more + 1, 1)) {
        s->failed = true;
        return false;
    }
    return true;
}

void str_addn(struct str *s, const char *bytes, size_t n)
{
    if (!reserve(s, n))
        return;
    if (n)
        memcpy(s->data + s->len, bytes, n);
    s->len += n;
    s->data[s->len] = '\0';
}

void str_add(struct str *s, const char *text)
{
    str_addn(s, text, strlen(text));
}

void str_addf(struct str *s, const char *fmt, ...)
{
    va_list ap;
    char small[256];
    va_start(ap, fmt);
    int n = vsnprintf(small, sizeof(small), fmt, ap);
    va_end(ap);
    if (n < 0)
        return;
    if ((size_t)n < sizeof(small)) {
        str_addn(s, small, (size_t)n);
        return;
    }
    if (!reserve(s, (size_t)n))
        return;
    va_start(ap, fmt);
    vsnprintf(s->data + s->len, (size_t)n + 1, fmt, ap);
    va_end(ap);
    s->len += (size_t)n;
}

void str_reset(struct str *s)
{
    s->len = 0;
    s->failed = false;
    if (s->data)
        s->data[0] = '\0';
}

void str_clear(struct str *s)
{
    free(s->data);
    *s = (struct str){0};
}

const char *str_text(const struct str *s)
{
    return s->data ? s->data : "";
}

bool str_copy(char *dst, size_t size, const char *src)
{
    size_t n = strlen(src);
    if (!size)
        return false;
    size_t k = n < size ? n : size - 1;
    memcpy(dst, src, k);
    dst[k] = '\0';
    return n < size;
}
