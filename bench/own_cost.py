# SPDX-License-Identifier: MIT
"""gpufeed's own CPU time while a job switches context 20,000 times a second."""
import contextlib
import os
import re
import resource
import subprocess
import time

from jobs import Failed, finish

ROUNDS_PER_S = 10000   # each takes two switches
WARM_UP = 2.0          # loading the kernel side is told apart from running it
COOL_DOWN = 1.0
LOOK = 0.1
STATS = "/proc/sys/kernel/bpf_stats_enabled"


@contextlib.contextmanager
def bpf_statistics():
    """Run times of BPF programs are counted meanwhile; yields whether they are."""
    try:
        with open(STATS, encoding="ascii") as f:
            was = f.read()
        with open(STATS, "w", encoding="ascii") as f:
            f.write("1")
    except OSError:
        yield False
        return
    try:
        yield True
    finally:
        with open(STATS, "w", encoding="ascii") as f:
            f.write(was)


def cpu_seconds(pid):
    """User and system time of the process itself, from the scheduler's clock: ns, not ticks."""
    total = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as f:
            total += int(f.read().split()[0])
    return total / 1e9


def bpf_seconds(pid):
    """Run time of the BPF programs that the process holds."""
    seen = {}
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/fdinfo/{fd}", encoding="ascii") as f:
                text = f.read()
            number = re.search(r"^prog_id:\s*(\d+)", text, re.M)
            spent = re.search(r"^run_time_ns:\s*(\d+)", text, re.M)
            if number and spent:
                seen[number[1]] = int(spent[1])
    return sum(seen.values()) / 1e9


def memory_mib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return int(re.search(r"^VmHWM:\s*(\d+) kB", f.read(), re.M)[1]) / 1024


def watch(process, seconds):
    """Looks at gpufeed until it ends: [(time, own CPU, BPF, peak MiB)]."""
    looks, begin = [], time.monotonic()
    while process.poll() is None and time.monotonic() < begin + 3 * seconds + 30:
        with contextlib.suppress(OSError, TypeError):
            looks.append((time.monotonic() - begin, cpu_seconds(process.pid),
                          bpf_seconds(process.pid), memory_mib(process.pid)))
        time.sleep(LOOK)
    return looks


def measure(place, seconds, more=()):
    """{own, bpf: shares of a core; switches: a second; peak: MiB; begin: CPU seconds of the start}."""
    switcher = place.build / "tests/bpf/switcher"
    if not switcher.exists():
        raise Failed("tests/bpf/switcher is not built")
    steps = int(seconds / 0.02)
    script = (f"'{switcher}' futex {ROUNDS_PER_S} {seconds} & "
              f"'{place.build}/examples/train' --steps {steps} --compute-ms 18 --decode-ms 0.2 "
              "--batch 4 & wait")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen([place.gpufeed, "run", "--simulate", "-q", *more, "-o",
                                place.file(".gpufeed"), "--", "sh", "-c", script],
                               cwd=place.scratch, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
    looks = watch(process, seconds)
    errors = finish(process, 5)[1]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    inner = [x for x in looks if WARM_UP <= x[0] <= seconds - COOL_DOWN]
    if process.returncode or len(inner) < 2:
        raise Failed(f"gpufeed ended with {process.returncode}: {errors.strip()[-200:]}")
    first, last = inner[0], inner[-1]
    wall = last[0] - first[0]
    switches = (after.ru_nvcsw + after.ru_nivcsw - before.ru_nvcsw - before.ru_nivcsw)
    return {"own": (last[1] - first[1]) / wall, "bpf": (last[2] - first[2]) / wall,
            "switches": switches / seconds, "peak": max(x[3] for x in looks),
            "begin": first[1]}
