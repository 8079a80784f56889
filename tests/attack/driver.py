"""Attacks inputs with cases from a seed, for a stated time or a number of cases, and reports what was found.

A finding is played again after a start: alone, else with the cases before it. What does so again is kept; what was only
slow, once, is reported alone, for the machine may have been busy. Knows time, memory and seeds; knows no input.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from random import Random
from types import FrameType

from tests.attack.attacked import Attacked, Finding, raised_at
from tests.attack.kept import keep

CASES_A_START = 2000
"""An input begins anew after this many cases."""
NEVER_S = 60.0
"""A case that takes this much processor time counts as endless."""
GROWTH_MAX_BYTES = 150_000_000
"""An input may hold this much more memory after a later start than after the first ones."""
_WARM_STARTS = 2
"""After this many starts, whatever is loaded once is loaded."""
_CASES_A_LOOK = 10
"""The clock is read after this many cases."""
_MOST_FINDINGS = 20
"""An input with this many different findings is not attacked any further."""


class _Endless(BaseException):
    """A case is interrupted; no handler of errors may take it for one."""


@dataclass
class Report:
    """What came of attacking one input."""

    name: str
    played: int = 0
    """How many times something was given to the product."""
    cases: int = 0
    """Of how many hostile pieces that was: requests, rows, lines."""
    slowest_s: float = 0.0
    """In processor time."""
    growth_bytes: int = 0
    findings: dict[str, Path] = field(default_factory=dict)
    """What was found, and where the case is kept."""
    once: list[str] = field(default_factory=list)
    """What did not happen again."""


class Attack:
    """An attack on one input; continues from case to case as often as it is told to."""

    def __init__(
        self,
        attacked: Attacked,
        seed: int,
        folder: Path,
        show: Callable[[str], None],
        clock: Callable[[], float] = time.process_time,
    ) -> None:
        self._attacked = attacked
        self._clock = clock
        self._seed = seed
        self._folder = folder
        self._show = show
        self._played: list[bytes] = []
        """The cases since the last start."""
        self._first_bytes = 0
        self._starts = 0
        self.report = Report(attacked.name)

    @property
    def is_over(self) -> bool:
        """Whether enough was found."""
        return len(self.report.findings) >= _MOST_FINDINGS

    def case(self, number: int) -> bytes:
        """The case of a number; the seed and the number give the same one again."""
        return self._attacked.case(Random(f"{self._seed}/{self._attacked.name}/{number}"))

    def start(self) -> None:
        """Begins with a start of the product, and looks at the memory that the last one left."""
        self._played.clear()
        self._attacked.renew()
        gc.collect()
        self._starts += 1
        if self._starts <= _WARM_STARTS:
            return
        held = _resident_bytes()
        self._first_bytes = self._first_bytes or held
        self.report.growth_bytes = max(self.report.growth_bytes, held - self._first_bytes)
        if held - self._first_bytes > GROWTH_MAX_BYTES:
            self._first_bytes = held
            self._found(f"memory grows: {GROWTH_MAX_BYTES} bytes more than at first", [])

    def play_on(self, cases: int) -> None:
        """Plays this many more cases, but none beyond the next start."""
        if not self._played or len(self._played) >= CASES_A_START:
            self.start()
        with _endless_are_interrupted():
            for _ in range(cases):
                case = self.case(self.report.played)
                self._played.append(case)
                self.report.played += 1
                found, took_s, pieces = self._outcome(case)
                self.report.cases += pieces
                self.report.slowest_s = max(self.report.slowest_s, took_s)
                if found:
                    self._look_again(found)
                    break

    def _outcome(self, case: bytes) -> tuple[str, float, int]:
        """What a case found, "" for nothing, how long it took, and its pieces."""
        began, pieces, found = self._clock(), 1, ""
        signal.setitimer(signal.ITIMER_PROF, NEVER_S)
        try:
            pieces = self._attacked.play(case)
        except _Endless:
            return f"does not end within {NEVER_S:g} s", NEVER_S, pieces
        except Finding as finding:
            found = str(finding)
        except Exception as error:
            found = f"raises {type(error).__name__}: {_place_of(error)}"
        took_s = self._clock() - began
        if not found and took_s > self._attacked.slow_s:
            found = f"takes more than {self._attacked.slow_s:g} s"
        return found, took_s, pieces

    def _look_again(self, found: str) -> None:
        for cases in (self._played[-1:], self._played[:]):
            self._attacked.renew()
            for case in cases[:-1]:
                self._outcome(case)
            if self._outcome(cases[-1])[0] == found:
                self._found(found, cases)
                break
        else:
            self.report.once.append(found)
        self._played.clear()

    def _found(self, found: str, cases: Sequence[bytes]) -> None:
        if found not in self.report.findings:
            path = keep(self._folder, self._attacked.name, found, cases)
            self.report.findings[found] = path
            self._show(f"{self._attacked.name}: {found}\n  kept in {path}")


def attack(
    inputs: Sequence[Attacked],
    seed: int,
    folder: Path,
    show: Callable[[str], None] = print,
    seconds: float = inf,
    cases: float = inf,
    clock: Callable[[], float] = time.process_time,
) -> list[Report]:
    """Attacks the inputs one after another, each for its part of the time or for its number of cases. show: prints
    findings; clock: what a slow case is measured by.

    Raises KeyboardInterrupt when it is stopped, once what was done so far is reported.
    """
    reports = []
    for attacked in inputs:
        attempt = Attack(attacked, seed, folder, show, clock)
        ends_at = time.monotonic() + seconds / len(inputs)
        try:
            while attempt.report.played < cases and time.monotonic() < ends_at and not attempt.is_over:
                attempt.play_on(int(min(_CASES_A_LOOK, cases - attempt.report.played)))
        finally:
            show(_reported(attempt.report, attacked.figures()))
        attacked.close()
        reports.append(attempt.report)
    return reports


@contextlib.contextmanager
def _endless_are_interrupted() -> Iterator[None]:
    def interrupt(number: int, frame: FrameType | None) -> None:
        raise _Endless

    before = signal.signal(signal.SIGPROF, interrupt)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _reported(report: Report, figures: str) -> str:
    found = "without a finding" if not report.findings else f"and {len(report.findings)} findings"
    once = f"; {len(report.once)} did not happen again" if report.once else ""
    return (
        f"{report.name}: {report.cases:,} cases {found}{once}; the slowest took {report.slowest_s * 1000:.0f} ms of "
        f"processor time; memory grew by {report.growth_bytes / 1e6:.0f} MB{'; ' if figures else ''}{figures}"
    )


def _place_of(error: BaseException) -> str:
    """Where an error was raised, the same for the same fault."""
    code = raised_at(error).tb_frame.f_code
    return f"{Path(code.co_filename).name} {code.co_name}"


def _resident_bytes() -> int:
    """What the process holds; memory that was freed is first given back, where the system's library can do that."""
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)
    status = Path("/proc/self/status")
    if not status.exists():
        return 0
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024
