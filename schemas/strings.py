"""How long a string of a message may be: a longer one fits into a request, but into no answer.

Newer versions have room for longer strings, older ones do not, and Kafka reads and writes none in any version. Knows
lengths; knows no message but the JoinGroup that leads to a new member id.
"""

from __future__ import annotations

from typing import Any

import msgspec

from rollcall.schemas.membership_messages import JoinGroupRequest

STRING_MAX_BYTES = 32_767
"""In UTF-8."""
ID_PREFIX_MAX_BYTES = STRING_MAX_BYTES - len("-01234567-89ab-cdef-0123-456789abcdef")
"""A new member's id begins with its client's id or its instance id, which leave room for the rest."""
_CHARACTER_MAX_BYTES = 4


def holds_no_long_string(text: str | bytes) -> bool:
    """Whether a JSON text is so short that no string in it can be too long; cheap, for nearly every text is."""
    is_counted = isinstance(text, bytes) or text.isascii()
    return len(text) * (1 if is_counted else _CHARACTER_MAX_BYTES) <= ID_PREFIX_MAX_BYTES


def unfit_string(message: msgspec.Struct) -> str:
    """Which string of a message is too long, those of its parts included, and by how much; "" if none is."""
    found = _too_long(message, "")
    return found or (unfit_id_prefix(message) if isinstance(message, JoinGroupRequest) else "")


def unfit_id_prefix(request: JoinGroupRequest) -> str:
    """Which id is too long for the new member id that begins with it; "" if none is, or no member id is asked for."""
    if request.member_id:
        return ""
    name = "client_id" if request.group_instance_id is None else "group_instance_id"
    length = _length(getattr(request, name))
    if length <= ID_PREFIX_MAX_BYTES:
        return ""
    return f"{name}: has {length} bytes, {ID_PREFIX_MAX_BYTES} at most where a new member's id begins with it"


def _too_long(value: Any, path: str) -> str:
    if isinstance(value, str):
        length = _length(value)
        return f"{path}: has {length} bytes, {STRING_MAX_BYTES} at most" if length > STRING_MAX_BYTES else ""
    if isinstance(value, list):
        return next(filter(None, (_too_long(item, f"{path}[{place}]") for place, item in enumerate(value))), "")
    if isinstance(value, msgspec.Struct):
        prefix = f"{path}." if path else ""
        names = value.__struct_fields__
        return next(filter(None, (_too_long(getattr(value, name), f"{prefix}{name}") for name in names)), "")
    return ""


def _length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
