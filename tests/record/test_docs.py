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


def test_views_of_check():
    views = (ROOT / "src/record/rule_views.c").read_text(encoding="utf-8")
    names = re.findall(r'\bVIEW\("(\w+)"', views)
    assert len(names) > 5
    assert [n for n in names if f"| `{n}` |" not in doc("rules.md")] == []


def test_facts_of_check():
    views = (ROOT / "src/record/rule_views.c").read_text(encoding="utf-8")
    used = set(re.findall(r'\b[NT]\("(\w+)"\)', views))
    for path in (ROOT / "data/check").glob("*.sql"):
        text = path.read_text(encoding="utf-8")
        used |= set(re.findall(r"\bname = '(\w+)'", text))
        needs = re.search(r"^-- needs: (.*(?:\n--   .*)*)", text, re.M)[1]
        used |= {need.rsplit("/", 1)[1] for need in re.split(r"[|\s]+", needs) if "/" in need}
    assert len(used) > 40
    words = set(re.findall(r"\w+", doc("facts.md")))
    assert sorted(u for u in used - words if not u.startswith("throttled_")) == []
