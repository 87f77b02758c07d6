# SPDX-License-Identifier: MIT
"""More than one: devices, ranks, workers, processes."""
import os

import pytest

import gf

RANK = """
import os, runpy, sys
sys.argv = [{images!r}, "--workers", "1", "--steps", "15", "--compute-ms", "10", "--decode-ms", "0.5", "--batch", "2"]
runpy.run_path({images!r}, run_name="__main__")
"""


def torch():
    if gf.run(gf.PYTHON, "-c", "import torch").code != 0:
        pytest.skip("no torch for " + gf.PYTHON)


def numbers(j):
    """The device numbers in the ids."""
    return sorted(a["id"].rsplit(":")[-1] for a in j["accelerators"])


def test_two_devices_in_two_processes(folder):
    script = '"$0" kernels 50 5 0 & "$0" kernels 20 5 1 & wait'
    r = gf.gpufeed("run", "--simulate=2", "-o", folder / "r.gpufeed", "--price", "28", "--", "sh", "-c", script, gf.JOBS)
    assert r.code == 0, r
    assert "GPU 0" in r.err and "GPU 1" in r.err, r
    j = gf.report(folder / "r.gpufeed")
    assert numbers(j) == ["0", "1"], j["accelerators"]
    assert gf.computed(j, 0.25, 0) and gf.computed(j, 0.1, 1), j
    assert len(gf.gpufeed("report", folder / "r.gpufeed").out.splitlines()) <= 40


def test_two_processes_on_one_device(folder):
    script = '"$0" kernels 40 5 & "$0" kernels 40 5 & wait'
    gf.record(folder / "r.gpufeed", "sh", "-c", script, gf.JOBS)
    j = gf.report(folder / "r.gpufeed")
    assert len(j["accelerators"]) == 1, j["accelerators"]
    assert len({row["workload"] for row in j["ledger"] if row["state"] == "compute"}) >= 1
    assert j["accelerators"][0]["seconds"] <= j["span_seconds"] + 1e-6


def test_two_devices_and_one_is_used(folder):
    gf.record(folder / "r.gpufeed", gf.JOBS, "kernels", "20", "5", "1", options=["--simulate=2"])
    j = gf.report(folder / "r.gpufeed")
    used = [a for a in j["accelerators"] if a["state"]["compute"]]
    assert len(used) == 1 and used[0]["id"].endswith(":1"), j["accelerators"]


def test_one_after_the_other(folder):
    """The device is free in between: nobody waits for it then."""
    gf.record(folder / "r.gpufeed", "sh", "-c", '"$0" kernels 20 5; sleep 0.6; "$0" kernels 20 5', gf.JOBS)
    j = gf.report(folder / "r.gpufeed")
    assert j["span_seconds"] > 0.8, j
    assert gf.seconds(j, "unused") > 0.59, j["ledger"]
    assert gf.computed(j, 0.2)


def test_the_device_in_a_forked_child(folder):
    gf.record(folder / "r.gpufeed", gf.JOBS, "child", "20", "5")
    assert gf.computed(gf.report(folder / "r.gpufeed"), 0.1, 0)


def test_sixteen_devices(folder):
    script = 'for i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do "$0" kernels 5 5 $i & done; wait'
    r = gf.gpufeed("run", "--simulate=16", "-o", folder / "r.gpufeed", "--", "sh", "-c", script, gf.JOBS)
    assert r.code == 0, r
    assert len(gf.report(folder / "r.gpufeed")["accelerators"]) == 16
    assert len(gf.gpufeed("report", folder / "r.gpufeed").out.splitlines()) <= 40


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_workers_of_a_loader(start, folder):
    """Two of them, however many helpers Python starts beside them."""
    torch()
    r = gf.gpufeed("run", "--simulate", "-o", folder / "r.gpufeed", "--", gf.PYTHON, gf.IMAGES, "--workers", "2",
                   "--steps", "30", "--compute-ms", "10", "--decode-ms", "2", "--batch", "4",
                   "--multiprocessing-context", start, "--log", folder / "log", patience=300)
    assert r.code == 0, r
    j = gf.report(folder / "r.gpufeed")
    assert gf.computed(j, 0.3, 0), j
    if "chain" in r.err:  # samples do not show who delivers
        assert gf.evidence(j, "loader workers") == [2] and gf.evidence(j, "loader restarts") in ([0], []), j["evidence"]


def test_a_worker_that_is_started_anew(folder):
    """One at a time, three in all."""
    torch()
    r = gf.gpufeed("run", "--simulate", "-o", folder / "r.gpufeed", "--", gf.PYTHON, gf.IMAGES, "--workers", "1",
                   "--samples", "40", "--epochs", "3", "--steps", "30", "--compute-ms", "10", "--decode-ms", "2",
                   "--batch", "4", patience=300)
    assert r.code == 0, r
    j = gf.report(folder / "r.gpufeed")
    if "chain" in r.err:
        assert gf.evidence(j, "loader workers") == [1] and gf.evidence(j, "loader restarts") == [2], j["evidence"]


def test_two_ranks_under_torchrun(folder):
    torch()
    (folder / "rank.py").write_text(RANK.format(images=gf.IMAGES))
    r = gf.gpufeed("run", "--simulate=2", "-o", folder / "r.gpufeed", "--", gf.PYTHON, "-m", "torch.distributed.run",
                   "--nproc_per_node", "2", "-r", "0:1,1:1", "-t", "0:1,1:1", "--log_dir", folder / "logs", "--master_port", str(20000 + os.getpid() % 20000), folder / "rank.py",
                   patience=300, env=gf.environment(OMP_NUM_THREADS=1))
    assert r.code == 0, r
    j = gf.report(folder / "r.gpufeed")
    assert numbers(j) == ["0", "1"], j["accelerators"]
    for number in (0, 1):
        assert gf.computed(j, 0.15, number), j
