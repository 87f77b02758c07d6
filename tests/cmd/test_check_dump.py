# SPDX-License-Identifier: MIT
"""gpufeed check --dump: another machine reads the same out of it, and no secret is in it."""
import os
import socket
import subprocess
import tarfile

import gf

# What several looks within the interval add up to, and the room that is left, which each source asks for itself; a dump
# has the first and the last.
SAMPLED = {"runnable_mean", "processes_peak", "threads_peak", "lowest_available", "open_files",
           "descriptors_peak", "cores_spare", "processes_seen", "cgroup_used_peak", "example",
           "free", "files_free", "shm_free"}
TOKEN = "hf_" + "A1b2C3d4E5f6G7h8I9j0" * 2


def job(folder):
    """A process that reads a file in a home folder and has secrets."""
    data = folder / "home/alice/train"
    data.mkdir(parents=True)
    (data / "a.bin").write_bytes(b"x" * 4096)
    env = gf.environment(HF_TOKEN=TOKEN, SECRET_THING="very-secret-value", NCCL_DEBUG="INFO",
                         RANK="0", AZURE_STORAGE_KEY="aaaabbbbccccdddd")
    code = ("import sys, time; f = open(sys.argv[2]); sys.stdout.write('up'); sys.stdout.flush(); "
            "time.sleep(1000)")
    child = subprocess.Popen([gf.PYTHON, "-c", code, "--data", str(data / "a.bin"), "--workers", "2",
                              "--token", TOKEN, "--url", "https://u:hunter22@10.11.12.13/x"],
                             env=env, stdout=subprocess.PIPE, start_new_session=True)
    assert child.stdout.read(2) == b"up"
    return child


def facts(document):
    return {(f["kind"], f["subject"], f["name"]): f["value"] for f in document["facts"]
            if f["kind"] != "tool" and f["name"] not in SAMPLED}


def unpack(archive, to):
    with tarfile.open(archive) as tar:
        tar.extractall(to)
    return to


def test_a_dump_on_the_standard_output(tmp_path):
    """Alone: what is found goes to the standard error."""
    r = gf.gpufeed("check", "--interval", "100ms", "--dump", "-", cwd=tmp_path)
    assert r.code in (0, 1) and r.err, r
    (tmp_path / "x.tar").write_bytes(r.raw_out)
    assert list(unpack(tmp_path / "x.tar", tmp_path / "x").rglob("proc")) and not (tmp_path / "-").exists()


def test_round_trip(tmp_path):
    child = job(tmp_path)
    try:
        live = gf.gpufeed("check", "-p", child.pid, "--interval", "300ms", "--json", "--verbose",
                          "--dump", tmp_path / "x.tar")
    finally:
        gf.kill_group(child)
        child.communicate()
    assert live.code in (0, 1), live
    again = gf.gpufeed("check", "--root", unpack(tmp_path / "x.tar", tmp_path / "x"), "--json",
                       "--verbose")
    before, after = gf.parse(live.out), gf.parse(again.out)
    assert [f["id"] for f in before["findings"]] == [f["id"] for f in after["findings"]]
    assert before["rules"] == after["rules"]
    assert abs(before["interval_seconds"] - after["interval_seconds"]) < 1e-6
    was, now = facts(before), facts(after)
    assert {k for k in was if k[0] not in ("mount", "data")} == \
        {k for k in now if k[0] not in ("mount", "data")}
    for key, value in was.items():
        if not isinstance(value, str) and key in now:
            assert abs(now[key] - value) <= 1e-6 * abs(value), (key, value, now[key])
    assert was["job", "", "workers_asked"] == 2
    assert was["env", "NCCL_DEBUG", "value"] == now["env", "NCCL_DEBUG", "value"] == "INFO"


def test_no_secrets_and_no_names(tmp_path):
    child = job(tmp_path)
    try:
        gf.gpufeed("check", "-p", child.pid, "--interval", "0", "--dump", tmp_path / "x.tar")
        everybody = {line.split(":")[0] for line in open("/etc/passwd", encoding="utf-8")
                     if int(line.split(":")[2]) >= 1000 and "nobody" not in line}
    finally:
        gf.kill_group(child)
        child.communicate()
    raw = (tmp_path / "x.tar").read_bytes()
    for secret in (TOKEN, "very-secret-value", "SECRET_THING", "HF_TOKEN", "aaaabbbbccccdddd",
                   "hunter22", "10.11.12.13", "/home/alice"):
        assert secret.encode() not in raw, secret
    host = socket.gethostname()
    if len(host) > 3:
        assert host.encode() not in raw
    for name in everybody:
        assert f"/home/{name}".encode() not in raw
    with tarfile.open(tmp_path / "x.tar") as tar:
        names = tar.getnames()
    assert f"proc/{child.pid}/cmdline" in names
    assert not [n for n in names if n.startswith("/") or ".." in n.split("/")]
    others = {n.split("/")[1] for n in names if n.startswith("proc/") and n.split("/")[1].isdigit()
              and n.endswith("/cmdline")}
    assert str(os.getpid()) not in others


def test_a_dump_of_a_dump_is_the_same(tmp_path):
    gf.gpufeed("check", "--interval", "100ms", "--dump", tmp_path / "a.tar")
    a = unpack(tmp_path / "a.tar", tmp_path / "a")
    first = gf.gpufeed("check", "--root", a, "--json", "--verbose", "--dump", tmp_path / "b.tar")
    second = gf.gpufeed("check", "--root", unpack(tmp_path / "b.tar", tmp_path / "b"), "--json",
                        "--verbose")
    x, y = gf.parse(first.out), gf.parse(second.out)
    assert x["findings"] == y["findings"] and x["rules"] == y["rules"]


def test_links_do_not_lead_out(tmp_path):
    """A root from elsewhere cannot show what lies on this machine."""
    root = tmp_path / "m"
    (root / "proc").mkdir(parents=True)
    (tmp_path / "outside").write_text("MemTotal: 1 kB\n")
    (root / "proc/meminfo").symlink_to(tmp_path / "outside")
    (root / "sys").symlink_to("/sys")
    (root / "etc").symlink_to("../../../../../../../../etc")
    document = gf.parse(gf.gpufeed("check", "--root", root, "--json", "--verbose").out)
    assert [f for f in document.get("facts", []) if f["kind"] not in ("tool",)] == []


def test_a_file_that_cannot_be_written(tmp_path):
    result = gf.gpufeed("check", "--interval", "0", "--dump", tmp_path / "no/such/folder.tar")
    assert result.code == 2 and "folder.tar" in result.err, result
