# SPDX-License-Identifier: MIT
"""What doc/ says about recordings, rules and facts is complete."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMA = (ROOT / "src/record/schema.c").read_text(encoding="utf-8")
RULES = {p.stem: p.read_text(encoding="utf-8") for p in (ROOT / "data/rules").glob("*.sql")}


def doc(name):
    return (ROOT / "doc" / name).read_text(encoding="utf-8")


def test_tables_and_views():
    names = re.findall(r'\b(?:TABLE|VIEW)\("(\w+)"', SCHEMA)
    assert len(names) > 20
    assert [n for n in names if f"`{n}`" not in doc("recording.md")] == []


def test_every_rule_has_its_heading():
    headings = set(re.findall(r"^### (\S+)$", doc("rules.md"), re.M))
    assert headings == set(RULES)
    for name, text in RULES.items():
        assert f"-- source: doc/rules.md#{name}" in text


def test_facts_that_are_read():
    kinds = {"text", "number", "name", "kind"}
    used = set()
    for text in [*RULES.values(), SCHEMA]:
        used |= set(re.findall(r"\bname = '(\w+)'", text))
        used |= set(re.findall(r'JOB\("\w+", "(\w+)"\)', text))
    used -= set("compute storage state cause evidence".split()) | kinds
    assert len(used) > 20
    words = set(re.findall(r"\w+", doc("facts.md")))
    meta = set(re.findall(r"\w+", doc("recording.md")))
    assert sorted(u for u in used if u not in words and u not in meta) == []
