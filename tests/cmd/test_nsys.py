# SPDX-License-Identifier: MIT
"""SQLite exports of Nsight Systems: the right answers of ../shared/cases, made-up exports, and bad ones."""
import csv
import functools
import gzip
import json
import os
import random
import sqlite3

import pytest

import gf
from nsys_db import CALL, COPY, GRAPH, KERNEL, MS, TID, US, Export, busy

CASES = gf.SOURCE.parent / "shared" / "cases" / "nsys"
TABLE = CASES / "expected.tsv"
ROWS = list(csv.DictReader(TABLE.open(), delimiter="\t")) if TABLE.exists() else []
needs_cases = pytest.mark.skipif(not ROWS, reason="../shared/cases is not here")
SHARES = {"compute": "compute_pct", "comm": "comm_exposed_pct", "copy": "copy_exposed_pct", "wait": "idle_pct"}


@functools.lru_cache(None)
def case(name):
    return gf.report(CASES / name)


def loud(r):
    return [f["id"] for f in r["findings"] if f["severity"] != "info"]


def notes(r):
    return " ".join(gf.evidence(r, "note"))


def cause(r, name, resource=None):
    return sum(row["seconds"] for row in r["ledger"]
               if row["cause"] == name and (resource is None or row["resource"] == resource))


# ---- the right answers -----------------------------------------------------------------------


@needs_cases
@pytest.mark.parametrize("want", ROWS, ids=lambda w: f"{w['file']}:{w['device']}")
def test_shares(want):
    r = case(want["file"])
    a = [a for a in r["accelerators"] if a["id"].endswith(":" + want["device"])][0]
    assert abs(a["seconds"] * 1e3 - float(want["span_ms"])) < 0.001, a
    for state, column in SHARES.items():
        assert abs(a["state"][state] * 100 - float(want[column])) <= 0.1, (state, a, want)


@needs_cases
def test_copy_bound():
    r = case("h100_2gpu_1s.sqlite")
    assert loud(r) == ["copy-link"] and r["verdict"]["limited_by"] == "link"
    found = r["findings"][0]
    values = {e["name"]: e["value"] for e in found["evidence"]}
    assert abs(values["rate of a GPU"] / 1e9 - 27.7) < 0.05, values
    assert abs(values["copied"] / 2e9 - 25.475) < 0.01, values
    assert values["GPUs at once"] == 2, values
    assert "27.7 GB/s" in found["title"]
    assert "5.0 about 52" in found["fix"] and "2 GPUs copy at once, together 55.3 GB/s" in found["fix"]


@needs_cases
def test_quiet_on_the_healthy_ones():
    r = case("healthy_1pct.sqlite")
    assert [f["id"] for f in r["findings"]] == ["healthy"]
    assert r["verdict"]["limited_by"] == "compute"
    # no call in it waits for the device, so that nothing bounds what a faster one gains but what it computes
    assert r["verdict"]["faster_accelerator_max_speedup"] > 50
    r = case("mfu_2gpu_before.sqlite")
    assert not [f for f in r["findings"] if f["id"].startswith(("loader", "storage", "prepare"))]
    assert loud(r) == []


# ---- what rows mean --------------------------------------------------------------------------


def test_states(folder):
    e = Export(folder / "a.sqlite")
    e.kernel(0, 100 * US)
    e.kernel(100 * US, 200 * US, "ncclDevKernel_AllReduce_Sum_f16_RING_LL(ncclDevKernelArgsStorage)")
    e.copy(200 * US, 300 * US)
    e.copy(300 * US, 400 * US, src=0)             # pageable
    e.copy(400 * US, 450 * US, kind=2, src=2, dst=0)  # pageable, back
    e.copy(450 * US, 500 * US, kind=8, src=2, dst=2)
    e.add("CUPTI_ACTIVITY_KIND_MEMSET", start=500 * US, end=600 * US, deviceId=0, bytes=4)
    e.add(GRAPH, start=600 * US, end=1000 * US, deviceId=0)
    r = gf.report(e.done())
    s = r["accelerators"][0]["state"]
    assert [round(s[k], 6) for k in ("compute", "comm", "copy", "wait")] == [0.6, 0.1, 0.3, 0]
    assert round(cause(r, "pageable-copy"), 9) == 150e-6 and round(cause(r, "link"), 9) == 150e-6
    assert "1 CUDA graphs were recorded as a whole" in notes(r)


def test_two_processes_with_the_same_correlations(folder):
    """Each has its GPU as its device 0: the file tells which that is."""
    e = Export(folder / "a.sqlite")
    for gpu, pid in ((0, 100), (1, 200)):
        e.add("TARGET_INFO_GPU", id=gpu, name=f"NVIDIA H100 number {gpu}")
        e.add("TARGET_INFO_CUDA_DEVICE", gpuId=gpu, cudaId=0, pid=pid)
        e.add("PROCESSES", globalPid=1 << 48 | pid << 24, pid=pid, name=f"trainer{gpu}")
    for i in range(20):
        for pid, tid, late in ((100, 1, 0), (200, 9, 3 * MS)):
            at = i * 10 * MS
            e.call(at + late, at + late + 4 * US, tid=tid, pid=pid, correlation=i + 1)
            e.kernel(at + late + 5 * US, at + late + 2 * MS, correlation=i + 1, pid=pid)
    r = gf.report(e.done())
    assert [a["id"][-2:] for a in r["accelerators"]] == [":0", ":1"]
    assert [a["name"] for a in r["accelerators"]] == ["NVIDIA H100 number 0", "NVIDIA H100 number 1"]
    assert {row["workload"] for row in r["ledger"]} == {"trainer0", "trainer1"}
    for a in r["accelerators"]:
        assert 0.19 < a["state"]["compute"] < 0.22


def gaps(folder, during):
    """Five gaps of 10 ms between kernels of 10 ms; during(export, t) says what the thread did in each."""
    e = Export(folder / "a.sqlite")
    for i in range(6):
        e.kernel(i * 20 * MS, i * 20 * MS + 10 * MS, launch=i * 20 * MS - 10 * US)
        if i < 5:
            during(e, i * 20 * MS + 10 * MS)
    return gf.report(e.done())


@pytest.mark.parametrize("name,want", [
    ("read", "storage"), ("pread64", "storage"), ("__read@GLIBC_2.2.5", "storage"), ("fsync", "checkpoint"),
    ("nanosleep", "sleep"), ("pthread_mutex_lock", "lock"), ("recv", "network"), ("poll", "unknown"),
    ("pthread_cond_timedwait", "unknown"), ("sem_clockwait", "unknown"), ("no_such_call", "unknown")])
def test_calls_of_the_system(name, want, folder):
    r = gaps(folder, lambda e, t: e.add("OSRT_API", start=t + MS, end=t + 9 * MS, globalTid=TID | 1,
                                        nameId=e.text(name)))
    assert abs(cause(r, want, name.split("@")[0] + "()" if "@" not in name else None) - 0.040) < 1e-6, r["ledger"]


def test_a_call_that_may_wait_for_anything_delays_no_start(folder):
    r = gaps(folder, lambda e, t: e.add("OSRT_API", start=t + MS, end=t + 9 * MS, globalTid=TID | 1,
                                        nameId=e.text("poll")))
    assert cause(r, "unknown") > 0.039 and "start-delayed" not in [f["id"] for f in r["findings"]]
    assert "as poll() may" in " ".join(gf.gpufeed("report", folder / "a.sqlite").out.split())


def test_calls_of_other_threads_explain_nothing(folder):
    r = gaps(folder, lambda e, t: e.add("OSRT_API", start=t + MS, end=t + 9 * MS, globalTid=TID | 2,
                                        nameId=e.text("read")))
    assert cause(r, "storage") == 0 and cause(r, "host") > 0.045


def test_a_call_inside_a_call_of_the_runtime_adds_nothing(folder):
    def during(e, t):
        e.call(t + MS, t + 9 * MS, "cudaMalloc_v3020")
        e.add("OSRT_API", start=t + 2 * MS, end=t + 8 * MS, globalTid=TID | 1, nameId=e.text("read"))
    assert cause(gaps(folder, during), "storage") == 0


@pytest.mark.parametrize("text,want,resource", [
    ("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "prepare", "the DataLoader in the training thread"),
    ("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", "prepare", "the DataLoader's workers"),
    ("Load Batch", "prepare", 'range "Load Batch"'), ("save_checkpoint", "checkpoint", "save_checkpoint"),
    ("aten::item, op_id = 77", "host", "aten::item"), ("tokenize", "host", "tokenize"),
    ("blocks.9._checkpoint_wrapped_module", "host", "blocks.9._checkpoint_wrapped_module")])
@pytest.mark.parametrize("by_id", [False, True])
def test_ranges(text, want, resource, by_id, folder):
    def during(e, t):
        said = {"textId": e.text(text)} if by_id else {"text": text}
        e.add("NVTX_EVENTS", start=t + MS, end=t + 10 * MS - 20 * US, eventType=59, globalTid=TID | 1, **said)
        e.add("NVTX_EVENTS", start=t + MS, eventType=34, globalTid=TID | 1, text="a mark")
    assert cause(gaps(folder, during), want, resource) > 0.044


def test_ranges_around_operators_do_not_hide_them(folder):
    def during(e, t):
        e.add("NVTX_EVENTS", start=t, end=t + 10 * MS, eventType=59, globalTid=TID | 1, text="forward")
        e.add("NVTX_EVENTS", start=t + MS, end=t + 9 * MS, eventType=59, globalTid=TID | 1,
              text="aten::nonzero, seq = 5, op_id = 7")
    assert cause(gaps(folder, during), "host", "aten::nonzero") > 0.035


def test_the_loader_in_the_training_thread(folder):
    r = gaps(folder, lambda e, t: e.add("NVTX_EVENTS", start=t, end=t + 9 * MS, eventType=59, globalTid=TID | 1,
                                        text="enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"))
    assert loud(r) == ["loader-no-workers"]


@pytest.mark.parametrize("text,want", [
    ("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "storage"), ("get_batch", "storage"),
    ("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", "prepare")])
@pytest.mark.parametrize("ns", [40 * US, 8 * MS])
def test_what_a_loading_thread_reads_is_storage(text, want, ns, folder):
    """8 ms of each range of 9 ms in reads, short or long; the workers' queue is read, too, and is no file."""
    def during(e, t):
        e.add("NVTX_EVENTS", start=t, end=t + 9 * MS, eventType=59, globalTid=TID | 1, text=text)
        for i in range(8 * MS // ns):
            e.add("OSRT_API", start=t + i * (ns + US), end=t + i * (ns + US) + ns, globalTid=TID | 1,
                  nameId=e.text("read"))
    r = gaps(folder, during)
    assert abs(cause(r, "storage") - (0.040 if want == "storage" else 0)) < 1e-6, r["ledger"]
    assert abs(cause(r, "prepare") - (0.005 if want == "storage" else 0.045)) < 1e-6
    if "Single" in text:
        assert loud(r) == ["loader-no-workers"] and r["verdict"]["limited_by"] == "storage"


def test_what_a_faster_device_gains(folder):
    """The thread launches, waits for the device and goes on at once: all of the computing is awaited."""
    e = Export(folder / "a.sqlite")
    for i in range(20):
        at = i * 10 * MS
        e.kernel(at, at + 9 * MS, launch=at - 20 * US)
        e.call(at - 15 * US, at + 9 * MS + 5 * US, "cudaStreamSynchronize_v3020")
    assert gf.report(e.done())["verdict"]["faster_accelerator_max_speedup"] > 5


def test_link_that_is_slow_for_its_gpu(folder):
    def export(rate, name):
        e = Export(folder / f"{name}-{rate}.sqlite")
        e.add("TARGET_INFO_GPU", id=0, name=name)
        for i in range(20):
            e.kernel(i * 10 * MS, i * 10 * MS + MS)
            e.copy(i * 10 * MS + MS, i * 10 * MS + 9 * MS, size=int(rate * 8e6))
        (f,) = [f for f in gf.report(e.done())["findings"] if f["id"] == "copy-link"]
        return f
    slow = export(26, "NVIDIA H100 80GB HBM3")
    assert "26.0 GB/s of about 52 that PCIe 5.0 x16 carries" in slow["title"] and "nvidia-smi -q -d PCIE" in slow["fix"]
    fine = export(24, "NVIDIA A100-SXM4-80GB")
    assert "what PCIe 4.0 x16 carries" in fine["title"] and "nvidia-smi" not in fine["fix"]


def test_the_clock_of_the_wall(folder):
    e = busy(Export(folder / "a.sqlite"), begin=5_000 * MS)
    e.add("TARGET_INFO_SESSION_START_TIME", utcEpochNs=1_779_630_014_000_000_000, systemClockNs=4_000 * MS)
    assert gf.report(e.done())["accelerators"][0]["state"]["compute"] > 0.98


def test_ranks_in_two_files(folder):
    for rank in (0, 1):
        busy(Export(folder / f"{rank}.sqlite"), begin=rank * MS).done()
    r = gf.lawful(gf.gpufeed("report", folder / "0.sqlite", folder / "1.sqlite", "--json").out)
    assert len(r["accelerators"]) == 2


def test_a_rank_that_lasts_longer_stays_where_it_is(folder):
    """Its last rows, which wait for one out of order, lie behind the end of the rank before it."""
    first = busy(Export(folder / "0.sqlite"))
    starts = [i * 20 * MS for i in range(100)]
    starts.insert(95, starts.pop(85))
    second = Export(folder / "1.sqlite")
    for t0 in starts:
        second.kernel(t0, t0 + 12 * MS)
    for e in (first, second):
        e.add("TARGET_INFO_SESSION_START_TIME", utcEpochNs=1_779_630_014_000_000_000, systemClockNs=0)
        e.done()
    r = gf.lawful(gf.gpufeed("report", first.path, second.path, "--json").out)
    assert "another time" not in notes(r)
    assert abs(r["accelerators"][1]["seconds"] - 1.992) < 1e-9
    assert abs(r["accelerators"][1]["state"]["compute"] - 100 * 12 / (99 * 20 + 12)) < 1e-9


def test_files_of_other_times_lie_beside_each_other(folder):
    """Two days apart: no run of 48 hours, and a line that says so."""
    for i in (0, 1):
        e = busy(Export(folder / f"{i}.sqlite"))
        e.add("TARGET_INFO_SESSION_START_TIME", utcEpochNs=1_779_630_014_000_000_000 + i * 172_800_000_000_000,
              systemClockNs=0)
        e.done()
    r = gf.lawful(gf.gpufeed("report", folder / "0.sqlite", folder / "1.sqlite", "--json").out)
    assert "another time" in notes(r) and r["span_seconds"] < 2


@pytest.mark.parametrize("seconds,pid,host,words", [
    (0, 4242, "node7", "process 4242 at the same time as"), (0, 4242, "node8", None), (0, 4243, "node7", None),
    (3600, 4242, "node7", "another time")])
def test_one_rank_by_two_tools(seconds, pid, host, words, folder):
    start = 1_779_630_014_000_000_000
    e = busy(Export(folder / "a.sqlite"))
    e.add("TARGET_INFO_SESSION_START_TIME", utcEpochNs=start, systemClockNs=0)
    e.add("TARGET_INFO_SYSTEM_ENV", devStateName="Local (CLI)", name="Hostname", nameEnum=619, value="node7")
    e.done()
    events = []
    for i in range(20):
        events += [{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": pid, "tid": pid, "ts": i * 1000,
                    "dur": 5, "args": {"correlation": i + 1}},
                   {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": i * 1000 + 8, "dur": 980,
                    "args": {"device": 0, "stream": 7, "correlation": i + 1}}]
    (folder / "b.json").write_text(json.dumps({"schemaVersion": 1, "deviceProperties": [], "traceEvents": events,
                                               "host_name": host, "baseTimeNanoseconds": start + seconds * 1_000_000_000}))
    for files in (("a.sqlite", "b.json"), ("b.json", "a.sqlite")):
        said = notes(gf.lawful(gf.gpufeed("report", *[folder / f for f in files], "--json").out))
        assert words in said if words else said == "", said


@pytest.mark.parametrize("order", ["backwards", "shuffled", "by process"])
def test_rows_in_any_order(order, folder):
    rows = [(i * 20 * MS, i * 20 * MS + 12 * MS) for i in range(100)]
    if order == "backwards":
        rows.reverse()
    elif order == "shuffled":
        random.Random(4).shuffle(rows)
    else:
        rows = rows[::2] + rows[1::2]
    e = Export(folder / "a.sqlite")
    for t0, t1 in rows:
        e.kernel(t0, t1)
    r = gf.report(e.done())
    assert abs(r["accelerators"][0]["state"]["compute"] - 100 * 12 / (99 * 20 + 12)) < 1e-9
    assert cause(r, "unknown") == 0 and cause(r, "host") > 0


@pytest.mark.parametrize("gone", ["deviceId", "start", "end"])
def test_a_kernel_table_without_what_it_needs(gone, folder):
    e = busy(Export(folder / "a.sqlite"))
    path = e.done()
    with sqlite3.connect(path) as db:
        db.execute(f'ALTER TABLE {KERNEL} RENAME COLUMN "{gone}" TO other')
    r = gf.report(path)
    assert r["accelerators"] == [] and f"table {KERNEL} lacks" in notes(r)


@pytest.mark.parametrize("table,column", [
    (KERNEL, "correlationId"), (KERNEL, "globalPid"), (KERNEL, "shortName"), (KERNEL, "demangledName"),
    (CALL, "globalTid"), (CALL, "nameId"), (CALL, "correlationId"), ("StringIds", "value"), ("StringIds", "id")])
def test_any_other_column_may_be_absent(table, column, folder):
    path = busy(Export(folder / "a.sqlite")).done()
    with sqlite3.connect(path) as db:
        db.execute(f'CREATE TABLE t AS SELECT * FROM "{table}"')
        db.execute(f'DROP TABLE "{table}"')
        db.execute(f'ALTER TABLE t DROP COLUMN "{column}"')
        db.execute(f'ALTER TABLE t RENAME TO "{table}"')
    result = gf.gpufeed("report", path, "--json")
    if table == "StringIds":
        assert result.code in (0, 2), result
        return
    a = gf.lawful(result.out)["accelerators"][0]
    assert a["state"]["compute"] > 0.98


@pytest.mark.parametrize("table", ["StringIds", CALL])
def test_any_other_table_may_be_absent(table, folder):
    path = busy(Export(folder / "a.sqlite")).done()
    with sqlite3.connect(path) as db:
        db.execute(f'DROP TABLE "{table}"')
    assert gf.report(path)["accelerators"][0]["state"]["compute"] > 0.98


def test_no_activity_of_a_device(folder):
    e = Export(folder / "a.sqlite")
    e.call(0, MS)
    e.make(KERNEL)
    r = gf.report(e.done())
    assert r["accelerators"] == [] and loud(r) == [] and "--trace=cuda" in notes(r)


# ---- bad files -------------------------------------------------------------------------------


def refused(path, *words):
    result = gf.gpufeed("report", path)
    assert result.code == 2 and result.out == "", result
    line = gf.one_line(result.err)
    assert path.name in line and all(w in line for w in words), line


def test_another_database(folder):
    with sqlite3.connect(folder / "a.sqlite") as db:
        db.execute("CREATE TABLE people (name)")
    refused(folder / "a.sqlite", "no export of Nsight Systems")


def test_header_alone(folder):
    path = folder / "a.sqlite"
    for size in (16, 17, 99, 100, 101, 511, 512):
        path.write_bytes((b"SQLite format 3\0" + bytes(84) + bytes(412))[:size])
        refused(path)


def test_cut_short(folder):
    whole = busy(Export(folder / "whole.sqlite"), count=3000).done().read_bytes()
    path = folder / "cut.sqlite"
    for share in (0.02, 0.3, 0.7, 0.99):
        path.write_bytes(whole[:int(len(whole) * share)])
        refused(path)


def test_damaged_pages(folder):
    whole = bytearray(busy(Export(folder / "whole.sqlite"), count=3000).done().read_bytes())
    path = folder / "bad.sqlite"
    chance = random.Random(11)
    answers = set()
    for _ in range(40):
        bad = bytearray(whole)
        for _ in range(chance.choice((1, 20))):
            page = chance.randrange(1, len(bad) // 4096)
            n = chance.choice((1, 8, 4096))
            bad[page * 4096:page * 4096 + n] = chance.randbytes(n)
        path.write_bytes(bad)
        result = gf.gpufeed("report", path, "--json")
        answers.add(result.code)
        if result.code == 0:
            gf.lawful(result.out)
        else:
            assert result.code == 2 and path.name in gf.one_line(result.err), result
    assert 2 in answers


def test_views_and_virtual_tables_are_not_asked(folder):
    """A view by the name of a table that would run for ever."""
    e = busy(Export(folder / "a.sqlite"))
    e.db.execute("CREATE VIEW NVTX_EVENTS AS WITH RECURSIVE c(start) AS (SELECT 1 UNION ALL SELECT start + 1 "
                 "FROM c) SELECT start, start AS end, 59 AS eventType, 'x' AS text, 1 AS globalTid FROM c")
    e.db.execute("CREATE VIRTUAL TABLE OSRT_API USING fts5(start, end, globalTid, nameId)")
    r = gf.report(e.done())
    assert r["accelerators"][0]["state"]["compute"] > 0.98
    assert "NVTX_EVENTS is no ordinary table" in notes(r) and "OSRT_API is no ordinary table" in notes(r)


def test_triggers_and_code_in_the_schema(folder):
    e = busy(Export(folder / "a.sqlite"))
    e.db.execute(f"CREATE TRIGGER t AFTER INSERT ON {KERNEL} BEGIN SELECT load_extension('x'); END")
    e.db.execute(f"CREATE INDEX i ON {KERNEL} (start) WHERE length(printf('%s', start)) > 3")
    assert gf.report(e.done())["accelerators"][0]["state"]["compute"] > 0.98


def test_wrong_types(folder):
    e = busy(Export(folder / "a.sqlite", strict=False))
    for start, end, device in [("text", 5, 0), (b"blob", 5, 0), (None, 5, 0), (1.5, 5, 0), (5, "text", 0), (5, None, 0),
                               (9, 3, 0), (0, 1 << 62, 0), (1 << 62, (1 << 62) + 5, 0), (-(1 << 63), (1 << 63) - 1, 0),
                               (5, 6, "text"), (5, 6, None), (5, 6, -1), (5, 6, 64), (5, 6, 1 << 40)]:
        e.add(KERNEL, start=start, end=end, deviceId=device, correlationId="c", globalPid="p", demangledName=b"x",
              shortName=2.5)
    r = gf.report(e.done())
    assert [a["id"][-2:] for a in r["accelerators"]] == [":0"]
    assert abs(r["accelerators"][0]["seconds"] - 0.04999) < 1e-6
    said = notes(r)
    for reason in ("without a number as their start", "without a number as their end", "without an end",
                   "end before they start", "impossible time", "without a device", "beyond the 64th",
                   "should be whole numbers"):
        assert reason in said, (reason, said)


def test_huge_texts_and_numbers(folder):
    e = busy(Export(folder / "a.sqlite"))
    e.db.execute("INSERT INTO StringIds VALUES (99, zeroblob(40000000))")
    e.kernel(60 * MS, 61 * MS, "k" * 3_000_000)
    e.add("NVTX_EVENTS", start=50 * MS, end=60 * MS, eventType=59, globalTid=TID | 1, text="r" * 5_000_000)
    e.copy(61 * MS, 62 * MS, size=-5)
    e.copy(62 * MS, 63 * MS, size=(1 << 63) - 1)
    e.copy(63 * MS, 64 * MS, size=(1 << 63) - 1)
    assert gf.report(e.done())["accelerators"][0]["seconds"] > 0.06


def test_a_text_too_large_to_read(folder):
    e = busy(Export(folder / "a.sqlite"))
    e.make("NVTX_EVENTS")
    e.db.execute("INSERT INTO NVTX_EVENTS (start, end, eventType, globalTid, text) "
                 "VALUES (0, 5, 59, ?, printf('%.*c', 80000000, 'x'))", (TID | 1,))
    refused(e.done(), "NVTX_EVENTS")


def test_names_without_end(folder):
    """As many texts as rows: memory stays small."""
    e = Export(folder / "a.sqlite")
    e.make("NVTX_EVENTS")
    busy(e, count=200)
    e.db.executemany("INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid) VALUES (?, ?, 59, ?, ?)",
                     [(i * 1000, i * 1000 + 500, f"range number {i}", TID | 1) for i in range(100_000)])
    r = gf.report(e.done())
    assert r["tool"]["peak_rss_bytes"] < 96 << 20


def test_times_years_apart(folder):
    e = busy(Export(folder / "a.sqlite"))
    e.kernel(20 * 365 * 86400 * 1000 * MS, 20 * 365 * 86400 * 1000 * MS + MS)
    r = gf.report(e.done())
    assert r["accelerators"][0]["seconds"] < 1 and "impossible time" in notes(r)


def test_a_log_beside_it(folder):
    """What a writer left in its log is not in the file; the log stays as it is."""
    path = folder / "a.sqlite"
    e = busy(Export(path))
    e.db.commit()
    e.db.execute("PRAGMA journal_mode = WAL")
    e.kernel(900 * MS, 950 * MS)
    e.db.commit()
    copy = folder / "b.sqlite"
    copy.write_bytes(path.read_bytes())
    (folder / "b.sqlite-wal").write_bytes((folder / "a.sqlite-wal").read_bytes())
    before = {p.name: p.read_bytes() for p in folder.glob("b*")}
    assert "a log lies beside it" in notes(gf.report(copy))
    assert {p.name: p.read_bytes() for p in folder.glob("b*")} == before
    e.db.close()


def test_compressed(folder):
    path = folder / "a.sqlite.gz"
    path.write_bytes(gzip.compress(busy(Export(folder / "a.sqlite")).done().read_bytes()))
    refused(path, "unpack it first")


def test_nothing_is_written(folder):
    path = busy(Export(folder / "a.sqlite")).done()
    os.chmod(path, 0o444)
    os.chmod(folder, 0o555)
    gf.report(path)
    os.chmod(folder, 0o777)
    assert [p.name for p in folder.iterdir()] == ["a.sqlite"]


def test_odd_names(folder):
    for name in ("a?mode=rw.sqlite", "a#b.sqlite", "a%20b.sqlite", "-.sqlite", "ü\n.sqlite"):
        path = busy(Export(folder / "made.sqlite")).done().rename(folder / name)
        assert gf.gpufeed("report", "--json", "--", path).code == 0, name
