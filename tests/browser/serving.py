"""A home's page as a process of its own, for a browser to open.

Knows how the page is started and ended. Must not know what is on it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rollcall.serve.page.__main__ import LISTENS
from tests.child import Child
from tests.source_tree import ROOT


@contextmanager
def served(home: Path, name: str = "") -> Iterator[str]:
    """The page's address, without the last slash. name: how the home is called, where that is not its path."""
    command = [sys.executable, "-m", "rollcall.serve.page", "--home", name or str(home), "--listen", "127.0.0.1:0"]
    folder = home.parent if name else ROOT
    process = Child(command, home.parent, os.environ | {"PYTHONPATH": str(ROOT)}, folder, is_alone=False)
    try:
        said = process.read_until(LISTENS)
        assert said.startswith(LISTENS), said
        yield said.removeprefix(LISTENS).partition(";")[0].rstrip("/")
    finally:
        process.terminate()
        process.ended()
