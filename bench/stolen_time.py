# SPDX-License-Identifier: Apache-2.0
"""Time that the hypervisor of a virtual machine took from its processors (`steal` in /proc/stat; zero on real machines)."""
import os
import time

STEAL = 7  # column of /proc/stat's line `cpu`, after its name
USED = (0, 1, 2, 5, 6)  # user, nice, system, irq, softirq


def _ticks():
    with open("/proc/stat", encoding="utf-8") as file:
        return [int(word) for word in file.readline().split()[1:]]


class StolenTime:
    """Share of the wanted processor time that was taken: stolen / (used + stolen), since the object was made."""

    def __init__(self):
        self.before = _ticks()

    def share(self):
        ticks = [now - then for now, then in zip(_ticks(), self.before)]
        stolen = ticks[STEAL] if len(ticks) > STEAL else 0
        wanted = stolen + sum(ticks[column] for column in USED)
        return stolen / wanted if wanted else 0.0


def wait_until_quiet(load, limit, seconds):
    """Calls `load`, which keeps the processors busy for a moment, until little time is stolen during it, or `seconds` have passed.

    Returns what the last call returned.
    """
    end = time.monotonic() + seconds
    while True:
        stolen = StolenTime()
        result = load()
        if stolen.share() <= limit or time.monotonic() >= end:
            return result
        time.sleep(min(5.0, max(0.0, end - time.monotonic())))
