# SPDX-License-Identifier: MIT
"""Exports of Nsight Systems made up for tests: the tables that a test asks for, in the exporter's shape."""
import sqlite3

TID = (1 << 48) | (4242 << 24)  # globalPid of process 4242; | tid: a thread of it

TABLES = {
    "StringIds": "id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL",
    "CUPTI_ACTIVITY_KIND_KERNEL": "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, "
                                  "streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, "
                                  "demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL",
    "CUPTI_ACTIVITY_KIND_MEMCPY": "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, "
                                  "correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL, "
                                  "copyKind INTEGER NOT NULL, srcKind INTEGER, dstKind INTEGER",
    "CUPTI_ACTIVITY_KIND_MEMSET": "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, "
                                  "correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": "start INTEGER NOT NULL, end INTEGER NOT NULL, "
                                       "deviceId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid INTEGER, "
                                   "correlationId INTEGER, nameId INTEGER NOT NULL",
    "NVTX_EVENTS": "start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT, "
                   "globalTid INTEGER, textId INTEGER",
    "OSRT_API": "start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid INTEGER, nameId INTEGER NOT NULL",
    "TARGET_INFO_GPU": "id INTEGER NOT NULL, name TEXT, busLocation TEXT, totalMemory INTEGER, "
                       "memoryBandwidth INTEGER, smCount INTEGER",
    "TARGET_INFO_CUDA_DEVICE": "gpuId INTEGER, cudaId INTEGER, pid INTEGER",
    "PROCESSES": "globalPid INTEGER, pid INTEGER, name TEXT",
    "TARGET_INFO_SYSTEM_ENV": "globalVid INTEGER, devStateName TEXT NOT NULL, name TEXT NOT NULL, "
                              "nameEnum INTEGER NOT NULL, value TEXT NOT NULL",
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs INTEGER, utcTime TEXT, localTime TEXT, systemClockNs INTEGER",
}
KERNEL, COPY, MEMSET, GRAPH, CALL = ("CUPTI_ACTIVITY_KIND_" + k for k in
                                     ("KERNEL", "MEMCPY", "MEMSET", "GRAPH_TRACE", "RUNTIME"))
US, MS = 1000, 1000_000


class Export:
    """Rows are given by name; tables are made when they are first needed."""

    def __init__(self, path, strict=True):
        self.path, self.strict = path, strict
        self.db = sqlite3.connect(path)
        self.made, self.texts, self.correlation = set(), {}, 0

    def make(self, table, columns=None):
        if table not in self.made:
            self.made.add(table)
            columns = columns or TABLES[table]
            if not self.strict:
                columns = columns.replace(" NOT NULL", "").replace(" INTEGER", "")
            self.db.execute(f'CREATE TABLE "{table}" ({columns})')

    def add(self, table, **row):
        self.make(table)
        names = ", ".join(f'"{k}"' for k in row)
        self.db.execute(f'INSERT INTO "{table}" ({names}) VALUES ({", ".join("?" * len(row))})', list(row.values()))

    def text(self, value):
        if value not in self.texts:
            self.texts[value] = len(self.texts) + 1
            self.add("StringIds", id=self.texts[value], value=value)
        return self.texts[value]

    def call(self, start, end, name="cudaLaunchKernel_v7000", tid=1, pid=None, correlation=None):
        if correlation is None:
            self.correlation += 1
            correlation = self.correlation
        self.add(CALL, start=start, end=end, globalTid=(TID if pid is None else 1 << 48 | pid << 24) | tid,
                 correlationId=correlation, nameId=self.text(name))
        return correlation

    def kernel(self, start, end, name="gemm", device=0, launch=None, correlation=None, pid=4242):
        if correlation is None:
            at = start - 5 * US if launch is None else launch
            correlation = self.call(at, at + 4 * US, pid=pid)
        self.add(KERNEL, start=start, end=end, deviceId=device, streamId=7, correlationId=correlation,
                 globalPid=1 << 48 | pid << 24, demangledName=self.text(name), shortName=self.text(name))

    def copy(self, start, end, kind=1, src=1, dst=2, size=1 << 20, device=0, correlation=0):
        self.add(COPY, start=start, end=end, deviceId=device, correlationId=correlation, globalPid=TID, bytes=size,
                 copyKind=kind, srcKind=src, dstKind=dst)

    def done(self):
        self.db.commit()
        self.db.close()
        return self.path


def busy(export, begin=0, count=50, device=0, pid=4242):
    """Kernels of 0.99 ms each millisecond."""
    for i in range(count):
        export.kernel(begin + i * MS, begin + i * MS + 990 * US, device=device, pid=pid)
    return export
