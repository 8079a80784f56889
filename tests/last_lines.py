"""A red run ends with what failed: each assertion in a line, how to run it alone, what ran beside it, where logs are.

A plugin of pytest for the run's own process, whether it has workers or not. Must not know a test.
"""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

_MOST_SHOWN = 20
_MOST_CHARACTERS = 200


class LastLines:
    """Notes each failure as it comes, with what runs at that moment."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._at_work: dict[str, None] = {}
        self._failed: dict[str, tuple[str, str]] = {}
        """By node id: the assertion, and what ran beside it."""

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._at_work[nodeid] = None

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self._at_work.pop(nodeid, None)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and report.nodeid not in self._failed:
            beside = [name for name in self._at_work if name != report.nodeid]
            self._failed[report.nodeid] = (assertion_of(report), f"{', '.join(beside) or 'no other test'}; {machine()}")
            reporter = self._config.pluginmanager.get_plugin("terminalreporter")
            if reporter is not None and os.environ.get("CI"):  # A run that is ended has no last lines.
                reporter.write_line(f"\nfailed: {report.nodeid}: {self._failed[report.nodeid][0]}")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._failed[report.nodeid] = (assertion_of(report), machine())

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self) -> Generator[None]:
        yield
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None and self._failed:
            for line in self.lines():
                reporter.write_line(line)

    def lines(self) -> Iterator[str]:
        """What is said last."""
        yield ""
        for name, (assertion, beside) in list(self._failed.items())[:_MOST_SHOWN]:
            nightly = "NIGHTLY=all " if os.environ.get("NIGHTLY") == "all" else ""
            yield f"FAILED {name}: {assertion}"
            yield f"    alone: {nightly}.venv/bin/python -m pytest -n0 {shlex.quote(name)}"
            yield f"    beside: {beside}"
        if len(self._failed) > _MOST_SHOWN:
            yield f"... and {len(self._failed) - _MOST_SHOWN} more, which stand above"
        factory = getattr(self._config, "_tmp_path_factory", None)
        if factory is not None:
            yield f"Their folders, with the output of programs, are in {factory.getbasetemp()}"
        yield f"{len(self._failed)} failed"


def assertion_of(report: pytest.TestReport | pytest.CollectReport) -> str:
    """The error in one line, and in which phase it came if not in the test itself."""
    crash: Any = getattr(report.longrepr, "reprcrash", None)
    text = str(crash.message if crash is not None else report.longrepr).strip()
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["no error was said"]
    line = lines[0 if crash is not None else -1]
    when = getattr(report, "when", "call")
    return ("" if when == "call" else f"in its {when}: ") + line[:_MOST_CHARACTERS]


def machine() -> str:
    """The load of the last minute, and the names of the processes that want a processor now."""
    wanting = Counter[str]()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, fields = stat.read_text().partition("(")[2].rpartition(")")
        except OSError:
            continue
        if fields.split()[0] == "R" and int(stat.parent.name) != os.getpid():
            wanting[name] += 1
    names = ", ".join(f"{count} {name}" for name, count in wanting.most_common(5))
    return f"load {os.getloadavg()[0]:.1f} of {os.cpu_count()} cores; running: {names or 'nothing else'}"
