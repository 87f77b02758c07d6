# SPDX-License-Identifier: MIT
"""gpufeed check --fix: the plan, its application to real knobs, and the way back."""
import os
import pathlib
import resource
import shutil
import signal
import subprocess

import pytest

import gf

ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
SLEEPER = "import sys, time; sys.stdout.write('up'); sys.stdout.flush(); time.sleep(60)"


def rule(folder, name, apply):
    """A rule that always fires and asks for `apply`."""
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.sql").write_text(
        f"-- id: {name}\n-- for: check\n-- severity: info\n-- title: T\n-- fix: F\n"
        f"-- needs: memory/total\n-- apply: {apply}\n"
        "SELECT number AS \"total [bytes]\" FROM fact WHERE name = 'total';\n")
    return folder


def machine(root):
    files = {"proc/meminfo": "MemTotal: 1000000 kB\nMemAvailable: 900000 kB\n",
             "proc/self/mountinfo": "40 22 0:45 / /mnt/share rw,noatime - nfs4 10.0.0.4:/data "
                                    "rw,vers=4.1,rsize=1048576,nconnect=16\n",
             "sys/class/bdi/0:45/read_ahead_kb": "128\n"}
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def steps(result, code=0):
    assert result.code == code, result
    document = gf.parse(result.out)
    gf.validator("fix").validate(document)
    return document["steps"]


def sleeper(*argv, limits=None):
    """A process with these arguments that sleeps."""
    child = subprocess.Popen([gf.PYTHON, "-c", SLEEPER, *argv], stdout=subprocess.PIPE,
                             start_new_session=True,
                             preexec_fn=lambda: limits and resource.setrlimit(*limits))
    assert child.stdout.read(2) == b"up"
    return child


def end(child):
    gf.kill_group(child)
    child.wait()


def test_the_plan_for_another_machine(tmp_path):
    root = machine(tmp_path / "m")
    args = ("check", "--root", root, "--data", "/mnt/share/train", "--fix")
    result = gf.gpufeed(*args)
    assert result.code == 1, result
    assert "planned  sysfs /sys/class/bdi/0:45/read_ahead_kb: 128 -> 15380  [nfs-read-ahead-small]" \
        in result.out
    assert (root / "sys/class/bdi/0:45/read_ahead_kb").read_text() == "128\n"
    step, = steps(gf.gpufeed(*args, "--json"), 1)
    assert step["state"] == "planned" and step["finding"] == "nfs-read-ahead-small"


def test_nothing_to_fix(tmp_path):
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemTotal: 1000000 kB\n")
    result = gf.gpufeed("check", "--root", tmp_path, "--fix")
    assert result.code == 0 and "nothing that --fix could change" in result.out, result


def test_what_does_not_go_together(tmp_path):
    for args in (["--apply"], ["--fix", "--apply", "--root", tmp_path], ["--undo", "--fix"],
                 ["--undo", "-p", "1"], ["--scratch", "/dev/x:/y"], ["--fix", "--journal", "x"],
                 ["-p", "1", "--cgroup", "x"], ["--cgroup", "no/such/group"],
                 ["--cgroup", "../../x"], ["--data", "relative"],
                 ["--undo", "--journal", tmp_path / "none"]):
        result = gf.gpufeed("check", *args)
        assert result.code == 2 and result.out == "" and result.err, result


def test_a_rule_cannot_ask_for_more(tmp_path):
    rules = rule(tmp_path / "r", "evil", "sysfs /etc/passwd x")
    result = gf.gpufeed("check", "--interval", "0", "--rules", rules, "--fix")
    assert result.code == 2 and "/etc/passwd" in result.err, result


def test_the_limit_of_a_job_and_back(tmp_path):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    want = min(hard, 4096) if hard > 0 else 4096
    job = sleeper("--workers", "16", limits=(resource.RLIMIT_NOFILE, (256, want)))
    try:
        journal = tmp_path / "state" / "journal"
        args = ("check", "-p", job.pid, "--interval", "100ms", "--json", "--journal", journal,
                "--fix", "--apply")
        done = steps(gf.gpufeed(*args))
        mine, = [s for s in done if s["finding"] == "nofile-low"]
        assert mine["state"] == "done" and mine["before"] == f"256 {want}"
        assert resource.prlimit(job.pid, resource.RLIMIT_NOFILE) == (want, want)
        assert journal.stat().st_mode & 0o077 == 0
        undone = steps(gf.gpufeed("check", "--undo", "--journal", journal, "--json"))
        assert "undone" in [s["state"] for s in undone]
        assert resource.prlimit(job.pid, resource.RLIMIT_NOFILE) == (256, want)
        assert steps(gf.gpufeed("check", "--undo", "--journal", journal, "--json")) == []
    finally:
        end(job)


def test_a_limit_that_was_changed_since_stays(tmp_path):
    job = sleeper("--workers", "16", limits=(resource.RLIMIT_NOFILE, (256, 1024)))
    try:
        journal = tmp_path / "journal"
        gf.gpufeed("check", "-p", job.pid, "--interval", "0", "--journal", journal, "--fix", "--apply")
        resource.prlimit(job.pid, resource.RLIMIT_NOFILE, (512, 1024))
        result = gf.gpufeed("check", "--undo", "--journal", journal)
        assert "left" in result.out and "somebody has set it to 512 1024" in result.out, result
        assert resource.prlimit(job.pid, resource.RLIMIT_NOFILE) == (512, 1024)
    finally:
        end(job)


@ROOT_ONLY
@pytest.mark.skipif(not shutil.which("unshare"), reason="no unshare")
def test_an_interface_in_a_network_of_its_own(tmp_path):
    rules = rule(tmp_path / "r", "lo-down", "link lo up")
    journal = tmp_path / "journal"
    script = f"""
        set -e
        [ $(cat /proc/net/if_inet6 2>/dev/null | wc -l) = 0 ]
        {gf.GPUFEED} check --interval 0 --rules {rules} --fix --apply --journal {journal} >{tmp_path}/a
        ping -c1 -W1 127.0.0.1 >/dev/null 2>&1 && echo up >{tmp_path}/up || true
        {gf.GPUFEED} check --undo --journal {journal} >{tmp_path}/b"""
    result = gf.run("unshare", "-n", "sh", "-c", script)
    if "unshare" in result.err:
        pytest.skip(result.err)
    assert result.code == 0, result
    assert "done     link lo: down -> up" in (tmp_path / "a").read_text()
    assert "undone   link lo: up -> down" in (tmp_path / "b").read_text()


@pytest.fixture(name="disk")
def loop_disk(tmp_path):
    """A disk of 64 MiB zeros."""
    image = tmp_path / "image"
    with open(image, "wb") as f:
        f.truncate(64 << 20)
    done = subprocess.run(["losetup", "--show", "-f", image], capture_output=True, text=True,
                          check=False)
    if done.returncode:
        pytest.skip(f"no loop device: {done.stderr}")
    device = done.stdout.strip()
    yield device
    subprocess.run(["umount", tmp_path / "scratch"], check=False, stderr=subprocess.DEVNULL)
    subprocess.run(["losetup", "-d", device], check=False)


def scratch(disk, tmp_path, *more):
    return gf.gpufeed("check", "--interval", "0", "--json", "--fix", *more, "--scratch",
                      f"{disk}:{tmp_path}/scratch")


def mine(result, code=0):
    return [s for s in steps(result, code) if s["knob"] == "scratch"][0]


@ROOT_ONLY
def test_an_empty_disk_becomes_scratch(tmp_path, disk):
    journal = tmp_path / "journal"
    planned = gf.parse(scratch(disk, tmp_path).out)["steps"]
    assert [s["state"] for s in planned if s["knob"] == "scratch"] == ["planned"]
    step = mine(scratch(disk, tmp_path, "--apply", "--journal", journal))
    assert step["state"] == "done", step
    assert os.path.ismount(tmp_path / "scratch")
    (tmp_path / "scratch/data").write_text("kept")
    result = gf.gpufeed("check", "--undo", "--journal", journal, "--json")
    assert [s["state"] for s in steps(result)] == ["undone"]
    assert not os.path.ismount(tmp_path / "scratch")
    # what was written there is still there, so it is no empty disk any more
    step = mine(scratch(disk, tmp_path, "--apply", "--journal", journal), 1)
    assert step["state"] == "failed" and "holds data" in step["why"], step
    subprocess.run(["mount", disk, tmp_path / "scratch"], check=True)
    assert (tmp_path / "scratch/data").read_text() == "kept"


@ROOT_ONLY
@pytest.mark.parametrize("at", [0, 40 << 20, (64 << 20) - 1])
def test_a_disk_with_anything_on_it_is_left_alone(tmp_path, disk, at):
    at = at // 65536 * 65536 if at == 40 << 20 else at
    with open(disk, "r+b") as f:
        f.seek(at)
        f.write(b"x")
    before = pathlib.Path(disk).read_bytes()
    step = mine(scratch(disk, tmp_path, "--apply", "--journal", tmp_path / "journal"), 1)
    assert step["state"] == "failed" and "not empty" in step["why"], step
    assert pathlib.Path(disk).read_bytes() == before


@ROOT_ONLY
def test_a_disk_in_use_is_left_alone(tmp_path, disk):
    fd = os.open(disk, os.O_RDONLY | os.O_EXCL)
    try:
        step = mine(scratch(disk, tmp_path, "--apply", "--journal", tmp_path / "journal"), 1)
        assert step["state"] == "failed" and "in use" in step["why"], step
    finally:
        os.close(fd)


def test_killed_while_it_applies(tmp_path):
    """Whenever it dies, --undo finds the way back."""
    for wait in (0, 0.002, 0.01, 0.05, 0.12, 0.2):
        job = sleeper("--workers", "16", limits=(resource.RLIMIT_NOFILE, (256, 1024)))
        journal = tmp_path / f"journal{wait}"
        try:
            child = gf.start(gf.GPUFEED, "check", "-p", job.pid, "--interval", "0", "--journal",
                             journal, "--fix", "--apply")
            try:
                child.wait(wait)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
            child.communicate()
            result = gf.gpufeed("check", "--undo", "--journal", journal)
            assert result.code == 0 or "cannot open the journal" in result.err, result
            assert resource.prlimit(job.pid, resource.RLIMIT_NOFILE) == (256, 1024)
        finally:
            end(job)


def test_hostile_names(tmp_path):
    """What a mount is called cannot write to the terminal."""
    root = machine(tmp_path / "m")
    (root / "proc/self/mountinfo").write_text(
        "40 22 8:1 / /mnt/\033[31mred rw - ext4 /dev/sda rw\n")
    result = gf.gpufeed("check", "--root", root, "--data", "/mnt/\033[31mred/x", "--fix")
    assert "atime" in result.out and "\033" not in result.out, result
