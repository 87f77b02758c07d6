#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What gpufeed costs and how fast its parts are; see bench/README.md. bench.py BUILD [PART...]

Parts: job saturated cost size hour ledger imports probe waits; none named: all.
"""
import json
import os
import re
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

import own_cost
from figures import Figures, rotated, slowdown
from jobs import Failed, Place, Tools, find_py_spy, run_job

SHORT = os.environ.get("SHORT", "") not in ("", "0")
WORKERS = 8
SLOWDOWN_MAX = 0.01
OWN_MAX = 0.03
PEAK_MIB_MAX = 64
SPANS_MIN = 3e6
HOUR_MIB_MAX = 4
IMPORT_MIB_MAX = 256
DELIVERIES_MAX = 3 << 19  # bytes that a recording keeps of them (record/record.h)

ROUNDS = 3 if SHORT else 10
OTHER_ROUNDS = 1 if SHORT else 3
SATURATED_ROUNDS = 1 if SHORT else 3
STEPS = 100 if SHORT else 190         # 20 ms each
SIZE_STEPS = 400 if SHORT else 1200

# Eight workers, each waiting for 8 answers of 20 ms for a batch: nearly all of the time is latency.
LATENCY_US = 20000
LATENCY_BOUND = {"workers": WORKERS, "batch": 8, "compute-ms": 8, "decode-ms": 0.2, "image": 64}
# Eight workers that decode all the time on at most four cores.
SATURATED = {"workers": WORKERS, "batch": 8, "compute-ms": 2, "decode-ms": 2, "image": 64}
SATURATED_CORES = 4


def rounds(place, figures, options, count, others, cpus=None):
    """{way: [seconds]}: each round runs the job bare, under gpufeed and bare again, in another
    order; the other tools only in the first OTHER_ROUNDS. One of those that fails is left out."""
    tools = Tools(place)
    ways = {"bare": tools.bare, "gpufeed": tools.gpufeed, "again": tools.bare}
    seconds = {way: [] for way in [*ways, *others]}
    for number in range(count):
        for way in rotated(list(ways), number):
            seconds[way].append(run_job(place, ways[way](), options, cpus))
        for way in rotated(list(others), number) if number < OTHER_ROUNDS else []:
            try:
                seconds[way].append(run_job(place, others[way](), options, cpus))
            except Failed as e:
                figures.skip(way, str(e))
                del others[way]
    return seconds


def ratios(seconds, way):
    """Of each run to the bare run of its round."""
    return [a / b for a, b in zip(seconds[way], seconds["bare"])]


def other_tools(place, tools, figures):
    others = {}
    if os.geteuid() != 0 or not shutil.which("perf"):
        figures.skip("perf sched record", "needs root and linux-perf")
    else:
        others["perf sched record"] = tools.perf
    spy = find_py_spy(place)
    if spy:
        others["py-spy"] = lambda: tools.py_spy(spy)
    else:
        figures.skip("py-spy", "not installed, and pip could not bring it")
    return others


def job(place, figures):
    others = other_tools(place, Tools(place), figures)
    with place.store(LATENCY_US) as url:
        options = {**LATENCY_BOUND, "data": url, "steps": STEPS}
        run_job(place, [], options)  # files and pages that all runs use
        seconds = rounds(place, figures, options, ROUNDS, others)
    gpufeed = ratios(seconds, "gpufeed")
    figures.bound("slowdown, latency-bound, 8 workers",
                  f"{slowdown(gpufeed)} in {ROUNDS} pairs; A/A {slowdown(ratios(seconds, 'again'))}; "
                  f"medians {statistics.median(seconds['bare']):.3f} s bare, "
                  f"{statistics.median(seconds['gpufeed']):.3f} s with gpufeed",
                  statistics.median(gpufeed) <= 1 + SLOWDOWN_MAX, "1 %")
    for name in others:
        figures.plain(f"{name} on the same job",
                      f"{slowdown(ratios(seconds, name))} in {len(seconds[name])} pairs")


def saturated(place, figures):
    cpus = sorted(os.sched_getaffinity(0))[:SATURATED_CORES]
    seconds = rounds(place, figures, {**SATURATED, "steps": STEPS}, SATURATED_ROUNDS, {}, cpus)
    figures.plain(f"slowdown, {len(cpus)} saturated cores, 8 workers",
                  f"{slowdown(ratios(seconds, 'gpufeed'))} in {SATURATED_ROUNDS} pairs; "
                  f"A/A {slowdown(ratios(seconds, 'again'))}")


def cost(place, figures):
    seconds = 6 if SHORT else 12
    root = os.geteuid() == 0
    with own_cost.bpf_statistics() as counted:
        if root and counted:
            c = own_cost.measure(place, seconds)
            figures.bound("own CPU, wait chain",
                          f"{100 * (c['own'] + c['bpf']):.2f} % of a core at {c['switches']:,.0f} "
                          f"switches/s (gpufeed {100 * c['own']:.2f} %, BPF {100 * c['bpf']:.2f} %; "
                          f"{c['begin']:.2f} s until it ran)",
                          c["own"] + c["bpf"] <= OWN_MAX, "3 % of a core")
            figures.bound("peak memory of that run", f"{c['peak']:.1f} MiB",
                          c["peak"] <= PEAK_MIB_MAX, "64 MiB")
        else:
            figures.skip("own CPU, wait chain", "needs root")
    c = own_cost.measure(place, seconds, ["--sampler"])
    figures.plain("own CPU, sampler", f"{100 * c['own']:.2f} % of a core at {c['switches']:,.0f} "
                  f"switches/s, {c['peak']:.1f} MiB")


def tables(path):
    """Of a recording: {table: bytes of its pages}, rows of the ledger, bytes of deliveries."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
        try:
            pages = dict(db.execute("select name, sum(pgsize) from dbstat group by name"))
        except sqlite3.OperationalError as e:
            raise Failed(f"this Python's SQLite cannot tell the size of a table: {e}") from e
        rows = db.execute("select count(*) from ledger_row").fetchone()[0]
        kept = db.execute("select coalesce(sum(length(chunk)), 0) from delivery").fetchone()[0]
    return pages, rows, kept


def size(place, figures):
    """An hour of the job from half a minute of it: rows as they came, deliveries up to what is
    kept, the rest as it is. What a row takes is read off a whole made-up hour."""
    made_up, path = place.file(".gpufeed"), place.file(".gpufeed")
    program(place, "bench_hour", "3600", made_up)
    pages, rows, _ = tables(made_up)
    row_bytes = pages["ledger_row"] / rows
    with place.store(LATENCY_US) as url:
        seconds = run_job(place, Tools(place).gpufeed(path),
                          {**LATENCY_BOUND, "data": url, "steps": SIZE_STEPS})
    pages, rows, kept = tables(path)
    deliveries = min(kept * 3600 / seconds, DELIVERIES_MAX) * pages["delivery"] / kept
    ledger_rows = rows * 3600 / seconds * row_bytes
    rest = sum(pages.values()) - pages["delivery"] - pages["ledger_row"]
    mib = (deliveries + ledger_rows + rest) / 2**20
    figures.bound("recording of a GPU-hour, extrapolated",
                  f"{mib:.2f} MiB: deliveries {deliveries / 2**20:.2f}, {rows / seconds:.1f} rows "
                  f"a second of {row_bytes:.0f} bytes {ledger_rows / 2**20:.2f}, "
                  f"the rest {rest / 2**20:.2f}; from {seconds:.1f} s", mib <= HOUR_MIB_MAX, "4 MiB")


def program(place, name, *argv):
    done = subprocess.run([str(place.build / "bench" / name), *argv], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, cwd=place.scratch)
    if done.returncode not in (0, 1):  # 1: a bound of its own is missed
        raise Failed(f"{name} ended with {done.returncode}: {done.stdout.strip()[-200:]}")
    return done.stdout


def hour(place, figures):
    peaks, last = {}, 0
    for seconds in (360, 1800, 3600):
        text = program(place, "bench_hour", str(seconds), place.file(".gpufeed"))
        peak, last = (float(x) for x in re.search(r"peak ([\d.]+) MiB, recording ([\d.]+)",
                                                  text).groups())
        peaks[seconds] = peak
    shown = ", ".join(f"{peak:.1f} MiB after {s} s" for s, peak in peaks.items())
    figures.bound("peak memory of a made-up hour", shown, max(peaks.values()) <= PEAK_MIB_MAX,
                  "64 MiB")
    figures.bound("its growth in the second half", f"{peaks[3600] - peaks[1800]:+.1f} MiB",
                  peaks[3600] - peaks[1800] < 1, "none")
    figures.bound("recording of a made-up hour", f"{last:.2f} MiB", last <= HOUR_MIB_MAX, "4 MiB")


def ledger(place, figures):
    speeds = [float(x) for x in re.findall(r"([\d.]+) M spans/s", program(place, "bench_ledger"))]
    figures.bound("ledger engine", f"{speeds[-1]:.2f} million spans/s on one core",
                  speeds[-1] * 1e6 >= SPANS_MIN, "3 million")


def probe(place, figures):
    text = program(place, "probe_cost", str(place.build / "src/probe/libgpufeed-probe.so"),
                   str(place.build / "sim"), str(place.build / "tests/probe/cuda_job"),
                   "3" if SHORT else "10", "20000")
    figures.plain("probe", text.strip())


def waits(place, figures):
    if os.geteuid() != 0 or not (place.build / "bench/bench_waits").exists():
        figures.skip("wait chain alone", "needs root and BPF")
        return
    text = program(place, "bench_waits", str(place.build / "tests/bpf/switcher"))
    for mode, line, both in re.findall(r"^(\w+) +(.*both ([\d.]+) %)", text, re.M):
        figures.bound(f"wait chain alone, {mode}", re.sub(" +", " ", line),
                      float(both) <= 100 * OWN_MAX, "3 % of a core")


def hta_seconds(place, trace):
    """What Holistic Trace Analysis takes to load a trace, in a Python that has it; None: nowhere."""
    script = ("import sys, time\nfrom hta.trace_analysis import TraceAnalysis\nt = time.monotonic()\n"
              "TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir='')\nprint('took', time.monotonic() - t)")
    for python in filter(None, [os.environ.get("HTA_PYTHON"), sys.executable]):
        done = subprocess.run([python, "-c", script, trace], capture_output=True, text=True, check=False,
                              cwd=place.scratch)
        took = re.search(r"^took ([\d.]+)", done.stdout, re.M)
        if took:
            return float(took[1])
    return None


def imports(place, figures):
    """A trace as yajl's bare tokenizer reads it, our scanner, the whole import, plain and compressed."""
    mib, rounds_ = (200, "3") if SHORT else (2048, "3")
    path = place.file(".json")
    with open(path, "wb") as out:
        subprocess.run([str(place.build / "bench/make_trace"), str(mib)], stdout=out, check=True)
    report = subprocess.run([str(place.build / "gpufeed"), "report", path, "--json"], check=True,
                            stdout=subprocess.PIPE)
    peak = json.loads(report.stdout)["tool"]["peak_rss_bytes"] / 2**20
    figures.bound(f"peak memory of reading a trace of {mib} MiB", f"{peak:.0f} MiB", peak <= IMPORT_MIB_MAX,
                  "256 MiB")
    if not (place.build / "bench/bench_import").exists():
        figures.skip("speed of imports", "needs libyajl-dev")
        return
    text = program(place, "bench_import", path, rounds_)
    speeds = text.splitlines()[1].strip()
    for key, name, least in (("scan_of_yajl", "our JSON scanner to yajl's tokenizer", 2),
                             ("import_of_yajl", "a whole import to yajl's tokenizer", 0.7),
                             ("gzip_of_slower", "a compressed import to the slower of zlib and import", 0.85)):
        ratio = float(re.search(rf"^{key} ([\d.]+)", text, re.M)[1])
        figures.bound(name, f"{ratio:.2f} times as fast ({speeds})", ratio >= least, f"{least}")
    os.unlink(path)
    with open(path, "wb") as out:
        subprocess.run([str(place.build / "bench/make_trace"), "50"], stdout=out, check=True)
    theirs = hta_seconds(place, path)
    if theirs is None:
        figures.skip("Holistic Trace Analysis", "not installed; HTA_PYTHON may name a Python that has it")
        return
    begin = time.monotonic()
    subprocess.run([str(place.build / "gpufeed"), "report", path], check=True, stdout=subprocess.DEVNULL)
    ours = time.monotonic() - begin
    figures.bound("a report of a 50 MiB trace to loading it in Holistic Trace Analysis",
                  f"{theirs / ours:.0f} times as fast ({ours:.2f} s, {theirs:.2f} s)", theirs / ours >= 25, "25")


PARTS = {part.__name__: part for part in (job, saturated, cost, size, hour, ledger, imports, probe, waits)}


def stop(number, _):
    sys.exit(128 + number)


def main(argv):
    wanted = argv[2:] or [name for name in PARTS if not (SHORT and name == "waits")]
    if len(argv) < 2 or not set(wanted) <= set(PARTS):
        sys.exit(__doc__)
    signal.signal(signal.SIGTERM, stop)  # so that what was set is set back
    figures = Figures(lambda line: print(line, flush=True))
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
          f"{', short' if SHORT else ''}; medians of pairs", flush=True)
    with tempfile.TemporaryDirectory(prefix="gpufeed-bench-") as scratch:
        place = Place(argv[1], scratch)
        for name in wanted:
            try:
                PARTS[name](place, figures)
            except Failed as e:
                figures.skip(name, str(e))
    figures.summary()


if __name__ == "__main__":
    main(sys.argv)
