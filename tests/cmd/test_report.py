# SPDX-License-Identifier: MIT
"""The report as text, JSON and HTML: laws of the figures, the page, the terminal, and diff."""
import html.parser
import json
import os
import re
import unicodedata

import pytest

import gf

STARVING = [gf.TRAIN, "--steps", "40", "--compute-ms", "3", "--decode-ms", "1.5", "--batch", "4", "--workers", "1"]
HAS_DIFF = re.search(r"^ +diff\b", gf.gpufeed("--help").out, re.M) is not None


@pytest.fixture(scope="module")
def starving():
    with gf.Folder() as path:
        yield gf.record(path / "starving.gpufeed", *STARVING)


@pytest.fixture(scope="module")
def healthy():
    with gf.Folder() as path:
        yield gf.record(path / "healthy.gpufeed", gf.JOBS, "kernels", "40", "25")


HEALTHY = 0.93  # a job of kernels alone that computed less was held up by the machine

# ---- JSON ------------------------------------------------------------------------------------


def test_a_starving_job(starving):
    j = gf.report(starving, "--price", "28", "--currency", "EUR")
    assert j["schema"] == "gpufeed.report/1"
    a = j["accelerators"][0]
    assert a["simulated"] is True and a["id"].endswith(":0") and "imulated" in a["name"], a
    assert gf.computed(j, 40 * 0.003), "the kernels' own time"
    assert j["verdict"]["utilisation"] < 0.8 and j["verdict"]["limited_by"] != "compute", j["verdict"]
    assert j["chains"] and all(c["links"] for c in j["chains"]), j["chains"]
    assert [c["seconds"] for c in j["chains"]] == sorted((c["seconds"] for c in j["chains"]), reverse=True)
    m = j["money"]
    assert m["currency"] == "EUR" and m["rate_per_hour"] == 28
    assert abs(m["spent"] - 28 * j["span_seconds"] / 3600) < 1e-9, m
    not_computing = sum(row["seconds"] for row in j["ledger"] if row["state"] in ("wait", "comm", "copy"))
    assert abs(m["waited"] - 28 * not_computing / 3600) < 1e-9, m
    for cause, amount in m["by_cause"].items():
        of_cause = sum(row["seconds"] for row in j["ledger"] if row["cause"] == cause and row["state"] != "unseen")
        assert abs(amount - 28 * of_cause / 3600) < 1e-9, cause


def test_the_price_of_the_run_is_kept(folder):
    path = folder / "r.gpufeed"
    gf.gpufeed("run", "--simulate", "-q", "--price", "28", "--currency", "USD", "-o", path, "--", gf.JOBS, "kernels", "20", "5")
    kept, other = gf.report(path)["money"], gf.report(path, "--price", "7", "--currency", "CHF")["money"]
    assert (kept["rate_per_hour"], kept["currency"]) == (28, "USD") and kept["spent"] > 0, kept
    assert (other["rate_per_hour"], other["currency"]) == (7, "CHF"), other
    assert gf.report(path, "--price", "0")["money"]["spent"] is None


def test_another_currency_does_not_change_an_amount(folder):
    """28 EUR an hour are not 28 USD an hour."""
    path = folder / "r.gpufeed"
    gf.gpufeed("run", "--simulate", "-q", "--price", "28", "--currency", "EUR", "-o", path, "--", gf.JOBS, "kernels", "20", "5")
    m = gf.report(path, "--currency", "USD")["money"]
    assert (m["rate_per_hour"], m["currency"]) == (28, "EUR"), m
    text = " ".join(gf.gpufeed("report", path, "--currency", "USD").out.split())
    assert "the price was given in EUR" in text and "$" not in text, text
    assert "was given in" not in gf.gpufeed("report", path, "--currency", "EUR").out
    assert gf.report(path, "--currency", "USD", "--price", "30")["money"]["currency"] == "USD"


def test_the_span_is_from_taking_the_device_to_its_release(folder):
    r = gf.gpufeed("run", "--simulate", "-q", "-o", folder / "r.gpufeed", "--", "sh", "-c",
                   'sleep 0.7; "$@"; sleep 0.7', "sh", gf.JOBS, "hold", "0.5")
    assert r.code == 0 and gf.held(gf.report(folder / "r.gpufeed"), r.out), r


def healthy_by(j):
    """What holds of a healthy job, however much of its cores the machine withholds."""
    v = j["verdict"]
    assert gf.computed(j, 1) and gf.loud(j) == [], j["findings"]
    if v["utilisation"] < HEALTHY:
        pytest.skip("the machine is too busy for a healthy job")
    assert v["limited_by"] == "compute", v
    assert v["faster_accelerator_max_speedup"] is None or v["faster_accelerator_max_speedup"] > 5, "nothing else takes time"


def test_a_healthy_job(healthy):
    j = gf.report(healthy)
    healthy_by(j)
    assert j["verdict"]["faster_accelerator_max_speedup"] is not None
    assert "nothing worth fixing" in gf.gpufeed("report", healthy).out.lower()


def test_a_healthy_job_seen_by_samples(folder):
    healthy_by(gf.report(gf.record(folder / "r.gpufeed", gf.JOBS, "kernels", "40", "25", options=["--sampler"])))


def test_a_job_with_a_healthy_loader_stays_quiet(folder):
    gf.record(folder / "r.gpufeed", gf.TRAIN, "--steps", "40", "--compute-ms", "25", "--decode-ms", "0.05")
    j = gf.report(folder / "r.gpufeed")
    if j["verdict"]["utilisation"] < HEALTHY:
        pytest.skip("the machine is too busy for a healthy job")
    assert [f for f in j["findings"] if f["severity"] != "info"] == [], j["findings"]


def test_seconds_and_evidence(starving):
    j = gf.report(starving)
    assert j["tool"]["cpu_seconds"] > 0 and 1_000_000 < j["tool"]["peak_rss_bytes"] < 64 << 20, j["tool"]
    assert j["tool"]["version"] in gf.gpufeed("--version").out
    assert all(row["evidence"] for row in j["ledger"])
    for f in j["findings"]:
        assert f["title"] and f["fix"] and f["evidence"], f


def test_json_is_the_same_each_time(starving):
    first = gf.gpufeed("report", starving, "--json", "--price", "3").out
    assert all(gf.gpufeed("report", starving, "--json", "--price", "3").out == first for _ in range(3))


def test_the_report_of_run_is_the_report_of_its_recording(folder):
    r = gf.gpufeed("run", "--simulate", "--json", "--report", folder / "r.json", "-o", folder / "r.gpufeed", "--",
                   *gf.SHORT)
    assert r.code == 0 and (folder / "r.json").read_text() == gf.gpufeed("report", folder / "r.gpufeed", "--json").out


def test_numbers_do_not_follow_the_locale(starving):
    for name in ("de_DE.UTF-8", "C", "tr_TR.UTF-8"):
        gf.report(starving, env=gf.environment(LC_ALL=name))


# ---- text ------------------------------------------------------------------------------------


def width(line):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


@pytest.mark.parametrize("which", ["starving", "healthy"])
def test_the_text_fits_one_screen(which, request):
    r = gf.gpufeed("report", request.getfixturevalue(which), "--price", "28")
    assert r.code == 0 and r.err == "", r
    lines = r.out.splitlines()
    assert len(lines) <= 40 and max(map(width, lines)) <= 100, r
    assert "Verdict:" in r.out and "\x1b" not in r.out, r


def test_the_text_says_what_the_json_says(starving):
    j = gf.report(starving, "--price", "28")
    text = gf.gpufeed("report", starving, "--price", "28").out
    assert re.search(r"GPU 0", text)
    compute = round(100 * gf.share(j, "compute"))
    assert re.search(rf"\b{compute} %", text), (compute, text)
    assert j["verdict"]["sentence"].split()[0] in text
    flat = re.sub(r"\s+", " ", text)
    assert j["verdict"]["sentence"] in flat, (j["verdict"]["sentence"], flat)
    if j["findings"]:
        assert j["findings"][0]["id"] in text
    assert re.search("simulated", text, re.I), "says that it is a simulation"


def test_the_verdict_names_figures(starving):
    v = gf.report(starving, "--price", "28")["verdict"]
    assert re.search(r"GPU 0 computed \d+(\.\d+)? % of ", v["sentence"]), v
    assert re.search(r"faster GPU", v["sentence"]), v


def test_without_utf8_there_is_no_other_letter(starving):
    r = gf.gpufeed("report", starving, "--price", "28", env=gf.environment(LC_ALL="C", LANG="C"))
    assert r.code == 0 and r.out.isascii(), r


@pytest.mark.parametrize("columns", [20, 40, 60, 80, 250])
def test_a_terminal_of_any_width(columns, starving):
    t = gf.Terminal(gf.GPUFEED, "report", starving, "--price", "28", columns=columns)
    code, seen = t.finish()
    assert code == 0, seen
    plain = re.sub(r"\x1b\[[0-9;]*m", "", seen)
    assert "\x1b" not in plain, "nothing but colours"
    if columns >= 40:
        assert max(width(line) for line in plain.split("\r\n")) <= columns, plain
        said = gf.report(starving, "--price", "28")["verdict"]["sentence"]
        assert said in " ".join(plain.split()), "the verdict is never cut"


def colours(starving, **env):
    code, seen = gf.Terminal(gf.GPUFEED, "report", starving, env=gf.environment(**env)).finish()
    assert code == 0, seen
    return "\x1b[" in seen


def test_colours_only_where_they_are_wanted(starving):
    assert colours(starving, TERM="xterm-256color")
    assert not colours(starving, TERM="xterm-256color", NO_COLOR="1")
    assert colours(starving, TERM="xterm-256color", NO_COLOR=""), "NO_COLOR counts when it is not empty"
    assert not colours(starving, TERM="dumb")
    assert "\x1b" not in gf.gpufeed("report", starving, env=gf.environment(TERM="xterm-256color")).out


def test_a_run_at_a_terminal_is_coloured_but_not_its_report_file(folder):
    t = gf.Terminal(gf.GPUFEED, "run", "--simulate", "--report", folder / "r.txt", "-o", folder / "r.gpufeed", "--",
                    *gf.SHORT, env=gf.environment(TERM="xterm"))
    code, seen = t.finish()
    assert code == 0, seen
    assert "\x1b" not in (folder / "r.txt").read_text()


def test_a_reader_that_goes_away(starving):
    r = gf.run("bash", "-c", f"{gf.GPUFEED} report {starving} | true; exit ${{PIPESTATUS[0]}}")
    assert r.code in (0, 2, 141) and len(r.err.splitlines()) <= 1, r


def test_a_full_disk_under_the_report(starving):
    r = gf.run("bash", "-c", f"{gf.GPUFEED} report {starving} >/dev/full")
    assert r.code not in (0, 1) and gf.one_line(r.err), r


def test_chains(starving):
    r = gf.gpufeed("report", starving, "--chains")
    assert r.code == 0 and r.err == "" and "train" in r.out and "\x1b" not in r.out, r


def test_quiet_writes_the_files_that_are_asked_for(folder):
    r = gf.gpufeed("run", "--simulate", "-q", "--report", folder / "r.txt", "--html", folder / "r.html", "-o",
                   folder / "r.gpufeed", "--", gf.JOBS, "kernels", "12", "8")
    assert r.code == 0 and r.err == "", r
    assert "Verdict" in (folder / "r.txt").read_text() and "<svg" in (folder / "r.html").read_text()


def test_a_run_that_is_too_short_has_cured_nothing(starving, folder):
    gf.record(folder / "r.gpufeed", gf.JOBS, "kernels", "1", "1")
    for pair, change in ((starving, folder / "r.gpufeed"), "gone"), ((folder / "r.gpufeed", starving), "new"):
        r = gf.gpufeed("diff", *pair)
        assert r.code == 0 and "too short to judge" in " ".join(r.out.split()), r
        assert not re.search(rf"^  {change}\b", r.out, re.M), r


def test_chains_where_no_wait_was_long(folder):
    gf.record(folder / "r.gpufeed", gf.JOBS, "kernels", "1", "0.01")
    r = gf.gpufeed("report", folder / "r.gpufeed", "--chains")
    assert r.code == 0 and ("no wait lasted a millisecond" in r.out or "waited" in r.out), r
    gf.gpufeed("run", "-q", "-o", folder / "none.gpufeed", "--", "true")
    assert "no accelerator was seen" in gf.gpufeed("report", folder / "none.gpufeed", "--chains").out


# ---- HTML ------------------------------------------------------------------------------------


class Page(html.parser.HTMLParser):
    """Collects what a page would load or run."""

    VOID = {"meta", "link", "br", "hr", "img", "input", "wbr", "col", "source"}

    def __init__(self, text):
        super().__init__()
        self.tags, self.loads, self.handlers, self.styles, self.open, self.words = [], [], [], "", [], []
        self.in_style = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)
        self.in_style = tag == "style"
        for name, value in attributes:
            if name in ("src", "href", "xlink:href", "action", "data", "srcset", "poster", "formaction"):
                self.loads.append((tag, name, value))
            if name.startswith("on"):
                self.handlers.append((tag, name, value))
            if name == "style":
                self.styles += value or ""

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if tag in self.VOID:
            return
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()
        self.in_style = False

    def handle_data(self, data):
        if self.in_style:
            self.styles += data
        else:
            self.words.append(data)


def page_of(recording, folder, *options):
    r = gf.gpufeed("report", recording, "--html", folder / "page.html", *options)
    assert r.code == 0, r
    text = (folder / "page.html").read_text(encoding="utf-8")
    return text, Page(text)


def test_a_file_called_minus_is_the_standard_output(starving, folder):
    """Alone on it: two reports cannot both go there, nor can a recording."""
    page_of(starving, folder)
    r = gf.gpufeed("report", starving, "--html", "-", cwd=folder)
    assert r.code == 0 and r.out == (folder / "page.html").read_text(encoding="utf-8"), r
    r = gf.gpufeed("run", "--simulate", "-o", "r.gpufeed", "--report", "-", "--json", "--", gf.JOBS, "kernels", "3", "10",
                   cwd=folder)
    assert r.code == 0 and gf.lawful(r.out)["span_seconds"] > 0, r
    r = gf.gpufeed("run", "--simulate", "-o", "r.gpufeed", "--html", "-", "--", gf.JOBS, "kernels", "3", "10", cwd=folder)
    assert r.code == 0 and r.out.startswith("<!doctype html>") and "Verdict: " in r.err, r
    for argv in (["report", starving, "--html", "-", "--json"], ["report", starving, "--html", "-", "--chains"],
                 ["run", "--html", "-", "--report", "-", "--", "true"], ["run", "-o", "-", "--", "true"],
                 ["record", "-p", os.getpid(), "-o", "-"], ["check", "--dump", "-", "--json"],
                 ["check", "--fix", "--apply", "--journal", "-"]):
        r = gf.gpufeed(*argv, cwd=folder)
        assert r.code == 2 and r.out == "" and "standard output" in r.err or "--journal wants a file" in r.err, r
    assert sorted(os.listdir(folder)) == ["page.html", "r.gpufeed"], "no file is called so"


def test_the_page_is_self_contained(starving, folder):
    text, page = page_of(starving, folder, "--price", "28")
    assert page.open == [], "all tags are closed"
    assert "svg" in page.tags and "script" not in page.tags and "iframe" not in page.tags
    assert "link" not in page.tags and "img" not in page.tags and page.handlers == []
    assert all(value.startswith("#") for _, _, value in page.loads), page.loads
    assert "@import" not in page.styles and not re.search(r"url\s*\((?![\"']?#)", page.styles)
    for address in re.findall(r"https?://[^\s\"'<>]+", text):
        assert address.startswith("http://www.w3.org/"), address
    assert re.search(r'<meta[^>]+viewport', text) and "prefers-color-scheme" in text
    assert text.lower().startswith("<!doctype html>") and re.search(r"<html[^>]+lang=", text)


def test_the_page_says_what_the_report_says(starving, folder):
    j = gf.report(starving, "--price", "28")
    text, page = page_of(starving, folder, "--price", "28")
    words = re.sub(r"\s+", " ", " ".join(page.words))
    assert re.sub(r"\s+", " ", j["verdict"]["sentence"]) in words
    for f in j["findings"]:
        assert f["title"] in words, f
    assert len(text) < 1_000_000


def test_hostile_words_of_the_command_line_are_words_only(folder):
    evil = "</title><script>alert(1)</script><img src=x onerror=alert(1)>\"'&\x1b[31m\u202e"
    gf.record(folder / "r.gpufeed", "sh", "-c", 'shift; exec "$@"', evil, evil, *gf.SHORT)
    text, page = page_of(folder / "r.gpufeed", folder)
    assert "script" not in page.tags and "img" not in page.tags and page.handlers == []
    assert "\x1b" not in text and "\u202e" not in text
    assert "alert(1)" in " ".join(page.words), "it is shown, as text"
    out = gf.gpufeed("report", folder / "r.gpufeed").out
    assert "\x1b" not in out and "\u202e" not in out
    gf.report(folder / "r.gpufeed")


def test_hostile_names_of_threads_and_files(folder):
    """What the job itself can choose: the names of its program and data."""
    evil = "x<script>alert(1)</script>\x1b[31m\n"
    (folder / "data").mkdir()
    for i in range(4):
        (folder / "data" / f"{i}<b>\x1b]0;t\x07").write_bytes(bytes(3000))
    os.symlink(gf.TRAIN, folder / evil.replace("/", "_"))
    gf.record(folder / "r.gpufeed", folder / evil.replace("/", "_"), *gf.SHORT[1:], "--data", folder / "data",
              "--ptx", gf.BUILD / "examples" / "spin.ptx")
    text, page = page_of(folder / "r.gpufeed", folder)
    assert "script" not in page.tags and "<b>\x1b" not in text and "\x1b" not in text
    for options in ([], ["--chains"]):
        assert "\x1b" not in gf.gpufeed("report", folder / "r.gpufeed", *options).out
    gf.report(folder / "r.gpufeed")


def test_the_page_of_a_job_without_a_device(folder):
    gf.record(folder / "r.gpufeed", "true")
    text, page = page_of(folder / "r.gpufeed", folder, "--price", "28")
    assert page.open == [] and not re.search(r"\bnan\b|\binf\b", text, re.I)


def test_a_page_that_cannot_be_written(starving, folder):
    for at in (folder / "no" / "page.html", "/dev/full", folder):
        r = gf.gpufeed("report", starving, "--html", at)
        assert r.code == 2 and str(at) in gf.one_line(r.err), r


# ---- diff ------------------------------------------------------------------------------------

needs_diff = pytest.mark.skipif(not HAS_DIFF, reason="diff is not built")


@needs_diff
def test_diff_as_text(starving, healthy):
    r = gf.gpufeed("diff", starving, healthy)
    assert r.code == 0 and r.err == "" and "\x1b" not in r.out, r
    assert len(r.out.splitlines()) <= 40, r


@needs_diff
def test_diff_as_json(starving, healthy):
    for a, b in [(starving, healthy), (healthy, starving), (starving, starving)]:
        r = gf.gpufeed("diff", a, b, "--json")
        assert r.code == 0 and r.err == "", r
        d = gf.parse(r.out)
        assert d["schema"] == "gpufeed.diff/1"
        gf.validator("diff").validate(d)


@needs_diff
def test_diff_of_nothing_is_nothing(starving):
    text = json.dumps(gf.parse(gf.gpufeed("diff", starving, starving, "--json").out))
    assert not re.search(r'"[a-z_]*(?:change|delta|difference|saved)[a-z_]*": -?[0-9]*[1-9]', text), text


@needs_diff
def test_diff_of_bad_input(starving, folder):
    (folder / "text").write_text("no recording\n")
    for pair in [(starving, folder / "text"), (folder / "text", starving), (starving, folder / "missing")]:
        for options in ([], ["--json"]):
            r = gf.gpufeed("diff", *pair, *options)
            assert r.code == 2 and r.out == "", r
            gf.one_line(r.err)
    for argv in ([], [starving], [starving, starving, starving], [starving, starving, "--nope"]):
        r = gf.gpufeed("diff", *argv)
        assert r.code == 2 and r.out == "" and "--help" in r.err, r


@needs_diff
def test_diff_with_a_job_without_a_device(starving, folder):
    gf.record(folder / "r.gpufeed", "true")
    for pair in [(starving, folder / "r.gpufeed"), (folder / "r.gpufeed", starving), (folder / "r.gpufeed",) * 2]:
        r = gf.gpufeed("diff", *pair)
        assert r.code == 0 and not re.search(r"\bnan\b|\binf\b", r.out, re.I), r
        d = gf.parse(gf.gpufeed("diff", *pair, "--json").out)
        gf.validator("diff").validate(d)
