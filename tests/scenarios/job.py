#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A training job that knows what it waits for: a PyTorch DataLoader feeding `spin` kernels.

It touches nothing of gpufeed. Every item is read (file, mapping or HTTP) and decoded (CPU work
that lets go of the interpreter lock, as real decoders do); the launching thread takes batches,
copies them to the device, launches, synchronises, and writes checkpoints or all-reduces where
asked. truthlog.py says what it writes down.
"""
import argparse
import concurrent.futures
import ctypes
import hashlib
import http.client
import mmap
import os
import random
import threading
import time

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, default_collate, get_worker_info

from cudadriver import Device
from pinning import PinLog
from truthlog import (MainLog, SendLog, ThreadClock, WorkerLog, minus, number_of,
                      process_birth_ns)

MS = 1_000_000
CHUNK = bytes(128 << 10)
MEMCPY = ctypes.CDLL(None).memcpy  # a ctypes call: page faults happen without the interpreter lock
MEMCPY.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)

_log = None      # this process's WorkerLog
_birth = None    # when it was forked, where the fork said so


def _forked():
    global _birth, _log
    _birth, _log = time.monotonic_ns(), None


os.register_at_fork(after_in_child=_forked)


def burn(ns):
    """CPU work for ns of this thread's CPU time."""
    end = time.thread_time_ns() + ns
    while time.thread_time_ns() < end:
        hashlib.sha256(CHUNK).digest()


class Items(Dataset):
    """Item i is file i of a folder, or object i of an HTTP store."""

    def __init__(self, args):
        self.args = args
        self.local = self.pool = None  # made where they are used: they cannot be handed to a process

    def __len__(self):
        return self.args.epochs * self.args.steps * self.args.batch

    def latency_us(self, i):
        """What the store takes to answer for item i: the same in each run."""
        draw = random.Random(i)
        spread = {"fixed": lambda: 1, "jitter": lambda: draw.uniform(0.4, 1.6),
                  "tail": lambda: min(20, 0.6 * draw.paretovariate(2.5))}  # mean 1
        return int(1000 * self.args.latency_ms * spread[self.args.spread]())

    def read_http(self, i, size):
        if not hasattr(self.local, "connection") or self.args.anew:
            host = self.args.data.split("//", 1)[1].rstrip("/")
            self.local.connection = http.client.HTTPConnection(host)
        late = f"&latency_us={self.latency_us(i)}" if self.args.latency_ms else ""
        self.local.connection.request("GET", f"/item{i:06d}?size={size}{late}")
        data = bytearray(self.local.connection.getresponse().read())
        if self.args.anew:
            self.local.connection.close()
        return data

    def read_parts(self, i):
        """As transfer managers of object stores do: threads of the worker read a part each."""
        n = self.args.readers
        if self.pool is None:
            self.pool = concurrent.futures.ThreadPoolExecutor(n)
        parts = self.pool.map(lambda _: self.read_http(i, self.args.item_bytes // n), range(n))
        return bytearray().join(parts)

    def read_file(self, path):
        data = bytearray(self.args.item_bytes)
        with open(path, "rb", buffering=0) as f:
            f.readinto(data)
        return data

    def read_mapped(self, path):
        n = self.args.item_bytes
        data = bytearray(n)
        with open(path, "rb", buffering=0) as f, mmap.mmap(f.fileno(), n,
                                                           access=mmap.ACCESS_COPY) as m:
            source = (ctypes.c_char * n).from_buffer(m)
            MEMCPY((ctypes.c_char * n).from_buffer(data), source, n)
            del source
        return data

    def read(self, i):
        if not self.args.data:
            return bytearray(self.args.item_bytes)
        if self.args.data.startswith("http://"):
            self.local = self.local or threading.local()  # a connection is one thread's
            return self.read_parts(i) if self.args.readers else self.read_http(i, self.args.item_bytes)
        path = os.path.join(self.args.data, f"item{i % self.args.files:06d}")
        return self.read_mapped(path) if self.args.mmap else self.read_file(path)

    def __getitem__(self, i):
        begin = _log.item()
        data = self.read(i)
        begin = _log.part("read", begin)
        if self.args.decode_ms:
            burn(int(self.args.decode_ms * MS))
            _log.part("dec", begin)
        data = torch.frombuffer(data, dtype=torch.uint8)
        n, tensors = i // self.args.batch, data.tensor_split(self.args.tensors)
        return {"n": n, **{f"x{k}": x for k, x in enumerate(tensors)}} if self.args.dicts else (n, *tensors)


class Stream(IterableDataset):
    """The same items, and each worker makes those of every so-manieth batch."""

    def __init__(self, items):
        self.items, self.args, self.epoch = items, items.args, 0

    def __iter__(self):
        info = get_worker_info()
        first, step = (info.id, info.num_workers) if info else (0, 1)
        begin = self.epoch * self.args.steps
        self.epoch += 1
        for n in range(begin + first, begin + self.args.steps, step):
            for i in range(n * self.args.batch, (n + 1) * self.args.batch):
                yield self.items[i]


class Collate:
    """Own: the tensors stacked, then handed over in shared memory by the queue's thread; with --dicts
    torch's, which writes them there at once."""

    def __init__(self, args):
        self.args = args

    def __call__(self, samples):
        if self.args.dicts:
            batch = default_collate(samples)
        else:
            batch = (samples[0][0], *(torch.stack(x) for x in list(zip(*samples))[1:]))
        if self.args.collate_ms:
            burn(int(self.args.collate_ms * MS))
        _log.batch(number_of(batch))
        return batch


class Start:
    """worker_init_fn: what a worker does before its first work."""

    def __init__(self, args):
        self.args = args
        self.owner = os.getpid()

    def __call__(self, worker):
        global _log
        torch.set_num_threads(1)
        torch.multiprocessing.set_sharing_strategy(self.args.sharing)
        if self.args.init_ms:
            burn(int(self.args.init_ms * MS))
        birth = _birth if _birth is not None else process_birth_ns()
        _log = WorkerLog(self.args.truth, birth, self.owner)
        SendLog(self.args.truth, self.owner)


class Order:
    """Batch numbers go on over the epochs, so that a batch is known by its number."""

    def __init__(self, args, log):
        self.steps, self.batch, self.epoch = args.steps, args.batch, 0
        self.args, self.log = args, log

    def __len__(self):
        return self.steps

    def __iter__(self):
        first = self.epoch * self.steps
        self.epoch += 1
        for n in range(first, first + self.steps):
            if self.args.sampler_ms:
                self.log.sampling(lambda: burn(int(self.args.sampler_ms * MS)))
            yield range(n * self.batch, (n + 1) * self.batch)


def make_loader(args, log):
    extra = {"collate_fn": Collate(args), "pin_memory": args.pin_thread}
    if args.workers:
        extra.update(worker_init_fn=Start(args), prefetch_factor=args.prefetch,
                     persistent_workers=args.persistent, multiprocessing_context=args.start,
                     num_workers=args.workers)
    if args.iterable:
        return DataLoader(Stream(Items(args)), batch_size=args.batch, **extra)
    return DataLoader(Items(args), batch_sampler=Order(args, log), **extra)


class Helper(threading.Thread):
    """Does one thing; `spent` is its [wall, cpu, delay]."""

    def run(self):
        clock = ThreadClock()
        begin = clock.now()
        self._target()
        self.spent = minus(clock.now(), begin)


class Trainer:
    def __init__(self, args):
        self.args = args
        self.log = MainLog(args.truth, args.device, args.rank)
        self.device = Device(args.device)
        self.log.begin()
        self.copy_bytes = int(args.copy_mb * (1 << 20))
        if self.copy_bytes:
            self.host, self.keep = self.device.host_buffer(self.copy_bytes, args.pinned)
            self.on_device = self.device.alloc(self.copy_bytes)
        self.gradients = torch.zeros(int(args.grad_kb * 256)) if args.grad_kb else None
        self.state = os.urandom(1 << 20) if args.ckpt_every else b""

    def launch(self):
        ns = int(self.args.kernel_ms * MS)
        now, kernels, spin = time.monotonic_ns, self.log.kernels, self.device.spin
        for _ in range(self.args.kernels):
            t = now()
            spin(ns)
            kernels.append((t, now(), ns))
        self.log.mark("launch")

    def save(self):
        path = os.path.join(self.args.ckpt_dir, f"ckpt-{self.args.rank}")
        with open(path + ".tmp", "wb", buffering=0) as f:
            for _ in range(self.args.ckpt_mb):
                f.write(self.state)
            if not self.args.ckpt_cached:
                os.fsync(f.fileno())
        os.rename(path + ".tmp", path)

    def checkpoint(self):
        helper = None
        if self.args.ckpt_thread:
            helper = Helper(target=self.save)
            helper.start()
            helper.join()
        else:
            self.save()
        self.log.mark("ckpt", helper and {"helper": helper.spent})

    def step(self, number):
        args, log = self.args, self.log
        if self.copy_bytes:
            self.device.copy_in(self.on_device, self.host, self.copy_bytes, self.args.pinned)
            log.mark("copy")
        if args.host_ms:
            burn(int(args.host_ms * MS))
            log.mark("host")
        self.launch()
        save = args.ckpt_every and (number + 1) % args.ckpt_every == 0
        if save or (number + 1) % args.sync_every == 0:
            self.device.synchronize()
            log.mark("sync")
        if self.gradients is not None:
            torch.distributed.all_reduce(self.gradients)
            log.mark("allreduce", number)
        if save:
            self.checkpoint()

    def epoch(self, loader, number):
        if self.args.iterable and not (self.args.workers and self.args.persistent):
            loader.dataset.epoch = number
        self.log.sampled()
        batches = iter(loader)
        self.log.mark("iter", self.log.sampled())
        while True:
            batch = next(batches, None)
            if batch is None:
                break
            number = number_of(batch)
            self.log.mark("next", {"n": number} if self.args.workers else {"inline": _log.line})
            self.step(number)
        del batches
        self.log.mark("shutdown")

    def run(self):
        global _log
        if not self.args.workers:
            _log = WorkerLog(None, None, None)
        if self.args.pin_thread:
            PinLog(self.args.truth)
        loader = make_loader(self.args, self.log)
        self.log.mark("setup")
        try:
            for number in range(self.args.epochs):
                self.epoch(loader, number)
            self.device.synchronize()
            self.log.mark("sync")
            if self.args.persistent:
                loader._iterator = None  # ends the workers before the device is given back
                self.log.mark("shutdown")
        finally:
            self.log.end()
            self.device.close()
            self.log.write()


def parse():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--truth", required=True)
    p.add_argument("--data", default="", help="folder or http://host:port; nothing: items are made")
    p.add_argument("--files", type=int, default=1 << 30, help="files in the folder")
    p.add_argument("--item-bytes", type=int, default=64 << 10)
    p.add_argument("--mmap", action="store_true")
    p.add_argument("--latency-ms", type=float, default=0, help="that the HTTP store is asked for")
    p.add_argument("--spread", default="fixed", choices=("fixed", "jitter", "tail"), help="of it")
    p.add_argument("--readers", type=int, default=0, help="threads of a worker that read a part of each item")
    p.add_argument("--anew", action="store_true", help="a new connection for each request")
    p.add_argument("--decode-ms", type=float, default=0)
    p.add_argument("--collate-ms", type=float, default=0, help="a batch")
    p.add_argument("--sampler-ms", type=float, default=0, help="a batch, in the launching process")
    p.add_argument("--tensors", type=int, default=1, help="of an item")
    p.add_argument("--dicts", action="store_true", help="items are dicts, collated by default")
    p.add_argument("--iterable", action="store_true")
    p.add_argument("--sharing", default="file_descriptor", help="strategy for tensors")
    p.add_argument("--batch", type=int, default=1)
    p.add_argument("--steps", type=int, default=100, help="of an epoch")
    p.add_argument("--epochs", type=int, default=1)
    p.add_argument("--workers", type=int, default=2)
    p.add_argument("--prefetch", type=int, default=2)
    p.add_argument("--start", default="fork")
    p.add_argument("--persistent", action="store_true")
    p.add_argument("--pin-thread", action="store_true", help="a thread copies batches to pinned memory")
    p.add_argument("--init-ms", type=float, default=0)
    p.add_argument("--kernel-ms", type=float, default=10)
    p.add_argument("--kernels", type=int, default=1, help="of a step")
    p.add_argument("--sync-every", type=int, default=1, help="so many steps")
    p.add_argument("--host-ms", type=float, default=0)
    p.add_argument("--copy-mb", type=float, default=0)
    p.add_argument("--pinned", action="store_true")
    p.add_argument("--ckpt-every", type=int, default=0)
    p.add_argument("--ckpt-mb", type=int, default=16)
    p.add_argument("--ckpt-dir", default="")
    p.add_argument("--ckpt-cached", action="store_true", help="no fsync: into the page cache only")
    p.add_argument("--ckpt-thread", action="store_true", help="a helper thread writes, and is awaited")
    p.add_argument("--grad-kb", type=int, default=0)
    args = p.parse_args()
    args.rank = int(os.environ.get("RANK", "0"))
    args.device = int(os.environ.get("LOCAL_RANK", "0"))
    return args


def main():
    args = parse()
    torch.set_num_threads(1)
    torch.multiprocessing.set_sharing_strategy(args.sharing)
    if args.grad_kb:
        torch.distributed.init_process_group("gloo")
        torch.distributed.barrier()
    Trainer(args).run()
    if args.grad_kb:
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
