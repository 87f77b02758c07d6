# SPDX-License-Identifier: MIT
"""The arithmetic of the benchmarks' lines."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
from figures import Figures, quartiles, rotated, slowdown  # noqa: E402


def test_quartiles_of_few_and_many():
    assert quartiles([3]) == (3, 3, 3)
    assert quartiles([4, 1, 2, 3, 5]) == (2, 3, 4)


def test_slowdown_is_about_the_median_not_the_mean():
    assert slowdown([1.01, 1.0, 1.02, 9.0, 0.99]) == "+1.00 % (quartiles +0.00 to +2.00 %)"
    assert slowdown([0.98]) == "-2.00 % (quartiles -2.00 to -2.00 %)"


def test_every_way_comes_first_in_turn():
    ways = ["bare", "gpufeed", "again"]
    assert {rotated(ways, n)[0] for n in range(3)} == set(ways)
    assert all(sorted(rotated(ways, n)) == sorted(ways) for n in range(7))
    assert rotated([], 5) == []


def test_lines_and_summary():
    lines = []
    figures = Figures(lines.append)
    figures.bound("speed", "5", True, "4")
    figures.bound("size", "5 MiB", False, "4 MiB")
    figures.plain("other", "1")
    figures.skip("perf", "not here")
    figures.summary()
    assert lines == ["speed: 5 (bound: 4): holds", "size: 5 MiB (bound: 4 MiB): misses",
                     "other: 1 (no bound)", "perf: skipped: not here",
                     "bench: 1 of 2 bounds hold; misses: size; skipped: perf"]
