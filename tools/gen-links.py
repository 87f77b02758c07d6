#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Turn data/gpu_links.tsv into the X-macro list that model/gpu_link.c includes."""
import re
import sys


def row(word, link, rate):
    if not re.fullmatch(r"[A-Za-z0-9 -]+", word) or not re.fullmatch(r"[A-Za-z0-9. -]+", link):
        return None
    if rate != "-" and not re.fullmatch(r"[1-9][0-9]*", rate):
        return None
    return f'LINK("{word}", "{link}", {0 if rate == "-" else int(rate)})'


def main(source, target):
    lines = []
    for number, line in enumerate(open(source, encoding="utf-8"), 1):
        line = line.rstrip("\n")
        if not line or line.startswith("#"):
            continue
        cells = line.split("\t")
        made = row(*cells[:3]) if len(cells) == 4 and all(cells) else None
        if not made or made in lines:
            sys.exit(f"{source}:{number}: want word, link, GB/s and source, got {line!r}")
        lines.append(made)
    with open(target, "w", encoding="utf-8") as out:
        out.write("/* Generated from data/gpu_links.tsv: LINK(word, link, GB/s) */\n")
        out.write("\n".join(lines) + "\n")


main(*sys.argv[1:])
