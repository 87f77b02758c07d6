# SPDX-License-Identifier: MIT
"""The measured command stays as it was: output, input, exit code, signals, what it inherits."""
import os
import re
import signal
import sys
import time

import pytest

import gf

ARGUED = """
import signal, sys, time
seen = []
def note(number, frame):
    seen.append(number)
for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGXCPU"):
    signal.signal(getattr(signal, name), note)
print("ready", flush=True)
end = time.monotonic() + 60
while not seen and time.monotonic() < end:
    time.sleep(0.01)
time.sleep(0.7)
print("got", *seen, flush=True)
sys.exit(9)
"""


@pytest.mark.parametrize("code", [0, 1, 2, 3, 4, 126, 127, 137, 255])
def test_the_exit_code_passes(code, folder):
    r = gf.gpufeed("run", "-q", "-o", folder / "r.gpufeed", "--", "sh", "-c", f"exit {code}")
    assert r.code == code, r


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL, signal.SIGTERM,
                                    signal.SIGPIPE, signal.SIGHUP, signal.SIGALRM, 34])
def test_a_signal_becomes_128_and_its_number(number, folder):
    if signal.getsignal(number) == signal.SIG_IGN:
        pytest.skip("the signal is ignored here (nohup), and so by the job")
    r = gf.gpufeed("run", "-q", "-o", folder / "r.gpufeed", "--", "sh", "-c", f"ulimit -c 0; kill -{number:d} $$")
    assert r.code == 128 + number, r


def test_binary_output_passes_byte_for_byte(folder):
    job = "import os,sys; d=bytes(range(256))*4096; os.write(2, d[:5000]); sys.stdout.buffer.write(d)"
    r = gf.gpufeed("run", "-q", "-o", folder / "r.gpufeed", "--", sys.executable, "-c", job)
    assert r.code == 0
    assert r.raw_out == bytes(range(256)) * 4096
    assert (bytes(range(256)) * 4096)[:5000] in r.raw_err


def test_standard_error_of_the_job_comes_whole_and_before_the_report(folder):
    r = gf.gpufeed("run", "-o", folder / "r.gpufeed", "--", "sh", "-c", "echo one >&2; echo two; echo three >&2")
    assert r.out == "two\n", r
    assert r.err.startswith("one\nthree\n"), r


def test_standard_input_passes(folder):
    data = os.urandom(3_000_000)
    r = gf.gpufeed("run", "-q", "-o", folder / "r.gpufeed", "--", "cat", stdin=data)
    assert r.code == 0 and r.raw_out == data


def test_closed_descriptors_do_no_harm(folder):
    """Started with nothing open, gpufeed must not take 0, 1 or 2 for its own files."""
    script = 'exec "$0" run -q --simulate -o r.gpufeed -- "$@" <&- >&- 2>&-'
    r = gf.run("sh", "-c", script, gf.GPUFEED, gf.JOBS, "kernels", "5", "5", cwd=folder)
    assert r.code == 0 and r.out == "" and r.err == "", r
    assert gf.share(gf.report(folder / "r.gpufeed"), "compute") > 0


def test_a_reader_that_goes_away(folder):
    """`gpufeed run -- yes | head`: the job dies of the pipe as it would alone."""
    r = gf.run("bash", "-c", f"{gf.GPUFEED} run -q -o r.gpufeed -- yes | head -n 1; exit ${{PIPESTATUS[0]}}",
               cwd=folder)
    assert r.code == 128 + signal.SIGPIPE and r.out == "y\n", r


def test_nobody_reads_the_report(folder):
    """The report's own reader going away is no failure of the job."""
    script = f"{gf.GPUFEED} run -o r.gpufeed -- sh -c 'exit 5' 2> >(exec true); exit $?"
    assert gf.run("bash", "-c", script, cwd=folder).code == 5


def inherited(result):
    assert result.code == 0, result
    return [line for line in result.out.splitlines() if not line.startswith("Max pending signals")]


@pytest.mark.parametrize("simulate", [[], ["--simulate"]])
def test_what_the_job_inherits(simulate, folder):
    """Descriptors, signals, limits, mask, scheduling: as without gpufeed."""
    bare = inherited(gf.run(gf.JOBS, "state", cwd=folder))
    under = inherited(gf.gpufeed("run", "-q", *simulate, "-o", folder / "r.gpufeed", "--", gf.JOBS, "state",
                                 cwd=folder))
    assert under == bare


@pytest.mark.parametrize("prefix", [
    ["sh", "-c", 'trap "" INT HUP PIPE; umask 027; ulimit -n 77; exec "$@"', "sh"],
    ["nice", "-n", "5"], ["setsid", "-w"], ["env", "-i"]])
def test_what_the_job_inherits_from_an_odd_parent(prefix, folder):
    bare = inherited(gf.run(*prefix, gf.JOBS, "state", cwd=folder))
    under = inherited(gf.run(*prefix, gf.GPUFEED, "run", "-q", "-o", folder / "r.gpufeed", "--", gf.JOBS, "state",
                             cwd=folder))
    assert under == bare


def variables(result):
    assert result.code == 0, result
    return dict(v.split("=", 1) for v in result.out.split("\0") if v)


def documented():
    """GPUFEED_ and CUDA_INJECTION64_PATH as in doc/probe.md; under --simulate also where libraries lie."""
    return re.compile(r"GPUFEED_[A-Z_]+|CUDA_INJECTION64_PATH|LD_LIBRARY_PATH")


@pytest.mark.parametrize("simulate", [[], ["--simulate"]])
def test_the_environment_is_otherwise_unchanged(simulate, folder):
    env = gf.environment(EMPTY="", ODD="a=b\nc", LD_LIBRARY_PATH="/some/where:/else")
    bare = variables(gf.run("env", "-0", env=env))
    under = variables(gf.gpufeed("run", "-q", *simulate, "-o", folder / "r.gpufeed", "--", "env", "-0", env=env))
    changed = {k for k in bare.keys() | under.keys() if bare.get(k) != under.get(k)}
    assert all(documented().fullmatch(k) for k in changed), changed
    if simulate:
        assert under["LD_LIBRARY_PATH"].endswith("/some/where:/else"), under["LD_LIBRARY_PATH"]
    else:
        assert "LD_LIBRARY_PATH" not in changed
    written = (gf.SOURCE / "doc/probe.md").read_text() + (gf.SOURCE / "doc/sim.md").read_text()
    assert [k for k in changed if k not in written] == [] or simulate, changed


def test_an_injection_that_is_set_already_stays(folder):
    env = gf.environment(CUDA_INJECTION64_PATH="/opt/other/tool.so")
    r = gf.gpufeed("run", "--simulate", "-o", folder / "r.gpufeed", "--", "printenv", "CUDA_INJECTION64_PATH", env=env)
    assert r.code == 0 and r.out == "/opt/other/tool.so\n", r
    assert "CUDA_INJECTION64_PATH" in r.err, r


def test_an_empty_injection_is_not_one_of_a_tool(folder):
    env = gf.environment(CUDA_INJECTION64_PATH="")
    gf.record(folder / "r.gpufeed", env=env)
    assert gf.share(gf.report(folder / "r.gpufeed"), "compute") > 0


# ---- signals ---------------------------------------------------------------------------------


def test_ctrl_c_at_a_terminal_reaches_the_job_once(folder):
    t = gf.Terminal(gf.GPUFEED, "run", "--simulate", "-o", folder / "r.gpufeed", "--", sys.executable, "-c", ARGUED)
    t.read_until("ready")
    t.type(b"\x03")
    code, seen = t.finish()
    assert code == 9, seen
    assert f"got {signal.SIGINT:d}\r\n" in seen, seen
    assert "r.gpufeed" in seen.split("got")[1], "the report comes"
    gf.report(folder / "r.gpufeed")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1,
                                    signal.SIGUSR2, signal.SIGXCPU])
def test_a_signal_to_gpufeed_reaches_the_job_once(number, folder):
    child = gf.start(gf.GPUFEED, "run", "-o", folder / "r.gpufeed", "--", sys.executable, "-c", ARGUED)
    assert child.stdout.readline() == b"ready\n"
    os.kill(child.pid, number)
    r = gf.finish(child)
    assert r.code == 9 and r.out == f"got {number:d}\n", r
    assert "recording" in r.err, r
    gf.report(folder / "r.gpufeed")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_training_job_that_dies_of_the_signal(number, folder):
    child = gf.start(gf.GPUFEED, "run", "--simulate", "-o", folder / "r.gpufeed", "--",
                     gf.TRAIN, "--steps", "100000", "--compute-ms", "5")
    job = gf.wait_for(lambda: gf.children(child.pid))[0]
    gf.await_span(folder / "r.gpufeed", 0.5)
    os.kill(child.pid, number)
    r = gf.finish(child)
    assert r.code == 128 + number, r
    assert "Verdict" in r.err, r
    assert not gf.alive(job)
    assert gf.report(folder / "r.gpufeed")["span_seconds"] > 0.5


def test_a_job_that_takes_its_time_to_end_is_waited_for(folder):
    job = "trap 'sleep 1; echo saved; exit 3' TERM; echo ready; while :; do sleep 0.05; done"
    child = gf.start(gf.GPUFEED, "run", "-o", folder / "r.gpufeed", "--", "bash", "-c", job)
    assert child.stdout.readline() == b"ready\n"
    os.kill(child.pid, signal.SIGTERM)
    time.sleep(0.3)
    os.kill(child.pid, signal.SIGTERM)
    r = gf.finish(child)
    assert r.code == 3 and b"saved\n" == r.raw_out[:6], r
    gf.report(folder / "r.gpufeed")


def test_a_job_that_reads_from_the_terminal(folder):
    """It must stay in the foreground, or it would be stopped."""
    t = gf.Terminal(gf.GPUFEED, "run", "-q", "-o", folder / "r.gpufeed", "--", "bash", "-c",
                    "test -t 0 && test -t 1 && echo ask; read x; echo heard $x; exit 4")
    t.read_until("ask")
    t.type(b"word\n")
    code, seen = t.finish()
    assert code == 4 and "heard word" in seen, seen


def test_stopped_and_continued(folder):
    child = gf.start(gf.GPUFEED, "run", "--simulate", "-q", "-o", folder / "r.gpufeed", "--",
                     gf.JOBS, "kernels", "60", "10")
    gf.wait_for(lambda: gf.children(child.pid))
    time.sleep(0.3)
    os.killpg(child.pid, signal.SIGTSTP)
    time.sleep(0.5)
    os.killpg(child.pid, signal.SIGCONT)
    r = gf.finish(child)
    assert r.code == 0, r
    gf.report(folder / "r.gpufeed")


# ---- --fail-on and the recording's name ------------------------------------------------------


RULE = """-- SPDX-License-Identifier: MIT
-- id: always
-- severity: %s
-- title: Always there
-- why: It always is.
-- fix: None.
-- scenario: none
-- source: this test
SELECT 1 AS "one [1]"
"""


def test_fail_on_acts_only_when_the_command_exits_0(folder):
    (folder / "rules").mkdir()
    (folder / "rules" / "always.sql").write_text(RULE % "warning")
    rules = ["--rules", folder / "rules"]
    for level, code, want in [("info", 0, 1), ("warning", 0, 1), ("critical", 0, 0), ("info", 7, 7),
                              ("info", 2, 2), ("warning", 137, 137)]:
        r = gf.gpufeed("run", "--simulate", "-q", "--fail-on", level, *rules, "-o", folder / "b.gpufeed", "--",
                       "sh", "-c", '"$@"; exit ' + str(code), "sh", gf.JOBS, "kernels", "5", "5")
        assert r.code == want, (level, code, r)
    for level, want in [("info", 1), ("warning", 1), ("critical", 0)]:
        r = gf.gpufeed("report", folder / "b.gpufeed", "--fail-on", level, *rules)
        assert r.code == want and "Always there" in r.out, r


def test_fail_on_stays_quiet_when_healthy(folder):
    gf.record(folder / "a.gpufeed", gf.JOBS, "kernels", "40", "25")
    r = gf.report(folder / "a.gpufeed")
    assert gf.loud(r) == [], r["findings"]
    starved = [f for f in r["findings"] if f["severity"] != "info"]
    assert gf.gpufeed("report", folder / "a.gpufeed", "--fail-on", "warning").code == (1 if starved else 0)


def test_the_recordings_own_name(folder):
    r = gf.gpufeed("run", "--simulate", "-q", "--", *gf.SHORT, "--log", folder / "log", cwd=folder)
    assert r.code == 0, r
    made = [p.name for p in folder.iterdir() if p.name != "log"]
    assert len(made) == 1 and re.fullmatch(r"train-\d+\.gpufeed", made[0]), made
    gf.report(folder / made[0])


@pytest.mark.parametrize("name", ["-rf", "a b", "x\ny", "café", "q" * 240, "sig=abc%2F", ".hidden", "a;b"])
def test_a_recordings_name_from_an_odd_command(name, folder):
    """One file in the working folder, wherever its name comes from."""
    (folder / "bin").mkdir()
    (folder / "cwd").mkdir()
    os.symlink("/bin/true", folder / "bin" / name)
    r = gf.gpufeed("run", "-q", "--", folder / "bin" / name, cwd=folder / "cwd")
    assert r.code == 0, r
    made = list((folder / "cwd").iterdir())
    assert len(made) == 1 and re.search(r"-\d+\.gpufeed$", made[0].name), made
    assert gf.gpufeed("report", made[0].name, cwd=folder / "cwd").code == 0 or made[0].name.startswith("-")


def test_the_report_goes_where_it_is_told(folder):
    r = gf.gpufeed("run", "--simulate", "-o", folder / "r.gpufeed", "--report", folder / "r.json", "--json", "--html",
                   folder / "r.html", "--price", "28", "--", *gf.SHORT)
    assert r.code == 0 and "Verdict" not in r.err and r.out == "", r
    assert gf.lawful((folder / "r.json").read_text())["money"]["rate_per_hour"] == 28
    assert "<svg" in (folder / "r.html").read_text()


def test_a_report_that_cannot_be_written_is_no_failure_of_the_job(folder):
    r = gf.gpufeed("run", "--simulate", "-o", folder / "r.gpufeed", "--report", "/dev/full", "--html",
                   folder / "no" / "r.html", "--", "sh", "-c", "exit 6")
    assert r.code == 6, r
    assert "/dev/full" in r.err or "r.html" in r.err, r


def test_nothing_is_left_behind(folder):
    """No folder for rings, no process, once gpufeed has ended."""
    where = gf.gpufeed("run", "--simulate", "-q", "-o", folder / "r.gpufeed", "--", "sh", "-c",
                       "echo $GPUFEED_RING_DIR; exec \"$@\" 2>/dev/null", "sh", *gf.SHORT)
    assert where.code == 0 and where.out.startswith("/"), where
    assert not os.path.exists(where.out.strip())
    assert [p.name for p in folder.iterdir()] == ["r.gpufeed"]
