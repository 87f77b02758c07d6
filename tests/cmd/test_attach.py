# SPDX-License-Identifier: MIT
"""record -p: a job that runs already, watched from outside and not touched."""
import json
import os
import re
import signal
import time

import pytest

import gf

SIMULATED = {"LD_LIBRARY_PATH": gf.SIM}
STEADY = [gf.TRAIN, "--compute-ms", "10", "--decode-ms", "0.1", "--batch", "2"]


@pytest.fixture(autouse=True)
def rights(root):
    """Watching another's driver calls needs the rights of root."""


@pytest.fixture
def job():
    """A steady training job that was started without gpufeed."""
    child = gf.start(*STEADY, "--steps", "100000", env=gf.environment(**SIMULATED))
    gf.wait_for(lambda: gf.maps_libcuda(child.pid))
    time.sleep(0.3)
    yield child
    gf.kill_group(child)
    child.communicate()


def bounds_are_told(text, j):
    """Where the calls alone are seen, every figure says that it is a bound: rows, bars, findings, verdict, JSON."""
    said = j["verdict"]["sentence"]
    assert said.startswith("GPU 0 computed at most "), said
    assert not re.search(r"; (?!at most )[\d.]+ %", said), said
    assert re.search(r"≤ [\d.]+ % compute", text) and re.search(r"≤ [\d.]+ % wait", text), text
    for f in j["findings"]:
        for e in f["evidence"]:
            if e["source"].startswith("ledger") and e["unit"] in ("s", "1") and e["name"] != "compute":
                assert e["source"] == "ledger (upper bound)", e
        if f["gain_seconds"]:
            assert [e["value"] for e in f["evidence"] if e["name"] == "gain_bound"] == ["upper"], f
    assert not re.search(r"saves (?!at most )", text), text
    assert not re.search(r"(waited|share) \d", text), text


def test_a_starving_job_that_runs_already(folder):
    starving = [gf.TRAIN, "--compute-ms", "3", "--decode-ms", "1.5", "--batch", "4", "--workers", "1"]
    child = gf.start(*starving, "--steps", "100000", env=gf.environment(**SIMULATED))
    try:
        gf.wait_for(lambda: gf.maps_libcuda(child.pid))
        r = gf.gpufeed("record", "-p", child.pid, "-d", "3", "-o", folder / "r.gpufeed", "--price", "28")
    finally:
        gf.kill_group(child)
        child.communicate()
    assert r.code == 0 and "saves at most " in r.out, r
    bounds_are_told(r.out, gf.report(folder / "r.gpufeed"))


def test_two_seconds_of_a_running_job(folder):
    child = gf.start(*STEADY, "--steps", "450", "--log", folder / "log", env=gf.environment(**SIMULATED))
    gf.wait_for(lambda: gf.maps_libcuda(child.pid))
    r = gf.gpufeed("record", "-p", child.pid, "-d", "2", "-o", folder / "r.gpufeed", "--price", "28")
    assert r.code == 0, r
    assert "Verdict" in r.out and "recording" in r.err, r
    ended = gf.finish(child)
    assert ended.code == 0 and json.loads((folder / "log").read_text())["steps"] == 450, ended

    j = gf.report(folder / "r.gpufeed")
    assert 0 < j["span_seconds"] < r.seconds, j["span_seconds"]
    assert j["accelerators"], j
    assert all(row["evidence"] == "bound" or row["state"] == "unseen" for row in j["ledger"]), j["ledger"]
    assert gf.seconds(j, "compute", "copy", "comm") > 0, j
    bounds_are_told(r.out, j)


def test_the_default_name(job, folder):
    r = gf.gpufeed("record", "-p", job.pid, "-d", "0.5", "-q", cwd=folder)
    assert r.code == 0 and r.out == "", r
    assert os.listdir(folder) == [f"train-{job.pid}.gpufeed"]


def test_the_report_is_named_by_the_command(job, folder):
    r = gf.gpufeed("record", "-p", job.pid, "-d", "0.5", "-o", folder / "r.gpufeed")
    first = r.out.splitlines()[0]
    assert r.code == 0 and first.startswith(gf.TRAIN) and "--compute-ms 10" in first, r


def test_no_secret_of_the_command_names_the_report(folder):
    job = gf.start("sh", "-c", "sleep 1000; true", "sh", "--password", "hunter2")
    try:
        r = gf.gpufeed("record", "-p", job.pid, "-d", "0.5", "-o", folder / "r.gpufeed")
    finally:
        gf.kill_group(job)
        job.communicate()
    assert r.code == 0 and r.out.startswith(f"sh -c sleep 1000; true sh --password *** (pid {job.pid})"), r


@pytest.mark.parametrize("how", ["--json", "--html"])
def test_results_go_to_stdout(how, job, folder):
    options = ["--json"] if how == "--json" else ["--html", folder / "r.html"]
    r = gf.gpufeed("record", "-p", job.pid, "-d", "1", "-o", folder / "r.gpufeed", *options)
    assert r.code == 0, r
    if how == "--json":
        gf.lawful(r.out)
    else:
        page = (folder / "r.html").read_text()
        assert "<svg" in page and re.search(r"<b>≤ [\d.]+ %</b> compute, <b>≤ [\d.]+ %</b> wait", page), page


def test_a_page_on_the_standard_output(job, folder):
    r = gf.gpufeed("record", "-p", job.pid, "-d", "1", "-o", folder / "r.gpufeed", "--html", "-")
    assert r.code == 0 and r.out.startswith("<!doctype html>") and r.out.rstrip().endswith("</html>"), r


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_by_hand(number, job, folder):
    child = gf.start(gf.GPUFEED, "record", "-p", job.pid, "-o", folder / "r.gpufeed")
    gf.await_span(folder / "r.gpufeed", 0.3)
    os.kill(child.pid, number)
    r = gf.finish(child)
    assert r.code == 0 and "Verdict" in r.out, r
    assert job.poll() is None, "the job is not touched"
    gf.report(folder / "r.gpufeed")


def test_a_job_that_ends_early(folder):
    child = gf.start(*STEADY, "--steps", "150", env=gf.environment(**SIMULATED))
    gf.wait_for(lambda: gf.maps_libcuda(child.pid))
    recorder = gf.start(gf.GPUFEED, "record", "-p", child.pid, "-d", "3600", "-o", folder / "r.gpufeed")
    gf.finish(child)
    assert gf.finish(recorder).code == 0, "it does not wait for its hour to end"
    gf.report(folder / "r.gpufeed")


def test_a_job_that_is_killed(job, folder):
    recorder = gf.start(gf.GPUFEED, "record", "-p", job.pid, "-d", "3600", "-o", folder / "r.gpufeed")
    gf.await_span(folder / "r.gpufeed", 0.3)
    os.kill(job.pid, signal.SIGKILL)
    job.wait()
    assert gf.finish(recorder).code == 0
    gf.report(folder / "r.gpufeed")


def test_a_process_that_does_not_exist(folder):
    child = gf.start("true")
    child.communicate()
    for pid in (child.pid, 4_194_303, 2_147_483_647):
        r = gf.gpufeed("record", "-p", pid, "-d", "1", cwd=folder)
        assert r.code == 2 and r.out == "" and str(pid) in gf.one_line(r.err), r
    assert os.listdir(folder) == []


def test_a_process_that_is_over_already(folder):
    """A zombie: there is nothing to watch, and no long wait for it."""
    child = gf.start("true")
    gf.wait_for(lambda: not gf.alive(child.pid))
    r = gf.gpufeed("record", "-p", child.pid, "-d", "3600", "-o", folder / "r.gpufeed")
    child.communicate()
    assert r.code in (0, 2), r


def test_a_process_of_somebody_else(job, folder, nobody):
    r = gf.run(*nobody, gf.GPUFEED, "record", "-p", job.pid, "-d", "1", "-o", folder / "r.gpufeed")
    assert r.code in (0, 4), r
    if r.code == 4:
        gf.one_line(r.err)
    else:
        assert re.search("permi|CAP_", r.out + r.err, re.I), r
        assert "never" not in r.out, "it was not allowed to look; that is not the same"
    assert job.poll() is None


def test_a_process_without_a_device(folder):
    child = gf.start("sleep", "1000")
    try:
        r = gf.gpufeed("record", "-p", child.pid, "-d", "1", "-o", folder / "r.gpufeed")
        assert r.code == 0, r
        assert not re.search(r"\bnan\b|\binf\b", r.out, re.I), r
        j = gf.report(folder / "r.gpufeed")
        assert j["verdict"]["utilisation"] in (None, 0), j["verdict"]
        assert [f for f in j["findings"] if f["severity"] != "info"] == [], j["findings"]
    finally:
        gf.kill_group(child)
        child.communicate()


def test_gpufeed_itself_and_process_one(folder):
    r = gf.gpufeed("record", "-p", os.getpid(), "-d", "0.5", "-o", folder / "a.gpufeed")
    assert r.code == 0, r
    r = gf.gpufeed("record", "-p", "1", "-d", "0.5", "-o", folder / "b.gpufeed")
    assert r.code in (0, 2, 4), r


def test_a_killed_recorder_leaves_the_job_alone(job, folder):
    recorder = gf.start(gf.GPUFEED, "record", "-p", job.pid, "-o", folder / "r.gpufeed")
    gf.await_span(folder / "r.gpufeed", 1)
    os.kill(recorder.pid, signal.SIGKILL)
    gf.finish(recorder)
    time.sleep(0.2)
    assert job.poll() is None
    r = gf.gpufeed("report", folder / "r.gpufeed")
    assert r.code == 0 and "cut short" in r.out, r


def test_a_folder_that_cannot_be_written(job, folder):
    r = gf.gpufeed("record", "-p", job.pid, "-d", "1", "-o", folder / "no" / "r.gpufeed")
    assert r.code == 2 and "r.gpufeed" in gf.one_line(r.err), r
