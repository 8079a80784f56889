"""A home: where the tables and the checkpoint of one history lie. Only one job works in a home at a time.

Knows the folders, the lock and the note that says what a home holds. Must not know what is in a table's rows, nor
Spark. A home on this machine's disk has a lock and a note; one in an object store (`s3a://...`) has a lease instead
(`jobs.lease`).
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from programs.errors import UserError
from schemas.tables import (
    CHECKPOINT_FOLDER,
    EFFECTS_FOLDER,
    LEASE_FOLDER,
    QUARANTINE_FOLDER,
    RECORDS_FOLDER,
    REQUESTS_FOLDER,
)
from tables.home_location import folder_of, is_in_a_store
from tables.whole_file import write_whole

DEFAULT_HOME = ".rollcall"
LIVE, REPLAY = "live", "replay"


class HomeError(UserError):
    """A home that cannot be used; the text is one sentence for the user that says why, and what to do."""


class NotReadHere(HomeError):
    """A home in a store that only Spark can reach from here, or nobody."""


def different_partitions(shown: str, kept: object, own: object) -> str:
    """That a home keeps the shuffle partitions it was made with, though a new one got another number."""
    return f"{shown} was made with {kept} shuffle partitions and keeps them; a new one gets {own} here."


class Home:
    """The places of one home, as URLs or absolute paths."""

    def __init__(self, location: str | Path) -> None:
        text = str(location).removeprefix("file://")
        self.is_local = not is_in_a_store(text)
        self.location = str(folder_of(text)) if self.is_local else text.rstrip("/")
        self.shown = text

    @classmethod
    def from_environment(cls, environ: dict[str, str] | os._Environ[str] = os.environ) -> Home:
        """The home that ROLLCALL_HOME names, else `.rollcall` in the current folder."""
        return cls(environ.get("ROLLCALL_HOME") or DEFAULT_HOME)

    def _place(self, name: str) -> str:
        return f"{self.location}/{name}"

    @property
    def requests(self) -> str:
        return self._place(REQUESTS_FOLDER)

    @property
    def records(self) -> str:
        return self._place(RECORDS_FOLDER)

    @property
    def effects(self) -> str:
        return self._place(EFFECTS_FOLDER)

    @property
    def quarantine(self) -> str:
        return self._place(QUARANTINE_FOLDER)

    @property
    def checkpoint(self) -> str:
        return self._place(CHECKPOINT_FOLDER)

    @property
    def of_log(self) -> Home:
        """Where two inputs make one history: the home within it of what the request log alone tells."""
        return Home(self._place("log"))

    @property
    def of_topic(self) -> Home:
        """Likewise, of what __consumer_offsets alone tells."""
        return Home(self._place("topic"))

    @property
    def lease(self) -> str:
        """Who works in a home that is in an object store."""
        return self._place(LEASE_FOLDER)

    @contextmanager
    def read_here(self) -> Iterator[Home]:
        """The home as this machine's disk has it, to be read without Spark: itself, or its copy as of now.

        The copy is kept for the next time, in $XDG_CACHE_HOME/rollcall, else ~/.cache/rollcall. Raises
        NotReadHere; HomeError: the store refuses, does not answer, or has no such bucket.
        """
        if self.is_local:
            yield self
            return
        # Imported here: a home on this machine needs no Arrow to be asked.
        from tables.store_copy import NoWayError, StoreError, kept_copy

        try:
            with kept_copy(self.location) as folder:
                here = Home(folder)
                here.shown = self.shown
                yield here
        except NoWayError as error:
            raise NotReadHere(f"{error}.") from None
        except StoreError as error:
            raise HomeError(f"{error}.") from None

    @property
    def path(self) -> Path:
        """The home as a folder. Raises HomeError if it is not on this machine."""
        if not self.is_local:
            raise HomeError(f"{self.shown} is not a folder of this machine.")
        return Path(self.location)

    def read_note(self) -> dict[str, Any]:
        """The home's note; empty if there is none yet. Raises HomeError: it cannot be read."""
        try:
            note = json.loads((self.path / "home.json").read_text())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise HomeError(f"{self.shown}/home.json cannot be read: {error}.") from None
        return note if isinstance(note, dict) else {}

    def write_note(self, note: dict[str, Any]) -> None:
        write_whole(self.path / "home.json", json.dumps(note, indent=1) + "\n")

    def settle(self, kind: str, writer: str) -> None:
        """Writes a new home's note. Raises HomeError: the home holds another kind of history, or another writer's."""
        note = self.read_note()
        if note:
            self._refuse_other("kind", note.get("kind"), kind)
            self._refuse_other("writer", note.get("writer"), writer)
            return
        self.write_note({"kind": kind, "writer": writer, "made_at_ms": int(time.time() * 1000)})

    def _refuse_other(self, what: str, found: object, wanted: str) -> None:
        if found == wanted:
            return
        if what == "kind":
            raise HomeError(f"{self.shown} holds a {found} history, not a {wanted} one: name another ROLLCALL_HOME.")
        raise HomeError(
            f"{self.shown} was written by spark.coordinator.effects.writer={found}, and one table never has two "
            f"writers: keep it, or name another ROLLCALL_HOME."
        )

    @contextmanager
    def locked(self, who: str) -> Iterator[None]:
        """Holds the home for one job; the system frees it when the job dies. Raises HomeError, naming the other job."""
        path = self.path
        try:
            path.mkdir(parents=True, exist_ok=True)
            handle = os.open(path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise HomeError(f"{self.shown} cannot be a home: {error.strerror}.") from None
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                other = os.pread(handle, 200, 0).decode("utf-8", "replace").strip() or "another job"
                raise HomeError(f"{self.shown} is in use by {other}: stop it, or name another ROLLCALL_HOME.") from None
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"{who} (process {os.getpid()})\n".encode(), 0)
            yield
            os.ftruncate(handle, 0)
        finally:
            os.close(handle)
