/* SPDX-License-Identifier: MIT */
/*
 * gpufeed: what accelerators wait for, what that costs, and what to change.
 */
#include "cmd/cmd.h"
#include "cmd/say.h"

#include <errno.h>
#include <locale.h>
#include <stdarg.h>
#include <string.h>

#ifndef GPUFEED_VERSION
#error "GPUFEED_VERSION comes from meson.build"
#endif

static const struct command *const commands[] = {&cmd_run, &cmd_record, &cmd_report, &cmd_diff,
                                                 &cmd_check};
#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

int cmd_usage(const struct command *c, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    say_va(c->name, fmt, ap);
    va_end(ap);
    fprintf(stderr, "Try 'gpufeed %s --help'.\n", c->name);
    return EXIT_USAGE;
}

int cmd_fail(const struct command *c, const struct error *e)
{
    say(c->name, "%s", e->text);
    return e->status == STATUS_DENIED ? EXIT_DENIED : EXIT_USAGE;
}

int cmd_help(const struct command *c)
{
    fputs(c->help, stdout);
    return EXIT_DONE;
}

static int help(FILE *to)
{
    fputs("gpufeed tells what an accelerator waited for, what that cost, and what to\n"
          "change.\n\n"
          "usage: gpufeed VERB [options]\n\n",
          to);
    for (size_t i = 0; i < COMMANDS; i++)
        fprintf(to, "  %-8s %s\n", commands[i]->name, commands[i]->summary);
    fputs("\n'gpufeed VERB --help' explains a verb, with examples.\n"
          "'gpufeed --version' prints the version.\n\n"
          "examples:\n"
          "  gpufeed run --price 28 --currency EUR -- python3 train.py\n"
          "  gpufeed report job.gpufeed --html job.html\n",
          to);
    return to == stdout ? EXIT_DONE : EXIT_USAGE;
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2)
        return help(stderr);
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
        for (size_t i = 0; argc > 2 && i < COMMANDS; i++)
            if (!strcmp(argv[2], commands[i]->name))
                return cmd_help(commands[i]);
        return help(stdout);
    }
    if (!strcmp(argv[1], "--version")) {
        puts("gpufeed " GPUFEED_VERSION);
        return EXIT_DONE;
    }
    for (size_t i = 0; i < COMMANDS; i++)
        if (!strcmp(argv[1], commands[i]->name))
            return commands[i]->run(argc - 1, argv + 1);
    say(NULL, "there is no verb \"%s\". Try 'gpufeed --help'.", argv[1]);
    return EXIT_USAGE;
}

int main(int argc, char **argv)
{
    setlocale(LC_CTYPE, "");
    int code = dispatch(argc, argv);
    if (fflush(stdout) && code == EXIT_DONE) {
        say(NULL, "cannot write to the standard output: %s", strerror(errno));
        return EXIT_USAGE;
    }
    return code;
}
