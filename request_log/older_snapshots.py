"""Converts a live import's snapshots of earlier versions to this version's form. Knows the names that fields had. Must
not know what they are for.
"""

from __future__ import annotations

from typing import Any

import msgspec

from request_log.following.group_model import MOST_WORK

VERSION = 2


def upgraded(data: bytes) -> bytes:
    """A snapshot of this version's form. Bytes of any other form stay as they are, for the reader to refuse.

    Version 1 had no record of a broker's silences, of groups that were given up, nor of the work that may be spent on a
    group: a resumed shadow starts with none of these.
    """
    found = msgspec.msgpack.decode(data)
    if not isinstance(found, dict) or found.get("version") != 1:
        return data
    found |= {"version": VERSION, "work_times": found.pop("moments"), "silences": {}}
    found.pop("still_ms")
    found["tally"] |= {"examples": {}, "given_up": {}}
    for group in found["groups"].values():
        _upgrade_group(group)
    return msgspec.msgpack.encode(found)


def _upgrade_group(group: dict[str, Any]) -> None:
    group |= {"rest_proofs": group.pop("evidence"), "work_left": MOST_WORK, "given_up": None}
