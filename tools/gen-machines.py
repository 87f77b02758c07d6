#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Turn data/machines.tsv into the X-macro list that sense/vm.c includes."""
import re
import sys


def figure(cell):
    """-1: not known."""
    return {"-": "0", "?": "-1"}.get(cell) or (cell if re.fullmatch(r"[1-9]\d*", cell) else None)


def main(source, target):
    rows = {}
    for number, line in enumerate(open(source, encoding="utf-8"), 1):
        line = line.rstrip("\n")
        if not line or line.startswith("#"):
            continue
        cells = line.split("\t")
        figures = [figure(c) for c in cells[1:6]]
        if (len(cells) != 7 or None in figures or not re.fullmatch(r"[A-Za-z0-9_.-]+", cells[0])
                or cells[0] in rows or not cells[6]):
            sys.exit(f"{source}:{number}: want size, five figures and source, got {line!r}")
        text = cells[6].replace("\\", "\\\\").replace('"', '\\"')
        rows[cells[0]] = f'MACHINE("{cells[0]}", {", ".join(figures)}, "{text}")'
    with open(target, "w", encoding="utf-8") as out:
        out.write("/* Generated from data/machines.tsv: MACHINE(size, nvme, net, ib, ib rate, gpus, source) */\n")
        out.write("\n".join(rows.values()) + "\n")


main(*sys.argv[1:])
