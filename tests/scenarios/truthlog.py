# SPDX-License-Identifier: MIT
"""What a scenario job writes down about itself, cheaply.

Every figure is of CLOCK_MONOTONIC ns. A thread's own time is split by two
kernel counters that gpufeed's wait chain does not use: CLOCK_THREAD_CPUTIME_ID
(time on a core) and the second number of /proc/self/task/TID/schedstat (time
ready to run without a core).

main-PID.json, one per process that drives a device, written at its end:
    {"pid", "device", "rank", "span": [context made, released],
     "marks": [[t, cpu, delay, label, arg], ...],   a partition of the launching thread's time
     "kernels": [[launch call begins, ends, ns asked], ...]}
A mark closes the phase that began at the mark before it. Labels: setup, iter (workers are
started), next (arg: number of the batch), copy, host, launch, sync, ckpt, allreduce, shutdown
(workers are ended); ckpt's arg: {"helper": [wall, cpu, delay]} where a thread of its own wrote; "inline" in arg holds what the thread itself did where there are no workers. iter's arg: [wall, cpu, delay] of the sampler in it.

worker-TID.jsonl, one line per batch, written at once (workers may be killed):
    {"pid": of the process it works for, "n": batch, "t0", "t1": made from .. to, "all", "read", "dec": [wall, cpu, delay] within it,
     "gap": [wall, cpu, delay] before it since the last one was made,
     first batch only: "birth": t, "init": [wall, cpu, delay] from birth until ready for work}

send-TID.jsonl, one line per batch, by the thread of the worker's queue that hands it over:
    {"pid", "n", "t1": it was sent, "send": [wall since the previous one was sent, cpu, delay of this thread in it]}

pin-TID.jsonl, one line per batch, by the thread of the loading process that copies it into pinned memory:
    {"pid", "n", "t1": it was copied, "pin": [wall since the previous one was, cpu, delay of this thread in it]}
"""
import json
import multiprocessing.queues
import os
import threading
import time


class ThreadClock:
    """(wall, cpu, delay) of the calling thread; make one per thread."""

    def __init__(self):
        self.tid = int(os.readlink("/proc/thread-self").rsplit("/", 1)[1])
        self.fd = os.open(f"/proc/self/task/{self.tid}/schedstat", os.O_RDONLY | os.O_CLOEXEC)

    def now(self):
        delay = int(os.pread(self.fd, 64, 0).split()[1])
        return time.monotonic_ns(), time.thread_time_ns(), delay


def minus(a, b):
    return [x - y for x, y in zip(a, b)]


def number_of(batch):
    """Of a batch: the first of a tuple, or its member "n"; None: it is none."""
    if isinstance(batch, dict) and "n" in batch:
        return int(batch["n"][0])
    first = batch[0] if isinstance(batch, (tuple, list)) and batch else None
    return first if isinstance(first, int) else None


class MainLog:
    """The launching thread's account of itself."""

    def __init__(self, folder, device, rank):
        self.folder, self.device, self.rank = folder, device, rank
        self.clock = ThreadClock()
        self.marks, self.kernels, self.span = [], [], [0, 0]
        self.sums = [0, 0, 0]  # of the sampler

    def begin(self):
        first = self.clock.now()
        self.span[0] = first[0]
        self.marks.append((*first, "begin", None))

    def mark(self, label, arg=None):
        self.marks.append((*self.clock.now(), label, arg))

    def sampling(self, work):
        begin = self.clock.now()
        work()
        self.sums = [a + b for a, b in zip(self.sums, minus(self.clock.now(), begin))]

    def sampled(self):
        """What the sampler took since this was asked last."""
        sums, self.sums = self.sums, [0, 0, 0]
        return sums

    def end(self):
        self.mark("host")
        self.span[1] = time.monotonic_ns()

    def write(self):
        path = os.path.join(self.folder, f"main-{os.getpid()}.json")
        with open(path, "w", encoding="ascii") as out:
            json.dump({"pid": os.getpid(), "device": self.device, "rank": self.rank,
                       "span": self.span, "marks": self.marks, "kernels": self.kernels}, out)


def process_birth_ns():
    """When this process was forked, to a clock tick (10 ms)."""
    with open("/proc/self/stat", encoding="ascii") as stat:
        ticks = int(stat.read().rsplit(")", 1)[1].split()[19])
    uptime = time.clock_gettime_ns(time.CLOCK_BOOTTIME) - time.monotonic_ns()
    return ticks * 1_000_000_000 // os.sysconf("SC_CLK_TCK") - uptime


class WorkerLog:
    """A loader worker's account: one line per batch. In the launching thread itself
    (no workers) `inline` collects instead and nothing is written."""

    def __init__(self, folder, birth_ns, owner):
        self.clock = ThreadClock()
        self.out = None
        if folder:
            path = os.path.join(folder, f"worker-{self.clock.tid}.jsonl")
            self.out = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self.owner = owner
        self.line = None  # of the batch made last
        self.birth = birth_ns
        self.ready = self.clock.now()
        self.last = self.ready
        self.start = None
        self.sums = {"read": [0, 0, 0], "dec": [0, 0, 0]}
        self.reads = []  # [from, to] of each read of a batch, inline only

    def part(self, name, begin):
        """Adds the time since `begin` (of clock.now()) to "read" or "dec"."""
        now = self.clock.now()
        for i in range(3):
            self.sums[name][i] += now[i] - begin[i]
        if name == "read" and self.out is None:
            self.reads.append([begin[0], now[0]])
        return now

    def item(self):
        now = self.clock.now()
        if self.start is None:
            self.start = now
        return now

    def batch(self, number):
        now = self.clock.now()
        line = {"pid": self.owner, "n": number, "t0": self.start[0], "t1": now[0], "all": minus(now, self.start),
                "gap": minus(self.start, self.last), **self.sums}
        if self.birth is not None:
            line["birth"] = self.birth
            line["init"] = [self.ready[0] - self.birth, self.ready[1], self.ready[2]]
            self.birth = None
        if self.out is None:
            line["reads"], self.reads = self.reads, []
        else:
            os.write(self.out, (json.dumps(line) + "\n").encode())
        self.sums = {"read": [0, 0, 0], "dec": [0, 0, 0]}
        self.start, self.last, self.line = None, now, line


class SendLog:
    """The hand-over of each batch: pickling, shared memory and the pipe, in the thread that
    multiprocessing's queue keeps for that. Put in place before the queue starts the thread."""

    def __init__(self, folder, owner):
        self.folder, self.owner = folder, owner
        self.local = threading.local()
        self.queue, self.feed = multiprocessing.queues.Queue, multiprocessing.queues.Queue._feed
        self.pickler = multiprocessing.queues._ForkingPickler
        self.queue._feed = staticmethod(self.thread)
        multiprocessing.queues._ForkingPickler = self

    def loads(self, *args, **more):
        return self.pickler.loads(*args, **more)

    def dumps(self, item, *rest):
        """In the queue's place of ForkingPickler: sees what is handed over."""
        data = item[1] if isinstance(item, tuple) and len(item) == 2 else None
        self.local.n = number_of(data)
        return self.pickler.dumps(item, *rest)

    def thread(self, buffer, notempty, send_bytes, *rest):
        me = self.local
        me.clock = ThreadClock()
        me.last = me.clock.now()
        path = os.path.join(self.folder, f"send-{me.clock.tid}.jsonl")
        me.out = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)

        def send(data):
            send_bytes(data)
            now = me.clock.now()
            line = {"pid": self.owner, "n": me.n, "t1": now[0], "send": minus(now, me.last)}
            if me.n is not None:
                os.write(me.out, (json.dumps(line) + "\n").encode())
            me.last = now

        self.feed(buffer, notempty, send, *rest)
