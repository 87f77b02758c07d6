#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Turn data/gpu_links.tsv into the X-macro list that model/gpu_link.c includes."""
import re
import sys

import tsv


def row(word, link, rate, _):
    if not re.fullmatch(r"[A-Za-z0-9 -]+", word) or not re.fullmatch(r"[A-Za-z0-9. -]+", link):
        return None
    if rate != "-" and not re.fullmatch(r"[1-9][0-9]*", rate):
        return None
    return f'LINK("{word}", "{link}", {0 if rate == "-" else int(rate)})'


tsv.generate(*sys.argv[1:], "data/gpu_links.tsv: LINK(word, link, GB/s)", "word, link, GB/s and source", 4, row)
