# SPDX-License-Identifier: MIT
"""Files that are no recordings, or recordings that somebody had his hands on."""
import os
import random
import re
import shutil
import socket
import sqlite3
import subprocess

import pytest

import gf

PATIENCE = 15


@pytest.fixture(scope="session")
def recording():
    """Two devices, two jobs, waits with chains, deliveries, findings: something in every table."""
    with gf.Folder() as path:
        (path / "data").mkdir()
        for i in range(4):
            (path / "data" / str(i)).write_bytes(bytes(60_000))
        script = ('"$1" kernels 20 5 1 & shift; "$@" --steps 25 --compute-ms 3 --decode-ms 3 --batch 2 --workers 1; '
                  "wait")
        yield gf.record(path / "job.gpufeed", "sh", "-c", script, "sh", gf.JOBS, gf.TRAIN, "--data", path / "data",
                        options=["--simulate=2"])


def refused(r, name):
    assert r.code in (2, 4), r
    assert r.out == "", r
    line = gf.one_line(r.err)
    assert str(name) in line, r


def ask(path, *options, **how):
    return gf.gpufeed("report", path, *options, patience=PATIENCE, **how)


def harmless(path, **how):
    """Refused with one line, or reported truly: no crash, no hang, nothing a terminal would obey."""
    r = ask(path, "--json", **how)
    if r.code != 0:
        refused(r, path)
        return False
    gf.lawful(r.out)
    for options in ([], ["--chains"], ["--price", "28"]):
        text = ask(path, *options, **how)
        assert text.code == 0, text
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]|[\u0080-\u009f]|[\u202a-\u202e\u2066-\u2069]", text.out), repr(text.out)
        assert len(text.out) < 100_000
    html = ask(path, "--html", str(path) + ".html", **how)
    assert html.code == 0, html
    page = open(str(path) + ".html", encoding="utf-8").read()
    assert "\x1b" not in page and not re.search(r"<script|<img|onerror\s*=\s*[\"']?alert", page, re.I)
    return True


# ---- no recordings at all --------------------------------------------------------------------


@pytest.fixture
def foreign(folder):
    """Things that are no recordings, by kind."""
    made = {}

    def make(name, data):
        (folder / name).write_bytes(data)
        made[name] = folder / name

    make("text", b"epoch 1 loss 0.5\n" * 1000)
    make("empty", b"")
    make("one-byte", b"S")
    make("magic-only", b"SQLite format 3\0")
    make("zeros", bytes(100_000))
    make("gzip", b"\x1f\x8b\x08" + os.urandom(5000))
    db = sqlite3.connect(folder / "other.db")
    db.executescript("CREATE TABLE meta (key TEXT, value); CREATE TABLE photos (x); INSERT INTO photos VALUES (1);")
    db.close()
    made["other-database"] = folder / "other.db"
    sqlite3.connect(folder / "empty.db").execute("CREATE TABLE t (x)").connection.commit()
    made["empty-database"] = folder / "empty.db"
    (folder / "folder").mkdir()
    made["folder"] = folder / "folder"
    made["missing"] = folder / "missing"
    made["below-a-file"] = folder / "text" / "x"
    made["null"] = "/dev/null"
    made["zero"] = "/dev/zero"
    made["loop"] = folder / "loop"
    os.symlink(folder / "loop", folder / "loop")
    os.mkfifo(folder / "fifo")
    made["fifo"] = folder / "fifo"
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(str(folder / "socket"))
    made["socket"] = folder / "socket"
    made["long"] = folder / ("x" * 5000)
    made["proc"] = "/proc/self/status"
    return made


@pytest.mark.parametrize("kind", ["text", "empty", "one-byte", "magic-only", "zeros", "gzip", "other-database",
                                  "empty-database", "folder", "missing", "below-a-file", "null", "zero", "loop",
                                  "fifo", "socket", "proc"])
def test_what_is_no_recording(kind, foreign, folder):
    before = sorted(os.listdir(folder))
    data = foreign[kind].read_bytes() if os.path.isfile(foreign[kind]) and kind != "proc" else None
    for options in ([], ["--json"], ["--html", folder / "out.html"], ["--chains"]):
        refused(ask(foreign[kind], *options), foreign[kind])
    assert sorted(os.listdir(folder)) == before, "nothing is written"
    if data is not None:
        assert foreign[kind].read_bytes() == data


def test_a_name_that_is_too_long(foreign):
    r = ask(foreign["long"])
    assert r.code == 2 and r.out == "" and len(r.err.splitlines()) == 1, r


@pytest.mark.parametrize("name", ["", ":memory:", "file:x?mode=memory", "file::memory:?cache=shared"])
def test_names_that_sqlite_takes_for_more(name, folder):
    r = gf.gpufeed("report", name, cwd=folder)
    assert r.code == 2 and r.out == "" and os.listdir(folder) == [], r


def test_an_earlier_page_survives_a_bad_input(foreign, folder):
    (folder / "out.html").write_text("earlier")
    refused(ask(foreign["text"], "--html", folder / "out.html"), foreign["text"])
    assert (folder / "out.html").read_text() == "earlier"


def test_a_hostile_name_is_not_obeyed(folder):
    at = folder / "a\x1b]0;owned\x07\nb\x9bc"
    at.write_text("no recording")
    r = ask(at)
    assert r.code == 2 and r.out == "", r
    gf.one_line(r.err)


def test_a_recording_that_may_not_be_read(folder, recording, nobody):
    shutil.copy(recording, folder / "r.gpufeed")
    (folder / "r.gpufeed").chmod(0o600)
    r = ask(folder / "r.gpufeed", prefix=nobody)
    assert r.code in (2, 4) and r.out == "" and "r.gpufeed" in gf.one_line(r.err), r
    assert re.search("permi", r.err, re.I), r


def test_reading_changes_nothing(folder, recording, nobody):
    """A recording of somebody else in a folder that may only be read is enough."""
    (folder / "in").mkdir()
    shutil.copy(recording, folder / "in" / "r.gpufeed")
    (folder / "in" / "r.gpufeed").chmod(0o444)
    (folder / "in").chmod(0o555)
    before = (folder / "in" / "r.gpufeed").read_bytes()
    r = ask(folder / "in" / "r.gpufeed", "--json", prefix=nobody)
    assert r.code == 0, r
    gf.lawful(r.out)
    for options in ([], ["--json"], ["--chains"]):
        assert ask(folder / "in" / "r.gpufeed", *options).code == 0
    assert (folder / "in" / "r.gpufeed").read_bytes() == before
    assert os.listdir(folder / "in") == ["r.gpufeed"]


def test_a_recording_with_an_odd_name(folder, recording):
    for name in ("a b", "100%25?mode=memory#x", "file:x", "café ☃", "-"):
        shutil.copy(recording, folder / name)
        r = gf.gpufeed("report", "--json", "--", name, cwd=folder)
        assert r.code == 0, (name, r)
        assert sorted(os.listdir(folder))[0] == name, "no other file is made"
        (folder / name).unlink()


# ---- truncated and damaged -------------------------------------------------------------------


def test_truncated_at_many_lengths(folder, recording):
    whole = recording.read_bytes()
    at = folder / "cut.gpufeed"
    lengths = [1, 15, 16, 99, 100, 101, 511, 512, 4095, 4096, 4097, 8192, len(whole) // 3, len(whole) // 2,
               len(whole) - 4096, len(whole) - 1]
    for n in lengths:
        at.write_bytes(whole[:n])
        r = ask(at, "--json")
        if r.code == 0:
            gf.lawful(r.out)
        else:
            refused(r, at)
        assert os.listdir(folder) == ["cut.gpufeed"], n


def test_damaged_in_many_places(folder, recording):
    whole = bytearray(recording.read_bytes())
    at = folder / "hurt.gpufeed"
    rng = random.Random(7)
    for round_ in range(60):
        hurt = bytearray(whole)
        for _ in range(rng.choice((1, 3, 40))):
            start = rng.randrange(len(hurt))
            hurt[start:start + rng.choice((1, 4, 64))] = rng.randbytes(rng.choice((1, 4, 64)))
        at.write_bytes(hurt)
        r = ask(at, "--json")
        if r.code == 0:
            gf.parse(r.out)
        else:
            refused(r, at)


def test_followed_by_rubbish(folder, recording):
    at = folder / "more.gpufeed"
    at.write_bytes(recording.read_bytes() + os.urandom(10_000))
    r = ask(at, "--json")
    assert r.code in (0, 2), r


@pytest.mark.parametrize("suffix", ["-wal", "-journal", "-shm"])
def test_a_hostile_neighbour(suffix, folder, recording):
    """A file beside it that SQLite would take for its own."""
    at = folder / "r.gpufeed"
    shutil.copy(recording, at)
    (folder / ("r.gpufeed" + suffix)).write_bytes(os.urandom(20_000))
    r = ask(at, "--json")
    assert r.code in (0, 2), r
    if r.code == 0:
        gf.lawful(r.out)


# ---- edited ----------------------------------------------------------------------------------


@pytest.fixture
def edited(folder, recording):
    """A function that edits a copy of the recording and gives its path."""
    def edit(*statements):
        at = folder / "edited.gpufeed"
        shutil.copy(recording, at)
        db = sqlite3.connect(at)
        db.execute("PRAGMA writable_schema=ON")
        for s in statements:
            try:
                db.execute(*([s] if isinstance(s, str) else s))
            except sqlite3.IntegrityError:
                pass  # the recording's own rules forbid this one
        db.commit()
        db.close()
        return at
    return edit


def tables(recording):
    db = sqlite3.connect(recording)
    for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        yield table, [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
    db.close()


VALUES = {
    "negative": -1, "least": -2**63, "most": 2**63 - 1, "float": 1e308, "infinite": float("inf"), "nan": "nan",
    "text": "\x1b[31m<script>alert(1)</script>\x9b\u202e\"'&\r\n\x00", "long": "x" * 300_000, "blob": b"\xff\xfe\x00" * 50,
    "null": None, "empty": "", "broken": b"\xc3\x28\xf0\x9f".decode("latin-1"),
}


@pytest.mark.parametrize("value", list(VALUES))
def test_every_column_of_every_table(value, recording, edited):
    """Each column in turn holds something that nobody ever wrote."""
    for table, columns in tables(recording):
        for column in columns:
            at = edited((f'UPDATE OR IGNORE "{table}" SET "{column}" = ?', (VALUES[value],)))
            r = ask(at, "--json")
            if r.code == 0:
                gf.lawful(r.out)
            else:
                refused(r, at)


def test_every_column_at_once(recording, edited):
    for value in VALUES.values():
        harmless(edited(*[(f'UPDATE OR IGNORE "{table}" SET "{column}" = ?', (value,))
                          for table, columns in tables(recording) for column in columns]))


def test_text_that_a_terminal_or_a_browser_would_obey(recording, edited):
    evil = VALUES["text"].replace("\x00", "")
    assert harmless(edited(*[(f'UPDATE OR IGNORE "{table}" SET "{column}" = "{column}" || ? '
                              f"WHERE typeof(\"{column}\") = 'text'", (evil,))
                             for table, columns in tables(recording) if table not in ("meta", "word")
                             for column in columns]))
    assert harmless(edited(("UPDATE meta SET value = value || ? WHERE key IN ('title')", (evil,))))


def test_every_table_is_missing_or_empty_in_turn(recording, edited):
    for table, _ in tables(recording):
        for statement in (f'DROP TABLE "{table}"', f'DELETE FROM "{table}"',
                          f'ALTER TABLE "{table}" RENAME TO gone'):
            at = edited("DELETE FROM sqlite_master WHERE type = 'view'", statement)
            r = ask(at, "--json")
            if r.code == 0:
                gf.lawful(r.out)
            else:
                refused(r, at)


def test_every_row_twice(recording, edited):
    for table, columns in tables(recording):
        names = ", ".join(f'"{c}"' for c in columns)
        harmless(edited(f'INSERT OR IGNORE INTO "{table}" SELECT {names} FROM "{table}"'))


def test_rows_without_end_are_not_read_for_ever(edited, recording):
    """Two million rows: it takes its time, but says something."""
    table, columns = max(tables(recording), key=lambda t: "ns" in t[1] and len(t[1]))
    names = ", ".join(f'"{c}"' for c in columns)
    at = edited(*[f'INSERT INTO "{table}" SELECT {names} FROM "{table}" LIMIT 100000'] * 12)
    r = ask(at, "--json")
    assert r.code in (0, 2), r


def views_and_triggers(recording):
    db = sqlite3.connect(recording)
    names = [n for (n,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    db.close()
    return names


def test_tables_that_are_views_which_never_end(recording, edited):
    for table, columns in tables(recording):
        endless = ("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT "
                   + ", ".join(f'x AS "{c}"' for c in columns) + " FROM c")
        at = edited(f'DROP TABLE "{table}"', f'CREATE VIEW "{table}" AS {endless}')
        r = ask(at, "--json")
        refused(r, at)


def test_the_recordings_own_views_are_not_trusted(recording, edited):
    """A view that the rules ask, replaced by one that never ends."""
    db = sqlite3.connect(recording)
    names = [n for (n,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'view'")]
    columns = {n: [r[1] for r in db.execute(f'PRAGMA table_info("{n}")')] for n in names}
    db.close()
    for view in names:
        endless = ("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT "
                   + ", ".join(f'x AS "{c}"' for c in columns[view]) + " FROM c")
        harmless(edited(f'DROP VIEW "{view}"', f'CREATE VIEW "{view}" AS {endless}'))


@pytest.mark.parametrize("statement", [
    "CREATE TRIGGER t AFTER INSERT ON meta BEGIN DELETE FROM meta; END",
    "CREATE TRIGGER t AFTER UPDATE ON meta BEGIN SELECT load_extension('/tmp/x'); END",
    "CREATE VIEW extra AS SELECT load_extension('/tmp/x.so')",
    "CREATE VIEW extra AS SELECT writefile('/tmp/gpufeed-cmd-owned', 'x')",
    "CREATE VIRTUAL TABLE extra USING fts5(x)",
    "CREATE VIRTUAL TABLE extra USING rtree(id, a, b)",
    "CREATE INDEX extra ON meta (abs(-9223372036854775807 - length(key)))",
    "CREATE TABLE sql_injection (\"x'; DROP TABLE meta; --\" TEXT DEFAULT (load_extension('x')))",
])
def test_a_schema_with_more_in_it(statement, edited, folder):
    at = edited(statement)
    before = at.read_bytes()
    harmless(at)
    assert at.read_bytes() == before
    assert not os.path.exists("/tmp/gpufeed-cmd-owned")


def test_a_view_that_calls_what_it_should_not(recording, edited):
    for table, columns in tables(recording):
        for call in ("load_extension('/tmp/x.so')", "writefile('/tmp/gpufeed-cmd-owned', 'x')",
                     "readfile('/etc/passwd')", "zeroblob(1000000000)", "randomblob(500000000)"):
            at = edited(f'DROP TABLE "{table}"', f'CREATE VIEW "{table}" AS SELECT '
                        + ", ".join(f'{call} AS "{c}"' for c in columns))
            refused(ask(at, "--json"), at)
        break
    assert not os.path.exists("/tmp/gpufeed-cmd-owned")


def test_of_another_version(edited, recording):
    """A recording of a later gpufeed is called that; it is not guessed at."""
    db = sqlite3.connect(recording)
    keys = [k for (k,) in db.execute("SELECT key FROM meta")]
    user = db.execute("PRAGMA user_version").fetchone()[0]
    app = db.execute("PRAGMA application_id").fetchone()[0]
    db.close()
    assert app != 0 or user != 0 or any("schema" in k or "format" in k for k in keys), "a version is kept somewhere"
    at = edited(f"PRAGMA user_version = {user + 1000}")
    r = ask(at)
    if user:
        refused(r, at)
        assert re.search("version|newer|later|format", r.err), r


# ---- rules of the user -----------------------------------------------------------------------

HEAD = "-- id: mine\n-- severity: warning\n-- title: T\n-- why: W\n-- fix: F\n-- scenario: none\n-- source: s\n"


@pytest.mark.parametrize("sql", [
    "DELETE FROM meta", "DROP TABLE meta", "ATTACH '/tmp/gpufeed-cmd-owned' AS x", "PRAGMA writable_schema=ON",
    "SELECT 1; DELETE FROM meta", "SELECT load_extension('/tmp/x.so')", "SELECT", "", "no sql at all",
    "VACUUM INTO '/tmp/gpufeed-cmd-owned'", "SELECT * FROM no_such_table", "SELECT 1/0 AS \"x [1]\"",
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) AS \"n [1]\" FROM c",
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x AS \"n [1]\" FROM c"])
def test_a_rule_that_does_more_than_ask(sql, folder, recording):
    shutil.copy(recording, folder / "r.gpufeed")
    (folder / "rules").mkdir()
    (folder / "rules" / "mine.sql").write_text(HEAD + sql + "\n")
    before = (folder / "r.gpufeed").read_bytes()
    r = ask(folder / "r.gpufeed", "--json", "--rules", folder / "rules")
    assert r.code in (0, 2), r
    if r.code == 0:
        gf.parse(r.out)
    else:
        assert "mine.sql" in gf.one_line(r.err), r
    assert (folder / "r.gpufeed").read_bytes() == before
    assert not os.path.exists("/tmp/gpufeed-cmd-owned")


def test_rules_that_are_not_text(folder, recording):
    (folder / "rules").mkdir()
    (folder / "rules" / "mine.sql").write_bytes(os.urandom(3000))
    (folder / "rules" / "folder.sql").mkdir()
    r = ask(recording, "--rules", folder / "rules")
    assert r.code in (0, 2), r
    assert "mine.sql" in r.err or (r.code == 0 and "mine" in r.out), "it is said that the rule is not used"
