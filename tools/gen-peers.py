#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Turn data/peers.tsv into the X-macro list that sense/peers.c includes."""
import re
import sys

import tsv


def row(kind, pattern, what, _):
    if kind == "name" and re.fullmatch(r"[a-z0-9.*-]+", pattern):
        return f'NAME("{pattern}", {tsv.quoted(what)})'
    span = re.fullmatch(r"(\d+)(?:-(\d+))?", pattern) if kind == "port" else None
    if span:
        low, high = int(span[1]), int(span[2] or span[1])
        if 0 < low <= high < 65536:
            return f'PORT({low}, {high}, {tsv.quoted(what)})'
    return None


tsv.generate(*sys.argv[1:], "data/peers.tsv: NAME(pattern, what), PORT(low, high, what)",
             "kind, pattern, what and source", 4, row)
