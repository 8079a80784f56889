"""What a process and all that it started use: memory and processor time. Knows processes; must not know what runs."""

from __future__ import annotations

import os
from collections.abc import Callable

import psutil


def memory_bytes() -> int:
    """What this process and all it started hold now."""
    return int(_sum_of_family(os.getpid(), lambda process: process.memory_info().rss))


def processor_seconds(pid: int) -> float:
    """What a process and all it started, as far as they still run, have used."""
    return _sum_of_family(pid, lambda process: process.cpu_times().user + process.cpu_times().system)


def _sum_of_family(pid: int, figure: Callable[[psutil.Process], float]) -> float:
    top = psutil.Process(pid)
    total = 0.0
    for process in (top, *top.children(recursive=True)):
        try:
            total += figure(process)
        except psutil.NoSuchProcess:
            continue
    return total
