/* SPDX-License-Identifier: MIT */
#include "cmd/cmd.h"

static int diff(int argc, char **argv)
{
    (void)argv;
    return argc;
}

const struct command cmd_diff = {"diff", "compare two recordings", "", diff};
