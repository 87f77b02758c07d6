# SPDX-License-Identifier: MIT
"""gpufeed check on the files of a real node with eight InfiniBand ports (../shared/cases/machines)."""
import os
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


PEER = """
import socket, sys, threading
def take(s):
    while s.recv(65536):
        pass
for port in map(int, sys.argv[1:]):
    s = socket.create_server(("", port))
    threading.Thread(target=lambda s=s: take(s.accept()[0])).start()
print("up", flush=True)
"""
TALKER = """
import socket, sys, time
to = [socket.create_connection((a.split(":")[0], int(a.split(":")[1]))) for a in sys.argv[1:]]
print("up", flush=True)
while True:
    for s in to:
        s.sendall(bytes(10000))
    time.sleep(0.005)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.skipif(not shutil.which("unshare") or not shutil.which("ip"), reason="no unshare or ip")
@pytest.mark.parametrize("ports, peers", [((29500,), 1), ((443, 2049), 0), ((29500, 9000, 29501), 1)])
def test_bytes_of_a_jobs_connections(tmp_path, ports, peers):
    """Two hosts: network namespaces joined by a cable. What goes to stores and to the host itself is left out."""
    (tmp_path / "peer.py").write_text(PEER)
    (tmp_path / "talker.py").write_text(TALKER)
    numbers = " ".join(map(str, ports))
    addresses = " ".join(f"10.255.77.2:{p}" for p in ports)
    script = f"""
        set -e
        unshare -n sh -c 'ip link set lo up; echo $$ >{tmp_path}/pid; read go <{tmp_path}/go
            exec {gf.PYTHON} {tmp_path}/peer.py {numbers} >{tmp_path}/peer-up' &
        mkfifo {tmp_path}/go 2>/dev/null || true
        until [ -s {tmp_path}/pid ]; do sleep 0.05; done
        pid=$(cat {tmp_path}/pid)
        ip link set lo up
        ip link add gf0 type veth peer name gf1
        ip link set gf1 netns $pid
        ip addr add 10.255.77.1/24 dev gf0; ip link set gf0 up
        nsenter -t $pid -n ip addr add 10.255.77.2/24 dev gf1; nsenter -t $pid -n ip link set gf1 up
        echo go >{tmp_path}/go
        until grep -q up {tmp_path}/peer-up 2>/dev/null; do sleep 0.05; done
        {gf.PYTHON} {tmp_path}/peer.py 29777 >{tmp_path}/own-up &
        own=$!
        until grep -q up {tmp_path}/own-up; do sleep 0.05; done
        {gf.PYTHON} {tmp_path}/talker.py {addresses} 127.0.0.1:29777 >{tmp_path}/up &
        job=$!
        until grep -q up {tmp_path}/up; do sleep 0.05; done
        {gf.GPUFEED} check -p $job --interval 500ms --json --verbose >{tmp_path}/out || true
        kill $job; wait $job 2>/dev/null || true
        kill $pid $own 2>/dev/null || true"""
    os.mkfifo(tmp_path / "go")
    result = gf.run("unshare", "-n", "bash", "-c", script)
    if "Operation not permitted" in result.err or "Unknown device type" in result.err:
        pytest.skip(result.err)
    assert result.code == 0, result
    facts = {f["name"]: f["value"] for f in gf.parse((tmp_path / "out").read_text())["facts"]
             if f["kind"] == "job" and f["name"].startswith("tcp")}
    assert facts["tcp_peers"] == peers, (facts, result)
    assert (facts["tcp_bytes_rise"] > 0) == (facts["tcp_rate"] > 0) == (peers > 0), facts
