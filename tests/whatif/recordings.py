"""What a what-if reads from the recorded incidents, each read once.

Knows where they are; must not know what is asked of them.
"""

from __future__ import annotations

from functools import cache

from request_log.importer import LogImport
from request_log.lines.clock import zone_of
from tests.source_tree import ROOT
from whatif.recording import Recording, recording_of

FOLDER = ROOT / "tests" / "captures"


@cache
def recording(name: str) -> Recording:
    """A capture's lives and what was recorded of them."""
    log = LogImport(FOLDER / name, zone_of("UTC"))
    return recording_of(log, dict(log.look_over().settings))
