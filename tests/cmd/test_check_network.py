# SPDX-License-Identifier: MIT
"""gpufeed check on the files of a real node with eight InfiniBand ports (../shared/cases/machines)."""
import shutil
import tarfile

import pytest

import gf

DUMP = gf.SOURCE.parent / "shared" / "cases" / "machines" / "infiniband_h100_sysfs.tar.xz"
needs_dump = pytest.mark.skipif(not DUMP.exists(), reason="../shared/cases is not here")


@pytest.fixture
def node(tmp_path):
    with tarfile.open(DUMP) as tar:
        tar.extractall(tmp_path / "tar", filter="data") if hasattr(tarfile, "data_filter") \
            else tar.extractall(tmp_path / "tar")
    (tmp_path / "root/sys/class").mkdir(parents=True)
    next((tmp_path / "tar").iterdir()).rename(tmp_path / "root/sys/class/infiniband")
    return tmp_path / "root"


def check(root, *more):
    result = gf.gpufeed("check", "--root", root, "--json", "--verbose", *more)
    document = gf.parse(result.out)
    gf.validator("check").validate(document)
    return result, document


def facts(document, kind):
    return {(f["subject"], f["name"]): f["value"] for f in document["facts"]
            if f["kind"] == kind}


def two_looks(root):
    """The same files again, ten seconds later."""
    shutil.copytree(root / "sys", root / ".gpufeed/later/sys")
    (root / ".gpufeed/dump").write_text("interval_ns 10000000000\n")


@needs_dump
def test_the_healthy_node_is_quiet(node):
    result, document = check(node, "--fail-on", "info")
    assert (result.code, document["findings"]) == (0, []), document["findings"]
    known = facts(document, "rdma")
    assert known["", "ports_active"] == 9 and known["", "ports_ib"] == 8
    ports = facts(document, "ib_port")
    assert ports["mlx5_0/1", "rate"] == 4e11 and ports["mlx5_0/1", "speed"] == "NDR"
    assert not any(name.endswith("_rise") for _, name in ports), "nothing was watched"


@needs_dump
def test_counters_that_prove_nothing_are_no_facts(node):
    two_looks(node)
    result, document = check(node, "--fail-on", "info")
    assert (result.code, document["findings"]) == (0, []), document["findings"]
    ports = facts(document, "ib_port")
    assert ("mlx5_1/1", "link_downed_rise") not in ports, "255 is as far as it counts"
    assert ports["mlx5_0/1", "link_downed_rise"] == 0
    for name in ("port_xmit_wait_rise", "xmit_bytes_rise", "rcv_rate"):
        assert ("mlx5_0/1", name) not in ports, "one total on all ports is no port's own"
    assert facts(document, "rdma")["", "counters_equal"] == 1
    assert ("", "bytes_rise") not in facts(document, "rdma")


@needs_dump
def test_a_port_of_its_own_speaks(node):
    (node / "sys/class/infiniband/mlx5_5/ports/1/rate").write_text("100 Gb/sec (1X NDR)\n")
    (node / "sys/class/infiniband/mlx5_6/ports/1/state").write_text("1: DOWN\n")
    two_looks(node)
    counters = "sys/class/infiniband/mlx5_4/ports/1/counters/"
    (node / ".gpufeed/later" / counters / "link_downed").write_text("3\n")
    result, document = check(node)
    assert result.code == 1
    found = {f["id"]: f["title"] for f in document["findings"]}
    assert set(found) == {"ib-link-flaps", "ib-link-degraded", "ib-port-down"}, found
    assert "mlx5_4/1" in found["ib-link-flaps"] and "3 times" in found["ib-link-flaps"]
    assert "mlx5_5/1" in found["ib-link-degraded"] and "1X NDR" in found["ib-link-degraded"]
