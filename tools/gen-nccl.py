#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Turn data/nccl_lines.tsv into the X-macro list that import/nccl_line.c includes."""
import re
import sys

import tsv

LEVELS = {"info": "LEVEL_INFO", "warn": "LEVEL_WARN", "any": "LEVEL_ANY"}


def row(level, kind, word, shape, _):
    good = level in LEVELS and re.fullmatch(r"[A-Z_]+", kind) and re.fullmatch(r"-|[a-z0-9-]+", word)
    if not good or (kind == "PROBLEM") != (word != "-") and kind != "VERBS_MISSING":
        return None
    return f"LINE({LEVELS[level]}, {kind}, {'NULL' if word == '-' else tsv.quoted(word)}, {tsv.quoted(shape)})"


tsv.generate(*sys.argv[1:], "data/nccl_lines.tsv: LINE(level, kind, word, shape)",
             "level, kind, word, shape and versions", 5, row)
