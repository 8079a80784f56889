"""What hostile names, logs and dumps cost the commands that read them: in time and memory, and per byte read.

Commands are processes, on a home of recorded incidents and hostile names beside a small home; readers are searched by
the cases of the other attacks. Knows both; must not know what a command says.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import msgspec

from tests.attack.cost.broker import memory_bytes
from tests.attack.cost.pages import ROOT
from tests.attack.inputs import INPUTS
from tests.page.homes import HOSTILE

READERS = (
    *("log-lines", "whole-logs", "printed-lines", "offset-dumps"),
    *("request-rows", "trace-lines", "alarms", "metrics"),
)
COMMANDS: dict[str, Sequence[str]] = {
    "why": ("why", HOSTILE[-1]),
    "sql": ("sql", "select * from rebalances order by cause_client_id"),
    "pictures": ("pictures", HOSTILE[0]),
}


class CommandCost(msgspec.Struct):
    """What came of a command, or of a reader's dearest case."""

    name: str
    tries: int
    read_bytes: int
    """Of the dearest case; of a command, of its home."""
    longest_s: float
    most_memory: float
    """As a multiple of what it needs for a small home, or before the first case."""


def costs_of_commands(home: Path, small: Path, folder: Path) -> Iterator[CommandCost]:
    """Each command on both homes. folder: where it may write."""
    read_bytes = sum(file.stat().st_size for file in home.rglob("*") if file.is_file())
    for name, (command, *words) in COMMANDS.items():
        _, least_kb = _run([command, "--home", str(small), *words], folder)
        took_s, most_kb = _run([command, "--home", str(home), *words], folder)
        yield CommandCost(f"rollcall {name}", 1, read_bytes, took_s, most_kb / least_kb)


def _run(words: Sequence[str], folder: Path) -> tuple[float, int]:
    """How long a command took, and the most memory it had."""
    began_s = time.monotonic()
    pid = os.fork()
    if pid == 0:
        os.chdir(folder)
        silent = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(silent, stream)
        os.environ["PYTHONPATH"] = str(ROOT)
        os.execv(sys.executable, [sys.executable, "-m", "rollcall", *words])
    _, _, usage = os.wait4(pid, 0)
    return time.monotonic() - began_s, usage.ru_maxrss


def costs_of_readers(seconds: float) -> Iterator[CommandCost]:
    """Searches the cases of each reader; seconds: how long."""
    for name in READERS:
        attacked, random = INPUTS[name](), Random(23)
        attacked.renew()
        # What is loaded once is no case's.
        attacked.play(attacked.case(random))
        least, cases = memory_bytes("VmRSS"), []
        ends_at = time.monotonic() + seconds
        while time.monotonic() < ends_at:
            case = attacked.case(random)
            began_s = time.process_time()
            attacked.play(case)
            cases.append((time.process_time() - began_s, len(case)))
        attacked.close()
        longest_s, read_bytes = max(cases)
        yield CommandCost(name, len(cases), read_bytes, longest_s, memory_bytes("VmHWM") / least)
