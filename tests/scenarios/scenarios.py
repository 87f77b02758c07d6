# SPDX-License-Identifier: MIT
"""The table of scenarios: what the job does, what surrounds it, what gpufeed must find, and what
takes the cause away.

`world` and `cure` share one form: {"args": {job option: value}, "http": {...}, "slowfs": {...},
"disk": {...}, "neighbours": n, "link": rate}; a cure is laid over its scenario. Steps are those of
the short run (4-6 s); the full run takes four times as many. Two cores are enough: only the
scenarios whose cause is the cores fill them.
"""
import copy
from dataclasses import dataclass, field


@dataclass
class Scenario:
    name: str
    title: str
    args: dict
    expect: str            # the finding that must come first
    world: dict = field(default_factory=dict)
    cure: dict = None      # None: nothing to take away
    also: tuple = ()       # other findings above info that are as true here
    program: str = "job"   # or "threads"
    ranks: int = 1
    epochs: bool = False   # the full run takes more epochs, not more steps
    env: dict = field(default_factory=dict)
    chain_only: bool = False  # samples cannot show it

    @property
    def cause(self):
        """What the truth must show most of; none where the job is healthy."""
        return CAUSES.get(self.expect)


CAUSES = {  # what each finding is about
    "storage-remote-live-read": "storage", "storage-slow-disk": "storage",
    "prepare-cpu-bound": "prepare", "loader-few-workers": "storage",
    "loader-no-workers": "storage", "loader-worker-restart": "startup",
    "copy-pageable": "pageable-copy", "launch-bound": "launch", "cpu-starved": "cpu-starved",
    "checkpoint-blocking": "checkpoint", "network-collective-slow": "network",
}


def laid_over(scenario, change):
    """The scenario with a cure laid over it."""
    s = copy.deepcopy(scenario)
    for key, value in change.items():
        if key == "args":
            s.args.update(value)
        elif isinstance(value, dict):
            s.world.setdefault(key, {}).update(value)
        else:
            s.world[key] = value
    return s


def scaled(scenario, factor):
    s = copy.deepcopy(scenario)
    key = "epochs" if s.epochs else "steps"
    s.args[key] = s.args[key] * factor
    return s


SLOW_FILES = 64  # files of a slowfs folder; nothing is cached, so they may be few

TABLE = [
    Scenario("healthy", "a job that computes 96 % of its time",
             {"steps": 90, "kernel-ms": 48, "host-ms": 1.2, "decode-ms": 4}, "healthy"),
    Scenario("http", "object store over HTTP, 20 ms a request",
             {"steps": 220, "batch": 2, "kernel-ms": 5}, "storage-remote-live-read",
             {"http": {"latency_us": 20000}}, {"http": {"latency_us": 0}}),
    Scenario("http-anew", "object store over HTTP, a new connection for each request",
             {"steps": 180, "batch": 2, "kernel-ms": 5, "anew": True}, "storage-remote-live-read",
             {"http": {"latency_us": 20000}}, {"http": {"latency_us": 0}}),
    Scenario("readers", "... and threads of each worker read the parts of an object",
             {"steps": 120, "batch": 2, "kernel-ms": 8, "decode-ms": 8, "readers": 3},
             "storage-remote-live-read", {"http": {"latency_us": 40000}},
             {"http": {"latency_us": 0}},
             chain_only=True),  # threads that read hide, in samples, the one that decodes
    Scenario("pin-thread", "... and a thread of the trainer's process hands on what workers made, pinned",
             {"steps": 110, "batch": 4, "kernel-ms": 8, "decode-ms": 2, "pin-thread": True},
             "storage-remote-live-read", {"http": {"latency_us": 20000}},
             {"http": {"latency_us": 0}}),
    Scenario("http-line", "object store whose line is full: more workers would get no more bytes",
             {"steps": 220, "kernel-ms": 6, "workers": 1}, "storage-remote-live-read",
             {"http": {"latency_us": 0, "bandwidth": 4 << 20}}, {"http": {"bandwidth": 0}},
             chain_only=True),
    Scenario("fuse", "slow FUSE mount, 15 ms a read",
             {"steps": 260, "batch": 2, "kernel-ms": 6, "decode-ms": 2}, "storage-remote-live-read",
             {"slowfs": {"delay_us": 15000}}, {"slowfs": {"delay_us": 0}}),
    Scenario("disk-read", "throttled disk, by read()",
             {"steps": 200, "kernel-ms": 6, "item-bytes": 131072}, "storage-slow-disk",
             {"disk": {"read_bps": 6 << 20}}, {"disk": {"read_bps": 0}}),
    Scenario("disk-mmap", "throttled disk, by page faults",
             {"steps": 200, "kernel-ms": 6, "item-bytes": 131072, "mmap": True},
             "storage-slow-disk", {"disk": {"read_bps": 6 << 20}}, {"disk": {"read_bps": 0}}),
    Scenario("decode", "CPU-heavy decode on all cores",
             {"steps": 280, "kernel-ms": 5, "decode-ms": 30}, "prepare-cpu-bound",
             {}, {"args": {"decode-ms": 0}}),
    Scenario("few-workers", "one worker, latency-bound, cores to spare",
             {"steps": 200, "kernel-ms": 8, "decode-ms": 1, "workers": 1},
             "loader-few-workers", {"slowfs": {"delay_us": 22000}}, {"args": {"workers": 3}},
             also=("storage-remote-live-read",)),
    Scenario("neighbours", "cores stolen by neighbours",
             {"steps": 110, "kernel-ms": 12, "decode-ms": 11, "workers": 1}, "cpu-starved",
             {"neighbours": 6}, {"neighbours": 0}),
    Scenario("no-workers", "num_workers=0",
             {"steps": 200, "kernel-ms": 10, "decode-ms": 3, "workers": 0}, "loader-no-workers",
             {"slowfs": {"delay_us": 9000}}, {"args": {"workers": 2}}),
    Scenario("restart", "workers restarted every epoch",
             {"steps": 8, "epochs": 20, "kernel-ms": 8, "init-ms": 60}, "loader-worker-restart",
             {}, {"args": {"persistent": True}}, epochs=True),
    Scenario("pageable", "copies from pageable memory",
             {"steps": 180, "kernel-ms": 8, "copy-mb": 8}, "copy-pageable",
             {}, {"args": {"pinned": True}},
             # slower than this machine's own memory, which the simulator really copies
             env={"GPUFEED_SIM_PCIE_GBPS": "3.15", "GPUFEED_SIM_PAGEABLE_GBPS": "1.2"}),
    Scenario("launch", "many small kernels",
             {"steps": 110, "kernel-ms": 0.008, "kernels": 1500}, "launch-bound",
             {}, {"args": {"kernel-ms": 12, "kernels": 1}},
             env={"GPUFEED_SIM_LAUNCH_US": "20"}),
    Scenario("checkpoint", "a checkpoint with fsync every 10 steps",
             {"steps": 100, "kernel-ms": 20, "ckpt-every": 10, "ckpt-mb": 8},
             "checkpoint-blocking", {"disk": {"write_bps": 40 << 20}},
             {"args": {"ckpt-every": 0}}),
    Scenario("checkpoint-cached", "a checkpoint into the page cache every 10 steps",
             {"steps": 100, "kernel-ms": 12, "ckpt-every": 10, "ckpt-mb": 40, "ckpt-cached": True},
             "checkpoint-blocking", {"disk": {}}, {"args": {"ckpt-every": 0}}),
    Scenario("checkpoint-thread", "... that a helper thread writes while the launching thread waits",
             {"steps": 100, "kernel-ms": 12, "ckpt-every": 10, "ckpt-mb": 40, "ckpt-cached": True,
              "ckpt-thread": True},
             "checkpoint-blocking", {"disk": {}}, {"args": {"ckpt-every": 0}}),
    Scenario("allreduce", "all-reduce over TCP, one slow link",
             {"steps": 50, "kernel-ms": 30, "grad-kb": 256, "workers": 1},
             "network-collective-slow", {"link": "40mbit"}, {"link": ""}, ranks=2),
    Scenario("threads", "a threaded C job",
             {"steps": 700, "workers": 3, "decode-us": 2000, "kernel-us": 3000},
             "storage-remote-live-read", {"slowfs": {"delay_us": 15000}},
             {"slowfs": {"delay_us": 0}}, program="threads"),
    Scenario("spawn", "spawn workers that import for seconds",
             {"steps": 40, "epochs": 2, "kernel-ms": 20, "start": "spawn"},
             "loader-worker-restart", {}, {"args": {"persistent": True}}, epochs=True),
    Scenario("two-devices", "two ranks on two devices",
             {"steps": 250, "kernel-ms": 8, "workers": 1}, "storage-remote-live-read",
             {"slowfs": {"delay_us": 16000}}, {"slowfs": {"delay_us": 0}}, ranks=2),
    # a worker's next item is done well before the step is over, with the delay gone: where both end together
    # the length hangs on where the kernel lets threads wake (doc/replay.md)
    Scenario("mix", "storage and decode, three parts to one",
             {"steps": 330, "kernel-ms": 10, "decode-ms": 7}, "storage-remote-live-read",
             {"slowfs": {"delay_us": 21000}}, {"slowfs": {"delay_us": 0}},
             also=("prepare-cpu-bound",)),
]
