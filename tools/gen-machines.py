#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Turn data/machines.tsv into the X-macro list that sense/vm.c includes."""
import re
import sys

import tsv

SIZES = set()


def figure(cell):
    """-1: not known."""
    return {"-": "0", "?": "-1"}.get(cell) or (cell if re.fullmatch(r"[1-9]\d*", cell) else None)


def row(size, *cells):
    figures = [figure(c) for c in cells[:5]]
    if None in figures or not re.fullmatch(r"[A-Za-z0-9_.-]+", size) or size in SIZES:
        return None
    SIZES.add(size)
    return f'MACHINE("{size}", {", ".join(figures)}, {tsv.quoted(cells[5])})'


tsv.generate(*sys.argv[1:], "data/machines.tsv: MACHINE(size, nvme, net, ib, ib rate, gpus, source)",
             "size, five figures and source", 7, row)
