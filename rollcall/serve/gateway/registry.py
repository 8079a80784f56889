"""The gateways of a home: each holds a number while it runs, and sees which others run and where.

A number is a file in the home with the gateway's address, locked while its process runs; the system frees the lock
however the process ends. A gateway that comes back takes its old number if nobody has it.

Knows files and locks; knows no socket.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from contextlib import suppress
from pathlib import Path

from rollcall.programs.errors import ConfigError
from rollcall.serve.listeners.addresses import Address, parse_address

GATEWAYS_FOLDER = "gateways"
_FRESH_S = 1.0
_MOST = 1000
_ADDRESS_CHARACTERS = 1000
_NO_FILES = (errno.ELOOP, errno.ENXIO, errno.EISDIR)
"""The system's errors for a link, for a FIFO or a socket, and for a folder."""


class Registry:
    """This gateway's number, and the others."""

    def __init__(self, home: Path) -> None:
        self._folder = home / GATEWAYS_FOLDER
        self._handle: int | None = None
        self._looked_at = 0.0
        self._others: list[tuple[int, Address]] = []
        self.number = 0

    def join(self, address: Address) -> None:
        """Takes a number. Raises OSError."""
        self._folder.mkdir(parents=True, exist_ok=True)
        own = [number for number, (known, _) in self._known().items() if known == address]
        for number in [*own, *range(_MOST)]:
            handle = self._opened(number, os.O_RDWR | os.O_CREAT)
            if handle is not None and _lock(handle, fcntl.LOCK_EX):
                os.ftruncate(handle, 0)
                os.pwrite(handle, f"{address}\n".encode(), 0)
                self._handle, self.number = handle, number
                return
            if handle is not None:
                os.close(handle)
        raise OSError(f"{self._folder}: {_MOST} gateways are there already")

    def leave(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def others(self) -> list[tuple[int, Address]]:
        """Number and address of every other running gateway; looked up anew once a second."""
        now = time.monotonic()
        if now - self._looked_at > _FRESH_S:
            self._looked_at = now
            self._others = [
                (number, address)
                for number, (address, lives) in sorted(self._known().items())
                if lives and number != self.number
            ]
        return self._others

    def _known(self) -> dict[int, tuple[Address, bool]]:
        """By number, a gateway's address and whether it runs."""
        known = {}
        for name in filter(str.isdecimal, os.listdir(self._folder)):
            with suppress(OSError, ConfigError):
                handle = self._opened(int(name), os.O_RDONLY)
                if handle is not None:
                    with os.fdopen(handle, encoding="utf-8", errors="replace") as file:
                        address = parse_address(name, file.read(_ADDRESS_CHARACTERS).strip())
                        known[int(name)] = address, not _lock(handle, fcntl.LOCK_SH)
        return known

    def _opened(self, number: int, flags: int) -> int | None:
        """A number's file; None: it is none. A link is not followed, a FIFO not waited for.

        Raises OSError: it cannot be opened; the folder is a link.
        """
        folder = os.open(self._folder, os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            handle = os.open(str(number), flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o644, dir_fd=folder)
        except OSError as error:
            if error.errno in _NO_FILES:
                return None
            raise
        finally:
            os.close(folder)
        if stat.S_ISREG(os.fstat(handle).st_mode):
            return handle
        os.close(handle)
        return None


def _lock(handle: int, kind: int) -> bool:
    """Whether the lock could be had at once."""
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
