"""The commands that messages name, as the user types them: `make sql Q=...` after make, otherwise `rollcall sql ...`.

Knows how make marks what it starts. Must not know any command.
"""

from __future__ import annotations

import os


def is_after_make() -> bool:
    """Return whether make started this program: without a checkout there is no make."""
    return "MAKELEVEL" in os.environ


def as_typed(after_make: str, else_typed: str) -> str:
    """Return the first if make started this program, else the second."""
    return after_make if is_after_make() else else_typed
