/* SPDX-License-Identifier: MIT */
#include "cmd/options.h"

int options_parse(const struct command *c, int argc, char **argv, const char *shorts,
                  const struct option *longs, struct show_options *show, option_fn own, void *arg)
{
    int option;
    show_init(show);
    optind = 1;
    while ((option = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
        const char *bad = NULL;
        if (option == 'h')
            return cmd_help(c);
        if (option == ':')
            return cmd_usage(c, "%s wants a value", argv[optind - 1]);
        if (!(own && own(arg, option, optarg, &bad)) && !show_option(show, option, optarg, &bad))
            return cmd_usage(c, "unknown option \"%s\"", argv[optind - 1]);
        if (bad)
            return cmd_usage(c, "%s", bad);
    }
    return -1;
}

bool live_option(struct live_options *o, int option, const char *value, const char **bad)
{
    switch (option) {
    case 'o':
        if (!value[0] || !str_copy(o->path, sizeof(o->path), value))
            *bad = value[0] ? "the name after -o is too long" : "-o wants the name of a file";
        else if (show_is_stdout(value))
            *bad = "a recording is a database: -o wants a file, not the standard output";
        return true;
    case 'q':
        o->show.quiet = true;
        return true;
    case LIVE_ORIGIN:
        o->measure.origin = value;
        if (!measure_origin_valid(value))
            *bad =
                "--origin wants azblob://acct/container, s3://bucket or host:port; a folder needs "
                "none, its mount is known";
        return true;
    case LIVE_SAMPLER:
        o->measure.no_bpf = true;
        return true;
    default:
        return false;
    }
}

void live_name(struct live_options *o, const char *title)
{
    o->measure.path = o->path;
    o->measure.title = title;
    o->measure.version = GPUFEED_VERSION;
    o->measure.price_per_hour = o->show.price;
    o->measure.currency = o->show.currency;
}
