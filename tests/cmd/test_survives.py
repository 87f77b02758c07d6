# SPDX-License-Identifier: MIT
"""What was measured is not lost: kills at any moment, small disks, files that go away, jobs that take things from
under their probe."""
import json
import os
import random
import shutil
import signal
import subprocess
import time

import pytest

import gf

UNTIL = [gf.JOBS, "until", "over", "3"]


def start(folder, at, *job, **how):
    return gf.start(gf.GPUFEED, "run", "--simulate", "-o", at, "--", *(job or UNTIL), cwd=folder, **how)


def over(folder, child):
    (folder / "over").touch()
    return gf.finish(child)


# ---- kills -----------------------------------------------------------------------------------


def readable(path):
    """A recording opens, or is none yet; it never reads as a damaged one."""
    r = gf.gpufeed("report", path, "--json")
    if r.code == 0:
        return gf.lawful(r.out)
    assert r.code == 2 and "damaged" not in gf.one_line(r.err), r
    return None


def test_kills_at_any_moment(folder):
    """The file alone holds what file and log do: every commit has gone on into it."""
    rng = random.Random(20)
    for i in range(8):
        at = folder / f"r{i}.gpufeed"
        child = start(folder, at, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        gf.wait_for(at.exists)
        time.sleep(rng.uniform(0, 1.5))
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        shutil.copy(at, folder / "alone.gpufeed")
        assert readable(at) == readable(folder / "alone.gpufeed")
    (folder / "over").touch()


def test_a_stop_of_a_while_loses_nothing(folder):
    child = start(folder, folder / "r.gpufeed", gf.JOBS, "until", "over", "20")
    gf.await_span(folder / "r.gpufeed", 0.3)
    os.kill(child.pid, signal.SIGSTOP)
    time.sleep(1.5)
    os.kill(child.pid, signal.SIGCONT)
    r = over(folder, child)
    j = gf.report(folder / "r.gpufeed")
    assert r.code == 0 and j["tool"]["events_lost"] == 0 and gf.seconds(j, "unseen") == 0, r


# ---- disks and folders -----------------------------------------------------------------------


@pytest.mark.parametrize("kib", [8, 36, 52, 72, 80, 100, 132, 180, 260])
def test_a_disk_of_any_size(kib, folder, root):
    """Where there is room for some of it, that is kept; where for none, it goes elsewhere. The job is unharmed."""
    (folder / "tmp").mkdir()
    with gf.Tmpfs(folder / "disk", f"size={kib}k") as disk:
        r = gf.gpufeed("run", "--simulate", "-o", disk / "r.gpufeed", "--", "sh", "-c", '"$@" && echo unharmed; exit 5',
                       "sh", gf.JOBS, "kernels", "120", "10", env=gf.environment(TMPDIR=folder / "tmp"))
        assert r.code == 5 and r.out == "unharmed\n" and "Verdict" in r.err, r
        elsewhere = [p for f in (folder / "tmp").iterdir() for p in f.iterdir()]
        j = gf.report(elsewhere[0] if elsewhere else disk / "r.gpufeed")
        if elsewhere:
            assert gf.computed(j, 1.2), r
        else:
            assert "cut short" in r.err or gf.computed(j, 1.2), r


@pytest.mark.parametrize("how", ["folder removed", "file removed", "file moved", "name taken"])
def test_a_recording_that_is_taken_away(how, folder):
    (folder / "tmp").mkdir()
    (folder / "out").mkdir()
    at = folder / "out" / "r.gpufeed"
    child = start(folder, at, env=gf.environment(TMPDIR=folder / "tmp"))
    gf.await_span(at, 0.3)
    if how == "folder removed":
        shutil.rmtree(folder / "out")
    elif how == "file moved":
        at.rename(folder / "moved.gpufeed")
    else:
        at.unlink()
    if how == "name taken":
        at.write_text("mine\n")
    r = over(folder, child)
    saved = [p for f in (folder / "tmp").iterdir() for p in f.iterdir()]
    assert r.code == 0 and len(saved) == 1 and "Verdict" in r.err, r
    told = [line for line in r.err.splitlines() if str(saved[0]) in line]
    assert len(told) == 2 and "moved or removed" in told[0], r
    assert gf.report(saved[0])["span_seconds"] > 0.3
    assert how != "name taken" or at.read_text() == "mine\n"


# ---- jobs ------------------------------------------------------------------------------------


def test_a_job_that_begins_itself_anew(folder):
    """The kernels of both lives of one process, but for the last moments of the first."""
    r = gf.gpufeed("run", "--simulate", "-o", folder / "r.gpufeed", "--", gf.JOBS, "again", "50", "10")
    j = gf.report(folder / "r.gpufeed")
    assert r.code == 0 and 0.49 < gf.seconds(j, "compute") < 1.03, r
    assert gf.seconds(j, "compute", "unseen") > 0.99, "what the exec took along is not a wait"


def test_a_job_that_closes_all_descriptors(folder):
    r = gf.gpufeed("run", "--simulate", "-o", folder / "r.gpufeed", "--", gf.JOBS, "closes", "30", "10")
    assert r.code == 0 and gf.computed(gf.report(folder / "r.gpufeed"), 0.6), r


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_job_that_takes_its_rings_away(when, folder):
    """Before it makes its ring: it is not seen, which is said. After that the ring is only a mapping."""
    child = start(folder, folder / "r.gpufeed", gf.JOBS, "unrings", "over", "10", when)
    gf.live(folder / "r.gpufeed", lambda j: "was not seen" in json.dumps(j) or j["span_seconds"] > 0.3)
    r = over(folder, child)
    j = gf.report(folder / "r.gpufeed")
    assert r.code == 0, r
    if gf.evidence(j, "devices not seen"):
        assert "GPUFEED_RING_DIR" in r.err and "never" not in r.err, r
        assert j["verdict"]["limited_by"] == "unknown", j["verdict"]
    else:
        assert when == "after" and gf.seconds(j, "compute") > 0, r


def test_two_recorders_of_one_job(folder, root):
    job = gf.start(gf.JOBS, "until", folder / "over", "5", env=gf.environment(LD_LIBRARY_PATH=gf.SIM))
    gf.wait_for(lambda: gf.maps_libcuda(job.pid))
    ways = [folder / "a.gpufeed", folder / "b.gpufeed"]
    recorders = [gf.start(gf.GPUFEED, "record", "-p", job.pid, "-o", at) for at in ways]
    for at in ways:
        gf.live(at, lambda j: True)
    time.sleep(1)
    (folder / "over").touch()
    job.communicate()
    for recorder, at in zip(recorders, ways):
        r = gf.finish(recorder)
        assert r.code == 0 and "Verdict" in r.out, r
        gf.report(at)


def test_a_recorder_beside_a_run(folder, root):
    child = start(folder, folder / "run.gpufeed")
    gf.await_span(folder / "run.gpufeed", 0.3)
    job = gf.children(child.pid)[0]
    r = gf.gpufeed("record", "-p", job, "-d", "1", "-o", folder / "record.gpufeed")
    ended = over(folder, child)
    assert r.code == 0 and ended.code == 0, (r, ended)
    j = gf.report(folder / "run.gpufeed")
    assert j["tool"]["events_lost"] == 0 and gf.seconds(j, "unseen") == 0, json.dumps(j["accelerators"])
    gf.report(folder / "record.gpufeed")
