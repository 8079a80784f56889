"""What is looked at once a minute of a job, its gateway and its page: memory, files, tables, batches, answers.

Knows where each figure is found; must not know what it should be.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from urllib.request import urlopen

import psutil
from deltalake import DeltaTable
from prometheus_client.parser import text_string_to_metric_families

from benchmarks.soak.groups import Lived
from jobs.home import Home

MEGABYTE = 1 << 20
ASKED_TIMES = 3
ANSWER_WITHIN_S = 60.0
QUERY = "select state, generation_id, member_count from groups where group_id = 'classic-1'"


class Place(NamedTuple):
    """Where the programs are."""

    home: Home
    job: int
    """The job's process id, as the next two."""
    gateway: int
    page: int
    metrics: str
    """The job's metrics' address, as the page's."""
    page_address: str


class Watch:
    """Takes samples: figures by name. `memory ...` in MB, `bytes ...`, `files ...`, `batch`, `sql` ... in ms."""

    def __init__(self, place: Place, lived: Lived) -> None:
        self._place, self._lived = place, lived
        self._batches = self._batch_seconds = 0.0

    def sample(self) -> dict[str, float]:
        """A program that does not answer in time leaves its figures out of this sample."""
        took, self._lived.took = sorted(self._lived.took), []
        found: dict[str, float] = {}
        for figures in (self._memory, self._on_disk, self._batch, self._answers):
            with suppress(TimeoutError):
                found |= figures()
        return found | {
            "heartbeat p50": took[len(took) // 2] * 1000 if took else 0.0,
            "heartbeat p99": took[len(took) * 99 // 100] * 1000 if took else 0.0,
            "heartbeats so far": self._lived.beats,
            "commits so far": self._lived.commits,
            "newcomers so far": self._lived.newcomers,
            "members lost so far": self._lived.lost,
        }

    def _answers(self) -> dict[str, float]:
        return {"sql": self._median_ms(self._ask), "page": self._median_ms(self._open_page)}

    def _memory(self) -> dict[str, float]:
        job = psutil.Process(self._place.job)
        held: dict[str, float] = dict.fromkeys(("job", "JVM", "Python workers"), 0.0)
        held["job"] = _held_by(job)
        for process in job.children(recursive=True):
            held["JVM" if _is_java(process) else "Python workers"] += _held_by(process)
        held |= {"gateway": _held_by(psutil.Process(self._place.gateway))}
        held |= {"page": _held_by(psutil.Process(self._place.page))}
        return {f"memory {name}": value for name, value in held.items()}

    def _on_disk(self) -> dict[str, float]:
        home, found = self._place.home, dict[str, float]()
        for name in ("effects", "requests", "checkpoint"):
            sizes = _sizes(Path(home.location) / name)
            found[f"files {name}"] = len(sizes)
            found[f"bytes {name}"] = sum(sizes)
        for name, table in (("effects", home.effects), ("requests", home.requests)):
            rows = sum(DeltaTable(table).get_add_actions(flatten=True)["num_records"].to_pylist())
            found[f"rows {name}"] = rows
            found[f"bytes a row {name}"] = found.pop(f"bytes {name}") / max(rows, 1)
        return found

    def _batch(self) -> dict[str, float]:
        """How long a batch took since the last sample, on average."""
        figures = metrics(self._place.metrics)
        batches, seconds = (figures[f"rollcall_job_batch_seconds_{name}"] for name in ("count", "sum"))
        took = (seconds - self._batch_seconds) / max(batches - self._batches, 1)
        self._batches, self._batch_seconds = batches, seconds
        return {"batch": took * 1000, "batches so far": batches}

    def _ask(self) -> None:
        command = [sys.executable, "-m", "jobs.rollcall", "sql", "--home", self._place.home.location, QUERY]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    def _open_page(self) -> None:
        with urlopen(f"{self._place.page_address}group?group=classic-1", timeout=ANSWER_WITHIN_S) as answer:
            answer.read()

    def _median_ms(self, ask: Callable[[], None]) -> float:
        took = []
        for _ in range(ASKED_TIMES):
            began = time.perf_counter()
            ask()
            took.append(time.perf_counter() - began)
        return statistics.median(took) * 1000


def metrics(address: str) -> Mapping[str, float]:
    """The figures that are served there, those without labels."""
    with urlopen(f"http://{address}/metrics", timeout=ANSWER_WITHIN_S) as answer:
        text = answer.read().decode()
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {sample.name: sample.value for sample in samples if not sample.labels}


def _held_by(process: psutil.Process) -> float:
    """In MB; memory that several processes share is divided among them. None of one that has ended."""
    try:
        return float(process.memory_full_info().pss) / MEGABYTE
    except psutil.NoSuchProcess:
        return 0.0


def _is_java(process: psutil.Process) -> bool:
    """Not one that has ended."""
    try:
        return "java" in process.name()
    except psutil.NoSuchProcess:
        return False


def _sizes(folder: Path) -> list[int]:
    """Of all files below; those that are being removed count nothing."""
    sizes = []
    for path in folder.rglob("*"):
        try:
            sizes.append(path.stat().st_size) if path.is_file() else None
        except FileNotFoundError:
            continue
    return sizes
