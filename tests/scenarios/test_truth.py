#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The truth of made-up logs, worked out by hand beside each case."""
import unittest

import truth

MS = 1_000_000


def main_log(steps, device=0):
    """steps: (ms, on a core, without a core, label, arg); kernels: (launched at, ms)."""
    marks, kernels = [[0, 0, 0, "begin", None]], []
    for wall, cpu, delay, label, arg in steps:
        last = marks[-1]
        marks.append([last[0] + wall * MS, last[1] + cpu * MS, last[2] + delay * MS, label, arg])
        if label == "launch":
            kernels.append([last[0], marks[-1][0], arg * MS])
    return {"pid": 1, "device": device, "rank": device, "span": [0, marks[-1][0]],
            "marks": marks, "kernels": kernels}


def batch(n, read, dec, gap=(0, 0, 0), **more):
    """A line of a worker; read and dec as (wall, cpu, delay) in ms."""
    return {"pid": 1, "n": n, "t0": 0, "t1": 0,
            "all": [(a + b) * MS for a, b in zip(read, dec)],
            "read": [a * MS for a in read], "dec": [a * MS for a in dec],
            "gap": [a * MS for a in gap], **more}


def shares_ms(main, lines=(), mains=None):
    span, account = truth.Accountant(main, mains or [main], {b["n"]: b for b in lines}, True).run()
    assert abs(sum(account.values()) - span) < 1, account
    return {k: round(v / MS, 3) for k, v in account.items() if v > 1}


class Making(unittest.TestCase):
    def test_wait_is_shared_over_the_whole_making(self):
        # 80 ms of reading, 20 ms of decoding; the trainer waited for the last 15 ms only.
        main = main_log([(15, 0, 0, "next", {"n": 0}), (0, 0, 0, "launch", 5), (5, 0, 0, "sync", None)])
        got = shares_ms(main, [batch(0, (80, 0, 0), (20, 20, 0))])
        self.assertEqual(got, {"storage": 12, "prepare": 3, "compute": 5})

    def test_checkpoint_of_a_helper(self):
        main = main_log([(20, 0, 1, "ckpt", {"helper": [18 * MS, 12 * MS, 6 * MS]})])
        self.assertEqual(shares_ms(main), {"checkpoint": 13, "cpu-starved": 7})

    def test_core_not_given_is_starvation(self):
        main = main_log([(40, 0, 0, "next", {"n": 0})])
        got = shares_ms(main, [batch(0, (10, 0, 5), (30, 10, 20))])
        self.assertEqual(got, {"storage": 5, "cpu-starved": 25, "prepare": 10})

    def test_idle_worker_starts_where_it_got_work(self):
        main = main_log([(10, 0, 0, "next", {"n": 3})])
        got = shares_ms(main, [batch(3, (5, 0, 0), (5, 5, 0), gap=(90, 1, 0))])
        self.assertEqual(got, {"storage": 5, "prepare": 5})

    def test_pinning_is_prepare_too(self):
        main = main_log([(26, 0, 0, "next", {"n": 0})])
        got = shares_ms(main, [batch(0, (10, 0, 0), (5, 5, 0), pin=[90 * MS, 8 * MS, 3 * MS])])
        self.assertEqual(got, {"storage": 10, "prepare": 13, "cpu-starved": 3})

    def test_short_gap_belongs_to_the_making(self):
        main = main_log([(12, 0, 0, "next", {"n": 3})])
        got = shares_ms(main, [batch(3, (5, 0, 0), (5, 5, 0), gap=(2, 2, 0))])
        self.assertEqual(got, {"storage": 5, "prepare": 7})

    def test_what_sends_the_batch_belongs_to_its_making(self):
        main = main_log([(15, 0, 0, "next", {"n": 0}), (0, 0, 0, "launch", 5), (5, 0, 0, "sync", None)])
        line = batch(0, (80, 1, 0), (14, 14, 0), send=(99 * MS, 4 * MS, 2 * MS))
        self.assertEqual(shares_ms(main, [line]),
                         {"storage": 12.0, "prepare": 2.7, "cpu-starved": 0.3, "compute": 5.0})

    def test_first_batch_has_its_worker_s_birth(self):
        main = main_log([(100, 0, 0, "next", {"n": 0})])
        line = batch(0, (10, 0, 0), (10, 10, 0), birth=1, init=[80 * MS, 60 * MS, 20 * MS])
        self.assertEqual(shares_ms(main, [line]),
                         {"startup": 60, "cpu-starved": 20, "storage": 10, "prepare": 10})

    def test_batch_without_a_line_is_unknown(self):
        self.assertEqual(shares_ms(main_log([(9, 0, 0, "next", {"n": 7})])), {"unknown": 9})


class Phases(unittest.TestCase):
    def test_own_time_of_the_launching_thread(self):
        main = main_log([(10, 6, 1, "next", {"n": 0}), (4, 3, 1, "host", None),
                         (7, 0, 2, "ckpt", None), (5, 5, 0, "copy", None), (3, 2, 1, "iter", None)])
        got = shares_ms(main, [batch(0, (1, 0, 0), (0, 0, 0))])
        self.assertEqual(got, {"host": 9, "cpu-starved": 5, "storage": 3, "checkpoint": 5,
                               "pageable-copy": 5, "startup": 2})

    def test_only_the_end_of_a_synchronisation_is_a_gap(self):
        main = main_log([(0, 0, 0, "launch", 8), (10, 0, 1, "sync", None)])
        self.assertEqual(shares_ms(main), {"compute": 8, "cpu-starved": 1, "host": 1})

    def test_kernels_queue(self):
        main = main_log([(1, 1, 0, "launch", 4), (1, 1, 0, "launch", 4), (10, 0, 0, "sync", None)])
        self.assertEqual(truth.busy_intervals(main), [[1 * MS, 9 * MS]])
        self.assertEqual(shares_ms(main), {"launch": 1, "compute": 8, "host": 3})

    def test_without_workers_reading_is_told_from_the_rest(self):
        line = batch(0, (20, 1, 2), (10, 10, 0), reads=[[0, 20 * MS]])
        got = shares_ms(main_log([(32, 12, 2, "next", {"inline": line})]))
        self.assertEqual(got, {"cpu-starved": 2, "storage": 18, "host": 12})

    def test_all_reduce_waits_for_the_last_rank_first(self):
        a = main_log([(2, 2, 0, "host", None), (10, 0, 0, "allreduce", 0)])
        b = main_log([(5, 5, 0, "host", None), (7, 0, 0, "allreduce", 0)], device=1)
        self.assertEqual(shares_ms(a, mains=[a, b]), {"host": 2, "late-peer": 3, "network": 7})
        self.assertEqual(shares_ms(b, mains=[a, b]), {"host": 5, "network": 7})


if __name__ == "__main__":
    unittest.main()
