#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Rooms point one way: fail on an #include from a lower room into a higher one."""
import pathlib
import re
import sys

# A room may include itself and the rooms that its line names. doc/ARCHITECTURE.md draws it.
ALLOWED = {
    "base": "",
    "model": "base",
    "plan": "base model",
    "ledger": "base model plan",
    "record": "base model plan",
    "bpf": "",
    "probe": "",
    "sense": "base model bpf probe",
    "import": "base model plan ledger record probe",
    "measure": "base model plan ledger record sense probe",
    "report": "base model record",
    "fix": "base",
    "cmd": "base model record report measure import fix",
}
# record/ knows SQLite; of import/ those files whose input is a database of others.
SQLITE = re.compile(r"(record/|import/nsys)")
# Rooms that read no file, clock or environment.
PURE = {"model", "plan", "ledger"}
IMPURE = re.compile(r'#include\s+<(unistd|fcntl|time|sys/[a-z]+|dirent|signal|pthread)\.h>|\b(getenv|fopen|open|clock_gettime|time)\s*\(')


def faults(src):
    for path in sorted(src.rglob("*.[ch]")):
        room = path.relative_to(src).parts[0]
        if room not in ALLOWED:
            yield f"{path}: the room {room}/ is not in tools/check-layers.py"
            continue
        allowed = set(ALLOWED[room].split()) | {room}
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            found = re.match(r'\s*#include\s+"([a-z_]+)/', line)
            if found and found[1] not in allowed:
                yield f"{path}:{number}: {room}/ must not include {found[1]}/"
            if "<sqlite3.h>" in line and not SQLITE.match(str(path.relative_to(src))):
                yield f"{path}:{number}: only record/ and import/nsys* know SQLite"
            code = line.split("/*")[0].strip()
            if room in PURE and not code.startswith("*") and IMPURE.search(code):
                yield f"{path}:{number}: {room}/ is pure: no files, clocks or environment"


def main():
    bad = list(faults(pathlib.Path(__file__).resolve().parent.parent / "src"))
    for line in bad:
        print(line)
    if bad:
        sys.exit(f"{len(bad)} faults in the order of rooms")


main()
