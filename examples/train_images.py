#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A small but real training loop over images, to measure with gpufeed.

A PyTorch DataLoader reads samples (from a folder, over HTTP, or made up),
decodes them on the CPU, and the loop copies each batch to the accelerator and
computes on it. With a CUDA build of torch and a GPU it trains through
torch.cuda; else it drives libcuda.so.1 itself and computes with the kernel in
spin.ptx, so it also runs on gpufeed's simulated accelerator. Needs torch 1.13
or later and nothing else.

    gpufeed run --simulate -- python3 train_images.py --workers 2 --decode-ms 4
"""
import argparse
import ctypes
import http.client
import json
import os
import shutil
import signal
import sys
import tempfile
import time
import urllib.parse
import zlib
from multiprocessing import resource_tracker
from multiprocessing.util import Finalize

import torch
import torch.utils.data as data

HERE = os.path.dirname(os.path.abspath(__file__))


# ---- samples -------------------------------------------------------------------------------


class Folder:
    """The files below a folder, in a fixed order."""

    def __init__(self, path):
        self.paths = sorted(os.path.join(top, name)
                            for top, _, names in os.walk(path) for name in names)
        if not self.paths:
            raise SystemExit(f"no files below \"{path}\"")

    def read(self, index):
        with open(self.paths[index % len(self.paths)], "rb", buffering=0) as file:
            return file.read()


class Store:
    """Objects below a URL: URL/000000, URL/000001, ...; one connection per worker."""

    def __init__(self, url):
        self.url = urllib.parse.urlsplit(url)
        self.connection = None

    def connect(self):
        kind = (http.client.HTTPSConnection if self.url.scheme == "https"
                else http.client.HTTPConnection)
        self.connection = kind(self.url.netloc, timeout=60)

    def read(self, index):
        for attempt in range(2):
            if self.connection is None:
                self.connect()
            try:
                self.connection.request("GET", f"{self.url.path.rstrip('/')}/{index:06d}")
                answer = self.connection.getresponse()
                body = answer.read()
            except (http.client.HTTPException, OSError):
                self.connection = None
                if attempt:
                    raise
                continue
            if answer.status != 200:
                raise RuntimeError(f"object {index:06d} of the store: status {answer.status}")
            return body


class Synthetic:
    """Nothing is read."""

    def read(self, index):
        return index.to_bytes(8, "little")


def open_source(where):
    if where == "synthetic":
        return Synthetic()
    return Store(where) if where.startswith(("http://", "https://")) else Folder(where)


class Images(data.Dataset):
    """Each item: pixels, and the seconds spent reading and decoding them."""

    def __init__(self, args):
        self.source = open_source(args.data)
        self.samples = args.samples
        self.shape = (3, args.image, args.image)
        self.decode_seconds = args.decode_ms / 1e3
        self.packed = zlib.compress(bytes(range(256)) * 64)

    def __len__(self):
        return self.samples

    def decode(self, raw):
        """Unpacks for the given time on the core, like a JPEG decoder would."""
        end = time.thread_time() + self.decode_seconds
        while time.thread_time() < end:
            zlib.decompress(self.packed)
        size = self.shape[0] * self.shape[1] * self.shape[2]
        pixels = bytearray((raw * (size // max(len(raw), 1) + 1))[:size])
        return torch.frombuffer(pixels, dtype=torch.uint8).reshape(self.shape)

    def __getitem__(self, index):
        begin = time.monotonic()
        raw = self.source.read(index)
        middle = time.monotonic()
        pixels = self.decode(raw)
        end = time.monotonic()
        return pixels, torch.tensor([middle - begin, end - middle], dtype=torch.float64)


# ---- accelerators --------------------------------------------------------------------------


class TorchDevice:
    """torch.cuda: computes with as many matrix products as fill the time asked for."""

    name = "torch.cuda"
    SIZE = 2048

    def __init__(self, args):
        self.device = torch.device("cuda", args.device)
        torch.cuda.set_device(self.device)
        self.a = torch.randn(self.SIZE, self.SIZE, device=self.device, dtype=torch.float16)
        self.per_step = self.calibrate(args.compute_ms)

    def products(self, count):
        result = self.a
        for _ in range(count):
            result = self.a @ self.a
        return result

    def calibrate(self, want_ms):
        self.products(20)
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        self.products(50)
        end.record()
        end.synchronize()
        return max(1, round(want_ms / (start.elapsed_time(end) / 50)))

    def upload(self, batch):
        self.batch = batch.to(self.device, non_blocking=batch.is_pinned())

    def compute(self):
        self.loss = self.products(self.per_step)[0, 0] + self.batch.float().mean()

    def wait(self):
        self.loss.item()

    def weights(self, size):
        return bytes(size)

    def close(self):
        torch.cuda.synchronize()


class DriverDevice:
    """libcuda.so.1 through ctypes: computes with the kernel `spin`."""

    name = "libcuda"

    def __init__(self, args):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.pinned = args.pin
        self.sizes = 3 * args.image * args.image * args.batch
        device, self.context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), args.device)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), device)
        self.call("cuCtxSetCurrent", self.context)
        self.ordinal = device
        self.load_kernel(int(args.compute_ms * 1e6))
        self.memory = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(self.memory), ctypes.c_size_t(self.sizes))
        self.stage = ctypes.c_void_p()
        if self.pinned:
            self.call("cuMemAllocHost_v2", ctypes.byref(self.stage), ctypes.c_size_t(self.sizes))

    def call(self, name, *arguments):
        result = getattr(self.cuda, name)(*arguments)
        if result:
            raise RuntimeError(f"{name}: error {result} of the CUDA driver")

    def load_kernel(self, duration_ns):
        module, self.spin, self.stream = (ctypes.c_void_p() for _ in range(3))
        self.copied = ctypes.c_void_p()
        with open(os.path.join(HERE, "spin.ptx"), "rb") as file:
            self.call("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(file.read()))
        self.call("cuModuleGetFunction", ctypes.byref(self.spin), module, b"spin")
        self.call("cuStreamCreate", ctypes.byref(self.stream), 1)  # not the legacy stream
        self.call("cuEventCreate", ctypes.byref(self.copied), 2)  # no timing
        self.duration = ctypes.c_uint64(duration_ns)
        self.parameters = (ctypes.c_void_p * 1)(ctypes.addressof(self.duration))

    def upload(self, batch):
        size = ctypes.c_size_t(batch.numel())
        if not self.pinned:
            self.call("cuMemcpyHtoD_v2", self.memory, ctypes.c_void_p(batch.data_ptr()), size)
            return
        self.call("cuEventSynchronize", self.copied)  # the copy before has left the buffer
        ctypes.memmove(self.stage, batch.data_ptr(), batch.numel())
        self.call("cuMemcpyHtoDAsync_v2", self.memory, self.stage, size, self.stream)
        self.call("cuEventRecord", self.copied, self.stream)

    def compute(self):
        one = ctypes.c_uint(1)
        self.call("cuLaunchKernel", self.spin, one, one, one, one, one, one, ctypes.c_uint(0),
                  self.stream, self.parameters, None)

    def wait(self):
        self.call("cuStreamSynchronize", self.stream)

    def weights(self, size):
        host = ctypes.create_string_buffer(min(size, self.sizes))
        self.call("cuMemcpyDtoH_v2", host, self.memory, ctypes.c_size_t(len(host)))
        return host.raw * (size // len(host) + 1)

    def close(self):
        self.wait()
        self.call("cuDevicePrimaryCtxRelease_v2", self.ordinal)


def open_device(args):
    simulated = os.environ.get("GPUFEED_SIMULATE") == "1"
    if not simulated and torch.cuda.is_available():
        return TorchDevice(args)
    try:
        return DriverDevice(args)
    except OSError:
        raise SystemExit("no libcuda.so.1: there is no GPU here; try "
                         "`gpufeed run --simulate -- ...`")


# ---- training ------------------------------------------------------------------------------


class Stop:
    """Ctrl-C ends the loop between two steps: in the middle of one, a worker would be left alone with a
    batch that is half handed over. The second Ctrl-C ends it at once."""

    def __init__(self):
        self.asked = False
        signal.signal(signal.SIGINT, self.ask)

    def ask(self, _number, _frame):
        self.asked = True
        signal.signal(signal.SIGINT, signal.default_int_handler)

    @staticmethod
    def start_workers(loader):
        """An iterator of the loader, whose workers are spared Ctrl-C: it is this process that ends them."""
        if loader.multiprocessing_context and loader.multiprocessing_context.get_start_method() == "spawn":
            resource_tracker.ensure_running()  # it would unblock the signal when it starts
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            return iter(loader)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def use_temporary_folder():
    """A folder of its own: workers that are ended leave theirs (pymp-*) behind, which go with it. multiprocessing
    clears up after itself at -100, in the process that made it alone."""
    folder = tempfile.mkdtemp(prefix="train-images-")
    Finalize(None, shutil.rmtree, args=(folder, True), exitpriority=-200)
    tempfile.tempdir = os.environ["TMPDIR"] = folder


class Truth:
    """What this program did, in seconds, by its own clock."""

    def __init__(self):
        self.seconds = dict.fromkeys(("read", "decode", "load_wait", "copy", "launch", "wait",
                                      "checkpoint"), 0.0)
        self.steps = 0

    def timed(self, what, function, *arguments):
        begin = time.monotonic()
        result = function(*arguments)
        self.seconds[what] += time.monotonic() - begin
        return result

    def write(self, path, args, device, begin, end):
        with open(path, "w") as file:
            json.dump({"pid": os.getpid(), "device": device.name, "steps": self.steps,
                       "started_ns": int(begin * 1e9), "ended_ns": int(end * 1e9),
                       "compute_seconds_asked": self.steps * args.compute_ms / 1e3,
                       "seconds": self.seconds, "arguments": vars(args)}, file, indent=1)


def checkpoint(device, size, folder):
    path = os.path.join(folder, f"checkpoint-{os.getpid()}.bin")
    with open(path, "wb") as file:
        file.write(device.weights(size)[:size])
        file.flush()
        os.fsync(file.fileno())
    os.unlink(path)


def make_loader(args, device):
    options = {}
    if args.workers:
        options = {"prefetch_factor": args.prefetch, "persistent_workers": args.persistent,
                   "multiprocessing_context": args.multiprocessing_context}
    return data.DataLoader(Images(args), batch_size=args.batch, shuffle=True, drop_last=True,
                           num_workers=args.workers,
                           pin_memory=args.pin and device.name == "torch.cuda", **options)


def train(args, device, truth, stop):
    loader = make_loader(args, device)
    for _ in range(args.epochs):
        if truth.steps >= args.steps or stop.asked:
            break
        batches = truth.timed("load_wait", stop.start_workers, loader)
        while truth.steps < args.steps and not stop.asked:
            item = truth.timed("load_wait", next, batches, None)
            if item is None:
                break
            batch, spent = item
            truth.seconds["read"] += float(spent[:, 0].sum())
            truth.seconds["decode"] += float(spent[:, 1].sum())
            truth.timed("copy", device.upload, batch)
            truth.timed("launch", device.compute)
            truth.steps += 1
            if truth.steps % args.sync_every == 0:
                truth.timed("wait", device.wait)
            if args.checkpoint_every and truth.steps % args.checkpoint_every == 0:
                truth.timed("checkpoint", checkpoint, device, args.checkpoint_mib << 20,
                            args.checkpoint_dir)
    truth.timed("wait", device.wait)


def parse(argv):
    p = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    p.add_argument("--data", default="synthetic", help="folder, http(s) URL, or \"synthetic\"")
    p.add_argument("--samples", type=int, default=4096, help="samples in an epoch")
    p.add_argument("--image", type=int, default=128, help="edge of an image in pixels")
    p.add_argument("--workers", type=int, default=2)
    p.add_argument("--batch", type=int, default=16)
    p.add_argument("--prefetch", type=int, default=2, help="batches ahead per worker")
    p.add_argument("--steps", type=int, default=100, help="stop after this many")
    p.add_argument("--epochs", type=int, default=1000)
    p.add_argument("--compute-ms", type=float, default=20, help="accelerator time of a step")
    p.add_argument("--decode-ms", type=float, default=2, help="core time of a sample")
    how = p.add_mutually_exclusive_group()
    how.add_argument("--pin", action="store_true", default=True, help="pinned copies (default)")
    how.add_argument("--pageable", dest="pin", action="store_false")
    p.add_argument("--persistent", action="store_true", help="keep workers between epochs")
    p.add_argument("--multiprocessing-context", choices=("fork", "spawn"), default="fork")
    p.add_argument("--sync-every", type=int, default=1, help="read the loss every so many steps")
    p.add_argument("--checkpoint-every", type=int, default=0, metavar="STEPS")
    p.add_argument("--checkpoint-mib", type=int, default=32)
    p.add_argument("--checkpoint-dir", default=tempfile.gettempdir())
    p.add_argument("--device", type=int, default=int(os.environ.get("LOCAL_RANK", 0)))
    p.add_argument("--log", help="write what was done, as JSON, to this file")
    return p.parse_args(argv)


def main(argv):
    args = parse(argv)
    use_temporary_folder()
    stop = Stop()
    torch.set_num_threads(1)
    truth = Truth()
    device = open_device(args)
    begin = time.monotonic()
    train(args, device, truth, stop)
    end = time.monotonic()
    device.close()
    if args.log:
        truth.write(args.log, args, device, begin, end)
    print(f"{truth.steps} steps in {end - begin:.2f} s on {device.name}, "
          f"{truth.seconds['load_wait']:.2f} s waiting for data", file=sys.stderr)
    return 130 if stop.asked else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
