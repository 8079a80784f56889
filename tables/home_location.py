"""Where a home is: a folder of this machine, or a URL of a store. Knows how the two are spelt; no more."""

from __future__ import annotations

import re
from pathlib import Path


def is_in_a_store(location: str) -> bool:
    """Whether a home's location is a URL of a store."""
    return re.match(r"(?!file:)[a-z][a-z0-9+.-]*://", location) is not None


def folder_of(location: str) -> Path:
    """The folder that a location on this machine names."""
    return Path(location.removeprefix("file://")).expanduser().absolute()
