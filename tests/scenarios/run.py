#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the scenarios under gpufeed and compares its ledger with the jobs' own truth.

    run.py [--build DIR] [--only NAME[,NAME]] [--short] [--privileged] [--unprivileged] [--gain]
           [--truth] [--table] [--python PATH] [--keep DIR] [--tries N]

--short        a quarter of the steps, twice the tolerance (`make test`)
--privileged   only as root (wait chain)
--unprivileged only as nobody (sampler): root prepares the world, gpufeed runs without rights
--gain         runs each curable scenario again without its cause: saved against promised
               (always so in a full run; wait chain only)
--truth        no gpufeed: prints the truth alone
--table        prints the whole comparison of scenarios that pass, too
--tries N      a scenario that fails is run again, N times in all: two noisy cores make both truth and
               ledger of a short run unsteady; each miss is printed
--keep DIR     keeps recordings, reports and truth there

Needs root for mounts, limits and namespaces; exit 77 where nothing could be run.
"""
import argparse
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import traceback
from dataclasses import dataclass, field

import scenarios
import truth
from ranks import environment
from world import Unavailable, World, begin, drop_cache, fill

HERE = os.path.dirname(os.path.abspath(__file__))
NOBODY = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
RUN_SECONDS = 180
FACTOR = 4              # steps of a full run against a short one
POINTS = 3.0            # tolerance of a cause, chain
POINTS_SAMPLED = 8.0
UNKNOWN = 2.0           # chain only
GAIN_POINTS = 5.0       # promised against saved, of the run's length
STARVED = 5.0           # a machine that withholds cores for more of the span than this says so


class Wrong(Exception):
    """The run itself went wrong: no report to compare."""


@dataclass
class Command:
    argv: list
    env: dict
    group: str = None
    prefix: list = field(default_factory=list)


@dataclass
class Outcome:
    truth: list      # of truth.accounts
    reports: list    # of gpufeed, parsed; empty with --truth
    log: str


def flags(args):
    out = []
    for key, value in args.items():
        if value is True:
            out.append("--" + key)
        elif value is not False:
            out += ["--" + key, str(value)]
    return out


def build_world(world, s):
    """Makes what surrounds the job; returns (more job options, control group, networks)."""
    more, group, networks, w = {}, None, None, s.world
    total = s.args["steps"] * s.args.get("epochs", 1) * s.args.get("batch", 1)
    size = s.args.get("item-bytes", 65536)
    if "http" in w:
        more["data"] = world.httpstore(**w["http"])
    if "slowfs" in w:
        more["data"] = world.slowfs(scenarios.SLOW_FILES, size, **w["slowfs"])
        more["files"] = scenarios.SLOW_FILES
    if "disk" in w:
        mount, number = world.disk((total * size >> 20) + 128)
        if any(w["disk"].values()):
            group = world.throttle(number, **w["disk"])
        if "ckpt-every" in s.args:
            more["ckpt-dir"] = mount
        else:
            more["data"], more["files"] = os.path.join(mount, "data"), total
            fill(more["data"], total, size)
            drop_cache(more["data"])
    if "link" in w:
        networks = world.networks(w["link"])
    if w.get("neighbours"):
        world.neighbours(w["neighbours"])
    return more, group, networks


def commands(s, options, log, more, group, networks):
    """The job's command lines: one, or one a rank where each network gets its own gpufeed."""
    program = ([os.path.join(options.tests, "threads")] if s.program == "threads"
               else [options.python, os.path.join(options.here, "job.py")])
    args = flags({"truth": log, **s.args, **more})
    if networks and not options.unprivileged:
        places = [",".join(n) for n in networks]
        return [Command([sys.executable, os.path.join(options.here, "ranks.py"), *places, "--",
                         *program, *args], {}, group)]
    if networks:
        return [Command([*program, *args], environment(i, link, networks[0][1]), group,
                        ["ip", "netns", "exec", name])
                for i, (name, _, link) in enumerate(networks)]
    if s.ranks > 1:
        # The redirects: torch 1.13 fails over its own default on Python 3.11.
        program = [options.python, "-m", "torch.distributed.run", "--nproc_per_node",
                   str(s.ranks), "--master_addr", "127.0.0.1", "--master_port",
                   str(29600 + os.getpid() % 1000), "--redirects", "1", "--tee", "1", program[1]]
    return [Command([*program, *args], {}, group)]


def wrap(c, options, s, recording):
    gpufeed = [os.path.join(options.build, "gpufeed"), "run", f"--simulate={s.ranks}", "-o",
               recording, "--report", recording + ".txt", "--"]
    return [*c.prefix, *(NOBODY if options.unprivileged else []),
            *([] if options.truth else gpufeed), *c.argv]


def start(c, options, s, recording, output):
    env = {**os.environ, "GPUFEED_SIM_DEVICES": str(s.ranks), "PYTHONDONTWRITEBYTECODE": "1",
           "HOME": "/nonexistent", "OMP_NUM_THREADS": "1", **s.env, **c.env}
    if options.truth:
        env["LD_LIBRARY_PATH"] = os.path.join(options.build, "sim")

    def enter():
        if c.group:
            with open(c.group + "/cgroup.procs", "w", encoding="ascii") as f:
                f.write(str(os.getpid()))
    return subprocess.Popen(wrap(c, options, s, recording), env=env, stdin=subprocess.DEVNULL,
                            stdout=output, stderr=subprocess.STDOUT, preexec_fn=enter, cwd="/")


def finish(processes):
    """Waits for all; whatever happens, none is left."""
    try:
        return max((p.wait(RUN_SECONDS) for p in processes), key=abs)
    finally:
        for p in processes:
            if p.poll() is None:
                p.terminate()
                try:
                    p.wait(10)
                except subprocess.TimeoutExpired:
                    p.kill()
                    p.wait()


def tail(path, lines=15):
    with open(path, encoding="utf-8", errors="replace") as f:
        return "".join(f.readlines()[-lines:])


def report_json(options, recording):
    done = subprocess.run([os.path.join(options.build, "gpufeed"), "report", "--json", recording],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise Wrong(f"gpufeed report: exit {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def keep(options, name, folder):
    if options.keep:
        to = os.path.join(options.keep, name + ("-nobody" if options.unprivileged else ""))
        shutil.rmtree(to, ignore_errors=True)
        shutil.copytree(folder, to)


def execute(s, options, name):
    """One run in a world of its own."""
    with World(options.tests) as world:
        out = world.folder("out", 0o1777)
        log = world.folder("out/log", 0o1777)
        more, group, networks = build_world(world, s)
        output = os.path.join(out, "output.txt")
        cs = commands(s, options, log, more, group, networks)
        recordings = [os.path.join(out, f"run{i}.gpufeed") for i in range(len(cs))]
        with open(output, "w", encoding="utf-8") as f:
            code = finish([start(c, options, s, r, f) for c, r in zip(cs, recordings)])
        try:
            if code or not glob.glob(log + "/main-*.json"):
                raise Wrong(f"exit {code}: {tail(output)}")
            reports = [] if options.truth else [report_json(options, r) for r in recordings]
            for i, r in enumerate(reports):
                with open(os.path.join(out, f"report{i}.json"), "w", encoding="utf-8") as f:
                    json.dump(r, f, indent=1)
        finally:
            keep(options, name, out)
        return Outcome(truth.accounts(log, not s.args.get("pinned")), reports, out)


def accelerator(account, reports):
    """(report, index) of the accelerator of that account: by its number, and where each rank had a
    gpufeed of its own (which counts its devices from 0), by its rank."""
    own = len(reports) > 1
    for r in [reports[account["rank"]]] if own else reports:
        for i, a in enumerate(r["accelerators"]):
            if (own or a["id"].endswith(f":{account['device']}")) and a["state"]["unused"] < 0.5:
                return r, i
    raise Wrong(f"no report shows device {account['device']}")


def rows_of(report, index):
    wanted = (index, report["accelerators"][index]["id"])
    return [r for r in report["ledger"] if r["accelerator"] in wanted]


def ledger_vector(report, index):
    """{cause, or state where there is none: share of 1}, and the sum of the rows in ns."""
    vector, rows = {}, rows_of(report, index)
    total = sum(r["ns"] for r in rows)
    for r in rows:
        key = r["cause"] or r["state"]
        vector[key] = vector.get(key, 0) + r["ns"] / total
    return vector, total


def held(ledger, total):
    """The vector over the time that the device was held, as the truth has it, and that time.

    A report's span is that of all its devices: ranks that start one after the other leave each
    other's device `unused` at either end.
    """
    unused = ledger.pop("unused", 0)
    return {k: v / (1 - unused) for k, v in ledger.items()}, total * (1 - unused)


def compare(account, reports, points, unknown_limit):
    """(rows of (key, truth, ledger, off), complaints) of one device."""
    report, index = accelerator(account, reports)
    ledger, total = ledger_vector(report, index)
    complaints, rows = [], []
    seconds = report["accelerators"][index]["seconds"]
    if abs(seconds * 1e9 - total) > 1000:
        complaints.append(f"rows add up to {total} ns, the span is {seconds} s")
    ledger, total = held(ledger, total)
    for key in sorted(set(account["shares"]) | set(ledger)):
        t, v = 100 * account["shares"].get(key, 0), 100 * ledger.get(key, 0)
        off = abs(t - v) > points and key != "unknown"
        rows.append((key, t, v, off))
        if off:
            complaints.append(f"{key}: {v:.1f} % instead of {t:.1f} %")
    span = account["span_ns"]
    if abs(total - span) > 0.02 * span + 20e6:
        complaints.append(f"span {total / 1e9:.3f} s instead of {span / 1e9:.3f} s")
    unknown = 100 * ledger.get("unknown", 0)
    if unknown_limit is not None and unknown > unknown_limit:
        complaints.append(f"unknown {unknown:.1f} %")
    return rows, complaints


def judge_findings(s, outcome):
    """What each report must and must not say first.

    Where the truth itself shows that the machine withheld cores, cpu-starved is as right a finding
    as the scenario's own (it may come first where it was half the scenario's own cause), and a fix
    that needs spare cores gives way to those that are as true.
    """
    complaints = []
    starved = 100 * max(a["shares"].get("cpu-starved", 0) for a in outcome.truth)
    own = 100 * max(a["shares"].get(s.cause, 0) for a in outcome.truth)
    noisy = ("cpu-starved",) if starved > STARVED else ()
    first = (s.expect, *(noisy if 2 * starved > own else ()), *(s.also if noisy else ()))
    for r in outcome.reports:
        ids = [f["id"] for f in r["findings"]]
        if not ids or ids[0] not in first:
            complaints.append(f"first finding {ids[0] if ids else 'none'}, not {s.expect}")
        loud = [f["id"] for f in r["findings"]
                if f["severity"] != "info" and f["id"] not in (s.expect, *s.also, *noisy)]
        if loud:
            complaints.append(f"also found {', '.join(loud)}")
    return complaints


def promised(s, reports):
    gains = [f.get("gain_seconds") or 0 for r in reports for f in r["findings"]
             if f["id"] == s.expect]
    return max(gains, default=0.0)


def judge_gain(s, first, cured):
    """(promised, saved, length) in seconds; the longest device decides."""
    length = max(a["span_ns"] for a in first.truth) / 1e9
    saved = length - max(a["span_ns"] for a in cured.truth) / 1e9
    return promised(s, first.reports), saved, length


def print_rows(rows):
    print(f"    {'':16}{'truth':>9}{'ledger':>9}{'off by':>9}")
    for key, t, v, off in rows:
        print(f"    {key:16}{t:8.1f}%{v:8.1f}%{v - t:+8.1f}{'  <--' if off else ''}")


def print_truth(outcome):
    for a in outcome.truth:
        parts = "  ".join(f"{k} {100 * v:.1f}" for k, v in
                          sorted(a["shares"].items(), key=lambda kv: -kv[1]) if v > 0.0005)
        print(f"    device {a['device']}: {a['span_ns'] / 1e9:.2f} s: {parts} "
              f"(sum {100 * sum(a['shares'].values()):.2f})")


class Runner:
    def __init__(self, options):
        self.options = options
        self.factor = 1 if options.short else FACTOR
        scale = 2 if options.short else 1
        self.points = scale * (POINTS_SAMPLED if options.unprivileged else POINTS)
        self.unknown = None if options.unprivileged else scale * UNKNOWN
        self.again = not options.unprivileged and (options.gain or not options.short)
        self.passed, self.failed, self.skipped = 0, 0, 0
        self.gains = []

    def truth_alone(self, s):
        print_truth(execute(s, self.options, s.name))
        if s.cure is not None and self.again:
            print("    cured:")
            print_truth(execute(scenarios.laid_over(s, s.cure), self.options, s.name + "-cured"))
        return []

    def measured(self, s):
        first = execute(s, self.options, s.name)
        complaints = judge_findings(s, first)
        for account in first.truth:
            rows, wrong = compare(account, first.reports, self.points, self.unknown)
            complaints += [f"device {account['device']}: {w}" for w in wrong]
            if complaints or self.options.table:
                print_rows(rows)
        if s.cure is not None and self.again:
            cured = execute(scenarios.laid_over(s, s.cure), self.options, s.name + "-cured")
            said, saved, length = judge_gain(s, first, cured)
            self.gains.append((s.name, s.expect, length, said, saved))
            if 100 * abs(said - saved) > GAIN_POINTS * length:
                complaints.append(f"promised {said:.2f} s, saved {saved:.2f} s of {length:.2f} s")
        return complaints

    def attempt(self, s):
        try:
            return self.truth_alone(s) if self.options.truth else self.measured(s)
        except Wrong as e:
            return [str(e)]
        except (OSError, ValueError, KeyError, subprocess.TimeoutExpired):
            return [traceback.format_exc(limit=3)]

    def one(self, s):
        print(f"{s.name}: {s.title}", flush=True)
        s = scenarios.scaled(s, self.factor)
        for left in reversed(range(max(1, self.options.tries))):
            try:
                complaints = self.attempt(s)
            except Unavailable as e:
                self.skipped += 1
                print(f"  SKIP {s.name}: {e}", flush=True)
                return
            if not complaints:
                self.passed += 1
                print(f"  ok {s.name}", flush=True)
                return
            word = "again" if left else "FAIL"
            print("".join(f"  {word} {s.name}: {c}\n" for c in complaints), end="", flush=True)
        self.failed += 1

    def print_gains(self):
        if not self.gains:
            return
        print(f"\n{'promised against saved':24}{'finding':28}{'run':>9}{'promised':>10}{'saved':>9}"
              f"{'off by':>9}")
        for name, finding, length, said, saved in self.gains:
            print(f"{name:24}{finding:28}{length:8.2f}s{said:9.2f}s{saved:8.2f}s"
                  f"{100 * (said - saved) / length:+8.1f}%")



def parse():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    root = os.path.dirname(os.path.dirname(HERE))
    p.add_argument("--build", default=os.path.join(root, "build"))
    p.add_argument("--tests", help="folder of httpstore, slowfs and threads")
    p.add_argument("--only", default="")
    for name in ("short", "privileged", "unprivileged", "gain", "truth", "table"):
        p.add_argument("--" + name, action="store_true")
    p.add_argument("--python", default="/usr/bin/python3", help="interpreter of the jobs")
    p.add_argument("--keep")
    p.add_argument("--tries", type=int, default=1)
    options = p.parse_args()
    options.here = HERE
    options.build = os.path.abspath(options.build)
    options.tests = os.path.abspath(options.tests or
                                    os.path.join(options.build, "tests", "scenarios"))
    return options


def chosen(options):
    names = [n for n in options.only.split(",") if n]
    known = {s.name for s in scenarios.TABLE}
    if unknown := set(names) - known:
        sys.exit(f"no scenario {', '.join(sorted(unknown))}; there are {', '.join(sorted(known))}")
    return [s for s in scenarios.TABLE if not names or s.name in names]


def modes(options):
    """The options of each pass: as root, as nobody, or both."""
    both = options.privileged == options.unprivileged
    for unprivileged in (False, True):
        if (both and not (unprivileged and options.truth)) or options.unprivileged == unprivileged:
            yield argparse.Namespace(**{**vars(options), "unprivileged": unprivileged})


def summary(runners):
    passed, failed, skipped = (sum(getattr(r, k) for r in runners)
                               for k in ("passed", "failed", "skipped"))
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    if failed:
        return 1
    return 0 if passed else 77


def readable_by_nobody(options):
    """Where nobody may not enter the tree (a clone under /root), the program and the jobs are copied to
    a folder that everybody may read; removed at the end. Returns that folder or None."""
    program = os.path.join(options.build, "gpufeed")
    job = os.path.join(options.here, "job.py")
    if all(subprocess.run([*NOBODY, "test", "-r", f]).returncode == 0 for f in (program, job)):
        return None
    copy = tempfile.mkdtemp(prefix="gpufeed-tree-", dir="/var/tmp")
    os.chmod(copy, 0o755)
    wanted = [program, *glob.glob(os.path.join(options.build, "sim", "*.so*")),
              *glob.glob(os.path.join(options.build, "src", "probe", "*.so"))]
    for source in (f for f in wanted if os.path.isfile(f)):
        target = os.path.join(copy, "build", os.path.relpath(source, options.build))
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy2(source, target)
    for name, folder in (("here", options.here), ("tests", options.tests)):
        target = os.path.join(copy, name)
        os.makedirs(target)
        for source in glob.glob(os.path.join(folder, "*")):
            if os.path.isfile(source):
                shutil.copy2(source, target)
        setattr(options, name, target)
    options.build = os.path.join(copy, "build")
    return copy


def main():
    options = parse()
    begin("the scenarios need root for mounts, limits and namespaces")
    runners = []
    copy = None if options.privileged else readable_by_nobody(options)
    try:
        for mode in modes(options):
            runners.append(Runner(mode))
            print("-- " + ("sampler, as nobody" if mode.unprivileged else "wait chain, as root"))
            for s in chosen(options):
                if not (mode.unprivileged and s.chain_only):
                    runners[-1].one(s)
            runners[-1].print_gains()
    except KeyboardInterrupt:
        print("interrupted")
        sys.exit(130)
    finally:
        if copy:
            shutil.rmtree(copy, ignore_errors=True)
    sys.exit(summary(runners))


if __name__ == "__main__":
    main()
