"""The machine that a measurement ran on. Knows where the system describes it. Must not know a figure."""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path
from typing import NamedTuple

import psutil

_CPU_INFO = Path("/proc/cpuinfo")


class Machine(NamedTuple):
    """What figures depend on."""

    processor: str
    cores: int
    memory_gb: int
    system: str
    python: str
    day: str
    """UTC, when it was measured."""
    load: float
    """The load average of the last quarter of an hour, including the measurement."""


def this_machine() -> Machine:
    """This machine, now."""
    return Machine(
        processor=_processor(),
        cores=os.cpu_count() or 1,
        memory_gb=round(psutil.virtual_memory().total / 2**30),
        system=f"{platform.system()} {platform.release()}",
        python=platform.python_version(),
        day=time.strftime("%Y-%m-%d", time.gmtime()),
        load=os.getloadavg()[2],
    )


def _processor() -> str:
    """The processor's name if the system gives it, else its kind."""
    cpu_info = _CPU_INFO.read_text() if _CPU_INFO.exists() else ""
    names = [line.partition(":")[2].strip() for line in cpu_info.splitlines() if line.startswith("model name")]
    return names[0] if names else platform.machine()
