"""The version of Kafka that a broker prints when it starts.

Clients print the same line with their own version; behind a broker's stands a line that only brokers print. Must not
know what follows from a version.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import re2

from rollcall.inputs.printed.lines.files import open_blocks, text_of
from rollcall.programs.errors import UserError

_VERSION = b"Kafka version"
_BROKER_HAS = re2.compile(
    r"Kafka version ?: ([0-9]{1,3})\.([0-9]{1,3})[^\n]*\n(?:[^\n]*Kafka (?:commitId|startTimeMs) ?:[^\n]*\n){0,2}"
    r"[^\n]*\[(?:KafkaRaftServer nodeId|KafkaServer id|GroupCoordinator id)="
)


def broker_version_in(files: Sequence[str]) -> tuple[int, int] | None:
    """The first two numbers of the first version that a broker prints; None: none does.

    A file that breaks off is read up to there: whoever reads all of it says so.
    """
    for file in files:
        before = b""
        with suppress(UserError):
            for block in open_blocks(file):
                near = before + block
                if _VERSION in near and (found := _BROKER_HAS.search(text_of(near))):
                    return int(found[1]), int(found[2])
                before = block if _VERSION in block else b""
    return None
