"""requests -> effects: the whole coordinator as one function from DataFrame to DataFrame.

    coordinate(requests, settings) -> effects as texts
    typed_effects(texts) -> effects as rows

Knows pandas, GroupState and how rows are packed for them; knows no rule of the protocol and no source or sink. The
job, the tests and notebooks call the same function. One text a request goes to Python and one text a group comes back,
since columns and frames are what costs there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import msgspec
import numpy as np
import pandas as pd
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout

from rollcall.coordinator_udfs.group_turns import Outcome, quarantined, take_turns
from rollcall.coordinator_udfs.settings import Clock, StreamSettings
from rollcall.coordinator_udfs.state_codec import StateRow
from rollcall.schemas.effect_rows import LINE, texts_of, wait_text
from rollcall.schemas.tables import EFFECTS, STATE, TICK_ID

KEY_COLUMN, TEXT_COLUMN = "group_id", "request"
"""What `coordinate` hands to Python of a request."""
SWEEPS_EVERY_MS = 1000
"""A group says that it waits for its offset sweep until a whole multiple of this, so that many sweeps share a batch."""
_OUTPUT = "effects string"
_OUTPUT_COLUMNS = pd.Index(["effects"])
_SHOWN_OF_AN_UNFIT_GROUP_ID = 200


class _Refused(msgspec.Struct):
    """Rows that are refused because of their columns; they share the null key."""

    reason: str
    group_id: str | None = None
    request: str = ""
    received_at_ms: int | None = None


_refused_decoder = msgspec.json.Decoder(_Refused)


def coordinate(requests: DataFrame, settings: StreamSettings) -> DataFrame:
    """Every fact that the requests lead to, as lines of JSON in the one column `effects`: see `effect_rows.texts_of`.
    With settings.says_waits that column also has the groups' waits.

    requests: a stream of rows of `rollcall.schemas.tables.REQUESTS`, in any order within a batch; on the event clock no
    later than settings.watermark_delay_ms out of order, otherwise Spark drops them. Rows whose effect is "quarantined"
    belong in the quarantine, see `effect_rows.QUARANTINED`.
    """
    return (
        _packed(requests, settings)
        .groupBy("group_id")
        .applyInPandasWithState(
            partial(run_group, settings),
            _OUTPUT,
            STATE.ddl,
            "append",
            GroupStateTimeout.ProcessingTimeTimeout
            if settings.clock is Clock.PROCESSING
            else GroupStateTimeout.EventTimeTimeout,
        )
    )


def typed_effects(texts: DataFrame) -> DataFrame:
    """Texts of `coordinate` as typed rows of the effects table."""
    lines = texts.select(F.explode(F.split("effects", "\n")).alias("line")).where("line != ''")
    rows = lines.select(F.from_json("line", LINE.ddl).alias("fact"))
    # Not to_date: that would be the day in the session's time zone.
    day = F.expr("date_add(date'1970-01-01', cast(fact.at_ms div 86400000 as int))")
    return rows.select("fact.*", day.alias("at_date")).select(*EFFECTS.names)


def run_group(
    settings: StreamSettings, key: tuple[str | None], frames: Iterable[pd.DataFrame], state: GroupState
) -> Iterator[pd.DataFrame]:
    """Spark's call for one group, with its requests as frames: see run_texts."""
    texts = run_texts(settings, key[0], [text for frame in frames for text in frame[TEXT_COLUMN].tolist()], state)
    if texts:
        yield _frame(texts)


def run_texts(settings: StreamSettings, group_id: str | None, texts: list[str], state: GroupState) -> list[str]:
    """One turn of a group, with its requests of the batch or because its deadline has passed; the effects as texts.

    Ends in exactly one of remove, update with a timeout, update: Spark keeps an old timeout where nothing is done.
    """
    is_live = settings.clock is Clock.PROCESSING
    at_ms = state.getCurrentProcessingTimeMs() if is_live else state.getCurrentWatermarkMs()
    if group_id is None:
        return _refuse(texts, at_ms, settings)
    stored = StateRow(*state.get) if state.exists else None
    outcome = take_turns(group_id, texts, stored, at_ms, settings)
    waits_until_ms = _keep(state, outcome, at_ms, is_live)
    written = texts_of(group_id, outcome.rows)
    if settings.says_waits:
        if waits_until_ms is not None and outcome.is_sweep:
            waits_until_ms += -waits_until_ms % SWEEPS_EVERY_MS
        written.append(wait_text(group_id, waits_until_ms))
    return written


def _keep(state: GroupState, outcome: Outcome, at_ms: int, is_live: bool) -> int | None:
    """Stores the group's state; returns the timeout that is set, None if there is none."""
    if outcome.row is None:
        if state.exists:
            state.remove()
        return None
    state.update(outcome.row)
    if outcome.deadline_ms is None:
        return None
    if not is_live:
        state.setTimeoutTimestamp(max(outcome.deadline_ms, at_ms, 1))
        return outcome.deadline_ms
    duration_ms = max(outcome.deadline_ms - at_ms, 1)
    state.setTimeoutDuration(duration_ms)
    return at_ms + duration_ms


def _refuse(texts: list[str], at_ms: int, settings: StreamSettings) -> list[str]:
    """Rows that fit no group, each with what it named as its group."""
    refused = [_refused_decoder.decode(text) for text in sorted(texts)]
    return [
        text
        for each in refused
        for text in texts_of(
            each.group_id, [quarantined(each.request, each.reason, at_ms, settings, each.received_at_ms)]
        )
    ]


def _frame(texts: list[str]) -> pd.DataFrame:
    # From an object array, the cheapest way to a frame (a dict of lists takes three times as long).
    values = np.empty((len(texts), 1), dtype=object)
    values[:, 0] = texts
    return pd.DataFrame(values, columns=_OUTPUT_COLUMNS, copy=False)


def _packed(requests: DataFrame, settings: StreamSettings) -> DataFrame:
    """group_id and request, and on the event clock when it was received; unfit rows as JSON under the null key."""
    reason = _unfit(requests, settings)
    shown = _SHOWN_OF_AN_UNFIT_GROUP_ID
    refused = F.to_json(
        F.struct(
            reason.alias("reason"),
            F.left(F.make_valid_utf8(requests["group_id"]), F.lit(shown)).alias("group_id"),
            F.left(F.make_valid_utf8(requests["request"]), F.lit(settings.quarantine_raw_max_bytes)).alias("request"),
            requests["received_at_ms"].alias("received_at_ms"),
        )
    )
    columns: list[Any] = [
        F.when(reason.isNull(), requests["group_id"]).alias("group_id"),
        F.when(reason.isNull(), requests["request"]).otherwise(refused).alias("request"),
    ]
    if settings.clock is Clock.PROCESSING:
        return requests.select(*columns)
    received_at = F.timestamp_millis(F.coalesce(requests["received_at_ms"], F.lit(0))).alias("received_at")
    is_tick = requests["group_id"].isNull() & requests["request"].isNull() & (requests["request_id"] == TICK_ID)
    timed = requests.select(*columns, received_at, F.coalesce(is_tick, F.lit(False)).alias("is_tick")).withWatermark(
        "received_at", f"{settings.watermark_delay_ms} milliseconds"
    )
    # Names the watermark's column too: Spark moves a filter without it below the watermark, which then misses the
    # ticks.
    return timed.where(~F.col("is_tick") | F.col("received_at").isNull()).drop("is_tick")


def _unfit(requests: DataFrame, settings: StreamSettings) -> Column:
    """Why a row's columns fit no group; null if they do."""
    group_id, request = requests["group_id"], requests["request"]
    return F.coalesce(
        F.when(group_id.isNull(), F.lit("group_id: is null")),
        F.when(request.isNull(), F.lit("request: is null")),
        *(
            F.when(
                F.octet_length(column) > most,
                F.concat(F.lit(f"{name}: has "), F.octet_length(column), F.lit(f" bytes, at most {most} are taken")),
            )
            for name, column, most in (
                ("group_id", group_id, settings.group_id_max_bytes),
                ("request", request, settings.request_max_bytes),
            )
        ),
        *(
            F.when(~F.is_valid_utf8(column), F.lit(f"{name}: is not UTF-8; the invalid bytes are replaced here"))
            for name, column in (("group_id", group_id), ("request", request))
        ),
    )
