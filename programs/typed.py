"""The commands that messages name, as the user types them: `make sql Q=...` after make, else `rollcall sql ...`.

Knows how make marks what it starts. Must not know any command.
"""

from __future__ import annotations

import os


def as_typed(after_make: str, else_typed: str) -> str:
    """The first where make started this program, else the second: without a checkout there is no make."""
    return after_make if "MAKELEVEL" in os.environ else else_typed
