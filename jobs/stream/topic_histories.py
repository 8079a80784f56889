"""records of __consumer_offsets -> effects: the histories of all groups as one function from DataFrame to DataFrame.

Knows pandas, GroupState and the state's one column; must not know what a record says, nor where records come from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout

from rollcall.inputs.offsets_topic.turns import SentRecord, take_turn, unreadable
from rollcall.schemas.effect_rows import texts_of
from rollcall.schemas.tables import HISTORY_STATE

_OUTPUT = "effects string"
_COLUMNS = ["partition", "offset", "timestamp_ms", "key", "value"]


def tell_histories(
    records: DataFrame, raw_max_bytes: int, hold_ms: int, sessions: Mapping[str, int] | None = None
) -> DataFrame:
    """All facts of the records, as lines of JSON in the one column `effects`, like those of `coordinate`.

    records: a stream of rows of `rollcall.schemas.tables.RECORDS`, those of one group in any order within a batch.
    hold_ms: how long a fact waits for the other records of its request. sessions: session timeouts of the newer
    protocol, ms, by group id. A topic whose name is not in a group's own records is shown by its id.
    """
    function = partial(run_group, raw_max_bytes, hold_ms, dict(sessions or {}))
    return records.groupBy("group_id").applyInPandasWithState(
        function, _OUTPUT, HISTORY_STATE.ddl, "append", GroupStateTimeout.ProcessingTimeTimeout
    )


def run_group(
    raw_max_bytes: int,
    hold_ms: int,
    sessions: Mapping[str, int],
    key: tuple[str | None],
    frames: Iterable[pd.DataFrame],
    state: GroupState,
) -> Iterator[pd.DataFrame]:
    """One call of Spark's for one group: its records of the batch. The null group has those that name none."""
    group_id = key[0]
    rows = [] if state.hasTimedOut else _rows(frames)
    if group_id is None:
        texts = texts_of(None, unreadable(rows, raw_max_bytes))
    else:
        document = state.get[0] if state.exists else None
        turn = take_turn(group_id, rows, document, {}, raw_max_bytes, sessions.get(group_id, -1))
        texts = texts_of(group_id, turn.rows)
        if turn.document is not None:
            state.update((turn.document,))
            if turn.is_held_back:
                state.setTimeoutDuration(hold_ms)
        elif state.exists:
            state.remove()
    if texts:
        yield pd.DataFrame({"effects": texts})


def _rows(frames: Iterable[pd.DataFrame]) -> list[SentRecord]:
    return [_row(*values) for frame in frames for values in frame[_COLUMNS].itertuples(index=False, name=None)]


def _row(partition: int, offset: int, timestamp_ms: int, key: bytes | None, value: bytes | None) -> SentRecord:
    return SentRecord(
        int(partition),
        int(offset),
        int(timestamp_ms),
        None if key is None else bytes(key),
        None if value is None else bytes(value),
    )
