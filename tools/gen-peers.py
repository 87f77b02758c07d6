#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Turn data/peers.tsv into the X-macro list that sense/peers.c includes."""
import re
import sys


def row(kind, pattern, what):
    text = what.replace("\\", "\\\\").replace('"', '\\"')
    if kind == "name" and re.fullmatch(r"[a-z0-9.*-]+", pattern):
        return f'NAME("{pattern}", "{text}")'
    span = re.fullmatch(r"(\d+)(?:-(\d+))?", pattern) if kind == "port" else None
    if span:
        low, high = int(span[1]), int(span[2] or span[1])
        if 0 < low <= high < 65536:
            return f'PORT({low}, {high}, "{text}")'
    return None


def main(source, target):
    lines = []
    for number, line in enumerate(open(source, encoding="utf-8"), 1):
        line = line.rstrip("\n")
        if not line or line.startswith("#"):
            continue
        cells = line.split("\t")
        made = row(*cells[:3]) if len(cells) == 4 and all(cells) else None
        if not made or made in lines:
            sys.exit(f"{source}:{number}: want kind, pattern, what and source, got {line!r}")
        lines.append(made)
    with open(target, "w", encoding="utf-8") as out:
        out.write("/* Generated from data/peers.tsv: NAME(pattern, what), PORT(low, high, what) */\n")
        out.write("\n".join(lines) + "\n")


main(*sys.argv[1:])
