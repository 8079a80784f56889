"""`make run` as a process of a test, started with places of its own.

Knows the command. Must not know what a test makes of it.
"""

from __future__ import annotations

import os
from pathlib import Path

from tests.child import Child


def start(home: Path, **environ: str) -> Child:
    places = {"LISTEN": "127.0.0.1:0", "METRICS": "127.0.0.1:0", "PAGE": "127.0.0.1:0"}
    return Child(["make", "run"], home.parent, {**os.environ, "ROLLCALL_HOME": str(home), **places, **environ})
