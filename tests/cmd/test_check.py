# SPDX-License-Identifier: MIT
"""gpufeed check: what it prints, its JSON, its exit codes; machines as folders."""
import json
import subprocess
import tarfile

import pytest

import gf


def validated(text):
    document = gf.parse(text)
    gf.validator("check").validate(document)
    rules = document["rules"]
    assert rules["total"] == rules["judged"] + len(rules["unjudged"])
    order = ["critical", "warning", "info"]
    ranks = [order.index(f["severity"]) for f in document["findings"]]
    assert ranks == sorted(ranks)
    return document


def machine(root, swapping):
    """A machine of which only memory is known."""
    files = {"proc/meminfo": "MemTotal: 1000000 kB\nMemAvailable: 900000 kB\nSwapTotal: 1000 kB\n",
             "proc/vmstat": "pswpin 0\npswpout 0\n",
             ".gpufeed/later/proc/vmstat": f"pswpin {25600 if swapping else 0}\npswpout 0\n",
             ".gpufeed/dump": "interval_ns 10000000000\n"}
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_a_machine_with_nothing_wrong_gets_one_line(tmp_path):
    result = gf.gpufeed("check", "--root", machine(tmp_path, False))
    assert result.code == 0, result
    assert result.err == ""
    assert "nothing wrong was found" in " ".join(result.out.split()), result


def test_nothing_wrong_fits_one_line_of_a_terminal(tmp_path):
    """Of a job too, whose number may be long."""
    root = machine(tmp_path, False)
    (root / "proc/4194304").mkdir()
    for args in ([], ["-p", "4194304"]):
        named = ' of "."'  # is not said of this machine, and "this" is a letter longer than "the"
        code, text = gf.Terminal(gf.GPUFEED, "check", "--root", ".", *args, cwd=root,
                                 columns=80 + len(named) - 1,
                                 env=gf.environment(NO_COLOR=1)).finish()
        assert code == 0 and "nothing wrong was found" in text and named in text, text
        assert len(text.splitlines()) == 1, text


def test_a_finding_has_numbers_fix_and_source(tmp_path):
    result = gf.gpufeed("check", "--root", machine(tmp_path, True))
    assert result.code == 1, result
    for part in ("warning", "memory-swapping", "10 MiB/s", "swapoff", "source: "):
        assert part in result.out, result


def test_json(tmp_path):
    root = machine(tmp_path, True)
    document = validated(gf.gpufeed("check", "--root", root, "--json").out)
    assert [f["id"] for f in document["findings"]] == ["memory-swapping"]
    assert document["interval_seconds"] == 10
    assert "facts" not in document
    evidence = {e["name"]: e for e in document["findings"][0]["evidence"]}
    assert evidence["swapped in"] == {"name": "swapped in", "value": 10485760, "unit": "bytes/s",
                                      "source": "/proc/vmstat"}
    verbose = validated(gf.gpufeed("check", "--root", root, "--json", "--verbose").out)
    assert {"kind": "memory", "subject": "", "name": "swap_total", "value": 1024000,
            "unit": "bytes", "source": "/proc/meminfo"} in verbose["facts"]


def passing_rules(folder):
    """Of what is there in any look, in a short one alone, and of a fault that the short one counted."""
    seconds = "(SELECT number FROM fact WHERE kind = 'survey' AND name = 'seconds')"
    rules = {"stays": (f"{seconds} AS \"watched [s]\", CASE WHEN {seconds} < 5 THEN 'info' END AS severity", "1"),
             "passes": (f"{seconds} AS \"watched [s]\"", f"{seconds} < 5"),
             "counted": ("1 AS \"faults [count]\"", f"{seconds} < 5")}
    folder.mkdir()
    for name, (columns, where) in rules.items():
        (folder / f"{name}.sql").write_text(
            f"-- id: {name}\n-- for: check\n-- severity: warning\n-- title: T\n-- fix: F\n"
            f"-- needs: survey/seconds\nSELECT {columns} WHERE {where};\n")
    return folder, set(rules)


def test_a_load_that_may_pass_is_looked_at_again(tmp_path):
    rules, ours = passing_rules(tmp_path / "r")

    def look(*more):
        document = validated(gf.gpufeed("check", "--json", "--rules", rules, *more).out)
        return document["interval_seconds"], {f["id"]: f["severity"] for f in document["findings"]
                                              if f["id"] in ours}
    seconds, found = look("--dump", tmp_path / "x.tar")
    assert seconds >= 5 and found == {"stays": "warning", "counted": "warning"}
    assert tarfile.is_tarfile(tmp_path / "x.tar")
    seconds, found = look("--root", tmp_path / "x.tar")  # what was looked at last
    assert seconds >= 5 and found == {"stays": "warning"}
    seconds, found = look("--interval", "100ms")  # as asked
    assert seconds < 5 and found == {"stays": "info", "passes": "warning", "counted": "warning"}


def test_fail_on(tmp_path):
    root = machine(tmp_path, True)
    for level, code in (("info", 1), ("warning", 1), ("critical", 0)):
        assert gf.gpufeed("check", "--root", root, "--fail-on", level).code == code


def test_a_folder_that_is_no_machine(tmp_path):
    result = gf.gpufeed("check", "--root", tmp_path)
    assert result.code == 2 and result.out == "" and "neither proc nor sys" in result.err, result


def test_a_machine_of_which_nothing_is_known(tmp_path):
    (tmp_path / "proc").mkdir()
    result = gf.gpufeed("check", "--root", tmp_path)
    text = " ".join(result.out.split())
    assert "nothing is known" in text and "nothing wrong" not in text, result


def test_data_that_is_not_there(tmp_path):
    result = gf.gpufeed("check", "--data", tmp_path / "none", "--interval", "10ms")
    assert result.code == 2 and result.out == "" and str(tmp_path / "none") in result.err, result
    result = gf.gpufeed("check", "--data", tmp_path, "--interval", "10ms")
    assert result.code in (0, 1), result


def test_files_of_a_shell_are_no_data(tmp_path):
    (tmp_path / "sh-thd.Ab12").write_text("x\n")
    script = tmp_path / "job.sh"
    script.write_text(f"exec 7< {tmp_path}/sh-thd.Ab12 8< {tmp_path}/job.sh\necho on\nsleep 60\n")
    child = subprocess.Popen(["sh", script], stdout=subprocess.PIPE, start_new_session=True)
    assert child.stdout.readline() == b"on\n"
    try:
        result = gf.gpufeed("check", "-p", str(child.pid), "--json", "--verbose", "--interval", "10ms")
    finally:
        gf.kill_group(child)
        child.wait()
    document = validated(result.out)
    assert not [f for f in document["facts"] if f["kind"] == "data" and f["name"] == "example"], result


def test_a_file_name_in_an_error_is_no_secret(tmp_path):
    for args in (["run", "--", tmp_path / "my_passwd"], ["report", tmp_path / "my_passwd"],
                 ["check", "--nccl-log", tmp_path / "my_passwd", "--interval", "10ms"]):
        result = gf.gpufeed(*args)
        assert "No such file" in result.err and "***" not in result.err, result


def test_this_machine():
    """Whatever it is: the JSON is valid, the code says what the findings are."""
    result = gf.gpufeed("check", "--json", "--interval", "100ms")
    document = validated(result.out)
    bad = [f for f in document["findings"] if f["severity"] != "info"]
    assert result.code == (1 if bad else 0), result
    assert document["rules"]["judged"] > 0


def test_bad_usage(tmp_path):
    cases = [(["-p", "x"], "-p"), (["-p", "-3"], "-p"),
             (["--interval", "never"], "--interval"), (["extra"], "extra"),
             (["--rules", tmp_path / "none"], "--rules"), (["--fail-on", "bad"], "--fail-on"),
             (["-p", "4194305"], "4194305"), (["--root", tmp_path / "m", "-p", "1"], "no process")]
    (tmp_path / "m" / "proc").mkdir(parents=True)
    for args, word in cases:
        result = gf.gpufeed("check", *args)
        assert result.code == 2, result
        assert word in result.err and result.out == "", result
        assert len(result.err.splitlines()) == 2, result


RULE = """-- id: {id}
-- for: {use}
-- severity: warning
-- title: T
-- fix: F
-- needs: memory/total
{sql}
"""


def test_rules_of_the_user(tmp_path):
    root, rules = machine(tmp_path / "m", False), tmp_path / "r"
    rules.mkdir()

    def put(name, use, sql):
        (rules / f"{name}.sql").write_text(RULE.format(id=name, use=use, sql=sql))
    put("mine", "check", "SELECT number AS \"total [bytes]\" FROM fact WHERE name = 'total';")
    put("both", "check report", "SELECT 1 AS one;")
    put("other", "report", "SELECT 1 AS one;")
    put("never", "nobody", "SELECT 1 AS one;")
    put("bad", "check", "SELECT x FROM nowhere;")
    put("slow", "check", "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
                         "SELECT max(i) FROM n;")
    put("memory-swapping", "report", "SELECT 1 AS one;")
    document = validated(gf.gpufeed("check", "--root", root, "--rules", rules, "--json").out)
    assert sorted(f["id"] for f in document["findings"]) == ["both", "mine"]
    assert sorted(json.dumps(n).count("rule left out") for n in document["notes"]) == [1, 1, 1]
    for word in ("nobody", "nowhere", "too long"):
        assert any(word in n for n in document["notes"]), document["notes"]


def test_logs_of_nccl(tmp_path):
    machine(tmp_path / "m", False)
    log = tmp_path / "nccl.log"
    log.write_text("node1:100:200 [0] NCCL INFO NCCL version 2.21.5+cuda12.4\n"
                   "node1:100:200 [0] NCCL INFO NET/IB : No device found.\n"
                   "node1:100:200 [0] NCCL INFO NCCL_IB_DISABLE set by environment to 1.\n"
                   "node1:100:200 [0] NCCL INFO Using network Socket\n"
                   "node1:100:200 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/Socket/0\n")
    result = gf.gpufeed("check", "--root", tmp_path / "m", "--nccl-log", log, "--json")
    found = {f["id"] for f in validated(result.out)["findings"]}
    assert "nccl-socket-fallback" in found, result
    (tmp_path / "other.log").write_text("hello\n" * 10)
    result = gf.gpufeed("check", "--root", tmp_path / "m", "--nccl-log", log, "--nccl-log",
                        tmp_path / "other.log")
    assert result.code == 2 and "other.log" in result.err, result


def test_a_report_runs_no_rules_of_check(tmp_path):
    gf.record(tmp_path / "x.gpufeed")
    report = gf.report(tmp_path / "x.gpufeed")
    checks = {p.stem for p in (gf.SOURCE / "data" / "check").glob("*.sql")}
    assert checks and not checks & {f["id"] for f in report["findings"]}


CASE = gf.SOURCE.parent / "shared" / "cases" / "machines" / "infiniband_h100_sysfs.tar.xz"


@pytest.mark.skipif(not CASE.exists(), reason="no ../shared/cases")
def test_eight_healthy_ports(tmp_path):
    """link_downed is saturated on one port and port_xmit_wait the same on all: neither proves a fault."""
    with tarfile.open(CASE) as tar:
        tar.extractall(tmp_path)
    (tmp_path / "m/sys/class").mkdir(parents=True)
    next(p for p in tmp_path.iterdir() if p.name.startswith("sys-class")).rename(
        tmp_path / "m/sys/class/infiniband")
    result = gf.gpufeed("check", "--root", tmp_path / "m", "--json", "--verbose")
    document = validated(result.out)
    assert result.code == 0 and document["findings"] == [], result
    ports = [f for f in document["facts"] if f["kind"] == "ib_port" and f["name"] == "active"]
    assert sum(f["value"] for f in ports) >= 8 and document["rules"]["judged"] > 0


def test_a_job_in_a_control_group(tmp_path):
    """The group's own process that has run longest is the job."""
    root = machine(tmp_path, False)
    group = root / "sys/fs/cgroup/system.slice/job_9"
    (group / "step_0").mkdir(parents=True)
    (group / "cgroup.procs").write_text("")
    (group / "step_0/cgroup.procs").write_text("71\n70\n")
    for pid, start in ((70, 500), (71, 900)):
        (root / f"proc/{pid}").mkdir()
        (root / f"proc/{pid}/stat").write_text(
            f"{pid} (a) S 1 1 1 0 -1 0 1 0 0 0 1 1 0 0 20 0 1 0 {start} 0 0\n")
    result = gf.gpufeed("check", "--root", root, "--cgroup", "system.slice/job_9")
    assert result.code == 0 and "process 70" in result.out, result
    result = gf.gpufeed("check", "--root", root, "--cgroup", "system.slice/job_8")
    assert result.code == 2 and "no control group" in result.err, result
