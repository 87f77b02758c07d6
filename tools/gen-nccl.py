#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Turn data/nccl_lines.tsv into the X-macro list that import/nccl_line.c includes."""
import re
import sys

LEVELS = {"info": "LEVEL_INFO", "warn": "LEVEL_WARN", "any": "LEVEL_ANY"}


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?") + '"'


def row(level, kind, word, shape, versions):
    good = level in LEVELS and re.fullmatch(r"[A-Z_]+", kind) and re.fullmatch(r"-|[a-z0-9-]+", word)
    if not good or not versions or (kind == "PROBLEM") != (word != "-") and kind != "VERBS_MISSING":
        return None
    return f"LINE({LEVELS[level]}, {kind}, {'NULL' if word == '-' else quoted(word)}, {quoted(shape)})"


def main(source, target):
    lines = []
    for number, line in enumerate(open(source, encoding="utf-8"), 1):
        line = line.rstrip("\n")
        if not line or line.startswith("#"):
            continue
        cells = line.split("\t")
        made = row(*cells) if len(cells) == 5 and all(cells) else None
        if not made or made in lines:
            sys.exit(f"{source}:{number}: want level, kind, word, shape and versions, got {line!r}")
        lines.append(made)
    with open(target, "w", encoding="utf-8") as out:
        out.write("/* Generated from data/nccl_lines.tsv: LINE(level, kind, word, shape) */\n")
        out.write("\n".join(lines) + "\n")


main(*sys.argv[1:])
