"""Packages that a program does without although they are installed, as libraries load some just because they are there.

pyarrow loads pandas with the first array that it makes: 35 MB. Must not know a program.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType


class _LeftOut:
    """A finder that says of one package, before others find it, that it is not installed."""

    def __init__(self, package: str) -> None:
        self._package = package

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> None:
        if name == self._package:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


@contextmanager
def left_out(package: str) -> Iterator[None]:
    """The body runs as if the package were not installed; one that is loaded stays."""
    finder = _LeftOut(package)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
