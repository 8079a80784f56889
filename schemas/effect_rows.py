"""An effect as a row of the effects table and back, and a group's rows as one text of JSON lines.

Beside these texts stands until when a group waits: `@UNTIL_MS GROUP`, or `@ GROUP` for nothing. Texts of effects begin
with a brace, so neither kind can be taken for the other.

Knows which column holds which field of an effect; knows no Spark. Columns: `rollcall.schemas.tables.EFFECTS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, get_args

import msgspec

from rollcall.schemas.consumer_effects import ConsumerEffect
from rollcall.schemas.effect_names import EffectName
from rollcall.schemas.effects import (
    AnyEffect,
    CauseFound,
    Effect,
    RebalanceEnded,
    RebalanceStarted,
    RecordedEffect,
    Reply,
)
from rollcall.schemas.messages import Response
from rollcall.schemas.shown_effects import ShownEffect
from rollcall.schemas.tables import EFFECTS, Table
from rollcall.schemas.wire_fields import carried, carried_names

AnyFact = AnyEffect | ConsumerEffect | RecordedEffect
"""Every effect that a row of the effects table may be."""

QUARANTINED = "quarantined"
"""What stands in `effect` of a row that is not a fact but goes to quarantine: the reason in `cause`, the raw text in
`detail`.
"""
Wait = tuple[str, int | None]
"""A group, and when it must be called without a request, ms since the epoch; None: never."""
_MARK = "@"


class EffectRow(msgspec.Struct, omit_defaults=True, gc=False):
    """A row of the effects table without its day."""

    seq: int
    effect: str
    at_ms: int | None
    request_id: str | None = None
    api: str | None = None
    api_version: int | None = None
    error_code: str | None = None
    received_at_ms: int | None = None
    generation_id: int | None = None
    member_id: str | None = None
    client_id: str | None = None
    cause: str | None = None
    detail: str | None = None
    group_id: str | None = None
    """Set by `of_group`; null where the request named no usable group."""


LINE = Table("line", tuple(column for column in EFFECTS.columns if column.name in EffectRow.__struct_fields__))
"""The columns of a line of `texts_of`."""

_REPLY = EffectName.REPLY.value
_CAUSES = ("end_cause", "why")
_GENERATIONS = ("generation_id", "to_generation_id", "from_generation_id")
_PLAIN = ("request_id", "api", "member_id", "client_id")
_FIELDS_IN_COLUMNS = frozenset({"at_ms", "generation_id", *_PLAIN})
_ROWS_A_TEXT = 5000

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(AnyFact)


def row_of(effect: Effect, seq: int) -> EffectRow:
    """The row of one effect."""
    if type(effect) is Reply:
        return EffectRow(
            seq,
            _REPLY,
            effect.at_ms,
            effect.request_id,
            effect.api,
            effect.api_version,
            effect.error_code,
            effect.received_at_ms,
            effect.generation_id,
            effect.member_id,
            effect.client_id,
            None,
            detail_of_response(effect.response, effect.api_version),
        )
    return _ROW_OF[type(effect)](effect, seq)


def rows_of(effects: Iterable[ShownEffect], first_seq: int) -> list[EffectRow]:
    """Rows of effects, numbered in their order. What shows them stands where the id of a request would."""
    rows = []
    for seq, (effect, shown_by) in enumerate(effects, first_seq):
        row = row_of(effect, seq)
        row.request_id = shown_by or None
        rows.append(row)
    return rows


def detail_of_response(response: Response, version: int) -> str | None:
    """`{"response": {...}}` as its version carries it; None where it carries no more than its error code."""
    if _is_said_by_error_code(type(response), version) and not response.wait_ms:
        return None
    return _encoder.encode({"response": carried(response, version, in_tables=True)}).decode()


@cache
def _is_said_by_error_code(response: type[Response], version: int) -> bool:
    return {name for name, _ in carried_names(response, version)} <= {"throttle_time_ms", "error_code"}


def effect_in(effect: str, detail: str | None) -> Effect | None:
    """The effect in a row's detail; None for kinds whose fields are all columns, and for a reply's response.

    Raises ValueError: it is not JSON, or lacks what its kind has; RecursionError: it is nested too deep.
    """
    return None if effect in SAID_BY_COLUMNS else _decoder.decode(detail or "null")


def of_group(group_id: str | None, rows: list[EffectRow]) -> list[EffectRow]:
    """The rows, which are this group's from now on."""
    for row in rows:
        row.group_id = group_id
    return rows


def texts_of(group_id: str | None, rows: list[EffectRow]) -> list[str]:
    """A group's rows as lines of JSON; see `as_texts`."""
    return as_texts(of_group(group_id, rows))


def as_texts(rows: list[EffectRow]) -> list[str]:
    """Rows as lines of JSON, 5,000 in each text, so that no text grows without bound."""
    return [lines.decode() for lines in as_lines(rows)]


def as_lines(rows: list[EffectRow]) -> list[bytes]:
    """The same as bytes."""
    return [_encoder.encode_lines(rows[start : start + _ROWS_A_TEXT]) for start in range(0, len(rows), _ROWS_A_TEXT)]


def _row_maker(kind: type[Effect]) -> Callable[[Any, int], EffectRow]:
    """Returns the function that makes a row of an effect of this kind; called once a kind."""
    names = kind.__struct_fields__
    tag = str(kind.__struct_config__.tag)
    plain = tuple(name for name in _PLAIN if name in names)
    generation = next((name for name in _GENERATIONS if name in names), None)
    cause = next((name for name in _CAUSES if name in names), None)
    has_detail = not _FIELDS_IN_COLUMNS.issuperset(names)
    has_cause = kind in (RebalanceStarted, RebalanceEnded, CauseFound)

    def make(effect: Any, seq: int) -> EffectRow:
        row = EffectRow(seq, tag, effect.at_ms)
        for name in plain:
            setattr(row, name, getattr(effect, name))
        if generation is not None:
            row.generation_id = getattr(effect, generation)
        if has_cause:
            row.cause = effect.cause.kind
        elif cause is not None:
            row.cause = getattr(effect, cause)
        if has_detail:
            row.detail = _encoder.encode(effect).decode()
        return row

    return make


SAID_BY_COLUMNS = frozenset(
    str(kind.__struct_config__.tag)
    for kind in get_args(AnyFact)
    if kind is Reply or _FIELDS_IN_COLUMNS.issuperset(kind.__struct_fields__)
)
"""The kinds of effects whose rows need no detail; a reply's holds only its response."""
_ROW_OF: dict[type[Effect], Callable[[Any, int], EffectRow]] = {kind: _row_maker(kind) for kind in get_args(AnyFact)}


def wait_text(group_id: str, until_ms: int | None) -> str:
    """A group's wait as a text."""
    return f"{_MARK}{'' if until_ms is None else until_ms} {group_id}"


def apart(texts: Sequence[str]) -> tuple[list[str], list[Wait]]:
    """The texts of effects and the waits, each in order."""
    effects: list[str] = []
    waits: list[Wait] = []
    for text in texts:
        if text.startswith(_MARK):
            until, _, group_id = text[1:].partition(" ")
            waits.append((group_id, int(until) if until else None))
        else:
            effects.append(text)
    return effects, waits
