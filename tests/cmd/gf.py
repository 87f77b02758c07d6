# SPDX-License-Identifier: MIT
"""What the tests of the command line share: the program, jobs, one way to run them, the laws of a report.

Nothing here knows how gpufeed works: what is asked is what the documents promise.
"""
import atexit
import functools
import json
import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time

import jsonschema

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = pathlib.Path(os.environ.get("GPUFEED_SOURCE", HERE.parents[1]))
BUILD = pathlib.Path(os.environ.get("GPUFEED_BUILD", SOURCE / "build"))
GPUFEED = str(BUILD / "gpufeed")
TRAIN = str(BUILD / "examples" / "train")
JOBS = str(BUILD / "tests" / "cmd" / "jobs")
SIM = str(BUILD / "sim")
IMAGES = str(SOURCE / "examples" / "train_images.py")
PYTHON = "/usr/bin/python3"
# tools/sanitize.sh: our libraries cannot be loaded into Python, and address space is not counted there.
SANITIZED = "ASAN_OPTIONS" in os.environ
PATIENCE = 60  # seconds after which a program counts as hanging

# A job of well under a second on an idle machine.
SHORT = [TRAIN, "--steps", "12", "--compute-ms", "8", "--decode-ms", "0.2", "--batch", "2"]

STATES = ["compute", "comm", "copy", "wait", "unused", "unseen"]
CAUSES = [line.split("\t")[0] for line in (SOURCE / "data" / "causes.tsv").read_text().splitlines()
          if line and not line.startswith("#")]


@functools.lru_cache(None)
def scratch():
    """Where what the tests start keeps its temporary files: away at the end."""
    path, owner = tempfile.mkdtemp(prefix="gpufeed-tests-"), os.getpid()
    os.chmod(path, 0o1777)  # as /tmp
    atexit.register(lambda: os.getpid() == owner and shutil.rmtree(path, ignore_errors=True))
    return path


def environment(**more):
    """The tests' own environment without what would change gpufeed or the jobs."""
    drop = ("GPUFEED_", "CUDA_", "NO_COLOR", "COLUMNS", "LD_PRELOAD")
    env = {k: v for k, v in os.environ.items() if not k.startswith(drop)}
    env["TMPDIR"] = scratch()
    env.update({k: str(v) for k, v in more.items() if v is not None})
    return env


class Result:
    def __init__(self, code, out, err, seconds):
        self.code, self.raw_out, self.raw_err, self.seconds = code, out, err, seconds
        self.out, self.err = out.decode(errors="replace"), err.decode(errors="replace")

    def __repr__(self):
        return f"exit {self.code} after {self.seconds:.1f} s\n--- out\n{self.out}\n--- err\n{self.err}"


def run(*argv, cwd=None, env=None, stdin=b"", patience=PATIENCE, prefix=()):
    """Runs a program to its end. A hang fails the test, and nothing is left running."""
    begin = time.monotonic()
    child = subprocess.Popen([*prefix, *map(str, argv)], cwd=cwd, env=env or environment(),
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             start_new_session=True)
    try:
        out, err = child.communicate(stdin, timeout=patience)
    except subprocess.TimeoutExpired:
        kill_group(child)
        out, err = child.communicate()
        raise AssertionError(f"{argv} hangs\n--- out\n{out!r}\n--- err\n{err!r}") from None
    return Result(child.returncode, out, err, time.monotonic() - begin)


def kill_group(child):
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def gpufeed(*argv, **how):
    return run(GPUFEED, *argv, **how)


def start(*argv, cwd=None, env=None, **how):
    """Starts a program in a session of its own."""
    how = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how}
    return subprocess.Popen(list(map(str, argv)), cwd=cwd, env=env or environment(),
                            start_new_session=True, **how)


def finish(child, patience=PATIENCE):
    begin = time.monotonic()
    try:
        out, err = child.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        kill_group(child)
        child.communicate()
        raise AssertionError(f"{child.args} hangs") from None
    return Result(child.returncode, out or b"", err or b"", time.monotonic() - begin)


def wait_for(what, patience=PATIENCE):
    """Waits until what() is true, and gives its value."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        value = what()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError("waited in vain")


def children(pid):
    try:
        return [int(p) for p in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def command_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""


def alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def ring_folder(pid):
    """Where a job's probe writes: what a killed gpufeed leaves behind for a later one to sweep."""
    try:
        env = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return None
    return next((v.split(b"=", 1)[1].decode() for v in env if v.startswith(b"GPUFEED_RING_DIR=")), None)


def maps_libcuda(pid):
    """Whether a process has taken the driver."""
    try:
        return "libcuda.so.1" in pathlib.Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return False


def maps_ring(pid):
    """Whether a process writes a ring."""
    try:
        return ".ring" in pathlib.Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return False


def record(path, *job, options=(), **how):
    """A recording of a job, which must end well."""
    result = gpufeed("run", "--simulate", "-q", "-o", path, *options, "--", *(job or SHORT), **how)
    assert result.code == 0, result
    return path


def report(path, *options, **how):
    """The report of a recording as JSON, checked against the laws."""
    result = gpufeed("report", path, "--json", *options, **how)
    assert result.code == 0, result
    return lawful(result.out)


# ---- laws ------------------------------------------------------------------------------------


@functools.lru_cache(None)
def validator(name):
    schema = json.loads((SOURCE / "doc" / f"{name}.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def refuse(constant):
    raise AssertionError(f"{constant} is no JSON")


def parse(text):
    return json.loads(text, parse_constant=refuse)


def lawful(text):
    """A report in JSON: parsed, valid, and true to what the issue promises of each figure."""
    r = parse(text)
    validator("report").validate(r)
    for a in r["accelerators"]:
        account_adds_up(r, a)
    for row in r["ledger"]:
        assert (row["cause"] is None) == (row["state"] in ("compute", "unused")), row
        assert row["cause"] is None or row["cause"] in CAUSES, row
        assert type(row["ns"]) is int and row["ns"] >= 0, row
        assert abs(row["seconds"] - row["ns"] / 1e9) < 1e-6, row
    findings_sorted(r)
    money_adds_up(r)
    verdict_holds(r)
    return r


def account_adds_up(r, a):
    rows = [row for row in r["ledger"] if row["accelerator"] == a["id"]]
    ns = sum(row["ns"] for row in rows)
    assert ns == round(a["seconds"] * 1e9), (a, ns)
    if ns == 0:
        return
    assert abs(sum(a["state"].values()) - 1) < 1e-9, a
    for state in STATES:
        of_state = sum(row["ns"] for row in rows if row["state"] == state)
        assert round(a["state"][state] * a["seconds"] * 1e9) == of_state, (state, a, of_state)
    for row in rows:
        assert abs(row["share"] - row["ns"] / ns) < 1e-9, row
    assert re.search(r":\d+$", a["id"]), a


def findings_sorted(r):
    last = {True: None, False: None}
    seen_info = False
    for f in r["findings"]:
        info = f["severity"] == "info"
        assert info or not seen_info, "info comes last"
        seen_info = info
        gain = f["gain_seconds"]
        if gain is not None:
            assert gain <= r["span_seconds"] * max(1, len(r["accelerators"])) + 1e-6, f
            assert last[info] is None or gain <= last[info] + 1e-9, "by gain"
            last[info] = gain
            assert f["gain_share"] is not None and 0 <= f["gain_share"] <= 1, f
    ids = [f["id"] for f in r["findings"]]
    assert len(ids) == len(set(ids)), ids


def money_adds_up(r):
    m = r["money"]
    if m["rate_per_hour"] is None:
        assert m["spent"] is None and m["waited"] is None and m["by_cause"] == {}, m
        return
    assert abs(sum(m["by_cause"].values()) - m["waited"]) < 1e-6, m
    assert m["waited"] <= m["spent"] + 1e-9, m


def verdict_holds(r):
    v = r["verdict"]
    assert v["limited_by"] in CAUSES + ["compute", "unknown"], v
    total = sum(a["seconds"] for a in r["accelerators"])
    if total > 0:
        compute = sum(row["ns"] for row in r["ledger"] if row["state"] == "compute") / 1e9
        assert abs(v["utilisation"] - compute / total) < 1e-6, v
    if v["utilisation_after_fixes"] is not None and v["utilisation"] is not None:
        assert v["utilisation"] - 1e-9 <= v["utilisation_after_fixes"] <= 1, v
    if v["faster_accelerator_max_speedup"] is not None:
        assert v["faster_accelerator_max_speedup"] >= 1, v


def one_line(text):
    """A message: one clear line that says who speaks, with nothing a terminal would obey."""
    lines = [line for line in text.splitlines() if line.strip()]
    assert len(lines) == 1, text
    assert "gpufeed" in lines[0], text
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]", lines[0]), repr(text)
    return lines[0]


def share(r, state, accelerator=0):
    return r["accelerators"][accelerator]["state"][state]


def seconds(r, *states):
    """Time of all accelerators in these states."""
    return sum(row["seconds"] for row in r["ledger"] if row["state"] in states)


def computed(r, want, number=None):
    """The kernels' own time, whatever came between them: asked of the simulated device in ns, and told through
    pairs of two clocks."""
    got = sum(row["seconds"] for row in r["ledger"] if row["state"] == "compute"
              and (number is None or row["accelerator"].endswith(f":{number}")))
    return abs(got - want) < 0.02 + want / 50


def held(r, said):
    """The span is what a job of jobs.c says of how long it held its device."""
    least, most = map(float, said.split())
    return least - 0.01 <= r["span_seconds"] <= most + 0.01


def loud(r):
    """Findings above info. Where the machine withholds cores, as a busy one does, saying so is right."""
    return [f["id"] for f in r["findings"] if f["severity"] != "info" and f["id"] != "cpu-starved"]


def live(path, want, patience=PATIENCE):
    """Waits until the recording that is being written holds what is wanted: want(report)."""
    def look():
        r = gpufeed("report", path, "--json")
        j = lawful(r.out) if r.code == 0 else None
        return j if j and want(j) else None
    return wait_for(look, patience)


def await_span(path, least):
    return live(path, lambda j: j["span_seconds"] > least)


def evidence(r, name):
    return [e["value"] for e in r["evidence"] if e["name"] == name]


# ---- places ----------------------------------------------------------------------------------


class Folder:
    """A folder that everyone may use, away when done. pytest's own may be read by root only."""

    def __enter__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="gpufeed-cmd-"))
        self.path.chmod(0o777)
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


class Tmpfs:
    """A small file system that can be filled."""

    def __init__(self, at, options):
        self.at, self.options = at, options

    def __enter__(self):
        self.at.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", self.options, "gpufeed-cmd", self.at],
                       check=True, capture_output=True)
        return self.at

    def __exit__(self, *_):
        subprocess.run(["umount", "-l", self.at], check=True)


NOBODY = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]


class Terminal:
    """A program with a controlling terminal of its own, as a person's shell starts it."""

    def __init__(self, *argv, cwd=None, env=None, columns=80, lines=24):
        import fcntl
        import struct
        import termios
        self.master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

        def own():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.child = subprocess.Popen(list(map(str, argv)), cwd=cwd, env=env or environment(),
                                      stdin=slave, stdout=slave, stderr=slave, preexec_fn=own)
        os.close(slave)
        self.seen = b""

    def read_until(self, text, seconds=PATIENCE):
        end = time.monotonic() + seconds
        while text.encode() not in self.seen:
            assert time.monotonic() < end, f"no {text!r} in {self.seen!r}"
            self._read(0.1)
        return self.seen.decode(errors="replace")

    def _read(self, seconds):
        if not select.select([self.master], [], [], seconds)[0]:
            return True
        try:
            chunk = os.read(self.master, 65536)
        except OSError:
            return False
        self.seen += chunk
        return bool(chunk)

    def type(self, keys):
        os.write(self.master, keys)

    def finish(self, seconds=PATIENCE):
        end = time.monotonic() + seconds
        while self._read(0.1) or self.child.poll() is None:
            if time.monotonic() > end:
                os.killpg(self.child.pid, signal.SIGKILL)
                raise AssertionError(f"hangs: {self.seen!r}")
        self.child.wait()
        os.close(self.master)
        return self.child.returncode, self.seen.decode(errors="replace")
