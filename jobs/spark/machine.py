"""How much of a machine Spark uses: its cores, a part of its memory, and a shuffle partition for each core.

Knows where a system or a container sets limits. Must not know Spark, nor a home.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

GIB = 1 << 30
LEAST_CORES = 2
"""With one core a batch would take it all, and the job would not answer."""
MOST_HEAP_BYTES = 28 * GIB
"""From 32 GiB on every reference in a JVM takes twice the memory."""
CONTROL_GROUP = Path("/sys/fs/cgroup")


class Machine(NamedTuple):
    """The cores and the memory that this process may use."""

    cores: int
    memory_bytes: int

    def spark_settings(self) -> dict[str, str]:
        """Spark's settings for a session that has the machine for itself, under Spark's keys.

        All cores, and two at least. A quarter of the memory for the driver, 2 GiB at least, but never more than half.
        A shuffle partition for each core, as far as there is a GiB for each: it has two Python sessions of its own.
        """
        cores = max(LEAST_CORES, self.cores)
        heap_bytes = min(max(self.memory_bytes // 4, 2 * GIB), self.memory_bytes // 2, MOST_HEAP_BYTES)
        partitions = max(LEAST_CORES, min(cores, self.memory_bytes // GIB))
        return {
            "spark.master": f"local[{cores}]",
            "spark.driver.memory": f"{heap_bytes >> 20}m",
            "spark.sql.shuffle.partitions": str(partitions),
        }


def this_machine(control_group: Path = CONTROL_GROUP) -> Machine:
    """The cores and the memory that this process may use: the system's, or less where a container's limits say so."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    quota = _words(control_group / "cpu.max")
    if len(quota) == 2 and all(word.isdecimal() for word in quota):
        # Half a core more is a core that is there half of the time.
        cores = min(cores, max(1, -(-int(quota[0]) // int(quota[1]))))
    limit = _words(control_group / "memory.max")
    if len(limit) == 1 and limit[0].isdecimal():
        memory_bytes = min(memory_bytes, int(limit[0]))
    return Machine(cores, memory_bytes)


def _words(file: Path) -> list[str]:
    try:
        return file.read_text().split()
    except OSError:
        return []
