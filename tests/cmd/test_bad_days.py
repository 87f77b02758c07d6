# SPDX-License-Identifier: MIT
"""What goes wrong while a job is measured: none of it may harm the job, and each gets one clear line."""
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import pytest

import gf

LONG = [gf.TRAIN, "--steps", "100000", "--compute-ms", "5", "--decode-ms", "0.2", "--batch", "2"]


FULL = r"^gpufeed.*(no space|disk.*full|full.*disk)"


def lines_about(text, pattern):
    return [line for line in text.splitlines() if re.search(pattern, line, re.I)]


# ---- commands that do not run ----------------------------------------------------------------


@pytest.mark.parametrize("command", ["no-such-command-here", "/no/such/file", "./nothing"])
def test_a_command_that_does_not_exist(command, folder):
    r = gf.gpufeed("run", "--", command, "argument", cwd=folder)
    assert r.code == 127 and r.out == "", r
    assert command in gf.one_line(r.err), r
    assert list(folder.iterdir()) == [], "nothing is recorded"


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_command_that_cannot_be_executed(kind, folder):
    at = folder / "thing"
    if kind == "folder":
        at.mkdir()
    else:
        at.write_text("text\n")
    bare = gf.run("bash", "-c", '"$0"', at)
    r = gf.gpufeed("run", "-o", folder / "r.gpufeed", "--", at)
    assert r.code == bare.code == 126 and r.out == "", (bare, r)
    assert str(at) in gf.one_line(r.err), r
    assert not (folder / "r.gpufeed").exists()


def test_a_command_that_does_not_exist_spares_an_earlier_recording(folder, recording):
    shutil.copy(recording, folder / "r.gpufeed")
    before = (folder / "r.gpufeed").read_bytes()
    assert gf.gpufeed("run", "-o", folder / "r.gpufeed", "--", "no-such-command-here").code == 127
    assert (folder / "r.gpufeed").read_bytes() == before


def test_an_earlier_recording_is_replaced_whole(folder):
    gf.record(folder / "r.gpufeed", gf.JOBS, "kernels", "50", "10")
    gf.record(folder / "r.gpufeed", gf.JOBS, "kernels", "5", "10")
    assert gf.computed(gf.report(folder / "r.gpufeed"), 0.05), "only the second run"


@pytest.mark.parametrize("what", ["file", "folder", "device"])
def test_something_else_is_not_overwritten(what, folder):
    """-o with a slip of the finger must not cost a person's file. The job runs or is refused, as may be."""
    at = folder / "train.py"
    if what == "file":
        at.write_text("my code\n" * 300)
    elif what == "folder":
        at.mkdir()
    else:
        at = "/dev/null"
    r = gf.gpufeed("run", "--simulate", "-o", at, "--", "sh", "-c", "exit 5")
    assert r.code in (2, 5) and "gpufeed" in r.err, r
    if what == "file":
        assert at.read_text() == "my code\n" * 300
    if what == "device":
        assert not os.path.isfile("/dev/null")


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL])
def test_a_job_that_crashes_on_the_device(number, folder):
    r = gf.gpufeed("run", "--simulate", "-o", folder / "r.gpufeed", "--", gf.JOBS, "crash", int(number))
    assert r.code == 128 + number, r
    assert "Verdict" in r.err, r
    j = gf.report(folder / "r.gpufeed")
    assert j["span_seconds"] >= 0.05, j
    assert gf.seconds(j, "compute", "unseen") > 0.049, "what the crash took along is not a wait"
    assert [f for f in j["findings"] if f["severity"] != "info"] == [], j["findings"]


@pytest.mark.parametrize("how", [[], ["--sampler"]], ids=["chain", "sampler"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGSEGV])
def test_a_job_that_is_stopped_while_it_starts(number, how, folder):
    """Before its first launch it was starting, whatever it waited for then."""
    child = gf.start(gf.GPUFEED, "run", "--simulate", "-o", folder / "r.gpufeed", *how, "--", "sh", "-c", '"$0" stuck',
                     gf.JOBS)
    assert child.stdout.readline() == b"taken\n"
    time.sleep(1.5)
    if number == signal.SIGSEGV:
        shell = gf.children(child.pid)[0]
        os.kill((gf.children(shell) or [shell])[0], number)
    else:
        os.killpg(child.pid, number)
    r = gf.finish(child)
    j = gf.report(folder / "r.gpufeed")
    assert j["verdict"]["limited_by"] == "startup" and "start or end" in j["verdict"]["sentence"], (r, j)


@pytest.mark.parametrize("how", [[], ["--sampler"]], ids=["chain", "sampler"])
def test_a_job_that_loads_its_own_data_from_the_page_cache(how, folder):
    """No wait shows that: what it reads does."""
    (folder / "data").write_bytes(b"x" * (1 << 20))
    gf.record(folder / "r.gpufeed", gf.JOBS, "loads", folder / "data", "4", options=how)
    titles = [f["title"] for f in gf.report(folder / "r.gpufeed")["findings"] if f["id"] == "host-bound"]
    assert titles and "reads its data itself: there are no loader workers" in titles[0], titles


def test_a_job_that_crashes_after_a_while(folder):
    """What had ended before is there."""
    r = gf.gpufeed("run", "--simulate", "-o", folder / "r.gpufeed", "--", "sh", "-c", 'ulimit -c 0; "$@"; kill -SEGV $$',
                   "sh", gf.JOBS, "kernels", "50", "20")
    assert r.code == 128 + signal.SIGSEGV, r
    assert gf.computed(gf.report(folder / "r.gpufeed"), 1)


def test_a_job_of_a_tenth_of_a_second(folder):
    r = gf.gpufeed("run", "--simulate", "-o", folder / "r.gpufeed", "--price", "28", "--", gf.JOBS, "timed", "10", "10")
    assert r.code == 0 and "Verdict" in r.err, r
    j = gf.report(folder / "r.gpufeed")
    assert gf.held(j, r.out) and gf.computed(j, 0.1), (r, j)


def test_a_job_of_one_kernel(folder):
    """It shows too little to conclude from, and --fail-on says that it knows nothing."""
    gf.record(folder / "r.gpufeed", gf.JOBS, "kernels", "1", "0.001")
    j = gf.report(folder / "r.gpufeed", "--price", "1")
    assert j["verdict"]["limited_by"] == "unknown" and j["findings"] == [], j
    assert "Too short to judge" in j["verdict"]["sentence"] and gf.evidence(j, "too_short"), j
    r = gf.gpufeed("report", folder / "r.gpufeed", "--fail-on", "info")
    assert r.code == 0 and "too short to judge" in gf.one_line(r.err) and "--fail-on" in r.err, r
    assert gf.gpufeed("report", folder / "r.gpufeed").err == ""


def test_a_short_job_of_many_steps_is_judged(folder):
    gf.record(folder / "r.gpufeed", *gf.SHORT)
    assert gf.evidence(gf.report(folder / "r.gpufeed"), "too_short") == []


def test_a_device_that_is_taken_and_not_used(folder):
    gf.record(folder / "r.gpufeed", gf.JOBS, "hold", "0.3")
    j = gf.report(folder / "r.gpufeed", "--price", "28")
    assert j["span_seconds"] >= 0.29 and gf.share(j, "compute") == 0, j
    assert gf.share(j, "wait") > 0.9, j


@pytest.mark.parametrize("job", [["true"], ["sh", "-c", "sleep 0.3; exit 0"]])
def test_a_job_that_never_touches_a_device(job, folder):
    r = gf.gpufeed("run", "--simulate", "--price", "28", "-o", folder / "r.gpufeed", "--", *job)
    assert r.code == 0 and r.out == "", r
    assert len(lines_about(r.err, "^!")) == 1 and len(r.err.splitlines()) < 12, r
    assert "never" in lines_about(r.err, "^!")[0], r
    # Neither a length nor an amount of what was not: a job of hours would not have cost nothing.
    assert "0 ns" not in r.err and "0.00" not in r.err, r
    assert not re.search(r"\bnan\b|\binf\b|-nan", r.err, re.I), r
    j = gf.report(folder / "r.gpufeed", "--price", "28")
    assert j["accelerators"] == [] and j["ledger"] == [] and j["findings"] == [], j
    assert j["verdict"]["utilisation"] is None and j["verdict"]["limited_by"] == "unknown", j
    assert gf.gpufeed("report", folder / "r.gpufeed", "--html", folder / "r.html").code == 0


def test_no_device_under_the_real_driver(folder):
    """Without --simulate, on a machine without a GPU: the job fails as it would alone."""
    r = gf.gpufeed("run", "-o", folder / "r.gpufeed", "--", gf.JOBS, "kernels", "1", "1")
    assert r.code == gf.run(gf.JOBS, "kernels", "1", "1").code, r
    gf.report(folder / "r.gpufeed")


# ---- forking away ----------------------------------------------------------------------------


def test_a_job_that_forks_away(folder):
    """Its exit code passes, what it left behind ends its work, and the report comes."""
    r = gf.gpufeed("run", "--simulate", "-o", folder / "r.gpufeed", "--", gf.JOBS, "daemon", folder / "done", "800", "7")
    assert r.code == 7 and "recording" in r.err, r
    gf.wait_for(lambda: (folder / "done").exists() and (folder / "done").read_text() == "done\n")
    j = gf.report(folder / "r.gpufeed")
    assert j["accelerators"] and gf.computed(j, 0.8), j


def test_a_daemon_that_stays_does_not_hold_gpufeed_for_ever(folder):
    """A helper in the background that holds no device: the command's end is the end."""
    r = gf.gpufeed("run", "-o", folder / "r.gpufeed", "--", "sh", "-c",
                   "sleep 1000 >/dev/null 2>&1 </dev/null & echo $! > pid; exit 3", cwd=folder)
    helper = int((folder / "pid").read_text())
    lives = gf.alive(helper)
    os.kill(helper, signal.SIGKILL)
    assert r.code == 3 and lives, r


def test_a_signal_ends_the_watch_over_what_was_left(folder):
    child = gf.start(gf.GPUFEED, "run", "--simulate", "-o", folder / "r.gpufeed", "--", "sh", "-c",
                     'setsid "$0" until done 10 </dev/null >/dev/null 2>&1 & exit 7', gf.JOBS, cwd=folder)
    job = gf.wait_for(lambda: gf.children(child.pid))[0]
    left = gf.wait_for(lambda: not os.path.exists(f"/proc/{job}") and gf.children(child.pid))[0]
    gf.wait_for(lambda: gf.maps_libcuda(left))
    os.kill(child.pid, signal.SIGTERM)
    r = gf.finish(child)
    assert r.code == 7 and "Verdict" in r.err, "SIGTERM ends gpufeed, with its report"
    (folder / "done").touch()
    gf.report(folder / "r.gpufeed")


def test_the_job_execs_something_else(folder):
    gf.record(folder / "r.gpufeed", "sh", "-c", 'exec "$@"', "sh", *gf.SHORT)
    assert gf.share(gf.report(folder / "r.gpufeed"), "compute") > 0


# ---- gpufeed itself is killed ----------------------------------------------------------------


def withheld(*pids):
    """Seconds for which the machine gave these processes no core, by the kernel's own count."""
    total = 0
    for pid in pids:
        for task in os.listdir(f"/proc/{pid}/task"):
            total += int(pathlib.Path(f"/proc/{pid}/task/{task}/schedstat").read_text().split()[1]) / 1e9
    return total


def known(j):
    """What the machine and the wait chain have told so far."""
    return gf.evidence(j, "cores allowed") + [e for e in j["evidence"] if e["name"].startswith("kernel launches")]


def killed_in_the_middle(folder, number, after):
    """A job whose gpufeed is killed once its recording holds `after` seconds and what is known by then."""
    at = folder / f"r{number}.gpufeed"
    log = folder / f"log{number}"
    child = gf.start(gf.GPUFEED, "run", "--simulate", "-o", at, "--", gf.TRAIN, "--steps", "450", "--compute-ms", "10",
                     "--decode-ms", "0.05", "--batch", "1", "--workers", "1", "--log", log, stderr=subprocess.DEVNULL)
    job = gf.wait_for(lambda: gf.children(child.pid))[0]
    gf.live(at, lambda j: j["span_seconds"] > after and len(known(j)) == 2)
    rings = gf.ring_folder(job)
    late = withheld(child.pid, job)
    killed = time.monotonic_ns()
    os.kill(child.pid, signal.SIGKILL)
    child.communicate()
    return at, log, killed, late, rings


def said_missing(text):
    """Seconds that a recording cut short says may be missing."""
    said = re.search(r"up to about ([\d.]+) (ms|s) before (?:that|now) are missing", re.sub(r"\s+", " ", text))
    assert said, text
    return float(said[1]) / (1000 if said[2] == "ms" else 1)


def test_killed_in_a_long_wait(folder):
    """A wait is booked at its end: one that goes on is missing, however long it is, and that is told."""
    at = folder / "r.gpufeed"
    child = gf.start(gf.GPUFEED, "run", "--simulate", "-o", at, "--", gf.JOBS, "until", folder / "over", "5",
                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    job = gf.wait_for(lambda: gf.children(child.pid))[0]
    rings = None
    try:
        gf.await_span(at, 0.3)
        rings = gf.ring_folder(job)
        os.kill(job, signal.SIGSTOP)
        stopped = time.monotonic()
        gf.wait_for(lambda: said_missing(gf.gpufeed("report", at).out) > 4)
        waited = time.monotonic() - stopped
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        assert said_missing(gf.gpufeed("report", at).out) > 4 and waited > 2
    finally:
        gf.kill_group(child)
        os.kill(job, signal.SIGKILL)
        if rings:
            shutil.rmtree(rings, ignore_errors=True)


def test_killed_gpufeed_costs_two_seconds_and_no_job(folder):
    """At several moments, since what is lost depends on when the last commit was."""
    moments = (1.8, 2.05, 2.3, 2.55)
    with concurrent.futures.ThreadPoolExecutor(len(moments)) as pool:
        runs = list(pool.map(lambda m: killed_in_the_middle(folder, m, m), moments))
    for after, (at, log, killed, late, rings) in zip(moments, runs):
        cut = gf.gpufeed("report", at)
        gf.wait_for(lambda: log.exists() and log.read_text().endswith("\n"))
        told = json.loads(log.read_text())
        shutil.rmtree(rings, ignore_errors=True)
        assert told["steps"] == 450 and told["ended_ns"] > killed, "the job went on to its end"

        assert cut.code == 0 and "cut short" in cut.out, cut
        j = gf.report(at)
        missing = said_missing(cut.out)
        assert gf.evidence(j, "cut_short")[0] in re.sub(r"\s+", " ", cut.out), "the JSON says so too"
        assert j["span_seconds"] >= after, "what had been committed is there"
        lost = (killed - told["started_ns"]) / 1e9 - j["span_seconds"]
        assert lost <= 2 + late, f"{lost:.2f} s are lost, and for {late:.2f} s there was no core"
        assert lost <= missing + late + 0.05, f"{lost:.2f} s are lost, {missing} s are said to be"
        assert gf.seconds(j, "compute") > 0, j
        assert len(known(j)) == 2, "what was known by then is written, too"

        alone = folder / f"alone-{at.name}"
        shutil.copy(at, alone)
        assert gf.report(alone)["span_seconds"] == j["span_seconds"], "the one file copied away holds the same"


def test_killed_at_once(folder):
    """Within the first moments: whatever is there opens, or is called no recording; it never crashes."""
    for delay in (0.0, 0.02, 0.1, 0.3):
        at = folder / f"r{delay}.gpufeed"
        child = gf.start(gf.GPUFEED, "run", "--simulate", "-o", at, "--", *gf.SHORT)
        time.sleep(delay)
        os.kill(child.pid, signal.SIGKILL)
        gf.finish(child)
        if at.exists():
            r = gf.gpufeed("report", at, "--json")
            assert r.code in (0, 2), r
            if r.code == 0:
                gf.lawful(r.out)
            else:
                gf.one_line(r.err)


def test_a_report_while_the_job_runs(folder):
    child = gf.start(gf.GPUFEED, "run", "--simulate", "-q", "-o", folder / "r.gpufeed", "--", *LONG)
    try:
        gf.await_span(folder / "r.gpufeed", 0.3)
        seen = [gf.report(folder / "r.gpufeed")["span_seconds"] for _ in range(3)]
        assert seen == sorted(seen), seen
    finally:
        os.kill(child.pid, signal.SIGTERM)
    assert gf.finish(child).code == 128 + signal.SIGTERM
    assert gf.report(folder / "r.gpufeed")["span_seconds"] > seen[-1]


# ---- disks -----------------------------------------------------------------------------------


def fill(at):
    """Takes all that is left of a file system."""
    with open(at, "wb", buffering=0) as f:
        for size in (65536, 4096):
            try:
                while True:
                    f.write(bytes(size))
            except OSError:
                pass


def job_with_code(folder, *job):
    return ["sh", "-c", '"$@" && echo unharmed; exit 5', "sh", *job, "--log", folder / "log"]


def unharmed(r, folder):
    assert r.code == 5 and r.out == "unharmed\n", r
    assert json.loads((folder / "log").read_text())["steps"] > 0


@pytest.mark.parametrize("size", ["4k", "24k", "64k"])
def test_a_disk_that_is_full_from_the_start(size, folder, root):
    with gf.Tmpfs(folder / "disk", f"size={size}") as disk:
        if size == "4k":
            fill(disk / "filler")
        r = gf.gpufeed("run", "--simulate", "-o", disk / "r.gpufeed", "--", *job_with_code(folder, *gf.SHORT))
        unharmed(r, folder)
        about = lines_about(r.err, FULL)
        assert len(about) == 1 and "r.gpufeed" in about[0], r


def test_a_disk_that_fills_while_recording(folder, root):
    with gf.Tmpfs(folder / "disk", "size=2m") as disk:
        child = gf.start(gf.GPUFEED, "run", "--simulate", "-o", disk / "r.gpufeed", "--", "sh", "-c",
                         '"$0" until over 10 && echo unharmed; exit 5', gf.JOBS, cwd=folder)
        gf.await_span(disk / "r.gpufeed", 0.3)
        fill(disk / "filler")
        line = child.stderr.readline().decode()
        (folder / "over").touch()
        r = gf.finish(child)
        r.err = line + r.err
        assert r.code == 5 and r.out == "unharmed\n", r
        about = lines_about(r.err, FULL)
        assert len(about) == 1 and "r.gpufeed" in about[0], r
        cut = gf.gpufeed("report", disk / "r.gpufeed")
        assert cut.code == 0 and "cut short" in cut.out, cut
        assert gf.report(disk / "r.gpufeed")["span_seconds"] > 0.3


def test_a_folder_that_cannot_be_written(folder, root):
    """The default name in a read-only folder: the job runs all the same."""
    with gf.Tmpfs(folder / "disk", "size=64k,ro") as disk:
        r = gf.gpufeed("run", "--simulate", "--", *job_with_code(folder, *gf.SHORT), cwd=disk)
        unharmed(r, folder)
        assert len(lines_about(r.err, "read-only")) == 1, r


def test_no_temporary_folder(folder, root):
    """Neither TMPDIR nor /dev/shm nor /tmp can be written."""
    script = ("mount -t tmpfs -o size=64k,ro x /dev/shm && mount -t tmpfs -o size=64k,ro x /tmp && "
              'cd "$0" && exec "$@"')
    with gf.Tmpfs(folder / "disk", "size=4m") as disk:
        shutil.copy(gf.BUILD / "examples" / "spin.ptx", disk)
        r = gf.run("unshare", "-m", "sh", "-c", "mount --bind . /mnt && cd /mnt && " + script, "/mnt", gf.GPUFEED, "run",
                   "--simulate", "-o", "/mnt/r.gpufeed", "--", "sh", "-c", '"$@"; exit 5', "sh", *gf.SHORT,
                   env=gf.environment(TMPDIR="/no/such"), cwd=disk)
        assert r.code == 5 and "12 steps" in r.err, r
        assert "gpufeed" in r.err, r


@pytest.mark.parametrize("limit", ["-f 1", "-f 40", "-f 3000", "-n 4", "-n 6", "-n 8", "-n 12", "-n 20", "-s 256"])
def test_tight_limits(limit, folder):
    """Files that may not grow, few descriptors, small stacks: the job has them too, and goes on."""
    job = [gf.JOBS, "kernels", "10", "10"]
    script = f'ulimit -c 0; ulimit {limit}; exec "$@"'
    env = gf.environment(GPUFEED_SIM_DIR="/no/such", LD_LIBRARY_PATH=gf.SIM)  # the simulator's own file is large
    bare = gf.run("bash", "-c", script, "bash", *job, env=env)
    r = gf.run("bash", "-c", script, "bash", gf.GPUFEED, "run", "--simulate", "-o", folder / "r.gpufeed", "--", "sh",
               "-c", '"$@" && echo unharmed; exit 5', "sh", *job, env=env)
    assert bare.code == 0 and r.code == 5 and r.out == "unharmed\n", (bare, r)
    assert "gpufeed" in r.err and "never" not in r.err, r


def test_no_room_for_rings(folder, root):
    """A container's small /dev/shm, and no other place: the job runs and its device was not seen."""
    script = ('for d in /dev/shm /tmp; do mount -t tmpfs -o size=1m x $d; done; cd /tmp; '
              '"$0" run --simulate -o r.gpufeed -- "$@"')
    r = gf.run("unshare", "-m", "sh", "-c", script, gf.GPUFEED, "sh", "-c", '"$@" && echo unharmed; exit 5', "sh",
               gf.JOBS, "kernels", "10", "10")
    assert r.code == 5 and r.out == "unharmed\n", r
    assert len(lines_about(r.err, "^!.*not seen")) == 1 and "never" not in r.err, r


def test_a_small_shm_is_left_alone(folder, root):
    r = gf.run("unshare", "-m", "sh", "-c", 'mount -t tmpfs -o size=1m x /dev/shm; exec "$@"', "sh", gf.GPUFEED, "run",
               "--simulate", "-o", folder / "r.gpufeed", "--", gf.JOBS, "kernels", "10", "10")
    assert r.code == 0 and gf.share(gf.report(folder / "r.gpufeed"), "compute") > 0, r


# ---- rights ----------------------------------------------------------------------------------


def test_no_permission_for_bpf(folder, nobody):
    r = gf.run(*nobody, gf.GPUFEED, "run", "--simulate", "-o", folder / "r.gpufeed", "--price", "28", "--",
               *gf.SHORT, cwd=folder)
    assert r.code == 0 and "Verdict" in r.err, r
    said = lines_about(r.err, r"CAP_(BPF|PERFMON|SYS_ADMIN)")
    assert len(said) == 1, r
    assert re.search("wake|wait chain|chain", said[0]), "says what is lost"
    assert len(re.findall("CAP_BPF", r.err)) == 1, r
    j = gf.report(folder / "r.gpufeed")
    assert gf.share(j, "compute") > 0, j
    assert gf.evidence(j, "mode") == ["sampler"], j["evidence"]


def test_samples_are_called_samples(folder):
    gf.record(folder / "r.gpufeed", *gf.SHORT, options=["--sampler"])
    ledger = gf.report(folder / "r.gpufeed")["ledger"]
    assert [row for row in ledger if row["evidence"] == "chain"] == []


def test_a_missing_capability_is_named(folder, nobody):
    """With one of the two, the other is named."""
    r = gf.run("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "--inh-caps=+bpf",
               "--ambient-caps=+bpf", gf.GPUFEED, "run", "--simulate", "-o", folder / "r.gpufeed", "--", *gf.SHORT)
    assert r.code == 0 and "CAP_PERFMON" in r.err, r


def test_cupti_already_taken(folder):
    env = gf.environment(GPUFEED_SIM_CUPTI_TAKEN=1)
    r = gf.gpufeed("run", "--simulate", "-o", folder / "r.gpufeed", "--", *gf.SHORT, env=env)
    assert r.code == 0 and "12 steps" in r.err, r
    assert len(lines_about(r.err, "CUPTI|profiler")) == 1, r
    not_seen(r, gf.report(folder / "r.gpufeed"))


def not_seen(r, j):
    """The device worked and was not watched: that is not called idle, and it gives no advice."""
    assert all(row["state"] == "unseen" or row["evidence"] in ("bound", "sampled") for row in j["ledger"]), j
    assert [f for f in j["findings"] if f["severity"] != "info"] == [], "no advice from what was not seen"
    assert "never" not in r.err and "not seen" in r.err, r
    assert "never" not in j["verdict"]["sentence"] and j["verdict"]["limited_by"] == "unknown", j["verdict"]


def test_an_injection_of_somebody_else(folder):
    env = gf.environment(CUDA_INJECTION64_PATH="/no/such/tool.so")
    r = gf.gpufeed("run", "--simulate", "-o", folder / "r.gpufeed", "--", *gf.SHORT, env=env)
    assert r.code == 0 and "12 steps" in r.err, r
    assert len(lines_about(r.err, "CUDA_INJECTION64_PATH")) == 1, r
    not_seen(r, gf.report(folder / "r.gpufeed"))


# ---- too much of everything ------------------------------------------------------------------


def while_nobody_reads(folder, *job):
    """A job that does its work while gpufeed gets no chance to read; it says when that is over."""
    child = gf.start(gf.GPUFEED, "run", "--simulate", "-o", folder / "r.gpufeed", "--", gf.JOBS, *job, folder / "go",
                     folder / "done")
    running = gf.wait_for(lambda: gf.children(child.pid))[0]
    gf.wait_for(lambda: gf.maps_libcuda(running))
    gf.wait_for(lambda: (folder / "r.gpufeed").exists())
    os.kill(child.pid, signal.SIGSTOP)
    (folder / "go").touch()
    gf.wait_for(lambda: (folder / "done").exists(), 2 * gf.PATIENCE)
    os.kill(child.pid, signal.SIGCONT)
    r = gf.finish(child)
    assert r.code == 0, r
    return r


def loss_is_told(r, j):
    assert j["tool"]["events_lost"] > 0, j["tool"]
    assert re.search("lost", r.err) and not re.search("no events lost", r.err), r


def test_the_activity_ring_overflows(folder):
    """More launches than the ring has room for (65,536): what is lost is said, not guessed."""
    r = while_nobody_reads(folder, "flood", "150000")
    j = gf.report(folder / "r.gpufeed")
    loss_is_told(r, j)
    assert j["tool"]["events_lost"] < 150000, j["tool"]  # each is counted once
    assert gf.seconds(j, "unseen") > 0, j["accelerators"]
    assert len(lines_about(r.err, "not seen")) == 1, r


def test_a_job_that_switches_without_a_pause(folder, root):
    """A thread that waits a hundred thousand times between two launches."""
    (folder / "go").touch()
    r = gf.gpufeed("run", "--simulate", "-o", folder / "r.gpufeed", "--", gf.JOBS, "switch", "100000", folder / "go",
                   folder / "done", patience=2 * gf.PATIENCE)
    assert r.code == 0 and "Verdict" in r.err, r
    gf.report(folder / "r.gpufeed")


def test_the_kernels_ring_overflows(folder, root):
    """More waits than 4 MiB hold."""
    r = while_nobody_reads(folder, "switch", "100000")
    if "chain" not in r.err:
        pytest.skip("no wait chain here")
    loss_is_told(r, gf.report(folder / "r.gpufeed"))


def test_a_busy_job_loses_nothing(folder):
    r = gf.gpufeed("run", "--simulate", "-o", folder / "r.gpufeed", "--", gf.JOBS, "kernels", "2000", "0.2")
    assert r.code == 0, r
    j = gf.report(folder / "r.gpufeed")
    assert j["tool"]["events_lost"] == 0, j["tool"]
    assert gf.computed(j, 0.4), j["ledger"]


def test_many_short_processes(folder):
    r = gf.gpufeed("run", "--simulate", "-o", folder / "r.gpufeed", "--", "sh", "-c",
                   'i=0; while [ $i -lt 300 ]; do /bin/true; i=$((i+1)); done; exec "$@"', "sh", *gf.SHORT)
    assert r.code == 0 and "Verdict" in r.err, r
    assert gf.share(gf.report(folder / "r.gpufeed"), "compute") > 0


def test_very_long_arguments(folder):
    r = gf.gpufeed("run", "-o", folder / "r.gpufeed", "--", "true", *["a" * 100_000] * 10)
    assert r.code == 0, r
    assert len(gf.gpufeed("report", folder / "r.gpufeed").out) < 20_000
    assert (folder / "r.gpufeed").stat().st_size < 2_000_000
