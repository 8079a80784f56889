"""Where a home is: a folder of this machine, or a URL of a store; and where this user's cache is.

Knows how places are spelt; no more.
"""

from __future__ import annotations

import os
import re
from pathlib import Path


def is_in_a_store(location: str) -> bool:
    return re.match(r"(?!file:)[a-z][a-z0-9+.-]*://", location) is not None


def folder_of(location: str) -> Path:
    return Path(location.removeprefix("file://")).expanduser().absolute()


def cache_folder() -> Path:
    """The folder for this user's files that can be fetched again; it need not exist."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rollcall"
