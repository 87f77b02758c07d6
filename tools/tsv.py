# SPDX-License-Identifier: MIT
"""What the generators share: a table of data/ in, an X-macro list out."""
import sys


def quoted(text):
    """As a string of C."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?") + '"'


def generate(source, target, head, want, columns, row):
    """One line of C for each row of the table. row(*cells) gives it, or None where the cells are none; no two rows
    may give the same."""
    made = {}
    with open(source, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            line = line.rstrip("\n")
            if not line or line.startswith("#"):
                continue
            cells = line.split("\t")
            text = row(*cells) if len(cells) == columns and all(cells) else None
            if not text or text in made:
                sys.exit(f"{source}:{number}: want {want}, got {line!r}")
            made[text] = True
    with open(target, "w", encoding="utf-8") as out:
        out.write(f"/* Generated from {head} */\n" + "\n".join(made) + "\n")
