# SPDX-License-Identifier: MIT
"""Recordings of older formats: old/format-N.gpufeed was written by the gpufeed that had that format."""
import pathlib
import sqlite3

import pytest

import gf

OLD = sorted((pathlib.Path(__file__).parent / "old").glob("format-*.gpufeed"))


def ask(path, sql):
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
        return db.execute(sql).fetchall()


@pytest.fixture(params=OLD, ids=lambda p: p.stem)
def old(request):
    return request.param


def test_what_it_holds_is_read(old):
    """Times by state and cause are those of its own tables, by the names that it gave its numbers."""
    j = gf.report(old)
    rows = dict(((state, None if cause == "none" else cause), ns) for state, cause, ns in ask(old, """
        SELECT s.name, c.name, sum(ns) FROM ledger_row r JOIN word s ON s.kind = 'state' AND s.number = r.state
        JOIN word c ON c.kind = 'cause' AND c.number = r.cause GROUP BY 1, 2"""))
    told = {}
    for row in j["ledger"]:
        key = row["state"], row["cause"]
        told[key] = told.get(key, 0) + row["ns"]
    assert told == rows and rows
    assert len(j["chains"]) == ask(old, "SELECT count(*) FROM chain_wait")[0][0]


def test_numbers_have_kept_their_names(old, recording):
    names = dict(((kind, number), name) for kind, number, name in ask(recording, "SELECT kind, number, name FROM word"))
    for kind, number, name in ask(old, "SELECT kind, number, name FROM word"):
        assert names[kind, number] == name


def test_its_age_is_told_in_one_line(old):
    r = gf.gpufeed("report", old)
    number = old.stem.rsplit("-")[-1]
    assert r.code == 0 and r.err == "" and "Verdict" in r.out, r
    text = " ".join(r.out.split())
    assert text.count(f"in format {number}: what later formats keep besides") == 1, r


def test_what_the_run_noted_comes_before_its_age(old, folder):
    """The first note may be told as the reason for what is unknown, which a recording's age is not."""
    at = folder / "noted.gpufeed"
    at.write_bytes(old.read_bytes())
    with sqlite3.connect(at) as db:
        db.execute("INSERT INTO note (number, line) VALUES (1, 'nothing may be traced here')")
    text = " ".join(gf.gpufeed("report", at).out.split())
    assert 0 < text.find("nothing may be traced here") < text.find(": what later formats keep"), text


def test_its_gains_are_replayed(old):
    assert any(f["gain_seconds"] for f in gf.report(old)["findings"])


@pytest.mark.parametrize("how", [[], ["--chains"], ["--html", "page.html"]])
def test_every_face(how, old, folder):
    r = gf.gpufeed("report", old, *how, cwd=folder)
    assert r.code == 0 and r.err == "", r


def test_beside_a_new_one(old, recording):
    for pair in [(old, recording), (recording, old)]:
        r = gf.gpufeed("diff", *pair)
        assert r.code == 0 and r.err == "", r
        gf.validator("diff").validate(gf.parse(gf.gpufeed("diff", *pair, "--json").out))


def test_one_of_a_later_format_is_refused(recording, folder):
    at = folder / "later.gpufeed"
    at.write_bytes(recording.read_bytes())
    with open(at, "r+b") as f:
        f.seek(60)
        f.write((99).to_bytes(4, "big"))
    r = gf.gpufeed("report", at)
    assert r.code == 2 and "format 99" in gf.one_line(r.err), r
