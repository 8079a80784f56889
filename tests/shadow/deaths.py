"""A program that is killed while it writes, in the tests' own process. Must not know what is written."""

from __future__ import annotations

from typing import Any

from deltalake import write_deltalake


class Killed(BaseException):
    """The program is no more."""


class Deaths:
    """Writes to a table that end the program every so often: before the commit, or right behind it."""

    def __init__(self, every: int) -> None:
        self.every, self.writes = every, 0

    def __call__(self, *arguments: Any, **options: Any) -> None:
        self.writes += 1
        if self.writes % self.every == 0:
            raise Killed
        write_deltalake(*arguments, **options)
        if self.writes % self.every == self.every // 2:
            raise Killed
