"""A home: where the tables and the checkpoint of one history lie. Only one job works in a home at a time.

Knows the folders, the lock and the note that says what a home holds. Must not know what is in a table's rows, nor
Spark. A home on this machine's disk has a lock and a note; one in an object store (`s3a://...`) has a lease instead
(`rollcall.tables.lease`).
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from rollcall.programs.errors import UserError
from rollcall.programs.process_ids import is_alive
from rollcall.schemas.tables import (
    CHECKPOINT_FOLDER,
    EFFECTS,
    FETCHES,
    LEASE_FOLDER,
    LOG_ENDS,
    QUARANTINE,
    REQUESTS,
    TABLES,
    Table,
)
from rollcall.tables.home_location import folder_of, is_in_a_store
from rollcall.tables.whole_file import write_whole

DEFAULT_HOME = ".rollcall"
LOGS_FOLDER = "logs"
"""Where the programs of `rollcall run` write what they print."""
NOTE, _LOCK = "home.json", "lock"
LIVE, REPLAY = "live", "replay"


class HomeError(UserError):
    """A home that cannot be used; the text is one sentence for the user that says why, and what to do."""


class NotReadHere(HomeError):
    """A home in a store that this process cannot read; Spark perhaps can."""


def different_partitions(shown: str, kept: object, own: object) -> str:
    """The sentence that a home keeps its shuffle partitions, though a new home would get another number."""
    return f"{shown} was made with {kept} shuffle partitions and keeps them; a new one gets {own} here."


class Home:
    """The places of one home, as URLs or absolute paths."""

    def __init__(self, location: str | Path) -> None:
        text = str(location).removeprefix("file://")
        self.is_local = not is_in_a_store(text)
        self.location = str(folder_of(text)) if self.is_local else text.rstrip("/")
        self.shown = text
        self.requests, self.effects, self.quarantine = map(self.place_of, (REQUESTS, EFFECTS, QUARANTINE))
        self.log_ends, self.fetches = map(self.place_of, (LOG_ENDS, FETCHES))
        self.checkpoint = self._place(CHECKPOINT_FOLDER)

    def _place(self, name: str) -> str:
        return f"{self.location}/{name}"

    def place_of(self, table: Table) -> str:
        return self._place(table.name)

    @property
    def building(self) -> Home:
        """The home inside it in which a replay's tables are made, and moved from when they are complete."""
        return Home(self._place("building"))

    @property
    def of_log(self) -> Home:
        """Up to version 0.3.0, with two inputs: the home inside it with the facts of the request log alone."""
        return Home(self._place("log"))

    @property
    def of_topic(self) -> Home:
        """The same for __consumer_offsets."""
        return Home(self._place("topic"))

    @property
    def lease(self) -> str:
        """The folder of the lease, for a home in an object store."""
        return self._place(LEASE_FOLDER)

    def check_there(self) -> None:
        """Raises HomeError: it is a folder of this machine that does not exist."""
        if self.is_local and not self.path.is_dir():
            raise HomeError(f"{self.shown} does not exist. `rollcall replay` and `rollcall run` make a home.")

    def check_tables(self) -> None:
        """Raises HomeError: as check_there, or it holds no table. One in a store is checked by reading it."""
        # Imported here: whoever only names a home needs no table's log.
        from rollcall.tables.versions import is_table

        self.check_there()
        if self.is_local and not any(is_table(self.place_of(table)) for table in TABLES):
            raise HomeError(f"{self.shown} holds no tables yet: `rollcall run` or `rollcall replay` makes them.")

    @contextmanager
    def read_here(self) -> Iterator[Home]:
        """The home on this machine's disk, to be asked without Spark: itself, or an updated copy.

        The copy is kept in $XDG_CACHE_HOME/rollcall or ~/.cache/rollcall. Raises NotReadHere; HomeError: there is no
        table, or the store refuses, does not answer, or has no such bucket.
        """
        with self._copied() as folder:
            here = Home(folder)
            here.shown = self.shown
            here.check_tables()
            yield here

    @contextmanager
    def followed_here(self, *tables: Table) -> Iterator[Path]:
        """The folder where it can be read while it grows: its own, or a copy that follows these tables of a store.

        Raises as read_here does, but it may have no table yet.
        """
        self.check_there()
        with self._copied(tables) as folder:
            yield folder

    @contextmanager
    def _copied(self, followed: Sequence[Table] = ()) -> Iterator[Path]:
        if self.is_local:
            yield self.path
            return
        # Imported here: a home on this machine needs no Arrow to be asked.
        from rollcall.tables.store_copy import NoWayError, StoreError, followed_copy, kept_copy

        try:
            with followed_copy(self.location, followed) if followed else kept_copy(self.location) as folder:
                yield folder
        except StoreError as error:
            raise (NotReadHere if isinstance(error, NoWayError) else HomeError)(f"{error}.") from None

    @property
    def path(self) -> Path:
        """The home as a folder. Raises HomeError if it is not on this machine."""
        if not self.is_local:
            raise HomeError(f"{self.shown} is not a folder of this machine.")
        return Path(self.location)

    def read_note(self) -> dict[str, Any]:
        """The home's note; empty if there is none yet. Raises HomeError: it cannot be read."""
        try:
            note = json.loads((self.path / NOTE).read_text())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise HomeError(f"{self.shown}/{NOTE} cannot be read: {error}.") from None
        return note if isinstance(note, dict) else {}

    def write_note(self, note: dict[str, Any]) -> None:
        write_whole(self.path / NOTE, json.dumps(note, indent=1) + "\n")

    def check_kind(self, kind: str, writer: str) -> None:
        """Raises HomeError: the home holds another kind of history, or another writer's. Notes both in a new home."""
        note = self.read_note()
        if "kind" in note:
            self._refuse_other("kind", note["kind"], kind)
            self._refuse_other("writer", note.get("writer"), writer)
            return
        self.write_note({"kind": kind, "writer": writer, "made_at_ms": int(time.time() * 1000), **note})

    def forget_kind(self) -> None:
        """Lets a home without a history take one of any kind."""
        (self.path / NOTE).unlink(missing_ok=True)

    def _refuse_other(self, what: str, found: object, wanted: str) -> None:
        if found == wanted:
            return
        if what == "kind":
            raise HomeError(f"{self.shown} holds a {found} history, not a {wanted} one: name another home.")
        raise HomeError(
            f"{self.shown} was written by spark.coordinator.effects.writer={found}, and one table never has two "
            f"writers: keep it, or name another home."
        )

    def remove_logs_without_note(self) -> None:
        """Removes a home in which programs have logged that they do not start, and nothing else was made."""
        if not (self.path / NOTE).exists():
            shutil.rmtree(self.path / LOGS_FOLDER, ignore_errors=True)
            with suppress(OSError):
                self.path.rmdir()

    def worker(self) -> str:
        """The living holder of the home, by the text in the lock file; empty: none."""
        try:
            text = (self.path / _LOCK).read_text(errors="replace").strip()
        except OSError:
            return ""
        process = re.search(r"\(process (\d+)\)$", text)
        return text if process and is_alive(int(process[1])) else ""

    @contextmanager
    def locked(self, who: str) -> Iterator[None]:
        """Holds the home for one job; the system frees it when the job dies. Raises HomeError, naming the other job.

        If the job makes a home and leaves nothing in it, the home is removed.
        """
        is_new = not (self.path / NOTE).exists()
        handle = self._lock()
        try:
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"{who} (process {os.getpid()})\n".encode(), 0)
            yield
            os.ftruncate(handle, 0)
        finally:
            if is_new:
                self._remove_if_bare()
            os.close(handle)

    def _lock(self) -> int:
        """The lock file, open and locked. Raises HomeError."""
        path = self.path
        while True:
            try:
                path.mkdir(parents=True, exist_ok=True)
                handle = os.open(path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            except OSError as error:
                raise HomeError(f"{self.shown} cannot be a home: {error.strerror}.") from None
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                other = os.pread(handle, 200, 0).decode("utf-8", "replace").strip() or "another job"
                os.close(handle)
                raise HomeError(f"{self.shown} is in use by {other}: stop it, or name another home.") from None
            if os.fstat(handle).st_nlink:
                return handle
            os.close(handle)  # The job before removed the file, and a third may lock a new one.

    def _remove_if_bare(self) -> None:
        """Removes a home without any history: notes, locks and empty folders, but not what programs logged."""
        kept = {self.path / LOGS_FOLDER}
        files = [file for file in self.path.rglob("*") if not file.is_dir() and kept.isdisjoint(file.parents)]
        if any(file.name not in (NOTE, _LOCK) for file in files):
            return
        for file in files:
            file.unlink(missing_ok=True)
        folders = [folder for folder in self.path.rglob("*") if folder.is_dir() and not folder.is_symlink()]
        for folder in (*sorted(folders, reverse=True), self.path):
            with suppress(OSError):
                folder.rmdir()
