#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Check the heads of data/rules and data/check and turn the files into the table that is compiled in."""
import os
import re
import sys

KEYS = ("id", "severity", "title", "why", "fix", "scenario", "source")
# Rules of data/check: on facts alone, for machines and jobs that have not been recorded.
CHECK_KEYS = ("id", "for", "severity", "title", "why", "fix", "source", "needs")
OPTIONAL = ("apply", "first")
NEED = r"[a-z_]+(?:/[a-z_]+)?/[a-z_0-9]+"
SCENARIO = r"none|pinned|persistent|away (?:[a-z-]+|\{\w+\})|workers \+\S+|prefetch \S+"


def head(path, text):
    """The keys of the comment head; a line '--   more' carries on the key above it."""
    keys, last = {}, None
    for number, line in enumerate(text.splitlines(), 1):
        where = f"{path}:{number}"
        if not line.startswith("--"):
            break
        if "SPDX-License-Identifier" in line:
            continue
        more = re.fullmatch(r"--  +(\S.*)", line)
        key = re.fullmatch(r"-- ([a-z]+): (\S.*)", line)
        if more and last:
            keys[last] += " " + more[1]
        elif key and key[1] in KEYS + CHECK_KEYS + OPTIONAL and key[1] not in keys:
            last = key[1]
            keys[last] = key[2]
        else:
            sys.exit(f"{where}: want '-- KEY: TEXT' with each of {', '.join(KEYS)} once")
    return keys


def check_needs(path, keys):
    if keys["for"] not in ("check", "check report"):
        sys.exit(f"{path}: for {keys['for']!r}")
    for need in keys["needs"].split():
        if not re.fullmatch(rf"{NEED}(\|{NEED})*", need):
            sys.exit(f"{path}: needs {need!r}, want KIND/NAME or KIND/NAME|KIND/NAME")


def check_first(path, keys, text):
    """A rule that may lead the list says what the verdict is to call for: 'Fix storage'."""
    report = "report" in keys.get("for", "report")
    loud = keys["severity"] != "info" or "'warning'" in text or "'critical'" in text
    if report and loud and "first" not in keys:
        sys.exit(f"{path}: no first in its head")
    if "first" in keys and not re.fullmatch(r"[A-Z].*[^.]", keys["first"]):
        sys.exit(f"{path}: first {keys['first']!r}")


def check(path, text, causes):
    keys = head(path, text)
    wanted = CHECK_KEYS if "for" in keys else KEYS
    missing = [k for k in wanted if k not in keys]
    if missing:
        sys.exit(f"{path}: no {', '.join(missing)} in its head")
    if keys["id"] + ".sql" != os.path.basename(path):
        sys.exit(f"{path}: its id is {keys['id']!r}")
    if keys["severity"] not in ("info", "warning", "critical"):
        sys.exit(f"{path}: severity {keys['severity']!r}")
    check_first(path, keys, text)
    if "for" in keys:
        return check_needs(path, keys)
    if not re.fullmatch(SCENARIO, keys["scenario"]):
        sys.exit(f"{path}: scenario {keys['scenario']!r}")
    word = keys["scenario"].split()
    if word[0] == "away" and word[1][0] != "{" and word[1] not in causes:
        sys.exit(f"{path}: no cause {word[1]!r}")
    return None


def main(target, causes_path, *sources):
    with open(causes_path, encoding="utf-8") as f:
        causes = {line.split("\t")[0] for line in f if line.strip() and line[0] != "#"}
    out = ["/* Generated from data/rules. */", '#include "record/rule.h"', "",
           "const struct rule_text rule_texts[] = {"]
    for path in sorted(sources):
        with open(path, encoding="utf-8") as f:
            text = f.read()
        check(path, text, causes)
        out.append('    {"%s",' % os.path.basename(path))
        for line in text.splitlines():
            escaped = line.replace("\\", "\\\\").replace('"', '\\"')
            out.append(f'     "{escaped}\\n"')
        out.append("    },")
    out += ["};", "", "const size_t rule_text_count = sizeof(rule_texts) / sizeof(rule_texts[0]);", ""]
    with open(target, "w", encoding="utf-8") as f:
        f.write("\n".join(out))


main(*sys.argv[1:])
