# SPDX-License-Identifier: MIT
"""Verbs, options and hints: what a person meets before anything is measured."""
import re

import pytest

import gf

BUILT = [v for v in ("run", "record", "report", "diff", "top", "check", "map", "import", "whatif",
                     "stage", "mount", "agent")
         if re.search(rf"^  +{v}\b", gf.gpufeed("--help").out, re.M)]
NOT_BUILT = [v for v in ("top", "check", "map", "import", "whatif", "stage", "mount", "agent")
             if v not in BUILT]


def wrong_usage(result, hint=True):
    assert result.code == 2, result
    assert result.out == "", result
    lines = result.err.splitlines()
    assert 1 <= len(lines) <= 3, result
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", result.err), result
    if hint:
        assert "--help" in result.err or "did you mean" in result.err.lower(), result


def test_the_first_verbs_are_there():
    assert {"run", "record", "report"} <= set(BUILT)


@pytest.mark.parametrize("ask", [["--help"], ["-h"], ["help"]])
def test_help_goes_to_stdout(ask):
    r = gf.gpufeed(*ask)
    assert r.code == 0 and r.err == "" and "usage" in r.out.lower() and "example" in r.out.lower(), r
    assert max(map(len, r.out.splitlines())) <= 80, r


@pytest.mark.parametrize("verb", BUILT)
def test_each_verb_explains_itself_with_examples(verb):
    r = gf.gpufeed(verb, "--help")
    assert r.code == 0 and r.err == "", r
    assert "example" in r.out.lower() and f"gpufeed {verb}" in r.out, r
    assert max(map(len, r.out.splitlines())) <= 80, r


@pytest.mark.parametrize("verb", NOT_BUILT)
def test_verbs_that_are_not_built_stay_out_of_sight(verb):
    assert not re.search(rf"^ +{verb}\b", gf.gpufeed("--help").out, re.M)
    wrong_usage(gf.gpufeed(verb, "--help"))
    wrong_usage(gf.gpufeed(verb))


def test_version():
    r = gf.gpufeed("--version")
    assert r.code == 0 and re.search(r"\d+\.\d+\.\d+", r.out) and r.err == "", r


@pytest.mark.parametrize("argv", [
    ["rnu"], ["repotr", "x"], ["--hepl"], [""], ["\x1b[31mrun"], ["run\n"], ["-"], ["--"],
    ["run", "--prise", "3", "--", "true"], ["report", "--jsn", "x"], ["record", "--pidd", "1"],
    ["run", "-Z", "--", "true"], ["run"], ["run", "--"], ["run", "--simulate", "--"],
    ["run", "-o"], ["report"], ["record"], ["record", "-o", "x"]])
def test_what_is_not_understood_gets_a_hint(argv):
    wrong_usage(gf.gpufeed(*argv))


def test_no_arguments_at_all():
    r = gf.gpufeed()
    assert r.code == 2 and r.out == "" and "usage" in r.err.lower(), r


BAD_VALUES = [
    ["--price", "abc"], ["--price", "-1"], ["--price", "nan"], ["--price", "inf"], ["--price", "1e999"],
    ["--price", ""], ["--price", "28x"], ["--price", "0x1p4000"], ["--price", "0x10"],
    ["--price", "1e300"], ["--price", "2000000000"], ["--currency", ""],
    ["--currency", "E\x1b[31mR"], ["--currency", "E" * 5000], ["--currency", "E\nR"],
    ["--html", ""], ["--fail-on", "sometimes"], ["--fail-on", ""], ["--rules", "/no/such/folder"]]


@pytest.mark.parametrize("bad", BAD_VALUES, ids=lambda b: "=".join(b)[:30])
def test_bad_values_are_refused_before_the_job_starts(bad, folder):
    if bad[0] == "--currency":
        bad = ["--price", "3", *bad]
    r = gf.gpufeed("run", *bad, "-o", folder / "r.gpufeed", "--", "touch", folder / "ran")
    wrong_usage(r, hint=False)
    assert list(folder.iterdir()) == [], r


@pytest.mark.parametrize("origin", ["", "/mnt/data", "file:///mnt/data", "foo bar", "host:99999", "s3://"])
def test_an_origin_that_names_no_place(origin, folder):
    """It would match nothing, silently."""
    r = gf.gpufeed("run", "--origin", origin, "-o", folder / "r.gpufeed", "--", "touch", folder / "ran")
    wrong_usage(r, hint=False)
    assert list(folder.iterdir()) == [], r


@pytest.mark.parametrize("bad", BAD_VALUES, ids=lambda b: "=".join(b)[:30])
def test_bad_values_of_report(bad, recording):
    if bad[0] == "--currency":
        bad = ["--price", "3", *bad]
    wrong_usage(gf.gpufeed("report", recording, *bad), hint=False)


@pytest.mark.parametrize("price, why", [("1000000001", "at most 1000000000"), ("9" * 400, "at most 1000000000"),
                                        ("1e9", "digits"), ("-3", "digits")])
def test_a_price_that_is_refused_says_why(price, why, recording):
    r = gf.gpufeed("report", recording, "--price", price)
    wrong_usage(r, hint=False)
    assert why in r.err, r


@pytest.mark.parametrize("n", ["0", "-1", "17", "1000000000000", "x", "1x", ""])
def test_a_wrong_number_of_devices(n, folder):
    r = gf.gpufeed("run", f"--simulate={n}", "-o", folder / "r.gpufeed", "--", "touch", folder / "ran")
    wrong_usage(r, hint=False)
    assert list(folder.iterdir()) == [], r


@pytest.mark.parametrize("name, code", [("train.py", 127), ("./train.py", 126)])
def test_a_script_without_its_interpreter(name, code, folder):
    (folder / "train.py").write_text("print(1)\n")
    r = gf.gpufeed("run", "--", name, "--lr", "0.1", cwd=folder)
    assert r.code == code and f"python3 {name}" in gf.one_line(r.err), r


def test_report_reads_files():
    r = gf.gpufeed("report", "-", stdin=b"x")
    wrong_usage(r)
    assert "standard input" in r.err, r


def test_a_number_of_devices_beside_the_option(folder):
    r = gf.gpufeed("run", "--simulate", "2", "--", "true", cwd=folder)
    assert r.code == 127 and "--simulate=2" in gf.one_line(r.err) and list(folder.iterdir()) == [], r


@pytest.mark.parametrize("argv", [["-p", "0"], ["-p", "-1"], ["-p", "abc"], ["-p", "1x"], ["-p", ""],
                                  ["-p", "99999999999999999999"], ["-p", "4294967297"]])
def test_a_wrong_pid(argv, folder):
    wrong_usage(gf.gpufeed("record", *argv, "-d", "1", cwd=folder), hint=False)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("d", ["abc", "-5", "nan", "inf", "", "1e999", "5 parsecs"])
def test_a_wrong_duration(d, folder):
    sleep = gf.start("sleep", "30")
    try:
        wrong_usage(gf.gpufeed("record", "-p", sleep.pid, "-d", d, cwd=folder, patience=10), hint=False)
        assert list(folder.iterdir()) == []
    finally:
        gf.kill_group(sleep)
        sleep.communicate()


def test_options_of_the_job_are_the_jobs(folder):
    r = gf.gpufeed("run", "-q", "-o", folder / "r.gpufeed", "--", "echo", "--help", "-q", "--", "--price")
    assert r.code == 0 and r.out == "--help -q -- --price\n", r


def test_without_the_two_dashes_the_first_word_starts_the_command(folder):
    """As in perf and time: options after the command are the command's."""
    r = gf.gpufeed("run", "-q", "-o", folder / "r.gpufeed", "echo", "--json", "x")
    assert r.code == 0 and r.out == "--json x\n", r


def test_money_in_the_currency_that_was_given(recording):
    m = gf.report(recording, "--price", "28", "--currency", "USD")["money"]
    assert m["currency"] == "USD" and m["rate_per_hour"] == 28 and m["spent"] > 0
    assert gf.report(recording)["money"]["rate_per_hour"] is None
    assert "USD" in gf.gpufeed("report", recording, "--price", "28", "--currency", "CHF").out.replace(
        "CHF", "USD")
