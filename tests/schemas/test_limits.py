"""No string of any message is longer than every version can carry, wherever in the message it stands."""

from __future__ import annotations

from typing import Any, get_args, get_type_hints

import msgspec
import pytest

from rollcall.schemas.limits import ID_PREFIX_MAX_BYTES, STRING_MAX_BYTES, holds_no_long_string, unfit_string
from rollcall.schemas.messages import APIS, JoinGroupRequest, Shape

FITS, TOO_LONG = "x" * ID_PREFIX_MAX_BYTES, "x" * (STRING_MAX_BYTES + 1)


def made(hint: Any, text: str, path: str) -> list[tuple[str, Any]]:
    """Values of a type, each with the text in one of its strings, and where."""
    if hint is str:
        return [(path, text)]
    if isinstance(hint, type) and issubclass(hint, Shape):
        hints = get_type_hints(hint)
        rest = {name: blank(hints[name]) for name in hint.__struct_fields__}
        prefix = f"{path}." if path else ""
        return [
            (where, hint(**{**rest, name: value}))
            for name in hint.__struct_fields__
            for where, value in made(hints[name], text, f"{prefix}{name}")
        ]
    inner = [arm for arm in get_args(hint) if arm is not type(None)]
    if getattr(hint, "__origin__", None) is list:
        return [(where, [value]) for where, value in made(inner[0], text, f"{path}[0]")]
    return [each for arm in inner for each in made(arm, text, path)]


def blank(hint: Any) -> Any:
    if hint is str:
        return ""
    if hint is int:
        return 0
    if hint is bytes:
        return b""
    if getattr(hint, "__origin__", None) is list:
        return []
    return None


@pytest.mark.parametrize("api", APIS)
def test_a_string_is_found_wherever_it_stands(api: str) -> None:
    cases = made(APIS[api].request, TOO_LONG, "")
    assert {"request_id", "client_id", "client_host"} <= {where for where, _ in cases}
    for where, request in cases:
        assert unfit_string(request) == f"{where}: has {STRING_MAX_BYTES + 1} bytes, {STRING_MAX_BYTES} at most"
    for _, request in made(APIS[api].request, FITS, ""):
        assert unfit_string(request) == ""


def test_a_new_members_id_has_room_for_what_follows_the_name() -> None:
    fields: dict[str, Any] = {
        **{"request_id": "r", "api_version": 5, "group_id": "g", "session_timeout_ms": 1},
        **{"protocol_type": "consumer", "protocols": []},
    }
    name = "é" * (ID_PREFIX_MAX_BYTES // 2) + "x"
    reported = (
        f"has {ID_PREFIX_MAX_BYTES + 1} bytes, {ID_PREFIX_MAX_BYTES} at most where a new member's id begins with it"
    )
    assert unfit_string(JoinGroupRequest(**fields, member_id="", client_id=name)) == f"client_id: {reported}"
    static = JoinGroupRequest(**fields, member_id="", client_id=name, group_instance_id=name)
    assert unfit_string(static) == f"group_instance_id: {reported}"
    assert unfit_string(JoinGroupRequest(**fields, member_id="m", client_id=name)) == ""


@pytest.mark.parametrize("name", ["x" * STRING_MAX_BYTES, "é" * STRING_MAX_BYTES, "😀" * 8_192, "x" * 40_000])
def test_no_text_with_a_long_string_is_taken_for_a_short_one(name: str) -> None:
    text = msgspec.json.encode({"group_id": name})
    assert not holds_no_long_string(text)
    assert not holds_no_long_string(text.decode())
    assert holds_no_long_string(text[:8_000])
