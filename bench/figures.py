# SPDX-License-Identifier: MIT
"""Figures of the benchmarks: medians, spreads, and lines that end with holds or misses."""
import statistics


class Figures:
    """Prints one line a figure and counts which bounds hold."""

    def __init__(self, out=print):
        self.out = out
        self.held, self.missed, self.skipped = [], [], []

    def bound(self, name, text, holds, bound):
        (self.held if holds else self.missed).append(name)
        self.out(f"{name}: {text} (bound: {bound}): {'holds' if holds else 'misses'}")

    def plain(self, name, text):
        self.out(f"{name}: {text} (no bound)")

    def skip(self, name, why):
        self.skipped.append(name)
        self.out(f"{name}: skipped: {why}")

    def summary(self):
        judged = len(self.held) + len(self.missed)
        text = f"bench: {len(self.held)} of {judged} bounds hold"
        if self.missed:
            text += f"; misses: {', '.join(self.missed)}"
        if self.skipped:
            text += f"; skipped: {', '.join(self.skipped)}"
        self.out(text)


def quartiles(values):
    """(lower quartile, median, upper quartile); for one value, three times that."""
    if len(values) == 1:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def slowdown(ratios):
    """'+0.40 % (quartiles -0.10 to +0.90 %)' of ratios of one run to its partner."""
    low, middle, high = (100 * (q - 1) for q in quartiles(ratios))
    return f"{middle:+.2f} % (quartiles {low:+.2f} to {high:+.2f} %)"


def rotated(items, by):
    """The items in another order for each round, so that none always comes first."""
    by = by % len(items) if items else 0
    return [*items[by:], *items[:by]]
