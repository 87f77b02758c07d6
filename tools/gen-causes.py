#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Turn data/causes.tsv into the X-macro list that model/words.h includes."""
import re
import sys


def main(source, target):
    seen, lines = set(), []
    for number, line in enumerate(open(source, encoding="utf-8"), 1):
        line = line.rstrip("\n")
        if not line or line.startswith("#"):
            continue
        cells = line.split("\t")
        if len(cells) != 3 or not re.fullmatch(r"[a-z][a-z-]*", cells[0]) or cells[0] in seen:
            sys.exit(f"{source}:{number}: want three cells and a fresh id, got {line!r}")
        seen.add(cells[0])
        name = cells[0].upper().replace("-", "_")
        lines.append('X(%s, "%s", "%s", "%s")' % (name, *(c.replace('"', '\\"') for c in cells)))
    with open(target, "w", encoding="utf-8") as out:
        out.write("/* Generated from data/causes.tsv. X(NAME, id, title, meaning) */\n")
        out.write("\n".join(lines) + "\n")


main(*sys.argv[1:])
