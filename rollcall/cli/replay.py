"""`make replay LOG=...`: the history of a request log, a dump of __consumer_offsets, or both, in a home.

    rollcall replay LOG [--set key=value]... [--zone Asia/Kolkata] [--home FOLDER] [--fresh]

On this machine, by a pool of processes. Knows how a replay begins and ends. Must not know an input.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from rollcall.inputs.not_understood import not_understood, tell_ignored
from rollcall.inputs.printed.lines.files import copies_removed
from rollcall.inputs.replay.building import Shown, TableWriters, built
from rollcall.inputs.replay.inputs import Input, input_of
from rollcall.inputs.replay.spill import Work, buckets_for
from rollcall.inputs.request_log.lines.clock import zone_of
from rollcall.jobs.log_config import WRITER
from rollcall.jobs.spark.machine import this_machine
from rollcall.programs.processes import Processes
from rollcall.schemas.tables import OF_A_HISTORY
from rollcall.shown.replay_report import tell_home
from rollcall.tables.home import REPLAY, Home, HomeError
from rollcall.tables.home_tables import open_effects, open_quarantine, open_requests

LITTLE_BYTES = 12 << 20
"""A shorter input is read before other processes could start."""
_LEFT_BY_EARLIER_VERSIONS = ("records", "log", "topic")


def clear(home: Home) -> None:
    """Remove a replay's history. Raises HomeError: the home holds another kind."""
    kind = home.read_note().get("kind")
    if kind not in (REPLAY, None):
        raise HomeError(f"--fresh clears a replay's history only, and {home.shown} holds a {kind} one.")
    earlier = [f"{home.location}/{name}" for name in _LEFT_BY_EARLIER_VERSIONS]
    for folder in (*map(home.place_of, OF_A_HISTORY), home.checkpoint, home.building.location, *earlier):
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def replay_home(home: Home, *, is_fresh: bool) -> Iterator[None]:
    """Holds a home for one replay, and clears it if the replay fails or is stopped.

    is_fresh: clears the replay that the home holds first. Raises HomeError: the home is in use, holds another kind of
    history, or a replay already.
    """
    with home.locked("a replay"):
        if is_fresh:
            clear(home)
        home.check_kind(REPLAY, WRITER)
        if Path(home.effects).exists():
            raise HomeError(f"{home.shown} holds a replay already: --fresh clears it, or name another home.")
        try:
            yield
        except BaseException:
            clear(home)
            home.forget_kind()
            raise


def processes_for(size_bytes: int, processes: int | None) -> int:
    """How many processes should read an input. processes: the user's number, None: one for each core."""
    return 1 if size_bytes < LITTLE_BYTES else processes or this_machine().cores


def make_history(
    home: Home, made_of: Input, console: Console, processes: int | None = None, paths: Sequence[Path] = ()
) -> None:
    """Write an input's history into a home's tables. processes: see processes_for. paths: as the user named them.

    Raises LogFileError, DumpError, NotUnderstood.
    """
    shown, size_bytes = Shown(console), made_of.size_bytes
    with built(home) as building, Processes(processes_for(size_bytes, processes)) as pool, shown.progress:
        tables = {"effects": open_effects(building), "quarantine": open_quarantine(building)}
        if made_of.log is not None:
            tables["requests"] = open_requests(building)
        writers = TableWriters(tables)
        for files in made_of.files(Work(pool, shown.show, building.path, buckets_for(size_bytes))):
            writers.add(files)
        writers.flush()
        if not made_of.is_understood:
            raise not_understood(paths, are_empty=not size_bytes)


@copies_removed()
def replay(
    home: Home,
    paths: Sequence[Path],
    given: Mapping[str, str],
    zone: str,
    console: Console,
    *,
    is_fresh: bool = False,
    processes: int | None = None,
) -> None:
    """Replays a log, a dump, or both, on a home and prints the report. Raises UserError.

    given: broker settings that the user knows. is_fresh: see replay_home. processes: see processes_for.
    """
    made_of = input_of(paths, given, zone_of(zone))
    with replay_home(home, is_fresh=is_fresh):
        make_history(home, made_of, console, processes, paths)
        made_of.tell(console, home)
        tell_home(console, home)
    tell_ignored(made_of.ignored)
