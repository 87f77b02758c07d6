# SPDX-License-Identifier: MIT
"""gpufeed check --root: archives, folders around a machine, copies of /sys/class/infiniband; what is none."""
import io
import os
import pathlib
import signal
import subprocess
import tarfile

import pytest

import gf

CASE = gf.SOURCE.parent / "shared/cases/machines/infiniband_h100_sysfs.tar.xz"
MEMINFO = "MemTotal: 1000000 kB\nMemAvailable: 20000 kB\n"


@pytest.fixture(name="tmp")
def temporary_files(tmp_path):
    """A folder for temporary files of its own; nothing may stay in it."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    yield gf.environment(TMPDIR=folder)
    assert not list(folder.iterdir())


def add(tar, name, text="", **more):
    data = text if isinstance(text, bytes) else text.encode()
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for key, value in more.items():
        setattr(info, key, value)
    tar.addfile(info, io.BytesIO(data) if info.isreg() else None)


def archive(path, files, mode="w", form=tarfile.PAX_FORMAT):
    with tarfile.open(path, mode, format=form) as tar:
        for name, text in files.items():
            add(tar, name, text)
    return path


def found(result):
    assert result.code in (0, 1), result
    return {f["id"] for f in gf.parse(result.out)["findings"]}


def device(root, name, state="4: ACTIVE"):
    """A port as /sys/class/infiniband shows it."""
    files = {"fw_ver": "28.39.1002\n", "ports/1/state": f"{state}\n", "ports/1/phys_state": "5: LinkUp\n",
             "ports/1/link_layer": "InfiniBand\n", "ports/1/rate": "400 Gb/sec (4X NDR)\n"}
    return {f"{root}{name}/{file}": text for file, text in files.items()}


@pytest.mark.parametrize("mode", ["w", "w:gz"])
@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
@pytest.mark.parametrize("around", ["", "./", "host-17/", "a/b/"])
def test_an_archive_is_read(tmp_path, tmp, mode, form, around):
    deep = "sys/devices/" + "/".join(["pci0000:00"] * 12) + "/net/eth0/speed"  # more than 100 bytes
    tar = archive(tmp_path / "x", {around + "proc/meminfo": MEMINFO, around + deep: "1\n"}, mode, form)
    result = gf.gpufeed("check", "--root", tar, "--json", env=tmp)
    assert found(result) == {"memory-nearly-full"}, result
    assert str(tar) in gf.parse(result.out)["what"]


def test_what_dump_writes_is_read_as_it_is(tmp_path, tmp):
    assert gf.gpufeed("check", "--interval", "50ms", "--dump", tmp_path / "x.tar").code in (0, 1)
    folder = tmp_path / "x"
    with tarfile.open(tmp_path / "x.tar") as tar:
        tar.extractall(folder)
    packed = gf.parse(gf.gpufeed("check", "--root", tmp_path / "x.tar", "--json", "--verbose", env=tmp).out)
    plain = gf.parse(gf.gpufeed("check", "--root", folder, "--json", "--verbose", env=tmp).out)
    for document in (packed, plain):
        document["facts"] = [f for f in document["facts"] if f["kind"] != "tool"]
        document.pop("what")
    assert packed == plain and len(packed["facts"]) > 20


def test_folders_around_a_machine_are_passed(tmp_path, tmp):
    inner = tmp_path / "dump/host/proc"
    inner.mkdir(parents=True)
    (inner / "meminfo").write_text(MEMINFO)
    result = gf.gpufeed("check", "--root", tmp_path / "dump", "--json", env=tmp)
    assert found(result) == {"memory-nearly-full"}, result


@pytest.mark.parametrize("around", ["", "sys-class-infiniband/"])
def test_a_copy_of_infiniband_alone(tmp_path, tmp, around):
    files = device(around, "mlx5_0") | device(around, "mlx5_1", "2: INIT")
    tar = archive(tmp_path / "x.tar", files)
    result = gf.gpufeed("check", "--root", tar, "--json", env=tmp)
    assert found(result) == {"ib-no-subnet-manager"}, result
    with tarfile.open(tar) as t:
        t.extractall(tmp_path / "x")
    result = gf.gpufeed("check", "--root", tmp_path / "x", "--json", env=tmp)
    assert found(result) == {"ib-no-subnet-manager"}, result


def test_the_h100_node(tmp_path, tmp):
    if not CASE.exists():
        pytest.skip(f"no {CASE}")
    result = gf.gpufeed("check", "--root", CASE, env=tmp)
    assert result.code == 2 and "compressed by xz" in result.err and "xz -dk" in result.err, result
    with open(tmp_path / "x.tar", "wb") as out:
        subprocess.run(["xz", "-dc", CASE], stdout=out, check=True)
    result = gf.gpufeed("check", "--root", tmp_path / "x.tar", env=tmp)
    assert result.code == 0 and "nothing wrong was found" in " ".join(result.out.split()), result


def test_what_is_no_machine(tmp_path, tmp):
    (tmp_path / "text").write_text("proc sys\n" * 100)
    (tmp_path / "empty").write_text("")
    (tmp_path / "folder/a").mkdir(parents=True)
    (tmp_path / "folder/b").mkdir()
    os.mkfifo(tmp_path / "pipe")
    archive(tmp_path / "no.tar", {"some/text": "x", "other/text": "y"})
    whole = archive(tmp_path / "x.tar", {"proc/meminfo": MEMINFO}).read_bytes()
    (tmp_path / "cut.tar").write_bytes(whole[:700])
    (tmp_path / "cut-end.tar").write_bytes(whole[:1024])
    (tmp_path / "bad.tar").write_bytes(whole[:512 + 512] + b"x" * 512)
    packed = archive(tmp_path / "x.tar.gz", {"proc/meminfo": os.urandom(9000).hex()}, "w:gz").read_bytes()
    (tmp_path / "cut.tar.gz").write_bytes(packed[:2000])
    for name, says in (("text", "neither a folder nor a tar archive"), ("empty", "neither a folder"),
                       ("folder", "proc/meminfo"), ("no.tar", "neither proc nor sys"),
                       ("none", "--root: cannot read"), ("pipe", "no regular file"), ("cut.tar", "cut off"),
                       ("cut-end.tar", "cut off"), ("bad.tar", "damaged"), ("cut.tar.gz", "cut.tar.gz")):
        result = gf.gpufeed("check", "--root", tmp_path / name, env=tmp)
        assert result.code == 2 and result.out == "" and says in result.err, (name, result)
        assert gf.one_line(result.err), result


def test_an_archive_writes_nowhere_else(tmp_path, tmp):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("mine")
    link = {"type": tarfile.SYMTYPE}
    hostile = {
        "up": [("../../../outside/made", "x", {})],
        "far": [("proc/../../../outside/made", "x", {})],
        "through": [("proc/way", "", link | {"linkname": str(outside)}), ("proc/way/made", "x", {})],
        "over": [("proc/way", "", link | {"linkname": str(outside / "kept")}), ("proc/way", "x", {})],
        "hard": [("proc/name", "", {"type": tarfile.LNKTYPE, "linkname": "../../../outside/kept"}),
                 ("proc/name", "x", {})],
        "device": [("proc/zero", "", {"type": tarfile.CHRTYPE, "devmajor": 1, "devminor": 5})],
        "absolute": [(str(outside / "made"), "x", {})],
    }
    for name, entries in hostile.items():
        with tarfile.open(tmp_path / "x.tar", "w") as tar:
            for entry, text, more in entries:
                add(tar, entry, text, **more)
            add(tar, "proc/meminfo", MEMINFO)
        result = gf.gpufeed("check", "--root", tmp_path / "x.tar", env=tmp)
        assert result.code in (0, 1, 2), (name, result)
        assert [p.name for p in outside.iterdir()] == ["kept"], name
        assert (outside / "kept").read_text() == "mine", name


def test_a_bomb(tmp_path, tmp):
    info = tarfile.TarInfo("proc/meminfo")
    info.size = 600 << 20
    (tmp_path / "x.tar").write_bytes(info.tobuf() + b"\0" * 4096)
    result = gf.gpufeed("check", "--root", tmp_path / "x.tar", env=tmp)
    assert result.code == 2 and "512 MiB" in result.err, result


def test_ended_while_it_reads(tmp_path):
    """No temporary file stays, whenever it is told to end."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    tar = archive(tmp_path / "x.tar.gz", {f"proc/{n}/stat": "x" * 100 for n in range(1, 300)}, "w:gz")
    for sent in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        child = gf.start(gf.GPUFEED, "check", "--root", tar, env=gf.environment(TMPDIR=folder))
        gf.wait_for(lambda: child.poll() is not None or list(folder.iterdir()))  # pylint: disable=W0640
        if child.poll() is None:
            os.kill(child.pid, sent)
        child.communicate()
        assert not list(folder.iterdir()), sent
    assert pathlib.Path(tar).exists()
