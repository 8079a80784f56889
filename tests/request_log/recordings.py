"""Recorded logs as they were imported, each once for all tests: captures with the truth, incidents of our own.

Knows where they lie; must not know what is true of them.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tests.request_log.imported import Imported, imported
from tests.request_log.truth import FOLDER as CAPTURES

INCIDENTS = Path(__file__).resolve().parent / "incidents"


@cache
def capture(name: str) -> Imported:
    return imported(CAPTURES / name)


@cache
def incident(name: str) -> Imported:
    return imported(INCIDENTS / f"{name}.log.gz")
