"""records of __consumer_offsets -> effects: the histories of all groups as one function from DataFrame to DataFrame.

Knows pandas, GroupState and the state's one column; must not know what a record says, nor where records come from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout

from offsets_topic.turns import NOTHING_FOLLOWS, Row, take_turn, unreadable
from schemas.effect_rows import texts_of
from schemas.tables import HISTORY_STATE

_OUTPUT = "effects string"
_COLUMNS = ["partition", "offset", "timestamp_ms", "key", "value"]


def tell_histories(
    records: DataFrame, names: Mapping[str, str], raw_max_bytes: int, hold_ms: int | None = None
) -> DataFrame:
    """Every fact that the records lead to, as lines of JSON in the one column `effects`, as `coordinate` gives them.

    records: a stream of rows of `schemas.tables.RECORDS`, those of one group in any order within a batch. names: topic
    names by id, beside those that a group's own records tell. hold_ms: how long a fact waits for the rest of its
    request's records; None: the stream ends, and says so to each group by a row without a key.
    """
    timeout = GroupStateTimeout.NoTimeout if hold_ms is None else GroupStateTimeout.ProcessingTimeTimeout
    function = partial(run_group, dict(names), raw_max_bytes, hold_ms)
    return records.groupBy("group_id").applyInPandasWithState(function, _OUTPUT, HISTORY_STATE.ddl, "append", timeout)


def run_group(
    names: Mapping[str, str],
    raw_max_bytes: int,
    hold_ms: int | None,
    key: tuple[str | None],
    frames: Iterable[pd.DataFrame],
    state: GroupState,
) -> Iterator[pd.DataFrame]:
    """One call of Spark's for one group: its records of the batch. The null group has those that name none."""
    group_id = key[0]
    rows = [NOTHING_FOLLOWS] if state.hasTimedOut else _rows(frames)
    if group_id is None:
        texts = texts_of(None, unreadable(rows, raw_max_bytes))
    else:
        turn = take_turn(group_id, rows, state.get[0] if state.exists else None, names, raw_max_bytes)
        texts = texts_of(group_id, turn.rows)
        if turn.document is not None:
            state.update((turn.document,))
            if hold_ms is not None and turn.is_held_back:
                state.setTimeoutDuration(hold_ms)
        elif state.exists:
            state.remove()
    if texts:
        yield pd.DataFrame({"effects": texts})


def _rows(frames: Iterable[pd.DataFrame]) -> list[Row]:
    return [_row(*values) for frame in frames for values in frame[_COLUMNS].itertuples(index=False, name=None)]


def _row(partition: int, offset: int, timestamp_ms: int, key: bytes | None, value: bytes | None) -> Row:
    return Row(
        int(partition),
        int(offset),
        int(timestamp_ms),
        None if key is None else bytes(key),
        None if value is None else bytes(value),
    )
