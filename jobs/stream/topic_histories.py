"""records of __consumer_offsets -> effects: the histories of all groups as one function from DataFrame to DataFrame.

Knows pandas, GroupState and the state's one column; must not know what a record says, nor where records come from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout

from coordinator_udfs.effect_rows import texts_of
from offsets_topic.turns import Row, take_turn, unreadable
from schemas.tables import HISTORY_STATE

_OUTPUT = "effects string"
_COLUMNS = ["partition", "offset", "timestamp_ms", "key", "value"]


def tell_histories(records: DataFrame, names: Mapping[str, str], raw_max_bytes: int) -> DataFrame:
    """Every fact that the records lead to, as lines of JSON in the one column `effects`, as `coordinate` gives them.

    records: a stream of rows of `schemas.tables.RECORDS`, those of one group in any order within a batch. names: topic
    names by id, beside those that a group's own records tell.
    """
    return records.groupBy("group_id").applyInPandasWithState(
        partial(run_group, dict(names), raw_max_bytes),
        _OUTPUT,
        HISTORY_STATE.ddl,
        "append",
        GroupStateTimeout.NoTimeout,
    )


def run_group(
    names: Mapping[str, str],
    raw_max_bytes: int,
    key: tuple[str | None],
    frames: Iterable[pd.DataFrame],
    state: GroupState,
) -> Iterator[pd.DataFrame]:
    """One call of Spark's for one group: its records of the batch. The null group has those that name none."""
    group_id = key[0]
    rows = [_row(*values) for frame in frames for values in frame[_COLUMNS].itertuples(index=False, name=None)]
    if group_id is None:
        texts = texts_of(None, unreadable(rows, raw_max_bytes))
    else:
        turn = take_turn(group_id, rows, state.get[0] if state.exists else None, names, raw_max_bytes)
        texts = texts_of(group_id, turn.rows)
        if turn.document is not None:
            state.update((turn.document,))
        elif state.exists:
            state.remove()
    if texts:
        yield pd.DataFrame({"effects": texts})


def _row(partition: int, offset: int, timestamp_ms: int, key: bytes | None, value: bytes | None) -> Row:
    return Row(
        int(partition),
        int(offset),
        int(timestamp_ms),
        None if key is None else bytes(key),
        None if value is None else bytes(value),
    )
