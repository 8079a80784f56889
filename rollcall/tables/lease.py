"""The lease of a home in an object store: the one job that works in the home holds it and renews it.

A lease is a file in the home's folder `lease`, `00000007-<id>`, which its holder writes again every few seconds. Each
new holder takes the next number. It needs no locks and no conditional writes, only that a listing shows everything that
was written before, as S3, GCS, Azure and HDFS do:

- A new job writes a file with the next number, and then lists the folder. If two do so at once, at least the second to
  list sees the other. A job that sees another file with its own number or a higher one withdraws.
- A holder that writes nothing for 20 s counts as dead. It is watched for that time, so no clocks are compared.
- Before each batch is written, the holder looks for a higher number, and stops if there is one. A batch that it was
  writing at that moment is written at most once, since a table takes a batch's number once.

Knows the rules and the files' text. Must not know which kind of store it is, nor Spark.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec

from rollcall.programs.process_ids import is_alive
from rollcall.tables.home import HomeError

log = logging.getLogger("rollcall.lease")

RENEWED_EVERY_S = 5.0
DEAD_AFTER_S = 20.0
LOOK_EVERY_S = 1.0
PATIENCE_S = 120.0
"""How long a batch waits for a store that does not answer, without the time of the attempts."""


class TakenOverError(HomeError):
    """Another job has taken the home over."""


class Folder(Protocol):
    """A folder of small files in some store. Raises HomeError: the store does not answer, or refuses."""

    def changed_at(self) -> dict[str, int]:
        """When each file was last written, by the store's own clock; empty if there is no such folder."""
        ...

    def read(self, name: str) -> str:
        """A file's text; empty if there is no such file."""
        ...

    def write(self, name: str, text: str) -> None: ...

    def delete(self, name: str) -> None: ...


class Holder(msgspec.Struct, frozen=True):
    """Who holds a lease."""

    who: str
    """Such as `the coordinator`."""
    host: str
    process: int
    where: str
    """The running system and process namespace that the process id belongs to; empty if unknown."""
    since_ms: int

    @classmethod
    def of_this_process(cls, who: str) -> Holder:
        return cls(who, socket.gethostname(), os.getpid(), _where(), int(time.time() * 1000))

    @property
    def is_gone(self) -> bool:
        """Whether this process can see that the holder has ended."""
        if not self.where or self.where != _where() or self.process == os.getpid():
            return False
        return not is_alive(self.process)

    def __str__(self) -> str:
        return f"{self.who} (process {self.process} on {self.host})"


class _Found(NamedTuple):
    name: str
    changed_ms: int


class Lease:
    """A home that this process holds, until it is released or lost."""

    def __init__(self, folder: Folder, name: str, text: str, shown: str) -> None:
        self._folder, self._name, self._text, self._shown = folder, name, text, shown
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def check(self) -> None:
        """Raises TakenOverError: another job has taken the home over."""
        # A file with the same number was written after this job's listing; its writer withdraws.
        later = sorted(name for name in self._folder.changed_at() if _number(name) > _number(self._name))
        if later:
            raise TakenOverError(
                f"{self._shown} was taken over by {_holder_of(self._folder, later[-1])}: this job stops."
            )

    def check_before_batch(self, wait: Callable[[float], object] = time.sleep) -> None:
        """As check, but waits for a store that does not answer, since it would not take the batch either.

        Raises TakenOverError; HomeError after PATIENCE_S.
        """
        waited_s = 0.0
        while True:
            try:
                self.check()
                return
            except TakenOverError:
                raise
            except HomeError:
                if waited_s >= PATIENCE_S:
                    raise
            wait(LOOK_EVERY_S)
            waited_s += LOOK_EVERY_S

    def keep(self, every_s: float = RENEWED_EVERY_S) -> None:
        """Renews the lease from now on, in a thread of its own."""
        self._thread = threading.Thread(target=self._renew, args=(every_s,), name="lease", daemon=True)
        self._thread.start()

    @property
    def is_kept(self) -> bool:
        """Whether it is renewed."""
        return self._thread is not None and self._thread.is_alive()

    def release(self) -> None:
        """Lets the next job have the home at once."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join(RENEWED_EVERY_S)
        # If this fails, the next job sees after 20 s that nobody renews the lease.
        with suppress(HomeError):
            self._folder.delete(self._name)

    def _renew(self, every_s: float) -> None:
        while not self._ended.wait(every_s):
            try:
                self.check()
                self._folder.write(self._name, self._text)
            except TakenOverError:
                return
            except HomeError:
                # The store may come back; until another job takes the home, it stays ours.
                continue
            except Exception:
                log.exception("the lease could not be renewed just now")


def take_lease(folder: Folder, who: str, shown: str, wait: Callable[[float], object] = time.sleep) -> Lease:
    """Takes a home for this process. Raises HomeError, naming the other: somebody holds it, or takes it as well.

    shown: how the home is named to the user. wait: lets a number of seconds pass.
    """
    found = _wait_for_the_last(folder, shown, wait)
    number = 1 + max((_number(name) for name in found), default=0)
    name, text = f"{number:08d}-{uuid.uuid4().hex}", msgspec.json.encode(Holder.of_this_process(who)).decode()
    folder.write(name, text)
    now = folder.changed_at()
    others = sorted(other for other in now if other != name and _number(other) >= number)
    if others:
        sentence = _in_use(folder, others[-1], shown)
        folder.delete(name)
        raise HomeError(sentence)
    for old in now:
        if old != name:
            folder.delete(old)
    return Lease(folder, name, text, shown)


def _wait_for_the_last(folder: Folder, shown: str, wait: Callable[[float], object]) -> dict[str, int]:
    """Waits until the last holder has released the home or is taken for dead; gives the files there are."""
    watched: _Found | None = None
    waited_s = 0.0
    while True:
        files = folder.changed_at()
        last = max(files, default=None)
        if last is None or _is_gone(folder, last):
            return files
        found = _Found(last, files[last])
        if watched is None:
            watched = found
        elif found != watched:
            raise HomeError(_in_use(folder, last, shown))
        elif waited_s >= DEAD_AFTER_S:
            return files
        wait(LOOK_EVERY_S)
        waited_s += LOOK_EVERY_S


def _number(name: str) -> int:
    text = name.partition("-")[0]
    return int(text) if text.isdecimal() else 0


def _holder(folder: Folder, name: str) -> Holder | None:
    try:
        return msgspec.json.decode(folder.read(name), type=Holder)
    except msgspec.MsgspecError:
        return None


def _is_gone(folder: Folder, name: str) -> bool:
    holder = _holder(folder, name)
    return holder is not None and holder.is_gone


def _holder_of(folder: Folder, name: str) -> str:
    return str(_holder(folder, name) or "another job")


def _in_use(folder: Folder, name: str, shown: str) -> str:
    return f"{shown} is in use by {_holder_of(folder, name)}: stop it, or name another home."


def _where() -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""
