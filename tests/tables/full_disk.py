"""A disk without room, for a while: no write to a file of this process succeeds, as where a disk is full.

By the system's limit of a file's size, which needs no rights and no disk of its own; who writes hears an OSError either
way. Knows that limit; must not know who writes.
"""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_room(bytes_left: int = 0) -> Iterator[None]:
    """bytes_left: a file may become so large, so that a write fails in its middle."""
    was = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_left, was[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, was)
