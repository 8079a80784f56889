"""Folders and processes for benches, and what processes use. Must not know what a bench measures."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import psutil

ROOT = Path(__file__).parents[1]
MEBIBYTE = 1 << 20
_ROLLCALL = (sys.executable, "-m", "rollcall")
_SAMPLED_EVERY_S = 0.1


@contextmanager
def folder() -> Iterator[Path]:
    """A folder that is removed in the end."""
    with tempfile.TemporaryDirectory(prefix="rollcall-bench-", ignore_cleanup_errors=True) as path:
        yield Path(path)


class Ended(NamedTuple):
    """A command that has ended: by the wall's clock, the most memory that was seen, and what it printed."""

    seconds: float
    memory_bytes: float
    printed: str


def run(*words: str, memory: Callable[[int], float]) -> Ended:
    """Runs a subcommand of `rollcall`. memory: what is measured of its process id. Raises AssertionError: it failed."""
    began = time.monotonic()
    process = subprocess.Popen([*_ROLLCALL, *words], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    with sampled(lambda: memory(process.pid)) as seen:
        printed, _ = process.communicate()
        seconds = time.monotonic() - began
    if process.returncode:
        raise AssertionError(f"{' '.join(words)}: exit status {process.returncode}")
    return Ended(seconds, max(seen, default=0.0), printed)


@contextmanager
def started(*words: str, says: str) -> Iterator[tuple[int, str]]:
    """A subcommand's process until the end of the block: its id, and the rest of the line in which it said that."""
    environment = os.environ | {"COLUMNS": "200", "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen([*_ROLLCALL, *words], cwd=ROOT, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    try:
        said = next((line.partition(says)[2].strip() for line in process.stdout if says in line), None)
        if said is None:
            raise RuntimeError(f"{words[0]} ended before it said {says!r}")
        yield process.pid, said
    finally:
        process.terminate()
        process.communicate(timeout=120)


@contextmanager
def sampled(read: Callable[[], float]) -> Iterator[list[float]]:
    """What `read` gives from time to time, to the end of the block."""
    seen, is_over = list[float](), threading.Event()

    def sample() -> None:
        while not is_over.wait(_SAMPLED_EVERY_S):
            seen.append(read())

    sampling = threading.Thread(target=sample, name="samples", daemon=True)
    sampling.start()
    try:
        yield seen
    finally:
        is_over.set()
        sampling.join()


def peak_bytes(pid: int) -> float:
    """The most memory that a process has had so far; 0 once it has ended."""
    try:
        peak = Path(f"/proc/{pid}/status").read_text().partition("VmHWM:")[2].split()
    except OSError:
        return 0.0
    return int(peak[0]) * 1024.0 if peak else 0.0


def family_bytes(pid: int) -> float:
    """What a process and all that it started hold: what they share is counted once."""
    return sum(_of_family(pid, lambda process: process.memory_full_info().pss).values())


def processor_seconds(pid: int) -> dict[int, float]:
    """What a process and all it started have used, as far as they still run, by process id."""
    return _of_family(pid, lambda process: process.cpu_times().user + process.cpu_times().system)


def seconds_since(pid: int, before: Mapping[int, float]) -> float:
    """What they used since then. A process that ended in between, as a worker of Spark may, counts for nothing."""
    return sum(seconds - before.get(each, 0.0) for each, seconds in processor_seconds(pid).items())


def _of_family(pid: int, figure: Callable[[psutil.Process], float]) -> dict[int, float]:
    found: dict[int, float] = {}
    try:
        family = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    except psutil.NoSuchProcess:
        return found
    for process in family:
        try:
            found[process.pid] = figure(process)
        except psutil.Error:
            continue
    return found
