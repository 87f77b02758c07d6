# SPDX-License-Identifier: MIT
"""PyTorch's pin-memory thread where there is no CUDA: its own loop runs, and copies each batch instead of
pinning it. And what that thread writes down, as truthlog.py says.
"""
import json
import os
import threading

import torch
import torch.utils.data._utils.pin_memory as loop

from truthlog import ThreadClock, minus, number_of


def _pretend_cuda():
    """Lets a DataLoader believe in a device to pin for."""
    places = [(torch.cuda, {"is_available": True, "current_device": 0, "set_device": None})]
    if hasattr(torch, "accelerator"):  # where newer ones ask
        places.append((torch.accelerator, {
            "is_available": True, "current_accelerator": torch.device("cuda"),
            "current_device_index": 0, "set_device_index": None}))
    for module, answers in places:
        for name, answer in answers.items():
            setattr(module, name, lambda *_, answer=answer, **__: answer)


class PinLog:
    """The account of the thread that pins: one line per batch. Put in place before a loader makes it."""

    def __init__(self, folder):
        self.folder = folder
        self.local = threading.local()
        _pretend_cuda()
        torch.Tensor.pin_memory = lambda tensor, *_: tensor.clone()
        self.pin, loop.pin_memory = loop.pin_memory, self.pin_memory

    def begin(self):
        me = self.local
        me.clock = ThreadClock()
        me.last = me.clock.now()
        path = os.path.join(self.folder, f"pin-{me.clock.tid}.jsonl")
        me.out = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)

    def pin_memory(self, data, *device):
        """In the place of the loop's function, which also calls itself for each part of a batch."""
        pinned = self.pin(data, *device)
        number = number_of(data)
        if number is None:
            return pinned
        if not hasattr(self.local, "clock"):
            self.begin()
        me = self.local
        now = me.clock.now()
        line = {"pid": os.getpid(), "n": number, "t1": now[0], "pin": minus(now, me.last)}
        os.write(me.out, (json.dumps(line) + "\n").encode())
        me.last = now
        return pinned
