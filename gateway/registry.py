"""The gateways of a home: each holds a number as long as it lives, and sees which others live and where.

A number is a file in the home with the gateway's address, locked while its process lives; the system frees the lock
however that ends. A gateway that comes back takes its old number if nobody has it.

Knows files and locks; knows no socket.
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

from gateway.settings import Address, parse_address
from programs.errors import ConfigError

GATEWAYS_FOLDER = "gateways"
_FRESH_S = 1.0
_MOST = 1000


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
            handle = os.open(self._folder / str(number), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
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
        for path in self._folder.iterdir():
            if path.name.isdecimal():
                try:
                    addresses[int(path.name)] = parse_address(path.name, path.read_text().strip())
                except (OSError, ConfigError):
                    continue
        return addresses

    def _lives(self, number: int) -> bool:
        try:
            handle = os.open(self._folder / str(number), os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            return not _lock(handle, fcntl.LOCK_SH)
        finally:
            os.close(handle)


def _lock(handle: int, kind: int) -> bool:
    """Whether the lock could be had at once."""
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
