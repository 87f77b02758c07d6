#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Training jobs that nobody chose: drawn from a seed, run under gpufeed, and run again with the first
cause really taken away.

    random_jobs.py FIRST COUNT [--build DIR] [--python PATH] [--keep DIR] [--again N] [--draw]

Job number n is drawn from the seed n alone. Each must hold what scenarios hold: every cause within 3
points of the truth, unknown at most 2 %, the first finding about a cause that the truth has, and what it
promised within 5 points of the run's length of what its cure saves. A miss is run again, --again
times in all (2): on a machine that others use, only what misses each time is one. --draw only prints the
jobs. About 50 s a job; as root.
"""
import argparse
import os
import random
import re
import subprocess
import sys
import traceback

import run
from scenarios import Scenario, laid_over
from world import Unavailable, begin

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS = 18          # that a job should take
BATCH_BYTES = 16 << 20
CORES = 2             # that a job may count on
STARTS = {"fork": 0.03, "forkserver": 2.5, "spawn": 2.5}  # seconds of a core for each worker
SIM = {"GPUFEED_SIM_PCIE_GBPS": "3.15", "GPUFEED_SIM_PAGEABLE_GBPS": "1.2"}


def log_uniform(r, low, high):
    return low * (high / low) ** r.random()


def draw_items(r, a):
    """What a batch is and what it costs to make; ms of a worker's time."""
    a["batch"] = r.choice([1, 1, 2, 2, 4, 8, 16, 32, 64])
    a["item-bytes"] = int(min(log_uniform(r, 1 << 10, 4 << 20), BATCH_BYTES / a["batch"]))
    a["latency-ms"] = round(max(1, min(log_uniform(r, 1, 50), 300 / a["batch"])), 2)
    a["spread"] = r.choice(["fixed", "jitter", "tail"])
    a["decode-ms"] = r.choice([0, round(min(log_uniform(r, 0.2, 20), 120 / a["batch"]), 2)])
    a["collate-ms"] = r.choice([0, 0, 0, round(log_uniform(r, 2, 40), 1)])
    a["tensors"] = r.choice([1, 1, 1, 2, 4, 8])
    a["dicts"] = r.random() < 0.35
    a["sharing"] = r.choice(["file_descriptor"] * 4 + ["file_system"])


def draw_loader(r, a):
    a["workers"] = r.choice([0, 1, 1, 2, 2, 3, 4])
    a["prefetch"] = r.choice([1, 2, 2, 4, 8])
    a["iterable"] = r.random() < 0.3
    a["start"] = r.choice(["fork"] * 5 + ["spawn", "forkserver"])
    a["epochs"] = r.choice([1, 1, 2, 4, 8]) if a["start"] == "fork" else r.choice([1, 1, 2])
    a["persistent"] = bool(a["workers"]) and r.random() < 0.5
    a["sampler-ms"] = 0 if a["iterable"] else r.choice([0, 0, 0, 0, round(log_uniform(r, 1, 20), 1)])


def draw_trainer(r, a):
    a["kernel-ms"] = round(log_uniform(r, 2, 60), 1)
    a["host-ms"] = r.choice([0, 0, 0.5, round(log_uniform(r, 0.3, 12), 1)])
    a["copy-mb"] = r.choice([0, 0, 0, round(log_uniform(r, 0.5, 24), 1)])
    a["sync-every"] = r.choice([1, 1, 4])
    if a["copy-mb"]:  # asynchronously it would go on beside the kernels, which no copy of PyTorch's does
        a["sync-every"] = 1
    if r.random() < 0.2:
        a["ckpt-every"] = r.choice([5, 10, 25])
        a["ckpt-mb"] = r.choice([2, 8, 24])
        a["ckpt-cached"] = r.random() < 0.5


def making_ms(a):
    return (a["batch"] * (a["latency-ms"] + a["decode-ms"] + 0.5 + a["item-bytes"] / 2e6) +
            a["collate-ms"] + 1)


def step_ms(a, bandwidth):
    """About how long a step takes."""
    cpu = a["batch"] * (a["decode-ms"] + 0.7 + a["item-bytes"] / 1e6) + a["collate-ms"] + 2
    own = a["kernel-ms"] + a["host-ms"] + a["sampler-ms"] + a["copy-mb"] / 1.2
    if a.get("ckpt-every"):
        own += a["ckpt-mb"] / a["ckpt-every"] * (2 if a["ckpt-cached"] else 30)
    line = 1000 * a["batch"] * a["item-bytes"] / bandwidth if bandwidth else 0
    made = max(making_ms(a) / max(1, a["workers"]), line)
    if not a["workers"]:
        return own + made
    return max(own, made, (cpu + a["host-ms"] + a["sampler-ms"]) / CORES)


def draw(seed):
    for attempt in range(1000):
        r = random.Random(f"{seed}/{attempt}")
        a = {}
        draw_items(r, a)
        draw_loader(r, a)
        draw_trainer(r, a)
        if r.random() < 0.6:  # else most jobs would compute nearly always, or nearly never
            usual = making_ms(a) / max(1, a["workers"]) * log_uniform(r, 0.2, 1.3)
            a["kernel-ms"] = round(min(60, max(2, usual)), 1)
        bytes_of = a["batch"] * a["item-bytes"]
        bandwidth = 0
        if r.random() < 0.2:
            bandwidth = int(1000 * bytes_of / step_ms(a, 0) * log_uniform(r, 0.3, 3))
        started = STARTS[a["start"]] * a["workers"] / CORES
        started *= 1 if a["persistent"] else a["epochs"]
        steps = int(1000 * (SECONDS - min(started, 6)) / step_ms(a, bandwidth) / a["epochs"])
        ahead = a["workers"] * a["prefetch"] * bytes_of
        if steps >= max(8, 2 * a["workers"]) and steps * a["epochs"] >= 60 and ahead <= 512 << 20:
            break
    a["steps"] = min(steps, 4000)
    world = {"http": {"latency_us": 0, "bandwidth": bandwidth}}
    if "ckpt-every" in a:
        world["disk"] = {} if a["ckpt-cached"] else {"write_bps": 40 << 20}
    return Scenario(f"random-{seed}", told(a, bandwidth), a, "", world, env=SIM)


def told(a, bandwidth):
    """The job in one line."""
    line = (f"{a['workers']}w x{a['prefetch']} {a['start']}{' persistent' if a['persistent'] else ''}"
            f"{' iterable' if a['iterable'] else ''}, {a['epochs']}x{a['steps']} batches of {a['batch']}"
            f" x {a['item-bytes'] >> 10} KiB in {a['tensors']}{' dict' if a['dicts'] else ''}, "
            f"{a['latency-ms']} ms {a['spread']}")
    if bandwidth:
        line += f" at {bandwidth / 1e6:.1f} MB/s"
    for key, name in (("decode-ms", "decode"), ("collate-ms", "collate"), ("sampler-ms", "sampler"),
                      ("host-ms", "host")):
        if a[key]:
            line += f", {name} {a[key]} ms"
    line += f", kernel {a['kernel-ms']} ms"
    if a["copy-mb"]:
        line += f", copy {a['copy-mb']} MB"
    if a["sync-every"] > 1:
        line += f", sync every {a['sync-every']}"
    if a.get("ckpt-every"):
        line += (f", checkpoint {a['ckpt-mb']} MB every {a['ckpt-every']}"
                 f"{' cached' if a['ckpt-cached'] else ''}")
    return line + (", file_system" if a["sharing"] != "file_descriptor" else "")


LOADER = ("loader-few-workers", "loader-no-workers")
ABOUT = {  # what may be found first where this is the largest cause
    "storage": ("storage-remote-live-read", *LOADER), "prepare": ("prepare-cpu-bound", *LOADER),
    "cpu-starved": ("cpu-starved", "prepare-cpu-bound", "loader-no-workers"),
    "startup": ("loader-worker-restart", "startup-long"),
    "host": ("host-bound", "loader-no-workers"), "pageable-copy": ("copy-pageable",),
    "checkpoint": ("checkpoint-blocking",),
}


def number_in(finding, pattern):
    hit = re.search(pattern, finding["fix"])
    return int(hit.group(1)) if hit else None


def cure_of(finding):
    """What takes away the cause that the finding names; None: nothing in this job can."""
    args = {
        "storage-remote-live-read": {"latency-ms": 0},
        "prepare-cpu-bound": {"decode-ms": 0, "collate-ms": 0},
        "loader-worker-restart": {"persistent": True},
        "host-bound": {"host-ms": 0, "sampler-ms": 0},
        "copy-pageable": {"pinned": True}, "checkpoint-blocking": {"ckpt-every": 0},
        "loader-shallow-prefetch": {"prefetch": 4},
    }.get(finding["id"])
    if finding["id"] == "loader-few-workers":
        args = {"workers": number_in(finding, r"to (\d+)")}
    if finding["id"] == "loader-no-workers":
        # forked: what it would cost to import everything again in each nobody has seen
        args = {"workers": number_in(finding, r"num_workers=(\d+)"), "persistent": True,
                "start": "fork"}
    if args is None:
        return None
    more = {"http": {"bandwidth": 0}} if finding["id"] == "storage-remote-live-read" else {}
    return {"args": args, **more}


def judge_first(truth, finding):
    """Is it about a cause that is at least half as large as the largest that was waited for?"""
    causes = {k: v for k, v in truth["shares"].items() if k != "compute"}
    worth = {k for k, v in causes.items() if v >= 0.5 * max(causes.values())}
    if finding is None or finding["id"] == "healthy":
        large = [k for k, v in causes.items() if v > 0.11 and k != "startup"]
        return [f"nothing found, {' and '.join(large)} are there"] if large else []
    if any(finding["id"] in ABOUT.get(k, ()) for k in worth):
        return []
    return [f"first finding {finding['id']}, the truth has {', '.join(sorted(worth))}"]


FETCHING = ("storage", "prepare", "cpu-starved", "lock", "startup", "launch")


def compare(account, reports):
    """As run.compare; but what was waited for while tensors were fetched of a batch that had been sent
    may count as anything that workers do."""
    apart = account["apart"]
    fetched = 100 * apart.get("handover", 0)
    rows, complaints = run.compare(account, reports, run.POINTS, run.UNKNOWN)
    bounds = {k: (100 * apart.get(k, 0), fetched * (k in FETCHING)) for k, *_ in rows}
    kept = [c for c in complaints if c.split(":")[0] not in bounds]
    for key, t, v, _ in rows:
        low, more = bounds[key]
        if key != "unknown" and not low - run.POINTS <= v <= low + more + run.POINTS:
            kept.append(f"{key}: {v:.1f} % instead of {t:.1f} %" +
                        (f", {low:.1f} to {low + more:.1f} %" if more >= 1 else ""))
    return rows, kept


class Result:
    def __init__(self, s):
        self.scenario, self.complaints = s, []
        self.finding = self.promised = self.saved = self.length = None
        self.rows = []


def first_finding(report):
    loud = [f for f in report["findings"] if f["severity"] != "info"]
    return (loud or report["findings"] or [None])[0]


def measure(s, options):
    result = Result(s)
    first = run.execute(s, options, s.name)
    account, report = first.truth[0], first.reports[0]
    result.rows, result.complaints = compare(account, first.reports)
    finding = first_finding(report)
    result.finding = finding["id"] if finding else "none"
    result.length = account["span_ns"] / 1e9
    result.complaints += judge_first(account, finding)
    cure = finding and cure_of(finding)
    if cure:
        cured = run.execute(laid_over(s, cure), options, s.name + "-cured")
        result.promised = finding.get("gain_seconds")
        result.saved = result.length - cured.truth[0]["span_ns"] / 1e9
        if result.promised is None:
            result.complaints.append("no gain promised")
        elif 100 * abs(result.promised - result.saved) > run.GAIN_POINTS * result.length:
            result.complaints.append(f"promised {result.promised:.2f} s, saved {result.saved:.2f} s "
                                     f"of {result.length:.2f} s")
    return result


def print_result(result):
    shares = "  ".join(f"{k} {t:.1f}/{v:.1f}" for k, t, v, _ in sorted(result.rows, key=lambda x: -x[1])
                       if t >= 0.5 or v >= 0.5)
    gain = ""
    if result.saved is not None and result.promised is not None:
        off = 100 * (result.promised - result.saved) / result.length
        gain = f", promised {result.promised:.2f} s, saved {result.saved:.2f} s ({off:+.1f})"
    print(f"    {result.length:.2f} s: {shares}\n    {result.finding}{gain}", flush=True)


def attempt(s, options):
    try:
        return measure(s, options)
    except (run.Wrong, OSError, ValueError, KeyError, subprocess.TimeoutExpired) as e:
        result = Result(s)
        result.complaints = [str(e) if isinstance(e, run.Wrong) else traceback.format_exc(limit=4)]
        return result


def one(s, options):
    """True: as promised, at the last."""
    print(f"{s.name}: {s.title}", flush=True)
    for left in reversed(range(options.again)):
        result = attempt(s, options)
        if result.length:
            print_result(result)
        if not result.complaints:
            print(f"  ok {s.name}", flush=True)
            return True
        word = "again" if left else "FAIL"
        print("".join(f"  {word} {s.name}: {c}\n" for c in result.complaints), end="", flush=True)
    return False


def parse():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("first", type=int)
    p.add_argument("count", type=int)
    p.add_argument("--build", default=os.path.join(os.path.dirname(os.path.dirname(HERE)), "build"))
    p.add_argument("--python", default="/usr/bin/python3", help="interpreter of the jobs")
    p.add_argument("--keep")
    p.add_argument("--again", type=int, default=2)
    p.add_argument("--draw", action="store_true")
    options = p.parse_args()
    options.here, options.build = HERE, os.path.abspath(options.build)
    options.tests = os.path.join(options.build, "tests", "scenarios")
    options.truth = options.unprivileged = False
    return options


def main():
    options = parse()
    jobs = [draw(n) for n in range(options.first, options.first + options.count)]
    if options.draw:
        print("".join(f"{s.name}: {s.title}\n" for s in jobs), end="")
        return
    begin("the wait chain needs root")
    try:
        good = [one(s, options) for s in jobs]
    except Unavailable as e:
        print(f"SKIP: {e}")
        sys.exit(77)
    print(f"{sum(good)} of {len(good)} as promised")
    sys.exit(not all(good))


if __name__ == "__main__":
    main()
