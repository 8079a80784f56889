"""Every recording that tests keep, in each form of input that users have of it: one case is the files of one question.

Knows where recordings are. Must not know what is asked of them.
"""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import NamedTuple

from tests.source_tree import ROOT

CAPTURES = ROOT / "tests" / "captures"
LINES = ROOT / "tests" / "printed" / "brokers"
CLIENTS = ROOT / "tests" / "printed" / "incidents"
FIELD = ROOT / "tests" / "printed" / "field"
LOGS = ROOT / "tests" / "request_log" / "incidents"
TOPICS = ROOT / "tests" / "offsets_topic" / "incidents"
QUICK = {
    *("d-kill/log", "d-kill/lines", "d-kill/log+lines", "d-kill/half-log+lines", "d-kill/log+half-lines"),
    *("n-classic-mixed/topic+lines", "n-classic-mixed/log+topic+lines", "o-consumer-protocol/topic"),
    *("killed/broker+clients", "killed/clients", "rolling-restart/broker", "sessions/log+topic"),
}
"""Cases that `make test` runs; `make golden` runs all."""
_FORMS = (
    *("log", "topic", "topic-compacted", "lines", "log+topic", "log+lines"),
    *("topic+lines", "topic-compacted+lines", "log+topic+lines"),
)


class Case(NamedTuple):
    """Files by the names that they are given, and how much of each: all of it, or its first half."""

    name: str
    files: dict[str, tuple[Path, bool]]


def cases() -> dict[str, Case]:
    """Every case by its name, `recording/form`."""
    found = [*_of_captures(), *_of_incidents(), *_of_printed()]
    return {case.name: case for case in found}


def lay_out(case: Case, folder: Path) -> list[Path]:
    """Writes or links a case's files into a folder, and returns their paths."""
    paths = []
    for name, (source, is_whole) in case.files.items():
        place = folder / name
        if is_whole:
            place.symlink_to(source)
        else:
            lines = gzip.decompress(source.read_bytes()).splitlines(keepends=True)
            place.write_bytes(gzip.compress(b"".join(lines[: len(lines) // 2]), mtime=0))
        paths.append(place)
    return paths


def _of_captures() -> list[Case]:
    found = []
    for capture in sorted(CAPTURES.iterdir()):
        inputs = {
            "log": capture / "requests.log.gz",
            "topic": capture / "offsets-topic.jsonl.gz",
            "topic-compacted": capture / "offsets-topic-compacted.jsonl.gz",
            "lines": LINES / f"{capture.name}.log.gz",
        }
        for form in _FORMS:
            files = {f"{part}.gz": (inputs[part], True) for part in form.split("+")}
            if all(path.exists() for path, _ in files.values()):
                found.append(Case(f"{capture.name}/{form}", files))
        if inputs["log"].exists() and inputs["lines"].exists():
            for half in ("log", "lines"):
                names = "+".join(f"half-{part}" if part == half else part for part in ("log", "lines"))
                files = {f"{part}.gz": (inputs[part], part != half) for part in ("log", "lines")}
                found.append(Case(f"{capture.name}/{names}", files))
    return found


def _of_incidents() -> list[Case]:
    found = []
    for log in sorted((*LOGS.glob("*.log.gz"), *(LOGS / "storms").glob("*.log.gz"))):
        name = log.name.removesuffix(".log.gz")
        found.append(Case(f"{name}/log", {"log.gz": (log, True)}))
        topic = TOPICS / f"{name}.dump.gz"
        if topic.exists():
            found.append(Case(f"{name}/log+topic", {"log.gz": (log, True), "topic.gz": (topic, True)}))
    for topic in sorted(TOPICS.glob("*.dump.gz")):
        found.append(Case(f"{topic.name.removesuffix('.dump.gz')}/topic", {"topic.gz": (topic, True)}))
    return found


def _of_printed() -> list[Case]:
    found = []
    for incident in sorted(one for one in CLIENTS.iterdir() if one.is_dir()):
        brokers = {path.name: (path, True) for path in sorted(incident.glob("server-*.log.gz"))}
        clients = {path.name: (path, True) for path in sorted(incident.glob("clients/*.gz"))}
        for form, files in (("broker", brokers), ("clients", clients), ("broker+clients", {**brokers, **clients})):
            if files:
                found.append(Case(f"{incident.name}/{form}", files))
    for report in sorted(FIELD.glob("*.log")):
        found.append(Case(f"{report.stem}/report", {report.name: (report, True)}))
    return found
