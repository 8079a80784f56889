"""What a program starts ends with it, also where the program is killed.

`guard()` starts a process that waits for the program's end. Then it ends every process that has the program's mark in
its environment. Processes inherit it, so that Spark's daemons are found, which have sessions of their own. Without
Linux's /proc nothing is guarded. Knows processes and their environments. Must not know what they do.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from rollcall.programs.child_python import module_command, module_environment

VARIABLE = "ROLLCALL_STARTED_BY"
"""The marks of the guarded programs above a process, with blanks between them."""
GRACE_S = 5.0
"""How long a process has after SIGTERM."""
PATIENCE_S = 60.0
LOOK_EVERY_S = 0.25
_PROC = Path("/proc")
_STATE, _STARTED = 0, 19
"""Places in /proc/PID/stat after the name."""


def guard() -> None:
    """Has what this process starts from now on ended with it; once is enough.

    First it ends what an ended program has left, if its guardian was killed as well.
    """
    mark, above = mark_of(os.getpid()), os.environ.get(VARIABLE, "").split()
    if mark is None or mark in above:
        return
    end_all(lambda marks: not all(map(is_running, marks)))
    os.environ[VARIABLE] = " ".join([*above, mark])
    nothing = subprocess.DEVNULL
    command, environment = module_command("rollcall.programs.guardian", mark), module_environment()
    # Nobody waits for it: it outlives this process.
    subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=nothing, env=environment, start_new_session=True)


def is_running(mark: str) -> bool:
    """Whether the program of a mark still runs. Another process may have its id by now, and began later."""
    process = mark.partition("-")[0]
    return process.isdecimal() and mark_of(int(process)) == mark


def end_all(is_meant: Callable[[list[str]], bool]) -> None:
    """Ends every other process of whose marks this holds: by SIGTERM, and after GRACE_S by SIGKILL."""
    began_s, asked = time.monotonic(), set[int]()
    while found := {process for process, marks in _marked() if is_meant(marks)}:
        spent_s = time.monotonic() - began_s
        if spent_s > PATIENCE_S:
            return
        for process in found if spent_s > GRACE_S else found - asked:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL if process in asked else signal.SIGTERM)
        asked |= found
        # What is late may start others faster than it is looked for.
        time.sleep(LOOK_EVERY_S if spent_s <= GRACE_S else 0.01)


def mark_of(process: int) -> str | None:
    """A running process's id and when it began; None once it has ended."""
    try:
        fields = (_PROC / str(process) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[_STATE] in "ZX" else f"{process}-{fields[_STARTED]}"


def _marked() -> Iterator[tuple[int, list[str]]]:
    """The other processes that have marks."""
    for folder in _PROC.iterdir():
        if folder.name.isdecimal() and int(folder.name) != os.getpid():
            with contextlib.suppress(OSError):
                for entry in (folder / "environ").read_bytes().split(b"\0"):
                    name, _, value = entry.partition(b"=")
                    if name == VARIABLE.encode():
                        yield int(folder.name), value.decode("utf-8", "replace").split()


def main(mark: str) -> None:
    """Waits until the program of this mark has ended, then ends what it started."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    while is_running(mark):
        time.sleep(LOOK_EVERY_S)
    end_all(lambda marks: mark in marks)


if __name__ == "__main__":
    main(sys.argv[1])
