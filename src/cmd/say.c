/* SPDX-License-Identifier: MIT */
#include "cmd/say.h"

#include "base/redact.h"
#include "report/plain.h"

#include <langinfo.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define NAME_BYTES 64

static void print_safe(const char *before, const char *text)
{
    struct str clean = {0}, safe = {0};
    redact_add(&clean, text);
    plain_add(&safe, str_text(&clean), !strcmp(nl_langinfo(CODESET), "UTF-8"));
    fprintf(stderr, "%s%s\n", before,
            clean.failed || safe.failed ? "out of memory" : str_text(&safe));
    str_clear(&clean);
    str_clear(&safe);
}

void say_va(const char *verb, const char *fmt, va_list ap)
{
    char text[4096], before[64];
    vsnprintf(text, sizeof(text), fmt, ap);
    snprintf(before, sizeof(before), "gpufeed%s%s: ", verb ? " " : "", verb ? verb : "");
    print_safe(before, text);
}

void say(const char *verb, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    say_va(verb, fmt, ap);
    va_end(ap);
}

void say_recording(const char *path)
{
    print_safe("recording: ", path);
}

static bool plain_name(char c, bool first)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (!first && c && strchr("._+-", c));
}

void say_default_path(char *buf, size_t size, const char *program, pid_t pid)
{
    struct str clean = {0};
    char name[NAME_BYTES];
    if (buf[0])
        return;
    const char *slash = strrchr(program, '/');
    redact_add(&clean, slash && slash[1] ? slash + 1 : program);
    str_copy(name, sizeof(name), str_text(&clean));
    for (char *c = name; *c; c++)
        if (!plain_name(*c, c == name))
            *c = '_';
    snprintf(buf, size, "./%s-%d.gpufeed", name[0] ? name : "job", (int)pid);
    str_clear(&clean);
}
