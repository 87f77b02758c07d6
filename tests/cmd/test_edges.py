# SPDX-License-Identifier: MIT
"""Odd places, users, parents and children: what a person meets at the edges."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest

import gf

STEADY = [gf.JOBS, "kernels", "60", "20"]


def lines_about(text, pattern):
    return [line for line in text.splitlines() if re.search(pattern, line, re.I)]


def flat(text):
    """Words whatever line they stand on."""
    return " ".join(text.split())


# ---- users -----------------------------------------------------------------------------------


def test_a_job_that_becomes_another_user(folder, nobody):
    """`gpufeed run -- setpriv --reuid=nobody job` by root: the ring folder lets that user's probe in."""
    r = gf.gpufeed("run", "--simulate", "-o", folder / "r.gpufeed", "--", *nobody, *STEADY)
    assert r.code == 0, r
    assert gf.computed(gf.report(folder / "r.gpufeed"), 1.2), r


def test_others_can_neither_read_nor_spoil_the_rings(folder, nobody):
    child = gf.start(gf.GPUFEED, "run", "--simulate", "-o", folder / "r.gpufeed", "--", "sh", "-c",
                     'echo $GPUFEED_RING_DIR; exec "$@"', "sh", gf.JOBS, "until", folder / "over", "20")
    rings = pathlib.Path(child.stdout.readline().decode().strip())
    job = gf.wait_for(lambda: gf.children(child.pid))[0]
    gf.wait_for(lambda: gf.maps_ring(job))
    gf.run("cp", "/bin/true", rings / "copy")  # something of root's with a name that is known
    denied = gf.run(*nobody, "sh", "-c", 'ls "$0" && exit 1; cat "$0/copy" >/dev/null || true; rm -f "$0/copy"; '
                    'mv "$0/copy" "$0/x"; mv "$0" "$0.x"; echo rubbish > "$0/1.ring"; : > "$0/1.none"; '
                    f'echo rubbish > "$0/{job}.ring.new"; test -e "$0/copy"', rings)
    (folder / "over").touch()
    r = gf.finish(child)
    assert denied.code == 0 and r.code == 0, (denied, r)
    assert "systemd" not in r.err and len(lines_about(r.err, "left alone|refused")) == 1, r
    assert not rings.exists(), "all is removed at the end"


def test_record_without_rights_says_what_is_missing(folder, nobody):
    """A job of one's own, watched by nobody: no device, and the ways out in one line."""
    job = gf.start(*nobody, gf.JOBS, "hold", "1000", env=gf.environment(LD_LIBRARY_PATH=gf.SIM))
    try:
        gf.wait_for(lambda: gf.maps_libcuda(job.pid))
        r = gf.run(*nobody, gf.GPUFEED, "record", "-p", job.pid, "-d", "0.5", "-o", folder / "r.gpufeed")
    finally:
        gf.kill_group(job)
        job.communicate()
    assert r.code == 0, r
    notes = " ".join(r.out.split()).split("! ")
    about = [n for n in notes if "CAP_BPF and CAP_PERFMON" in n and "gpufeed run" in n and "sudo" in n]
    assert len(about) == 1, r


def test_an_environment_that_was_cleared_is_named(folder):
    """As sudo does: the device works and nobody sees it, which is not the same as never."""
    r = gf.gpufeed("run", "--simulate", "-o", folder / "r.gpufeed", "--", "env", "-i", f"LD_LIBRARY_PATH={gf.SIM}",
                   *STEADY)
    assert r.code == 0, r
    assert "--preserve-env=CUDA_INJECTION64_PATH,GPUFEED_RING_DIR" in flat(r.err), r
    assert "never" not in r.err and gf.report(folder / "r.gpufeed")["verdict"]["limited_by"] == "unknown", r


# ---- places ----------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["read-only folder", "full disk", "no recording", "no such folder"])
def test_a_recording_that_has_no_place_goes_to_the_temporary_files(how, folder, root):
    (folder / "tmp").mkdir()
    options, cwd = [], folder
    with gf.Tmpfs(folder / "disk", "size=64k,ro" if how == "read-only folder" else "size=64k") as disk:
        if how in ("read-only folder", "full disk"):
            cwd = disk
        if how == "full disk":
            subprocess.run(["dd", "if=/dev/zero", f"of={disk}/filler", "bs=4k"], check=False, capture_output=True)
        if how == "no recording":
            (folder / "mine").write_text("mine")
            options = ["-o", folder / "mine"]
        if how == "no such folder":
            options = ["-o", folder / "no" / "such" / "r.gpufeed"]
        r = gf.gpufeed("run", "--simulate", *options, "--", *gf.SHORT, "--log", folder / "log", cwd=cwd,
                       env=gf.environment(TMPDIR=folder / "tmp"))
    assert r.code == 0 and "Verdict" in r.err and "unmeasured" not in r.err, r
    assert "stays readable" not in r.err, "there is nothing to be read"
    if how == "no recording":
        assert (folder / "mine").read_text() == "mine"
    said = re.search(r"the recording goes to \"([^\"]+)\"", r.err)
    assert said and said[1].startswith(str(folder / "tmp")), r
    assert gf.share(gf.report(said[1]), "compute") > 0
    assert f"recording: {said[1]}" in r.err, r


def test_what_tests_leave_behind_goes_with_them(folder):
    r = gf.gpufeed("run", "-o", folder / "no" / "r.gpufeed", "--", "true")
    assert r.code == 0 and f'the recording goes to "{gf.scratch()}/' in r.err, r


def test_no_place_is_left_behind_by_a_command_that_cannot_run(folder, root):
    (folder / "bad").write_text("#!/no/such/interpreter\n")
    (folder / "bad").chmod(0o755)
    (folder / "tmp").mkdir()
    with gf.Tmpfs(folder / "disk", "size=64k,ro") as disk:
        r = gf.gpufeed("run", "--", folder / "bad", cwd=disk, env=gf.environment(TMPDIR=folder / "tmp"))
    assert r.code in (126, 127) and list((folder / "tmp").iterdir()) == [], r


def test_an_empty_name_is_no_name(folder):
    for option in ("-o", "--report", "--html"):
        r = gf.gpufeed("run", option, "", "--", "touch", folder / "ran", cwd=folder)
        assert r.code == 2 and option in r.err and list(folder.iterdir()) == [], r


def test_a_recording_that_is_being_written_is_not_replaced(folder):
    """Every rank of a job under the same -o: each keeps what it measured."""
    first = gf.start(gf.GPUFEED, "run", "--simulate", "-q", "-o", folder / "r.gpufeed", "--", gf.JOBS, "until",
                     folder / "over", "20")
    gf.await_span(folder / "r.gpufeed", 0.3)
    second = gf.gpufeed("run", "--simulate", "-o", folder / "r.gpufeed", "--", gf.JOBS, "kernels", "5", "5",
                        env=gf.environment(TMPDIR=folder))
    (folder / "over").touch()
    assert second.code == 0 and f"in use by process {first.pid}" in second.err, second
    assert gf.finish(first).code == 0
    assert gf.report(folder / "r.gpufeed")["span_seconds"] > 0.3
    at = re.search(r"the recording goes to \"([^\"]+)\"", second.err)[1]
    assert gf.computed(gf.report(at), 0.025)


@pytest.mark.parametrize("name", [":memory:", "file:x?mode=memory", "file::memory:?cache=shared"])
def test_names_that_sqlite_takes_for_more(name, folder):
    gf.record(name, gf.JOBS, "kernels", "3", "3", cwd=folder)
    assert os.listdir(folder) == [name]
    assert gf.share(gf.report(folder / name), "compute") > 0


@pytest.mark.parametrize("ask", [["--help"], ["--version"], ["run", "--help"]])
def test_help_that_cannot_be_written(ask, folder):
    r = gf.run("sh", "-c", 'exec "$@" > /dev/full', "sh", gf.GPUFEED, *ask)
    assert r.code == 2 and "No space" in gf.one_line(r.err), r


# ---- what is printed -------------------------------------------------------------------------


def test_a_run_of_a_moment(folder):
    """What gpufeed itself cost is no share of 100 us."""
    r = gf.gpufeed("run", "--simulate", "-o", folder / "r.gpufeed", "--", gf.JOBS, "kernels", "1", "0.1")
    assert r.code == 0 and "of CPU" in r.err, r
    assert not re.search(r"\d{3,} % of a core", r.err), r


def test_devices_are_listed_by_number(folder):
    gf.record(folder / "r.gpufeed", "sh", "-c", '"$0" kernels 20 5 2; "$0" kernels 10 5 0; "$0" kernels 30 5 1', gf.JOBS,
              options=["--simulate=3"])
    r = gf.report(folder / "r.gpufeed")
    assert [a["id"].split(":")[-1] for a in r["accelerators"]] == ["0", "1", "2"], r["accelerators"]
    compute = [a["state"]["compute"] * a["seconds"] for a in r["accelerators"]]
    assert all(abs(c - want) < 0.02 for c, want in zip(compute, (0.05, 0.15, 0.1))), compute


# ---- ends ------------------------------------------------------------------------------------


def test_a_killed_gpufeed_leaves_no_memory_behind(folder):
    """The ring's memory goes with the job that writes it; later processes of the job make none."""
    child = gf.start(gf.GPUFEED, "run", "--simulate", "-q", "-o", folder / "r.gpufeed", "--", "sh", "-c",
                     f'"$0" await {folder}/killed; "$0" hold 0.1; echo over > {folder}/over', gf.JOBS,
                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    shell = gf.wait_for(lambda: gf.children(child.pid))[0]
    rings = pathlib.Path(gf.wait_for(lambda: gf.ring_folder(shell)))
    job = gf.wait_for(lambda: gf.children(shell))[0]
    gf.wait_for(lambda: gf.maps_ring(job) and list(rings.glob("*.ring*")) == [])  # its name goes when it is opened
    os.kill(child.pid, signal.SIGKILL)
    child.communicate()
    (folder / "killed").touch()
    gf.wait_for(lambda: (folder / "over").exists())
    assert list(rings.glob("*.ring*")) == [], "nobody would read it"
    gf.record(folder / "next.gpufeed", gf.JOBS, "kernels", "2", "2")
    assert not rings.exists(), "the next gpufeed sweeps"


COUNTING = """
import os, signal, sys, time
got = []
for s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1):
    signal.signal(s, lambda n, f: got.append(n))
print("ready", flush=True)
end = time.monotonic() + 60
while not got and time.monotonic() < end:
    time.sleep(0.01)
time.sleep(0.7)
print(*got)
"""


def told(folder, send, prefix=(), job=()):
    child = gf.start(*prefix, gf.GPUFEED, "run", "-q", "-o", folder / "r.gpufeed", "--", *job, sys.executable, "-c",
                     COUNTING)
    assert child.stdout.readline() == b"ready\n"
    send(child.pid)
    r = gf.finish(child)
    return r.out.split()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1])
def test_a_signal_to_the_group_reaches_the_job_once(number, folder):
    assert told(folder, lambda pid: os.killpg(pid, number)) == [f"{number:d}"]


def test_a_signal_to_gpufeed_alone_reaches_the_job(folder):
    assert told(folder, lambda pid: os.kill(pid, signal.SIGTERM)) == ["15"]


def test_a_signal_to_the_group_reaches_a_job_in_another_one(folder):
    assert told(folder, lambda pid: os.killpg(pid, signal.SIGTERM), job=["setsid", "-w"]) in ([], ["15"])


def test_one_signal_after_another(folder):
    """What the group got once is not held against a later signal to gpufeed alone."""
    job = COUNTING.replace("got.append(n)", "(got.append(n), print('got', flush=True))")
    job = job.replace("while not got", "while len(got) < 2")
    child = gf.start(gf.GPUFEED, "run", "-q", "-o", folder / "r.gpufeed", "--", sys.executable, "-c", job)
    assert child.stdout.readline() == b"ready\n"
    os.killpg(child.pid, signal.SIGTERM)
    assert child.stdout.readline() == b"got\n"
    time.sleep(0.5)  # longer than the two of one sender lie apart
    os.kill(child.pid, signal.SIGTERM)
    r = gf.finish(child)
    assert r.out.split() == ["got", "15", "15"], r


def test_under_timeout(folder):
    """timeout(1) sends to gpufeed, and then to the group."""
    def as_timeout_does(pid):
        os.kill(pid, signal.SIGTERM)
        os.killpg(pid, signal.SIGTERM)
    assert told(folder, as_timeout_does) == ["15"]


# ---- odd parents and children ----------------------------------------------------------------


def test_a_parent_that_ignores_the_end_of_children(folder):
    """SIGCHLD is inherited as ignored: then wait(2) tells nothing."""
    r = gf.run("bash", "-c", 'trap "" CHLD; exec "$@"', "bash", gf.GPUFEED, "run", "-q", "-o", folder / "r.gpufeed",
               "--", "sh", "-c", "exit 7")
    assert r.code == 7, r


def test_a_gpufeed_in_a_gpufeed(folder):
    """The nearest measures; the other says so."""
    r = gf.gpufeed("run", "--simulate", "-o", folder / "outer.gpufeed", "--", gf.GPUFEED, "run", "--simulate", "-q", "-o",
                   folder / "inner.gpufeed", "--", *STEADY)
    assert r.code == 0, r
    assert gf.computed(gf.report(folder / "inner.gpufeed"), 1.2)
    assert "another gpufeed" in flat(r.err) and "never" not in r.err, r
    assert "CUDA_INJECTION64_PATH" not in r.err, r


def test_a_simulated_job_is_called_simulated_from_outside(folder, root):
    job = gf.start(gf.TRAIN, "--steps", "100000", "--compute-ms", "10", "--batch", "2",
                   env=gf.environment(LD_LIBRARY_PATH=gf.SIM))
    try:
        gf.wait_for(lambda: gf.maps_libcuda(job.pid))
        r = gf.gpufeed("record", "-p", job.pid, "-d", "1", "-q", "-o", folder / "r.gpufeed")
    finally:
        gf.kill_group(job)
        job.communicate()
    assert r.code == 0, r
    accelerators = gf.report(folder / "r.gpufeed")["accelerators"]
    if not accelerators:
        pytest.skip("no wait chain here")
    assert [a["simulated"] for a in accelerators] == [True]


def test_the_launcher_of_a_job_is_enough_to_attach(folder, root):
    """-p names a shell; its child has the driver, and only after a while."""
    job = gf.start("sh", "-c", 'sleep 1; "$@"; true', "sh", gf.TRAIN, "--steps", "100000", "--compute-ms", "10",
                   "--batch", "2", env=gf.environment(LD_LIBRARY_PATH=gf.SIM))
    recorder = gf.start(gf.GPUFEED, "record", "-p", job.pid, "-o", folder / "r.gpufeed")
    try:
        gf.wait_for(lambda: any(gf.maps_libcuda(child) for child in gf.children(job.pid)))
        gf.await_span(folder / "r.gpufeed", 1)
        os.kill(recorder.pid, signal.SIGINT)
        r = gf.finish(recorder)
    finally:
        gf.kill_group(recorder)
        gf.kill_group(job)
        job.communicate()
    assert r.code == 0, r
    if "CAP_" in r.out:
        pytest.skip("no wait chain here")
    assert gf.share(gf.report(folder / "r.gpufeed"), "compute") > 0, r


def torch():
    if gf.SANITIZED:
        pytest.skip("Python cannot load what sanitizers watch")
    if subprocess.run([gf.PYTHON, "-c", "import torch"], check=False, capture_output=True).returncode:
        pytest.skip("needs python3-torch")


def interrupted(folder, when, *how):
    """Ctrl-C to the example with small steps, which hands batches over most of the time."""
    child = gf.start(gf.GPUFEED, "run", "--simulate", "-o", folder / "r.gpufeed", "--", gf.PYTHON, gf.IMAGES, "--steps",
                     "1000000", "--batch", "1", "--decode-ms", "0", "--compute-ms", "0.01", *how)
    job = gf.wait_for(lambda: gf.children(child.pid))[0]
    gf.wait_for(lambda: gf.maps_libcuda(job))
    when(job)
    os.killpg(child.pid, signal.SIGINT)
    r = gf.finish(child)
    assert r.code == 130 and "Traceback" not in r.err and "Verdict" in r.err, r


def test_ctrl_c_stops_the_example_without_a_traceback(folder):
    torch()
    for _ in range(4):
        interrupted(folder, lambda job: gf.await_span(folder / "r.gpufeed", 0.5), "--workers", "2")


def test_ctrl_c_while_workers_of_the_example_start(folder):
    """Spawned ones import for seconds: a signal of their own would stop them in the middle of that."""
    torch()

    def second_worker_runs(job):
        gf.wait_for(lambda: sum("spawn_main" in gf.command_of(p) for p in gf.children(job)) == 2)
    interrupted(folder, second_worker_runs, "--workers", "2", "--multiprocessing-context", "spawn")


def test_a_thread_is_no_process(folder):
    import threading
    over, seen = threading.Event(), []
    thread = threading.Thread(target=lambda: (seen.append(threading.get_native_id()), over.wait()))
    thread.start()
    gf.wait_for(lambda: seen)
    r = gf.gpufeed("record", "-p", seen[0], "-d", "1", cwd=folder)
    over.set()
    assert r.code == 2 and "thread" in gf.one_line(r.err), r


def test_a_duration_without_end(folder):
    child = gf.start("cat", stdin=subprocess.PIPE)
    recorder = gf.start(gf.GPUFEED, "record", "-p", child.pid, "-d", "2500000h", "-o", folder / "r.gpufeed")
    gf.wait_for(lambda: (folder / "r.gpufeed").exists())
    time.sleep(0.5)
    assert recorder.poll() is None, "it did not end at once"
    child.communicate(b"")
    assert gf.finish(recorder).code == 0


def test_ctrl_c_at_any_moment_ends_a_record_well(folder):
    """Also while the kernel's side is being loaded."""
    child = gf.start("sleep", "1000")
    try:
        for after in (0.02, 0.1, 0.3):
            recorder = gf.start(gf.GPUFEED, "record", "-p", child.pid, "-o", folder / f"{after}.gpufeed")
            gf.wait_for(lambda: (folder / f"{after}.gpufeed").exists())
            time.sleep(after)
            os.kill(recorder.pid, signal.SIGINT)
            r = gf.finish(recorder)
            assert r.code == 0 and "Verdict" in r.out, r
    finally:
        gf.kill_group(child)
        child.communicate()
