# SPDX-License-Identifier: MIT
"""Files that other tools wrote, as `gpufeed report FILE...` must take them: written from what is promised alone.

Each format has a sample. A format that this build does not read yet is skipped.
"""
import functools
import gzip
import json
import os
import random
import re
import shutil
import socket
import stat
import subprocess
import tarfile
import zipfile

import pytest

import gf
from nsys_db import Export, busy

US = 1000


# ---- samples ---------------------------------------------------------------------------------


def kineto_events(count=40):
    rows = []
    for i in range(count):
        t = i * 1000
        rows.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 11, "tid": 11, "ts": t,
                     "dur": 5, "args": {"correlation": i + 1}})
        rows.append({"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": t + 8, "dur": 980,
                     "args": {"device": 0, "stream": 7, "correlation": i + 1}})
    return rows


def kineto(events=None, **more):
    top = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H100", "numSms": 132}], **more}
    top["traceEvents"] = kineto_events() if events is None else events
    return json.dumps(top).encode()


def nsys():
    with gf.Folder() as at:
        return busy(Export(at / "a.sqlite")).done().read_bytes()


def nccl_log():
    lines = ["NCCL version 2.21.5+cuda12.4"]
    for r in (0, 1):
        who = f"node1:{100 + r}:{200 + r} [{r}] NCCL INFO "
        lines += [who + "Bootstrap : Using eth0:10.0.0.4<0>", who + "NET/Socket : Using [0]eth0:10.0.0.4<0>",
                  who + "Using network Socket",
                  who + f"ncclCommInitRank comm 0x55{r} rank {r} nranks 2 cudaDev {r} nvmlDev {r} busId c{r}000 "
                        "commId 0xabc - Init START",
                  who + f"Channel 00/0 : {r}[{r}] -> {1 - r}[{1 - r}] [send] via NET/Socket/0",
                  who + f"ncclCommInitRank comm 0x55{r} rank {r} nranks 2 cudaDev {r} nvmlDev {r} busId c{r}000 "
                        "commId 0xabc - Init COMPLETE"]
    return ("\n".join(lines) + "\n").encode()


def flight():
    entry = {"record_id": 0, "pg_id": 0, "process_group": ["0", "default_pg"], "collective_seq_id": 1, "p2p_seq_id": 0,
             "op_id": 1, "profiling_name": "nccl:all_reduce", "time_created_ns": 10, "input_sizes": [[4]],
             "input_dtypes": ["Float"], "output_sizes": [[4]], "output_dtypes": ["Float"], "state": "started",
             "time_discovered_started_ns": 20, "time_discovered_completed_ns": None, "retired": False,
             "timeout_ms": 600000, "is_p2p": False, "frames": []}
    return json.dumps({"version": "2.4", "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}},
                       "pg_status": {"0": {"last_enqueued_collective": 1, "last_started_collective": 1,
                                           "last_completed_collective": 0}},
                       "entries": [entry]}).encode()


def ras():
    ranks = [{"rank": r, "host": "node1", "pid": 100 + r, "cuda_dev": r, "nvml_dev": r,
              "status": {"init_state": 0, "async_error": 0, "finalize_called": False, "destroy_flag": False,
                         "abort_flag": False},
              "collective_counts": {"Broadcast": 0, "Reduce": 0, "AllGather": 0, "ReduceScatter": 0,
                                    "AllReduce": 5}} for r in (0, 1)]
    return json.dumps({"nccl_version": "2.28.9", "cuda_runtime_version": 13000, "cuda_driver_version": 13000,
                       "timestamp": "2026-01-01 00:00:00", "communicators_count": 1,
                       "communicators": [{"hash": "0xabc", "secondary_hash": "0x1", "size": 2, "ranks_count": 2,
                                          "missing_ranks_count": 0, "ranks": ranks, "missing_ranks": []}],
                       "ras": {"collection_time_sec": 0.1, "timeouts_count": 0}}).encode()


def inspector():
    line = {"header": {"id": "0xabc", "rank": 0, "n_ranks": 2, "nnodes": 1},
            "metadata": {"inspector_output_format_version": "v4.0", "git_rev": "", "rec_mechanism":
                         "nccl_profiler_interface", "dump_timestamp_us": 1, "hostname": "node1", "pid": 100},
            "coll_perf": {"coll": "AllReduce", "coll_sn": 1, "coll_msg_size_bytes": 1 << 20,
                          "coll_exec_time_us": 50, "coll_timing_source": "kernel_gpu", "coll_algobw_gbs": 20.9,
                          "coll_busbw_gbs": 20.9}}
    return (json.dumps(line) + "\n").encode() * 5


def prometheus():
    return b"".join(
        b"# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization (in %%).\n# TYPE DCGM_FI_DEV_GPU_UTIL gauge\n"
        b'DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-1",modelName="NVIDIA H100"} 55 %d\n'
        b"# TYPE node_network_receive_bytes_total counter\n"
        b'node_network_receive_bytes_total{device="eth0"} %d %d\n' % (t, t * 5, t)
        for t in (1700000000000, 1700000015000))


SAMPLES = {"kineto": (".json", kineto), "nsys": (".sqlite", nsys), "nccl-log": (".log", nccl_log),
           "flight": (".json", flight), "ras": (".json", ras), "inspector": (".log", inspector),
           "prometheus": (".prom", prometheus)}
each_format = pytest.mark.parametrize("name", SAMPLES)


@functools.lru_cache(None)
def sample(name):
    """The bytes of one, if this build reads it."""
    data = SAMPLES[name][1]()
    with gf.Folder() as at:
        path = at / ("a" + SAMPLES[name][0])
        path.write_bytes(data)
        result = gf.gpufeed("report", path, "--json")
    if result.code == 2 and "is neither a recording" in result.err:
        return None
    assert result.code == 0, result
    gf.lawful(result.out)
    return data


def need(name):
    data = sample(name)
    if data is None:
        pytest.skip(f"{name} is not read by this build")
    return data


def put(folder, name, data=None, as_name=None):
    path = folder / (as_name or "a" + SAMPLES[name][0])
    path.write_bytes(need(name) if data is None else data)
    return path


# ---- what an answer may be -------------------------------------------------------------------


def refused(*paths, why=(), code=2, **how):
    """Exit 2 (4: not permitted), one line, nothing on stdout."""
    result = gf.gpufeed("report", *paths, **how)
    assert result.code == code and result.out == "", result
    line = gf.one_line(result.err)
    assert not why or any(w in line for w in why), line
    return line


def taken(*paths):
    result = gf.gpufeed("report", "--json", "--", *paths)
    assert result.code == 0, result
    assert result.err == "", result
    return gf.lawful(result.out)


def either(*paths):
    """Taken as lawful report, or refused: never anything else."""
    result = gf.gpufeed("report", "--json", "--", *paths)
    if result.code == 0:
        return gf.lawful(result.out)
    assert result.code == 2 and result.out == "", result
    gf.one_line(result.err)
    return None


def same(a, b):
    """But for the file's name, and what reading it took."""
    def plain(r):
        (name,) = gf.evidence(r, "command")
        rest = {k: v for k, v in r.items() if k not in ("tool", "evidence")}
        return json.dumps(rest).replace(json.dumps(name)[1:-1], "NAME")
    return plain(a) == plain(b)


def snapshot(folder):
    return {p.name: (p.stat().st_mtime_ns, p.stat().st_size, p.read_bytes() if p.is_file() else None)
            for p in sorted(folder.iterdir())}


# ---- the file itself -------------------------------------------------------------------------


@each_format
def test_content_tells_the_format_not_the_name(name, folder):
    first = taken(put(folder, name))
    for as_name in ("noname", "noname.gpufeed", "noname.txt", "noname.json.gz", "-noname.sqlite"):
        other = taken(put(folder, name, as_name=as_name))
        assert same(first, other), as_name


def test_a_recording_by_another_name(recording, folder):
    for as_name in ("a.json", "a.json.gz", "a.sqlite", "a.log"):
        shutil.copy(recording, folder / as_name)
        assert taken(folder / as_name)["accelerators"]


@each_format
def test_nothing_is_written_beside_it_or_to_it(name, folder):
    path = put(folder, name)
    before = snapshot(folder)
    taken(path)
    gf.gpufeed("report", path)
    refused(path, folder / "absent")
    assert snapshot(folder) == before


@each_format
def test_read_only_file_in_a_read_only_folder(name, folder, nobody):
    path = put(folder, name)
    path.chmod(0o444)
    folder.chmod(0o555)
    result = gf.gpufeed("report", path, "--json", prefix=nobody)
    folder.chmod(0o777)
    assert result.code == 0, result


@each_format
def test_a_file_that_may_not_be_read(name, folder, nobody):
    path = put(folder, name)
    path.chmod(0)
    refused(path, prefix=nobody, code=4, why=("ermission",))
    refused(put(folder, name, as_name="fine"), path, prefix=nobody, code=4, why=("ermission",))


@pytest.mark.parametrize("name", ["a", "a.json", "a.json.gz", "a.sqlite", "a.log", "a.prom", "a.gpufeed"])
def test_empty(name, folder):
    for data in (b"", gzip.compress(b"")):
        (folder / name).write_bytes(data)
        assert f'{name}" is empty' in refused(folder / name)


@pytest.mark.parametrize("data", [b"\0", b"\n", b" " * 100_000, b"\0" * 100_000, b"\xff" * 1000, b"{", b"[", b"{}", b"[]",
                                  b"null", b"1", b'""', b"\x1f\x8b", b"\x1f\x8b\x08", b"SQLite", b"SQLite format 3\0",
                                  b"#", b"# EOF\n", b"hello\n" * 1000, b"<html></html>", b"%PDF-1.7\n",
                                  b"\x7fELF" + bytes(60), b"PK\3\4" + bytes(60), b"\x80\x02}q\x00.",
                                  "{\"traceEvents\": []}".encode("utf-16")], ids=lambda d: repr(d[:20]))
def test_what_is_no_such_file(data, folder):
    (folder / "a").write_bytes(data)
    refused(folder / "a")


def packed(kind, folder, name):
    """The file as people pack it; None: the packer is not here."""
    path = put(folder, name)
    tools = {"xz": ["xz", "-k"], "zst": ["zstd", "-q"], "bz2": ["bzip2", "-k"], "lz4": ["lz4", "-q"]}
    if kind == "zip":
        with zipfile.ZipFile(folder / "a.zip", "w") as z:
            z.write(path)
        return folder / "a.zip"
    if kind.startswith("tar"):
        with tarfile.open(folder / f"a.{kind}", "w:" + kind[4:]) as t:
            t.add(path, "traces/" + path.name)
        return folder / f"a.{kind}"
    if not shutil.which(tools[kind][0]):
        return None
    to = path.with_name(path.name + "." + kind)
    subprocess.run([*tools[kind], path, *([to] if kind == "lz4" else [])], check=True, stdin=subprocess.DEVNULL)
    return to


@pytest.mark.parametrize("kind,how", [("xz", "xz -dk"), ("zst", "zstd -dk"), ("bz2", "bzip2 -dk"), ("lz4", "lz4 -dk"),
                                      ("zip", "unzip"), ("tar", "tar -xf"), ("tar.gz", "tar -xf"), ("tar.xz", "xz -dk")])
@pytest.mark.parametrize("name", ["kineto", "nccl-log", "prometheus"])
def test_packed_files_say_how_to_unpack_them(kind, how, name, folder):
    path = packed(kind, folder, name)
    if not path:
        pytest.skip(f"no {kind} here")
    assert f"({how}" in refused(path)


def test_what_another_tool_must_export_first(folder):
    (folder / "a.nsys-rep").write_bytes(b"\1\2\3" * 100)
    assert "nsys export --type sqlite" in refused(folder / "a.nsys-rep")
    shutil.copy(put(folder, "nsys"), folder / "b.nsys-rep")
    taken(folder / "b.nsys-rep")
    (folder / "et.json").write_text('{\n  "schema": "1.1.1-chakra.0.0.4", "pid": 279, "nodes": []}')
    assert "export_chrome_trace" in refused(folder / "et.json")
    (folder / "a.json").write_bytes(kineto().decode().encode("utf-16"))
    assert "iconv" in refused(folder / "a.json")


def test_a_folder_of_traces(folder):
    assert f"give the files in it, as in {folder}/*" in refused(folder)


def test_no_regular_file(folder):
    os.mkfifo(folder / "fifo")
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(folder / "socket"))
    (folder / "folder.json").mkdir()
    (folder / "loop").symlink_to("loop")
    (folder / "gone").symlink_to("nowhere")
    for name in ("fifo", "socket", "folder.json", "loop", "gone", "absent", "fifo/x"):
        result = gf.gpufeed("report", folder / name, patience=15)
        assert result.code in (2, 4) and result.out == "", result
        assert name.split("/")[0] in gf.one_line(result.err), result
    server.close()


@pytest.mark.parametrize("device", ["/dev/null", "/dev/zero", "/dev/tty", "/proc/self/mem", "/proc/self/environ",
                                    "/sys/kernel/uevent_seqnum", "/proc/self/fd"])
def test_devices_and_files_of_the_kernel(device):
    result = gf.gpufeed("report", device, patience=15)
    assert result.code in (2, 4) and result.out == "", result
    gf.one_line(result.err)


@each_format
def test_a_pipe_as_input(name):
    """A stream cannot be looked at twice: one line, or read whole. No hang."""
    for path in ("/dev/stdin", "/proc/self/fd/0"):
        result = gf.gpufeed("report", path, "--json", stdin=need(name), patience=20)
        assert result.code in (0, 2), result
        gf.lawful(result.out) if result.code == 0 else gf.one_line(result.err)


@each_format
def test_links_to_it(name, folder):
    path = put(folder, name)
    (folder / "link").symlink_to(path.name)
    assert same(taken(path), taken(folder / "link"))


def test_a_name_that_a_terminal_would_obey(folder):
    path = folder / "a\x1b[31m\nred.json"
    path.write_bytes(b"{}")
    gf.one_line(gf.gpufeed("report", path).err)
    path.write_bytes(kineto())
    out = gf.gpufeed("report", path)
    assert out.code == 0 and "\x1b[31m" not in out.out, out


# ---- compressed ------------------------------------------------------------------------------


@each_format
def test_gzip(name, folder):
    data = need(name)
    plain = taken(put(folder, name))
    zipped = put(folder, name, gzip.compress(data), "a.gz")
    if name == "nsys":
        assert "gunzip -k" in refused(zipped)
        return
    assert same(plain, taken(zipped))
    assert same(plain, taken(put(folder, name, gzip.compress(data[:50]) + gzip.compress(data[50:]), "two.gz")))
    assert same(plain, taken(put(folder, name, gzip.compress(data), "no_suffix")))


@each_format
def test_gzip_of_gzip(name, folder):
    refused(put(folder, name, gzip.compress(gzip.compress(need(name))), "a.json.gz.gz"))


@each_format
def test_gzip_cut_short_and_damaged(name, folder):
    whole = gzip.compress(need(name))
    for size in (3, 9, 10, 12, len(whole) // 2, len(whole) - 9, len(whole) - 8, len(whole) - 1):
        refused(put(folder, name, whole[:size], f"cut{size}.gz"))
    for at in (len(whole) - 8, len(whole) - 1, len(whole) // 2):
        bad = bytearray(whole)
        bad[at] ^= 0x55
        either(put(folder, name, bytes(bad), f"bad{at}.gz"))
    refused(put(folder, name, bytes(whole[:-8]) + bytes(8), "checksum.gz"))


def test_a_recording_in_gzip(recording, folder):
    (folder / "a.gpufeed.gz").write_bytes(gzip.compress(recording.read_bytes()))
    for verb in (["report"], ["diff", folder / "a.gpufeed.gz"]):
        r = gf.gpufeed(*verb, folder / "a.gpufeed.gz")
        assert r.code == 2 and "recording compressed by gzip" in r.err and "gunzip -k" in gf.one_line(r.err), r


@pytest.mark.skipif(gf.SANITIZED, reason="sanitizers take all the address space")
def test_a_bomb(folder):
    """A gigabyte of blanks in a megabyte: memory stays small, whatever is said."""
    part = gzip.compress(b" " * (64 << 20), 9)
    head = gzip.compress(b'{"traceEvents": [')
    (folder / "a.json.gz").write_bytes(head + part * 16)
    result = gf.gpufeed("report", folder / "a.json.gz", prefix=["prlimit", "--as=700000000"])
    assert result.code == 2, result
    gf.one_line(result.err)


# ---- content ---------------------------------------------------------------------------------


@each_format
def test_cut_short(name, folder):
    data = need(name)
    for share in (0.1, 0.5, 0.9, 0.99):
        either(put(folder, name, data[:int(len(data) * share)]))


@each_format
def test_flipped_bytes(name, folder):
    data = need(name)
    chance = random.Random(name)
    for _ in range(25):
        bad = bytearray(data)
        for _ in range(chance.choice((1, 3, 30))):
            bad[chance.randrange(len(bad))] = chance.randrange(256)
        either(put(folder, name, bytes(bad)))


@each_format
def test_pieces_out_of_place(name, folder):
    data = need(name)
    chance = random.Random(name)
    for _ in range(10):
        a, b = sorted(chance.randrange(len(data)) for _ in range(2))
        either(put(folder, name, data[:a] + data[b:]))
        either(put(folder, name, data[:b] + data[a:b] * 3 + data[b:]))


@pytest.mark.parametrize("name", [n for n in SAMPLES if n != "nsys"])
def test_line_ends_and_marks(name, folder):
    data = need(name)
    plain = taken(put(folder, name))
    assert same(plain, taken(put(folder, name, data.replace(b"\n", b"\r\n"))))
    if name in ("kineto", "flight", "ras"):
        assert same(plain, taken(put(folder, name, b" \n\t" + data + b"\n\n")))
    either(put(folder, name, b"\xef\xbb\xbf" + data))
    either(put(folder, name, data.decode().encode("utf-16")))
    either(put(folder, name, data + b"\0"))


def offset_in(line):
    return any(c.isdigit() for c in line.split("\" ", 1)[-1])


@pytest.mark.parametrize("tail", ["", ",", "}", "]", "]}]", "\"", "{", "{\"ph\":", "[[[[", "nul", "-", "1e", "\\"])
def test_json_that_ends_wrongly_tells_where(tail, folder):
    text = kineto().decode()[:-2] + tail
    line = refused(put(folder, "kineto", text.encode()), why=("byte", "offset", "line"))
    assert offset_in(line), line


def with_event(**event):
    return kineto(kineto_events() + [{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 100,
                                      "dur": 1, "args": {"device": 0, "correlation": 3}, **event}])


ODD = {
    "no duration": {"dur": None}, "negative duration": {"dur": -5}, "text as duration": {"dur": "soon"},
    "no time": {"ts": None}, "time before all": {"ts": -1e6}, "unknown phase": {"ph": "?"}, "no phase": {"ph": None},
    "empty phase": {"ph": ""}, "number as phase": {"ph": 5}, "args are a list": {"args": [1]},
    "args are a text": {"args": "x"}, "args are null": {"args": None}, "device is a text": {"args": {"device": "0"}},
    "device below 0": {"args": {"device": -1}}, "device 64": {"args": {"device": 64}},
    "device huge": {"args": {"device": 1 << 70}}, "name is a number": {"name": 7}, "name is an object": {"name": {}},
    "names with zeros": {"name": "a\0b"}, "lone surrogate": {"name": "\ud800"}, "pid is an object": {"pid": {}},
    "pid huge": {"pid": 1 << 80}, "category unknown": {"cat": "?"}, "category is a list": {"cat": []},
    "duration of years": {"dur": 1e15}, "time of years": {"ts": 6e14}, "begin without end": {"ph": "B"},
    "metadata": {"ph": "M"}, "correlation negative": {"args": {"device": 0, "correlation": -1}},
    "bytes negative": {"cat": "gpu_memcpy", "args": {"device": 0, "bytes": -1}},
    "bytes huge": {"cat": "gpu_memcpy", "args": {"device": 0, "bytes": 1 << 90}},
}


@pytest.mark.parametrize("odd", ODD)
def test_odd_events_are_left_out_or_harmless(odd, folder):
    r = taken(put(folder, "kineto", with_event(**ODD[odd])))
    (a,) = [a for a in r["accelerators"] if a["id"].endswith(":0")]
    assert abs(a["state"]["compute"] * a["seconds"] - 40 * 980e-6) < 3e-6 or odd in (
        "time before all", "duration of years", "time of years"), a


@pytest.mark.parametrize("odd,word", [("no duration", "without a duration"), ("negative duration", "negative"),
                                      ("unknown phase", "unknown phase"), ("no time", "without a time")])
def test_what_was_left_out_is_counted(odd, word, folder):
    r = taken(put(folder, "kineto", with_event(**ODD[odd])))
    notes = " ".join(gf.evidence(r, "note"))
    assert "1 " in notes and word in notes, notes


def test_events_in_any_order(folder):
    first = taken(put(folder, "kineto"))
    events = kineto_events()
    for how in ("reversed", "shuffled"):
        events.reverse() if how == "reversed" else random.Random(5).shuffle(events)
        other = taken(put(folder, "kineto", kineto(events)))
        assert same(first, other), how


@pytest.mark.parametrize("text", [
    '{"traceEvents": []}', '{"traceEvents": [], "traceEvents": []}', '{"traceEvents": [{}]}', '{"traceEvents": [[], 1, "x"]}',
    '{"schemaVersion": 1, "deviceProperties": [], "traceEvents": []}'])
def test_traces_without_a_device_say_so(text, folder):
    r = taken(put(folder, "kineto", text.encode()))
    assert r["accelerators"] == [] and not [f for f in r["findings"] if f["severity"] != "info"]
    assert gf.evidence(r, "note")


def test_strange_json(folder):
    good = kineto().decode()
    for text in (good.replace('"ts": 0', '"ts": NaN', 1), good.replace('"ts": 0', '"ts": Infinity', 1),
                 good.replace('"ts": 0', '"ts": 0, "ts": 1, "ts": {"ts": 2}', 1),
                 good.replace('"gemm"', '"\\ud83d\\ude00 \\u0000 \\/ \\""', 1),
                 good.replace('"ts": 0', '"ts": ' + "9" * 400, 1), good.replace('"ts": 0', '"ts": 1e400', 1),
                 good.replace('"ts": 0', '"ts": 0.' + "0" * 100_000 + "1", 1),
                 good.replace('"ts": 0', '"ts": 1' + "0" * 1_000_000, 1),
                 good.replace('"ts": 0', '"ts": 00', 1), good.replace('"ts": 0', '"ts": +1', 1),
                 good.replace('"gemm"', '"' + "k" * 2_000_000 + '"', 1),
                 '{"x": ' + "[" * 100_000 + "]" * 100_000 + ', "traceEvents": []}'):
        either(put(folder, "kineto", text.encode()))
    bad = good.encode().replace(b'"gemm"', b'"\xff\xfe\xc3"', 1)
    either(put(folder, "kineto", bad))


def test_times_decades_apart_cost_nothing(folder):
    """A clock that jumped must not become a billion windows."""
    events = kineto_events() + [{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 9e14, "dur": 1,
                                 "args": {"device": 0}}]
    path = put(folder, "kineto", kineto(events))
    limit = [] if gf.SANITIZED else ["prlimit", "--as=1500000000"]
    result = gf.gpufeed("report", path, "--json", patience=20, prefix=limit)
    assert result.code == 0, result
    gf.lawful(result.out)


# ---- several files ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["kineto", "nsys"])
def test_files_are_ranks(name, folder):
    paths = [put(folder, name, as_name=f"rank{i}.x") for i in range(5)]
    r = taken(*paths)
    one = taken(paths[0])
    assert len(r["accelerators"]) == 5 and len({a["id"] for a in r["accelerators"]}) == 5
    for a in r["accelerators"]:
        assert a["state"] == one["accelerators"][0]["state"], a
    assert abs(r["verdict"]["utilisation"] - one["verdict"]["utilisation"]) < 1e-9


def test_many_ranks(folder):
    paths = [put(folder, "kineto", as_name=f"rank{i}.json") for i in range(100)]
    assert len(taken(*paths)["accelerators"]) == 100


def test_a_file_given_twice(folder):
    path = put(folder, "kineto", as_name="rank0.json")
    (folder / "link.json").symlink_to(path)
    refused(path, path, why=("same file",))
    assert "link.json" in refused(path, folder / "link.json", why=("same file",))


def test_the_same_device_of_several_files(folder):
    paths = [put(folder, "kineto", as_name=f"{i}.json") for i in range(3)]
    assert {a["id"] for a in taken(*paths)["accelerators"]} == {"file1:0", "file2:0", "file3:0"}
    html = folder / "r.html"
    text = gf.gpufeed("report", *paths).out
    assert gf.gpufeed("report", *paths, "--html", html).code == 0
    for i in (1, 2, 3):
        assert f"GPU 0 (file {i})" in text and f"GPU 0 (file {i})" in html.read_text()


def test_two_files_of_one_rank(folder):
    info = {"distributedInfo": {"rank": 1, "world_size": 2, "backend": "nccl"}}
    paths = [put(folder, "kineto", kineto(**info), as_name=f"{i}.json") for i in range(2)]
    assert [a["id"] for a in taken(*paths)["accelerators"]] == ["rank1:0", "rank1.file2:0"]
    text = gf.gpufeed("report", *paths).out
    assert "GPU 0 (rank 1)" in text and "GPU 0 (rank 1, file 2)" in text, text
    assert "the same rank twice" in " ".join(text.split())


@pytest.mark.parametrize("data", [b"{}", b"hello\n", gzip.compress(b"\x07\x99" * 900), b"\x01" * 40])
def test_one_wrong_file_gets_the_list_of_what_is_read(data, folder):
    (folder / "a").write_bytes(data)
    assert "PyTorch profiler" in refused(folder / "a", why=("is neither a recording",))


def test_diff_of_traces(folder, recording):
    before = put(folder, "kineto", gzip.compress(need("kineto")), "before.json.gz")
    after = put(folder, "kineto", kineto(kineto_events(20)), "after.json")
    d = gf.gpufeed("diff", before, after, "--json")
    assert d.code == 0, d
    gf.validator("diff").validate(json.loads(d.out))
    assert gf.gpufeed("diff", before, recording).code == 0
    (folder / "a").write_bytes(b"{}")
    assert "is neither a recording" in gf.one_line(gf.gpufeed("diff", before, folder / "a").err)


def test_a_device_without_a_name_and_several_gpus(folder):
    rows = kineto_events()
    for i, row in enumerate(rows):  # one copies all the time
        if row["cat"] == "kernel" and i % 8 == 1:
            row["cat"] = "gpu_memcpy"
            row["name"] = "Memcpy HtoD (Pageable -> Device)"
    paths = [put(folder, "kineto", kineto(rows, deviceProperties=[]), as_name=f"{i}.json") for i in (0, 1)]
    text = gf.gpufeed("report", *paths).out
    assert "×  ·" not in text and "unnamed accelerator" in text, text
    sentence = " ".join(text[text.index("Verdict"):].split())
    assert re.search(r"2 GPUs computed .*% they copied", sentence), sentence


def test_one_bad_rank_is_named(folder):
    for bad in (b"", b"{}", kineto()[:-40], b"x" * 100):
        paths = [put(folder, "kineto", as_name=f"rank{i}.json") for i in range(3)]
        paths[1].write_bytes(bad)
        assert "rank1.json" in refused(*paths)


def test_a_recording_among_them(recording, folder):
    path = put(folder, "kineto")
    for argv in ((recording, path), (path, recording), (recording, recording)):
        refused(*argv)


@pytest.mark.parametrize("a", SAMPLES)
@pytest.mark.parametrize("b", SAMPLES)
def test_mixes_are_read_or_refused(a, b, folder):
    if a < b:
        either(put(folder, a, as_name="1.x"), put(folder, b, as_name="2.x"))


@each_format
def test_something_unknown_among_them(name, folder):
    path = put(folder, name)
    (folder / "letter.txt").write_bytes(b"Dear all,\nthe job was slow.\n")
    assert "letter.txt" in refused(path, folder / "letter.txt")
    assert "letter.txt" in refused(folder / "letter.txt", path)
    assert "absent" in refused(path, folder / "absent")


# ---- the command -----------------------------------------------------------------------------


def starving():
    """Nine tenths of the time the training thread loads."""
    events = []
    for i in range(20):
        t = i * 10_000
        events += [{"ph": "X", "cat": "user_annotation", "name": "enumerate(DataLoader)#_SingleProcessDataLoaderIter."
                    "__next__", "pid": 11, "tid": 11, "ts": t + 1000, "dur": 8900},
                   {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 11, "tid": 11, "ts": t,
                    "dur": 5, "args": {"correlation": i + 1}},
                   {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": t + 8, "dur": 990,
                    "args": {"device": 0, "correlation": i + 1}}]
    return kineto(events)


def test_exit_codes(folder):
    good, bad = put(folder, "kineto"), put(folder, "kineto", starving(), "starving.json")
    assert gf.gpufeed("report", good, "--fail-on", "warning").code == 0
    assert gf.gpufeed("report", bad).code == 0
    assert gf.gpufeed("report", bad, "--fail-on", "warning").code == 1
    assert gf.gpufeed("report", good, bad, "--fail-on", "warning").code == 1
    assert gf.gpufeed("report", bad, "--fail-on", "never").code == 2
    assert gf.gpufeed("report").code == 2


def test_faces_of_the_report(folder):
    path = put(folder, "kineto", starving())
    text = gf.gpufeed("report", path, "--price", "98", "--currency", "EUR")
    assert text.code == 0 and "98" in text.out + text.err or "€" in text.out, text
    page = gf.gpufeed("report", path, "--html", folder / "a.html")
    assert page.code == 0 and (folder / "a.html").stat().st_size > 1000, page
    assert stat.S_ISREG((folder / "a.html").stat().st_mode)


def test_secrets_in_a_trace_are_not_shown(folder):
    secret = "AKIAIOSFODNN7EXAMPLE"
    url = f"https://acct.blob.core.windows.net/c/x?sig={secret}&se=2026"
    events = kineto_events() + [{"ph": "X", "cat": "cpu_op", "name": url, "pid": 11, "tid": 11, "ts": 50_000,
                                 "dur": 40_000},
                                {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 95_000, "dur": 10,
                                 "args": {"device": 0, "correlation": 4000}},
                                {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 11, "tid": 11,
                                 "ts": 94_000, "dur": 5, "args": {"correlation": 4000}}]
    path = put(folder, "kineto", kineto(events))
    for argv in (("report", path), ("report", path, "--json"), ("report", path, "--chains")):
        result = gf.gpufeed(*argv)
        assert result.code == 0 and secret not in result.out + result.err, result


def test_one_accelerator_by_two_ways_is_the_same(folder):
    """The same work as a trace and as an export: the same account."""
    need("nsys")
    events = []
    for i in range(50):
        t = i * 1000
        events += [{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": t, "dur": 990,
                    "args": {"device": 0, "correlation": i + 1}},
                   {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 4242, "tid": 1, "ts": t - 5,
                    "dur": 4, "args": {"correlation": i + 1}}]
    a = taken(put(folder, "kineto", kineto(events)))
    b = taken(put(folder, "nsys"))
    rows = [[(row["state"], row["cause"], row["resource"], row["ns"]) for row in r["ledger"]] for r in (a, b)]
    assert sorted(map(str, rows[0])) == sorted(map(str, rows[1]))
