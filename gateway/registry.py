"""The gateways of a home: each holds a number as long as it lives, and sees which others live and where.

A number is a file in the home with the gateway's address, locked while its process lives; the system frees the lock
however that ends. A gateway that comes back takes its old number if nobody has it.

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

from gateway.settings import Address, parse_address
from programs.errors import ConfigError

GATEWAYS_FOLDER = "gateways"
_FRESH_S = 1.0
_MOST = 1000
_ADDRESS_CHARACTERS = 1000
_NO_FILES = (errno.ELOOP, errno.ENXIO, errno.EISDIR)
"""What the system says of a link, of a FIFO or a socket, and of a folder."""


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
        known = self._addresses()
        own = [number for number, known_address in known.items() if known_address == address]
        for number in [*own, *range(_MOST)]:
            handle = self._opened(number, os.O_RDWR | os.O_CREAT)
            if handle is None:
                continue
            if not _lock(handle, fcntl.LOCK_EX):
                os.close(handle)
                continue
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"{address}\n".encode(), 0)
            self._handle, self.number = handle, number
            return
        raise OSError(f"{self._folder}: {_MOST} gateways are there already")

    def leave(self) -> None:
        """Gives the number back."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def others(self) -> list[tuple[int, Address]]:
        """Number and address of every other gateway that lives; looked up anew once a second."""
        now = time.monotonic()
        if now - self._looked_at > _FRESH_S:
            self._looked_at = now
            self._others = [
                (number, address)
                for number, address in sorted(self._addresses().items())
                if number != self.number and self._lives(number)
            ]
        return self._others

    def _addresses(self) -> dict[int, Address]:
        addresses = {}
        for name in filter(str.isdecimal, os.listdir(self._folder)):
            with suppress(OSError, ConfigError):
                handle = self._opened(int(name), os.O_RDONLY)
                if handle is not None:
                    with os.fdopen(handle, encoding="utf-8", errors="replace") as file:
                        addresses[int(name)] = parse_address(name, file.read(_ADDRESS_CHARACTERS).strip())
        return addresses

    def _lives(self, number: int) -> bool:
        try:
            handle = self._opened(number, os.O_RDONLY)
        except OSError:
            return False
        if handle is None:
            return False
        try:
            return not _lock(handle, fcntl.LOCK_SH)
        finally:
            os.close(handle)

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
