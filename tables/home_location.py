"""Where a home is: a folder of this machine, or a URL of a store. Knows how the two are told apart; no more."""

from __future__ import annotations

import re


def is_in_a_store(location: str) -> bool:
    """Whether a home's location is a URL of a store."""
    return re.match(r"(?!file:)[a-z][a-z0-9+.-]*://", location) is not None
