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
SLEEPER = "import sys, time; sys.stdout.write('up'); sys.stdout.flush(); time.sleep(1000)"


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


def test_what_is_wrong_is_told(tmp_path):
    """A device without /dev, a folder that is no path; nothing to take back; a size nobody knows."""
    for text in ("nvme0n1:/mnt/x", "/dev/x:mnt", "/dev/x", "x", ""):
        result = gf.gpufeed("check", "--interval", "0", "--fix", "--scratch", text)
        assert result.code == 2 and "wants /dev/DEVICE" in gf.one_line(result.err), result
    result = gf.gpufeed("check", "--undo", "--journal", tmp_path / "none")
    assert result.code == 2 and "there is no journal" in gf.one_line(result.err), result
    result = gf.gpufeed("check", "--interval", "0", "--vm-size", "Standard_ND96isr_H100")
    assert result.code in (0, 1) and "is not known" in gf.one_line(result.err), result
    result = gf.gpufeed("check", "--interval", "0", "--vm-size", "Standard_ND96isr_H100_v5")
    assert result.err == "", result


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


def full_after(size):
    """Files can grow to that size and no more, as on a disk that is full."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def on_a_full_disk(size, *argv):
    child = subprocess.run([gf.GPUFEED, *map(str, argv)], capture_output=True, text=True, check=False,
                           env=gf.environment(), preexec_fn=lambda: full_after(size))
    return child.returncode, child.stdout, child.stderr


def test_what_was_done_is_told_where_it_stops(tmp_path):
    """The journal is full after the first step: what was done, what was not, and the way back; then the same of --undo."""
    rules = rule(tmp_path / "r", "first", "limit nofile hard")
    rule(rules, "second", "limit memlock hard")
    job = sleeper(limits=(resource.RLIMIT_NOFILE, (256, 1024)))
    try:
        resource.prlimit(job.pid, resource.RLIMIT_MEMLOCK, (65536, 131072))
        whole, journal = tmp_path / "whole", tmp_path / "journal"
        args = ("check", "-p", job.pid, "--interval", "0", "--rules", rules, "--fix", "--apply")
        assert gf.gpufeed(*args, "--journal", whole).code == 0
        assert gf.gpufeed("check", "--undo", "--journal", whole).code == 0
        lines = whole.read_text().splitlines(keepends=True)
        some = sum(len(line.encode()) for line in lines[:3]) + 20
        code, out, err = on_a_full_disk(some, *args, "--journal", journal)
        assert code == 2 and "cannot write the journal" in err, (out, err)
        assert "done     limit" in out and "nofile: 256 1024 -> 1024 1024" in out, out
        assert "planned  limit" in out and "memlock: 65536 131072 -> 131072 131072" in out, out
        assert "has not been done" in out, out
        assert f"gpufeed check --undo --journal {journal} takes back" in out, out
        assert resource.prlimit(job.pid, resource.RLIMIT_NOFILE) == (1024, 1024)
        assert resource.prlimit(job.pid, resource.RLIMIT_MEMLOCK) == (65536, 131072)

        assert gf.gpufeed(*args, "--journal", journal).code == 0
        code, out, err = on_a_full_disk(journal.stat().st_size + 20, "check", "--undo", "--journal", journal)
        assert code == 2 and "cannot write the journal" in err, (out, err)
        assert "undone   limit" in out and "memlock: 131072 131072 -> 65536 131072" in out, out
        assert "done     limit" in out and "has not been taken back" in out, out
        assert resource.prlimit(job.pid, resource.RLIMIT_NOFILE) == (1024, 1024)
        result = gf.gpufeed("check", "--undo", "--journal", journal, "--json")
        assert not gf.parse(result.out)["stopped"]
        assert [s["state"] for s in steps(result)] == ["undone", "undone"]
        assert resource.prlimit(job.pid, resource.RLIMIT_NOFILE) == (256, 1024)
        assert resource.prlimit(job.pid, resource.RLIMIT_MEMLOCK) == (65536, 131072)
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


def there_and_back(folder, apply, *, before="", shown="", around=("unshare", "-m")):
    """Applies one knob for real and undoes it, in namespaces of its own; what `shown` prints, before, after and at the end."""
    rules = rule(folder / "r", "one", apply)
    journal = folder / "journal"
    script = f"""
        set -e
        exec 2>{folder}/errors
        {before}
        {{ {shown}; }} >{folder}/before
        {gf.GPUFEED} check --interval 0 --rules {rules} --fix --apply --json --journal {journal} >{folder}/apply
        {{ {shown}; }} >{folder}/after
        {gf.GPUFEED} check --undo --json --journal {journal} >{folder}/undo
        {{ {shown}; }} >{folder}/end"""
    result = gf.run(*around, "sh", "-c", script)
    if "unshare" in result.err or "Operation not permitted" in (folder / "errors").read_text():
        pytest.skip(result.err or (folder / "errors").read_text())
    assert result.code == 0, (result, (folder / "errors").read_text())
    states = []
    for name in ("apply", "undo"):
        document = gf.parse((folder / name).read_text())
        gf.validator("fix").validate(document)
        states.append([s["state"] for s in document["steps"] if s["knob"] == apply.split()[0]])
    assert states == [["done"], ["undone"]], states
    return [(folder / name).read_text().strip() for name in ("before", "after", "end")]


@ROOT_ONLY
@pytest.mark.skipif(not shutil.which("unshare"), reason="no unshare")
def test_a_link_for_real(tmp_path):
    seen = there_and_back(tmp_path, "link gf0 up", before="ip link add gf0 type veth peer name gf1 || ip link add gf0 type dummy",
                          shown="ip -o link show gf0 | grep -c '[<,]UP[,>]' || true", around=("unshare", "-n"))
    assert seen == ["0", "1", "0"]


@ROOT_ONLY
@pytest.mark.skipif(not shutil.which("unshare"), reason="no unshare")
@pytest.mark.parametrize("was", ["strictatime", "relatime"])
def test_atime_for_real(tmp_path, was):
    (tmp_path / "m").mkdir()
    seen = there_and_back(tmp_path, f"atime {tmp_path}/m noatime",
                          before=f"mount -t tmpfs -o {was},nodev gf {tmp_path}/m",
                          shown=f"grep ' {tmp_path}/m ' /proc/self/mountinfo | cut -d' ' -f6")
    # no word is strictatime; what else the mount was told stays
    assert seen[0] == seen[2] and "noatime" in seen[1] and all("nodev" in text for text in seen)
    assert ("relatime" in seen[0]) == (was == "relatime")


@ROOT_ONLY
@pytest.mark.skipif(not shutil.which("unshare"), reason="no unshare")
@pytest.mark.parametrize("file, value", [("queue/read_ahead_kb", "4096"), ("queue/scheduler", "mq-deadline"),
                                         ("bdi/read_ahead_kb", "2048")])
def test_files_of_sys_for_real(tmp_path, disk, file, value):
    name = os.path.basename(disk)
    folder = f"/sys/class/bdi/{pathlib.Path(f'/sys/block/{name}/dev').read_text().strip()}"
    path = file.replace("bdi", folder, 1) if file.startswith("bdi") else f"/sys/block/{name}/{file}"
    if not os.path.exists(path) or ("scheduler" in file and value not in pathlib.Path(path).read_text()):
        pytest.skip(f"no {value} in {path}")
    seen = there_and_back(tmp_path, f"sysfs {path} {value}", shown=f"cat {path}")
    assert seen[0] == seen[2] != seen[1] and value in seen[1]
    assert "[" not in seen[1] or f"[{value}]" in seen[1]


MODPROBE = """#!/bin/sh
# In place of the real one: loads into a /sys/module that is a folder of this test.
[ "$1" = -r ] && exec rmdir "/sys/module/$2"
exec mkdir "/sys/module/$1"
"""
MDADM = """#!/bin/sh
# In place of the real one: the array is a disk that the test has set aside.
echo "$*" >>{folder}/mdadm
case "$1" in
--create) mkdir -p /dev/md && ln -s {array} "$2" ;;
--stop) rm "$2" ;;
esac
"""


def programs(folder, **texts):
    """Shell lines that put these programs before those of /usr/sbin."""
    at = folder / "bin"
    at.mkdir()
    for name, text in texts.items():
        (at / name).write_text(text)
        (at / name).chmod(0o755)
    return f"mount -t overlay -o lowerdir={at}:/usr/sbin gf /usr/sbin"


@ROOT_ONLY
@pytest.mark.skipif(not shutil.which("unshare"), reason="no unshare")
def test_a_module(tmp_path):
    seen = there_and_back(tmp_path, "module ib_umad loaded",
                          before=programs(tmp_path, modprobe=MODPROBE) + "; mount -t tmpfs gf /sys/module",
                          shown="ls /sys/module")
    assert seen == ["", "ib_umad", ""]


@ROOT_ONLY
def test_a_module_that_does_not_load(tmp_path):
    rules = rule(tmp_path / "r", "one", "module gdrdrv loaded")
    if os.path.exists("/sys/module/gdrdrv") or os.path.exists(f"/lib/modules/{os.uname().release}"):
        pytest.skip("modules can be loaded here")
    journal = tmp_path / "journal"
    step, = [s for s in steps(gf.gpufeed("check", "--interval", "0", "--rules", rules, "--fix", "--apply", "--json",
                                         "--journal", journal), 1) if s["knob"] == "module"]
    assert step["state"] == "failed" and "modprobe" in step["why"], step
    assert steps(gf.gpufeed("check", "--undo", "--journal", journal, "--json")) == []


def make_disk(image):
    """A disk of 64 MiB zeros."""
    with open(image, "wb") as f:
        f.truncate(64 << 20)
    done = subprocess.run(["losetup", "--show", "-f", image], capture_output=True, text=True,
                          check=False)
    if done.returncode:
        pytest.skip(f"no loop device: {done.stderr}")
    return done.stdout.strip()


@pytest.fixture(name="disk")
def loop_disk(tmp_path):
    device = make_disk(tmp_path / "image")
    yield device
    subprocess.run(["umount", tmp_path / "scratch"], check=False, stderr=subprocess.DEVNULL)
    subprocess.run(["losetup", "-d", device], check=False)


@pytest.fixture(name="more_disks")
def loop_disks(tmp_path):
    devices = []
    try:
        for n in range(2):
            devices.append(make_disk(tmp_path / f"image{n}"))
        yield devices
    finally:
        for device in devices:
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
@pytest.mark.skipif(not shutil.which("unshare"), reason="no unshare")
def test_several_disks_become_one(tmp_path, disk, more_disks):
    """The RAID itself is a stand-in; the file system on it, its mount and the way back are real."""
    first, array = more_disks
    journal, at = tmp_path / "journal", tmp_path / "scratch"
    script = f"""
        set -e
        {programs(tmp_path, mdadm=MDADM.format(folder=tmp_path, array=array))}
        mkdir -p /dev/md && mount -t tmpfs gf /dev/md
        {gf.GPUFEED} check --interval 0 --fix --apply --scratch {disk},{first}:{at} --journal {journal} >{tmp_path}/a
        grep ' {at} ' /proc/self/mounts >{tmp_path}/m
        {gf.GPUFEED} check --undo --journal {journal} >{tmp_path}/b
        ! grep -q ' {at} ' /proc/self/mounts && ! ls /dev/md | grep -q ."""
    made = os.path.isdir("/dev/md")
    result = gf.run("unshare", "-m", "sh", "-c", script)
    if not made and os.path.isdir("/dev/md"):
        os.rmdir("/dev/md")
    assert result.code == 0, (result, (tmp_path / "a").read_text())
    assert "done     scratch" in (tmp_path / "a").read_text()
    assert (tmp_path / "m").read_text().startswith("/dev/md/gpufeed ") and "noatime" in (tmp_path / "m").read_text()
    assert "undone   scratch" in (tmp_path / "b").read_text()
    assert (tmp_path / "mdadm").read_text().splitlines() == [
        f"--create /dev/md/gpufeed --run --level=0 --raid-devices=2 --homehost=any {disk} {first}",
        "--stop /dev/md/gpufeed"]


@ROOT_ONLY
@pytest.mark.skipif(not shutil.which("unshare"), reason="no unshare")
def test_killed_when_the_disks_are_one(tmp_path, disk, more_disks):
    """Between the RAID and its mount: --undo stops the RAID."""
    first, array = more_disks
    journal = tmp_path / "journal"
    mdadm = MDADM.format(folder=tmp_path, array=array).replace('"$2" ;;', '"$2"; kill -9 $PPID ;;', 1)
    script = f"""
        {programs(tmp_path, mdadm=mdadm)}
        mkdir -p /dev/md && mount -t tmpfs gf /dev/md
        {gf.GPUFEED} check --interval 0 --fix --apply --scratch {disk},{first}:{tmp_path}/scratch --journal {journal}
        ls /dev/md >{tmp_path}/between
        {gf.GPUFEED} check --undo --journal {journal} >{tmp_path}/b
        ls /dev/md >{tmp_path}/end"""
    made = os.path.isdir("/dev/md")
    result = gf.run("unshare", "-m", "sh", "-c", script)
    if not made and os.path.isdir("/dev/md"):
        os.rmdir("/dev/md")
    assert (tmp_path / "between").read_text() == "gpufeed\n", result
    assert "undone   scratch" in (tmp_path / "b").read_text(), (tmp_path / "b").read_text()
    assert (tmp_path / "end").read_text() == ""


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
            assert result.code == 0 or "there is no journal" in result.err, result
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
