# SPDX-License-Identifier: MIT
"""Logs and dumps of communication, and scrapes of metrics: what a user sees of them, and bad ones."""
import gzip
import json
import os
import pickle
import shutil

import pytest

import gf

HERE = gf.SOURCE / "tests" / "import"
LOGS, FLIGHT, PROM = HERE / "logs", HERE / "flight", HERE / "prom"


def report(*paths):
    result = gf.gpufeed("report", *paths, "--json")
    assert result.code == 0, result
    return gf.lawful(result.out)


def text(*paths):
    result = gf.gpufeed("report", *paths)
    assert result.code == 0, result
    return result.out


def loud(r):
    return {f["id"]: f["severity"] for f in r["findings"] if f["severity"] != "info"}


def lines(r):
    return {e["name"]: e["value"] for e in r.get("communication", [])}


def no_ledger(r):
    assert r["accelerators"] == [] and r["ledger"] == []
    assert r["verdict"]["limited_by"] == "unknown"
    assert r["verdict"]["utilisation"] is None
    assert r["verdict"]["sentence"].startswith("These files hold no device activity.")


def bad(folder, content, *words, name="bad.log"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    result = gf.gpufeed("report", path)
    assert result.code == 2 and result.out == "", result
    assert len(result.err.splitlines()) == 1 and name in result.err, result
    for word in words:
        assert word in result.err, result


# ---- NCCL's logs -------------------------------------------------------------------------------


def test_fallback_to_tcp_is_proven_by_lines():
    r = report(LOGS / "nccl-2.21-no-verbs.log")
    no_ledger(r)
    assert loud(r) == {"nccl-socket-fallback": "warning"}
    (f,) = [f for f in r["findings"] if f["id"] == "nccl-socket-fallback"]
    said = [e["value"] for e in f["evidence"] if e["name"] == "said in"]
    assert said == [str(LOGS / "nccl-2.21-no-verbs.log") + ":14"]
    assert lines(r)["network"] == "Socket; 8 channels over TCP"
    assert lines(r)["host worker-1"] == "rank 1; GPU 0; TCP eth0:10.244.1.6"


def test_the_environment_alone_proves_nothing(folder):
    log = folder / "x.log"
    log.write_text("h:1:2 [0] NCCL INFO NCCL_IB_DISABLE set by environment to 1.\n"
                   "h:1:2 [0] NCCL INFO NCCL_NET set by environment to Socket\n")
    r = report(log)
    assert r["findings"] == []
    assert "NCCL_IB_DISABLE=1" in lines(r)["environment"]


def test_healthy_infiniband_is_quiet():
    r = report(LOGS / "nccl-2.18-ib-host1.log", LOGS / "nccl-2.18-ib-host2.log")
    no_ledger(r)
    assert r["findings"] == []
    assert lines(r)["NCCL"] == "2.18.5+cuda12.2; 4 ranks on 2 hosts, 3 communicators"
    assert lines(r)["network"] == "IB; 16 channels with GPUDirect RDMA"
    assert lines(r)["host ib1"] == "ranks 0-1; GPUs 0,1; NICs mlx5_0:1/IB mlx5_1:1/IB; path to the NIC PIX"
    assert lines(r)["ring"] == "0 → 1 → 2 → 3 (the first of 4)"


def test_one_host_with_shared_memory_by_choice():
    assert loud(report(LOGS / "nccl-2.8-shm.log")) == {"nccl-p2p-disabled": "warning"}


def test_tcp_by_the_environment_says_which_variable():
    r = report(LOGS / "nccl-2.14-socket.log")
    assert loud(r) == {"nccl-socket-fallback": "warning"}
    assert "unset NCCL_IB_DISABLE" in r["findings"][0]["fix"]


def test_no_device_seen_is_no_proof_of_a_fallback():
    r = report(LOGS / "nccl-2.27-efa.log")
    assert loud(r) == {}
    assert [f["id"] for f in r["findings"]] == ["nccl-socket-fallback"]
    assert "aws-ofi-nccl" in r["findings"][0]["fix"]
    assert lines(r)["slowest start"] == "rank 3, 4.25 s"


def test_a_hang_and_what_is_slow():
    r = report(LOGS / "nccl-2.30-roce-hang.log")
    assert loud(r) == {"nccl-init-unfinished": "critical", "nccl-timeout": "critical", "nccl-warning": "critical",
                       "nccl-nic-far": "warning", "nccl-no-gdr": "warning", "nccl-shm-disabled": "warning"}
    assert r["findings"][0]["severity"] == "critical"
    assert "no line of rank 3" in r["verdict"]["sentence"]


def test_rccl_on_one_host_is_quiet():
    r = report(LOGS / "rccl-2.26-ray.log")
    assert loud(r) == {}
    assert lines(r)["RCCL"].startswith("2.26.6")


def test_all_hosts_in_one_report_differ():
    r = report(LOGS / "nccl-2.21-no-verbs.log", LOGS / "nccl-2.18-ib-host1.log")
    assert {"nccl-versions-mixed", "nccl-networks-mixed"} <= set(loud(r))


def test_faces(folder):
    page = folder / "x.html"
    out = text(LOGS / "nccl-2.30-roce-hang.log")
    assert "\nCommunication\n" in out and len(out.splitlines()) <= 40
    result = gf.gpufeed("report", LOGS / "nccl-2.30-roce-hang.log", "--html", page)
    assert result.code == 0 and "Communication" in page.read_text()
    fail = gf.gpufeed("report", LOGS / "nccl-2.30-roce-hang.log", "--fail-on", "critical")
    assert fail.code == 1


def test_gzip_reads_the_same(folder):
    packed = folder / "x.gz"
    packed.write_bytes(gzip.compress((LOGS / "nccl-2.27-efa.log").read_bytes()))
    assert lines(report(packed)) == lines(report(LOGS / "nccl-2.27-efa.log"))


def test_a_hostile_log_is_only_text(folder):
    log = folder / "x.log"
    log.write_bytes(b"<script>:1:2 [0] NCCL INFO x\n" + b"h\x00\xff\xfe:1:2 [0] NCCL INFO Using network \x1b]0;t\x07\n"
                    b"h:1:2 [0] NCCL INFO Using network <b>&'\"\n"
                    b"h:1:2 [0] NCCL INFO NCCL_X set by environment to sig=SECRETSECRET\n" + b"x" * 100000 + b"\n")
    r = report(log)
    assert "SECRETSECRET" not in json.dumps(r)
    out = text(log)
    assert "\x1b" not in out


def test_a_warning_that_nobody_knows_is_told(folder):
    log = folder / "x.log"
    log.write_text("".join(f"h:1:2 [0] init.cc:{i} NCCL WARN {text}\n" for i, text in enumerate(
        ["Strange thing token=abcdef12", "Strange thing token=abcdef12", "foo.cc:12 -> 3 went wrong", "Third", "Fourth"])))
    r = report(log)
    (f,) = r["findings"]
    assert (f["id"], f["severity"]) == ("nccl-warned", "info")
    assert f["title"].startswith("NCCL warned 5 times of something that no rule knows: Strange thing")
    said = json.dumps(f)
    assert "foo.cc:12" in said and "Third" in said and "abcdef12" not in said


def test_small_shared_memory_comes_before_what_follows_from_it(folder):
    log = folder / "x.log"
    head = "h:1:2 [0] "
    log.write_text(
        head + "NCCL INFO ncclCommInitRank comm 0x1 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 1000 commId 0x9 - Init START\n"
        + head + "misc/shmutils.cc:72 NCCL WARN Call to posix_fallocate failed : No space left on device\n"
        + head + "misc/shmutils.cc:113 NCCL WARN Error while creating shared memory segment /dev/shm/nccl-AbC (size 9637888)\n")
    r = report(log)
    ids = [f["id"] for f in r["findings"]]
    assert ids[:2] == ["nccl-warning", "nccl-init-unfinished"] and "nccl-warned" not in ids
    assert r["findings"][0]["title"].startswith("/dev/shm is too small")
    assert r["findings"][1]["severity"] == "warning" and "/dev/shm" in r["findings"][1]["title"]


# ---- flight recorder ---------------------------------------------------------------------------


@pytest.mark.parametrize("names", [["nccl_trace_rank_0", "nccl_trace_rank_1"], ["fr_rank_0.json", "fr_rank_1.json"]])
def test_flight_recorder_names_the_rank(names):
    r = report(*(FLIGHT / n for n in names))
    no_ledger(r)
    assert loud(r) == {"rank-missing": "critical", "collective-mismatch": "critical"}
    titles = [f["title"] for f in r["findings"]]
    assert "Rank 1 has not entered a collective that others wait in: all_reduce number 3" in titles
    assert "The ranks run different collectives: all_reduce against broadcast" in titles


@pytest.mark.parametrize("ranks, told", [("[0, 1]", "no dump of rank 1;"), ("[]", "one rank alone")])
def test_a_dump_that_is_missing_is_named(folder, ranks, told):
    dump = pickle.load(open(FLIGHT / "nccl_trace_rank_0", "rb"))
    for group in dump["pg_config"].values():
        group |= {"name": "0", "ranks": ranks}
    (folder / "t_0").write_bytes(pickle.dumps(dump, protocol=2))
    r = report(folder / "t_0")
    assert lines(r)["files missing"].startswith(told)
    assert "all have completed" not in json.dumps(r)
    both = report(FLIGHT / "nccl_trace_rank_0", FLIGHT / "nccl_trace_rank_1")
    assert "files missing" not in lines(both) and "all have completed" in json.dumps(both)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_pickles_of_all_protocols(folder, protocol):
    dump = pickle.load(open(FLIGHT / "nccl_trace_rank_0", "rb"))
    (folder / "r_0").write_bytes(pickle.dumps(dump, protocol=protocol))
    shutil.copy(FLIGHT / "nccl_trace_rank_1", folder / "r_1")
    assert "rank-missing" in loud(report(folder / "r_0", folder / "r_1"))


class Evil:
    def __reduce__(self):
        return os.system, ("touch pwned",)


@pytest.mark.parametrize("protocol", [2, 4])
def test_a_pickle_is_never_run(folder, protocol):
    bad(folder, pickle.dumps({"entries": [Evil()]}, protocol=protocol), "never done", "byte", name="x_0")
    assert not (folder / "pwned").exists() and not os.path.exists("pwned")


def test_bad_dumps(folder):
    good = (FLIGHT / "nccl_trace_rank_0").read_bytes()
    bad(folder, good[:700], "byte", name="x_0")
    bad(folder, pickle.dumps([1, 2], protocol=2), "no dump of PyTorch", name="x_1")
    bad(folder, (FLIGHT / "fr_rank_0.json").read_bytes()[:900], "byte", name="x_2.json")
    shutil.copy(FLIGHT / "nccl_trace_rank_0", folder / "a_0")
    shutil.copy(FLIGHT / "nccl_trace_rank_0", folder / "b_0")
    result = gf.gpufeed("report", folder / "a_0", folder / "b_0")
    assert result.code == 2 and "rank 0 was there already" in result.err, result


# ---- RAS and Inspector ---------------------------------------------------------------------------


def test_ras(folder):
    counts = [1000, 1000, 900]
    answer = {"nccl_version": "2.28.9", "communicators": [
        {"hash": "0xab", "size": 4, "missing_ranks_count": 1,
         "ranks": [{"rank": i, "host": "a", "collective_counts": {"AllReduce": n}} for i, n in enumerate(counts)],
         "missing_ranks": [{"rank": 3, "host": "b", "pid": 4711, "cuda_dev": 1,
                            "status": {"unresponsive": True, "considered_dead": True}}]}],
        "ras": {"timeouts_count": 0}}
    path = folder / "ras.json"
    path.write_text(json.dumps(answer, indent=1))
    r = report(path)
    no_ledger(r)
    assert loud(r) == {"rank-missing": "critical", "rank-behind": "warning"}
    bad(folder, json.dumps(answer)[:-30], "byte", name="ras.json")


def test_inspector(folder):
    perf = {"coll": "AllReduce", "coll_msg_size_bytes": 1 << 20, "coll_exec_time_us": 100, "coll_busbw_gbs": 150.5}
    head = {"header": {"id": "0x1", "comm_name": "dp", "rank": 0, "n_ranks": 2},
            "metadata": {"inspector_output_format_version": "v4.0", "hostname": "a"}}
    path = folder / "a-pid1.log"
    path.write_text("".join(json.dumps({**head, "coll_perf": perf}) + "\n" for _ in range(5)) + '{"cut": ')
    r = report(path)
    no_ledger(r)
    assert lines(r)["dp AllReduce"].startswith("5 times")
    assert "150.5 GB/s" in lines(r)["dp AllReduce"]
    assert any("1 lines that are no JSON object" in n for n in gf.evidence(r, "note"))
    bad(folder, json.dumps({**head, "dump_stats": {}}) + "\n", "no line of NCCL Inspector tells", name="b.log")


# ---- metrics ---------------------------------------------------------------------------------------


def test_two_scrapes_give_a_ledger():
    r = report(PROM / "dcgm-a.prom", PROM / "dcgm-b.prom")
    one, other = r["accelerators"]
    assert one["seconds"] == 60 and abs(one["state"]["compute"] - 0.6) < 1e-6
    assert abs(one["state"]["wait"] - 0.4) < 1e-6 and other["state"]["unused"] == 1
    assert {row["evidence"] for row in r["ledger"]} == {"counters"}
    assert {row["cause"] for row in r["ledger"] if row["state"] == "wait"} == {"unknown"}
    assert any("made from counters" in n for n in gf.evidence(r, "note"))


def test_one_scrape_gives_facts():
    r = report(PROM / "vllm.prom")
    no_ledger(r)
    assert any("second one" in n for n in gf.evidence(r, "note"))
    metrics = {e["name"]: e["value"] for e in r["evidence"] if "num_requests_waiting" in e["name"]}
    assert list(metrics.values()) == [40]


def test_bad_metrics(folder):
    path = folder / "x.prom"
    path.write_text("# TYPE a_b gauge\na_b{x=\"1\"} 5\na_b{x=\"2\n\na_b{x=\"3\"} NaN\n")
    r = report(path)
    assert any("left out 1 lines that are no sample" in n for n in gf.evidence(r, "note"))
    bad(folder, "# TYPE a gauge\n# HELP a b\n", "not one line", name="y.prom")


# ---- what is none of these ---------------------------------------------------------------------------


@pytest.mark.parametrize("content", ["", "epoch 1 loss 0.5\n" * 100, "\n\n\n", "[]", "{}", '{"a": 1}', "\x00" * 5000,
                                     "nccl is nice\n", "Jan 1 00:00:00 host sshd[1]: x\n"])
def test_other_files_are_refused(folder, content):
    bad(folder, content, name="other.txt")
