#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Turn data/causes.tsv into the X-macro list that model/words.h includes."""
import re
import sys

import tsv

SEEN = set()


def row(cause, title, meaning):
    if not re.fullmatch(r"[a-z][a-z-]*", cause) or cause in SEEN:
        return None
    SEEN.add(cause)
    name = cause.upper().replace("-", "_")
    return f'X({name}, "{cause}", {tsv.quoted(title)}, {tsv.quoted(meaning)})'


tsv.generate(*sys.argv[1:], "data/causes.tsv. X(NAME, id, title, meaning)", "three cells and a fresh id", 3, row)
