# SPDX-License-Identifier: MIT
"""The true account of accelerator time, computed from what the jobs wrote down about themselves.

Written apart from gpufeed's ledger and from other evidence: gpufeed sees threads leave and enter
cores, this sees what the program's own lines did and two per-thread counters of the kernel.

The span goes from the context made to its release. Where a kernel ran is known from the launches
and the nanoseconds asked of each (`busy`); all else is gaps. Each phase of the launching thread
(truthlog.py) gives its part of the gaps to causes:

    phase       on a core   without a core   blocked
    next        host        cpu-starved      shared over the making of the batch (below)
    iter        startup     cpu-starved      startup            workers are started
    shutdown    startup     cpu-starved      startup            ... and ended
    copy        copy        cpu-starved      copy               pageable-copy or link, of state copy
    launch      launch      cpu-starved      launch             all of the starving lies in gaps
    sync        host        cpu-starved      host               only its end lies in a gap
    ckpt        checkpoint  cpu-starved      checkpoint
    allreduce   network, but late-peer until the last rank has come; without a core: cpu-starved
    others      host        cpu-starved      host

Share rule: a wait that ended with a batch is shared in the proportions of all that its worker did
on it: since the worker made its previous batch, or since its last wait for work, whichever is
later; a first batch's making begins with the worker's birth. Within it: reading = storage
(CPU time of reading too: the time to get bytes is what a person calls storage), ready to run
without a core = cpu-starved, birth until ready for work = startup, the rest on a core = prepare,
the rest off it = lock. A batch is delivered when it was sent, and pinned where a thread of the
loading process does that: what the worker's queue thread and the pinning one did for that on a core
is prepare too, and their lack of a core cpu-starved.
"""
import glob
import json
import os
from collections import defaultdict

IDLE_NS = 1_000_000  # a worker blocked this long between batches has waited for work


def lines_of(path):
    with open(path, encoding="ascii") as f:
        return [json.loads(line) for line in f if line.endswith("\n")]


def load(folder):
    """(mains sorted by device, {path: [batch lines in order, with "send" and "pin" where known]})"""
    mains, workers, handed = [], {}, {"send": {}, "pin": {}}
    for path in glob.glob(os.path.join(folder, "main-*.json")):
        with open(path, encoding="ascii") as f:
            mains.append(json.load(f))
    for part, lines in handed.items():
        for path in glob.glob(os.path.join(folder, f"{part}-*.jsonl")):
            for line in lines_of(path):
                lines[line["pid"], line["n"]] = line
    for path in glob.glob(os.path.join(folder, "worker-*.jsonl")):
        workers[path] = sorted(lines_of(path), key=lambda b: b["t0"])
        for line in workers[path]:
            for part, lines in handed.items():
                by = lines.get((line["pid"], line["n"]))
                if by:
                    line[part], line["sent"] = by[part], by["t1"]
    return sorted(mains, key=lambda m: m["device"]), workers


def blocked(part):
    wall, cpu, delay = part
    return max(0, wall - cpu - delay)


def making(line):
    """{cause: ns} of the making of one batch by its worker."""
    wall, _, delay = line["all"]
    read_wall, _, read_delay = line["read"]
    parts = defaultdict(float)
    parts["storage"] = max(0, read_wall - read_delay)
    parts["lock"] = max(0, blocked(line["all"]) - blocked(line["read"]))
    parts["cpu-starved"] = delay
    parts["prepare"] = max(0, wall - delay - parts["storage"] - parts["lock"])
    for part in ("send", "pin"):
        _, part_cpu, part_delay = line.get(part, (0, 0, 0))
        parts["prepare"] += part_cpu
        parts["cpu-starved"] += part_delay
    gap_wall, _, gap_delay = line["gap"]
    if blocked(line["gap"]) > IDLE_NS:
        return parts  # it had waited for work: the making began there
    parts["cpu-starved"] += gap_delay
    if "birth" in line:
        init_wall, _, init_delay = line["init"]
        parts["cpu-starved"] += init_delay
        parts["startup"] += max(0, init_wall - init_delay) + max(0, gap_wall - gap_delay)
    else:
        parts["prepare"] += max(0, gap_wall - gap_delay)
    return parts


def spread(account, ns, parts):
    """Adds ns to the account in the proportions of parts."""
    total = sum(parts.values())
    for cause, part in parts.items():
        account[cause] += ns * part / total if total else 0
    if not total:
        account["unknown"] += ns


def overlap(a, b):
    return max(0, min(a[1], b[1]) - max(a[0], b[0]))


def busy_intervals(main):
    """Merged [t0, t1] in which a kernel ran: in order, each from its launch or its predecessor."""
    merged = []
    for _, launched, ns in main["kernels"]:
        begin = max(launched, merged[-1][1]) if merged else launched
        if merged and begin == merged[-1][1]:
            merged[-1][1] = begin + ns
        else:
            merged.append([begin, begin + ns])
    return merged


def phases(main):
    """(t0, t1, cpu, delay, label, arg) between each two marks."""
    marks = main["marks"]
    for a, b in zip(marks, marks[1:]):
        yield a[0], b[0], b[1] - a[1], b[2] - a[2], b[3], b[4]


def idle_parts(t0, t1, busy, at):
    """Intervals of [t0, t1] in which no kernel ran; `at`: first busy interval to look at."""
    parts = []
    while at < len(busy) and busy[at][1] <= t0:
        at += 1
    i, t = at, t0
    while i < len(busy) and busy[i][0] < t1:
        if busy[i][0] > t:
            parts.append((t, busy[i][0]))
        t = max(t, busy[i][1])
        i += 1
    if t < t1:
        parts.append((t, t1))
    return parts, at


SAME = {"iter": "startup", "shutdown": "startup", "launch": "launch", "ckpt": "checkpoint"}


class Accountant:
    def __init__(self, main, mains, lines, pageable, handover=False):
        self.main, self.lines, self.handover = main, lines, handover
        self.account = defaultdict(float)
        self.copy = "pageable-copy" if pageable else "link"
        self.arrivals = defaultdict(list)  # all-reduce -> when each rank had come
        for other in mains:
            for t0, _, _, _, label, arg in phases(other):
                if label == "allreduce":
                    self.arrivals[arg].append(t0)

    def inline_batch(self, parts, idle, delay, line):
        """Its own reads are storage where no kernel ran beside them."""
        a = self.account
        read_wall, _, read_delay = line["read"]
        reading = sum(overlap(p, r) for p in parts for r in line["reads"])
        storage = min(idle - delay, reading * (1 - read_delay / max(1, read_wall)))
        a["cpu-starved"] += delay
        a["storage"] += storage
        a["host"] += max(0, idle - delay - storage)

    def next_batch(self, t0, idle, cpu, delay, arg):
        """What the thread itself does it does when the batch has come: where a kernel still ran when
        it began to wait, that lies in the gap all the same."""
        a = self.account
        cpu = min(cpu, idle)
        delay = min(delay, idle - cpu)
        a["host"] += cpu
        a["cpu-starved"] += delay
        line = self.lines.get(arg["n"])
        there = self.handover and line and line.get("sent", t0) < t0
        spread(a, idle - cpu - delay,
               {"handover": 1} if there else making(line) if line else {})

    def allreduce(self, t0, t1, delay, arg):
        last = max(self.arrivals[arg])
        late = min(max(0, last - t0), t1 - t0)
        self.account["cpu-starved"] += delay
        spread(self.account, t1 - t0 - delay, {"late-peer": late, "network": t1 - t0 - late})

    def phase(self, t0, t1, cpu, delay, label, arg, parts):
        idle, wall = sum(b - a for a, b in parts), max(1, t1 - t0)
        part = idle / wall
        a = self.account
        if label == "ckpt" and arg:
            delay += arg["helper"][2]  # of the thread that was awaited
        if label == "sync":
            starved = min(idle, delay)
            a["cpu-starved"] += starved
            a["host"] += idle - starved
        elif label == "launch":
            # kernels of microseconds: a thread without a core launches nothing and the device runs
            # dry at once, so the time without a core lies in the gaps, not evenly over the phase
            starved = min(idle, delay)
            a["cpu-starved"] += starved
            a["launch"] += idle - starved
        elif label == "iter" and arg and t0 > self.main["kernels"][0][0]:
            sampled = idle * min(1, arg[0] / wall)
            starved = min(sampled, arg[2])
            a["cpu-starved"] += starved
            a["host"] += sampled - starved
            idle -= sampled
            starved = min(idle, max(0, delay - arg[2]) * part)
            a["cpu-starved"] += starved
            a["startup"] += idle - starved
        elif label == "next":
            if "inline" in arg:
                self.inline_batch(parts, idle, delay * part, arg["inline"])
            else:
                self.next_batch(t0, idle, cpu, delay, arg)
        elif label == "allreduce":
            self.allreduce(t0, t1, delay, arg)
        else:
            starved = min(idle, delay * part)
            a["cpu-starved"] += starved
            a[self.copy if label == "copy" else SAME.get(label, "host")] += idle - starved

    def run(self):
        busy, at = busy_intervals(self.main), 0
        begin, end = self.main["span"]
        for t0, t1, cpu, delay, label, arg in phases(self.main):
            parts, at = idle_parts(t0, t1, busy, at)
            if parts:
                self.phase(t0, t1, cpu, delay, label, arg, parts)
        self.account["compute"] = sum(max(0, min(b, end) - max(a, begin)) for a, b in busy)
        return end - begin, dict(self.account)


def accounts(folder, pageable=True):
    """One per device, in order: {"device", "rank", "span_ns", "shares": {cause or "compute": share},
    "apart": the same}. There "handover" is what was waited for when a batch had been sent: its
    tensors are fetched from the worker, whose threads share a lock and the cores. In "shares" it is
    shared over the making of the batch as all waiting is.
    """
    mains, workers = load(folder)
    result = []
    for main in mains:
        lines = {}
        for path_lines in workers.values():
            for line in path_lines:
                if line["pid"] == main["pid"]:
                    lines[line["n"]] = line
        span, account = Accountant(main, mains, lines, pageable).run()
        _, apart = Accountant(main, mains, lines, pageable, handover=True).run()
        result.append({"device": main["device"], "rank": main["rank"], "span_ns": span,
                       "shares": {k: v / span for k, v in sorted(account.items()) if v},
                       "apart": {k: v / span for k, v in sorted(apart.items()) if v}})
    return result
