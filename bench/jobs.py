# SPDX-License-Identifier: MIT
"""Runs one training job bare, under gpufeed, and under the tools it is compared with."""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parents[1]
JOB_SECONDS_MAX = 120
PIP_SECONDS_MAX = 60


class Failed(Exception):
    """A run went wrong; the text says how."""


def children(pid):
    """Processes below pid, deepest last."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
            direct = [int(word) for word in f.read().split()]
    except OSError:
        return []
    return direct + [p for child in direct for p in children(child)]


def finish(process, seconds):
    """Waits; on timeout ends the process and all below it."""
    try:
        return process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        for pid in [process.pid, *children(process.pid)]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.communicate()
        raise Failed(f"{process.args[0]} took longer than {seconds} s") from None


class Place:
    """Where things are, and the scratch folder."""

    def __init__(self, build, scratch):
        self.build, self.scratch = pathlib.Path(build), pathlib.Path(scratch)
        self.gpufeed = str(self.build / "gpufeed")
        self.count = 0

    def file(self, suffix):
        self.count += 1
        return str(self.scratch / f"{self.count}{suffix}")

    def simulated(self):
        """The environment in which a bare command finds the simulated accelerator."""
        sim = str(self.build / "sim")
        old = os.environ.get("LD_LIBRARY_PATH")
        return {**os.environ, "LD_LIBRARY_PATH": f"{sim}:{old}" if old else sim,
                "GPUFEED_SIM_LIBDIR": sim, "GPUFEED_SIMULATE": "1"}

    @contextlib.contextmanager
    def store(self, latency_us):
        """The scenarios' object store; it ends with its standard input."""
        program = self.build / "tests/scenarios/httpstore"
        if not program.exists():
            raise Failed("tests/scenarios/httpstore is not built (install libcmocka-dev)")
        with subprocess.Popen([program, "--latency-us", str(latency_us)], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as server:
            try:
                yield f"http://127.0.0.1:{int(server.stdout.readline())}"
            finally:
                server.terminate()


class Tools:
    """Command lines that stand before the job's."""

    def __init__(self, place):
        self.place = place

    def bare(self):
        return []

    def gpufeed(self, recording=None, more=()):
        return [self.place.gpufeed, "run", "--simulate", "-q", "-o",
                recording or self.place.file(".gpufeed"), *more, "--"]

    def perf(self):
        return ["perf", "sched", "record", "-o", self.place.file(".perf"), "--"]

    def py_spy(self, program):
        return [program, "record", "--subprocesses", "--rate", "100", "--format", "raw",
                "-o", self.place.file(".spy"), "--"]


def run_job(place, before, options, cpus=None):
    """Seconds of the job's own training loop."""
    log = place.file(".json")
    argv = [*before, sys.executable, str(HERE / "examples/train_images.py"), "--log", log]
    for name, value in options.items():
        argv += [f"--{name}", str(value)]
    pin = (lambda: os.sched_setaffinity(0, cpus)) if cpus else None
    process = subprocess.Popen(argv, env=place.simulated(), cwd=place.scratch, preexec_fn=pin,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    errors = finish(process, JOB_SECONDS_MAX)[1]
    if process.returncode or not os.path.exists(log):
        last = (errors.strip().splitlines() or ["no output"])[-1]
        raise Failed(f"{os.path.basename(argv[0])} ended with {process.returncode}: {last}")
    with open(log, encoding="utf-8") as f:
        truth = json.load(f)
    os.unlink(log)
    return (truth["ended_ns"] - truth["started_ns"]) / 1e9


def find_py_spy(place):
    """The py-spy of this machine, or one that pip brings into a folder of the build; None."""
    if shutil.which("py-spy"):
        return "py-spy"
    venv = place.build / "bench/py-spy"
    program = venv / "bin/py-spy"
    if not program.exists():
        for argv in ([sys.executable, "-m", "venv", str(venv)],
                     [str(venv / "bin/python"), "-m", "pip", "install", "-q", "py-spy"]):
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               timeout=PIP_SECONDS_MAX, check=False)
    return str(program) if program.exists() else None
