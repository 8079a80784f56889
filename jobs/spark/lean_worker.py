"""applyInPandasWithState of the coordinator's own function without pandas, in Spark's Python workers.

pyspark's serializer makes several DataFrames for each group of a batch, about 0.6 ms of a core. Here the two columns
that the function needs become Python lists once a batch, each group gets its part of them, and Arrow makes one batch of
the texts and states that come back. The JVM's side, the format on the wire and GroupState are Spark's own, untouched.
Any other function, and any version of Spark that this was not tried with, gets pyspark's own serializer.

Knows pyspark's worker and serializer from the inside; must not know what a request or a state means.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from typing import IO, Any, NamedTuple

import pyarrow as pa
import pyspark
from pyspark.sql.pandas.serializers import ApplyInPandasWithStateSerializer, ArrowStreamSerializer
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.streaming.state import GroupState
from pyspark.sql.types import StructType

from rollcall.coordinator_udfs.group_udf import KEY_COLUMN, TEXT_COLUMN, run_group, run_texts
from rollcall.coordinator_udfs.settings import StreamSettings

KNOWN_VERSIONS = ("4.2.0",)

# pyspark does not export the names that are used and replaced here.
worker: Any = importlib.import_module("pyspark.worker")
REPLACED = ("ApplyInPandasWithStateSerializer", "wrap_grouped_map_pandas_udf_with_state", "fail_on_stopiteration")
_sparks_wrap = worker.wrap_grouped_map_pandas_udf_with_state
_sparks_fail_on_stop = worker.fail_on_stopiteration


class Task:
    """What the worker's present task is for. A worker does one task at a time, and reads its function first."""

    settings: StreamSettings | None = None
    """The coordinator's; None: the function is another one, which Spark's own code serves."""


@dataclass(slots=True)
class Group:
    """A group of a batch. pyspark's mapper takes columns out of it by their places; each gives the group itself."""

    key: str | None
    texts: list[str]

    def __getitem__(self, place: Any) -> Any:
        return self


class GroupAnswer(NamedTuple):
    """What the function gave for a group, whose state it has changed."""

    texts: list[str]
    state: GroupState


class LeanSerializer(ApplyInPandasWithStateSerializer):
    """Spark's serializer for every function but the coordinator's."""

    def load_stream(self, stream: IO[bytes]) -> Iterator[Any]:
        """Pairs of (chunks of data, state), a pair a group; here a group is one chunk."""
        if Task.settings is None:
            return super().load_stream(stream)
        return (
            (((group, state),), state) for group, state in self._groups(ArrowStreamSerializer.load_stream(self, stream))
        )

    def _groups(self, batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[Group, GroupState]]:
        unfinished: tuple[Group, GroupState] | None = None
        for batch in batches:
            keys = batch.column(KEY_COLUMN).to_pylist()
            texts = batch.column(TEXT_COLUMN).to_pylist()
            infos = batch.columns[-1]
            columns = [infos.field(name).to_pylist() for name in _INFO_COLUMNS]
            # After the last group the column is filled up with nulls.
            for info in zip(*(column[: len(infos) - infos.null_count] for column in columns), strict=True):
                properties, key_row, stored, first, count, is_last = info
                if unfinished is None:
                    unfinished = Group(keys[first], []), self._state(properties, key_row, stored)
                group, state = unfinished
                if not state.hasTimedOut:
                    group.texts.extend(texts[first : first + count])
                if is_last:
                    yield group, state
                    unfinished = None

    def _state(self, properties: str, key_row: bytes, stored: bytes | None) -> GroupState:
        value = self.pickleSer.loads(stored) if stored else None
        return GroupState(
            keyAsUnsafe=key_row,
            valueSchema=self.state_object_schema,
            **{**json.loads(properties), "optionalValue": value},
        )

    def dump_stream(self, iterator: Iterable[Any], stream: IO[bytes]) -> None:
        """Writes what the function gave."""
        if Task.settings is None:
            return super().dump_stream(iterator, stream)
        batches = self._write_stream_start(self._batches(iterator), stream)
        return ArrowStreamSerializer.dump_stream(self, batches, stream)

    def _batches(self, results: Iterable[list[tuple[GroupAnswer, StructType]]]) -> Iterator[pa.RecordBatch]:
        """As many texts a batch as pyspark puts into one; a group's state comes after all of its texts."""
        texts: list[str] = []
        states: list[tuple[str, bytes, bytes | None, int]] = []
        returned: StructType | None = None
        for ((answer, returned),) in results:
            texts += answer.texts
            if answer.texts and len(texts) > self.arrow_max_records_per_batch:
                yield self._batch(returned, texts, states)
                texts, states = [], []
            states.append(self._stored(answer.state))
        if returned is not None and (texts or states):
            yield self._batch(returned, texts, states)

    def _stored(self, state: GroupState) -> tuple[str, bytes, bytes | None, int]:
        value = self.pickleSer.dumps(state._value_schema.toInternal(state._value)) if state.exists else None
        return state.json(), state._keyAsUnsafe, value, state.oldTimeoutTimestamp

    def _batch(self, returned: StructType, texts: Sequence[str], states: Sequence[tuple[Any, ...]]) -> pa.RecordBatch:
        rows = max(1, len(texts), len(states))
        counts = [[count] * rows for count in (len(texts), len(states))]
        stored = [list(column) for column in zip(*states, strict=True)] or [[], [], [], []]
        structs = [
            _struct(self.result_count_df_type, counts, rows),
            _struct(returned, [list(texts)], rows),
            _struct(self.result_state_df_type, stored, rows),
        ]
        return pa.RecordBatch.from_arrays(structs, names=["_0", "_1", "_2"])


_INFO_COLUMNS = ("properties", "keyRowAsUnsafe", "object", "startOffset", "numRows", "isLastChunk")


def _struct(schema: StructType, columns: Sequence[list[Any]], rows: int) -> pa.StructArray:
    """Columns as one struct array, filled up with nulls."""
    fields = list(to_arrow_type(schema, timezone="UTC"))
    filled = [column + list(repeat(None, rows - len(column))) for column in columns]
    arrays = [pa.array(column, field.type) for column, field in zip(filled, fields, strict=True)]
    return pa.StructArray.from_arrays(arrays, fields=fields)


def _wrap(function: Callable[..., Any], return_type: StructType, runner_conf: Any) -> Callable[..., Any]:
    """In place of pyspark's wrapper around the function of a task."""
    own = getattr(function, "__wrapped__", None)
    if not (isinstance(own, partial) and own.func is run_group):
        Task.settings = None
        return _sparks_wrap(function, return_type, runner_conf)
    (settings,) = own.args
    Task.settings = settings

    def answer(keys: list[Group], _: object, state: GroupState) -> list[tuple[GroupAnswer, StructType]]:
        group = keys[0]
        return [(GroupAnswer(run_texts(settings, group.key, group.texts, state), state), return_type)]

    return answer


def _fail_on_stop(function: Callable[..., Any]) -> Callable[..., Any]:
    """pyspark's, which also says what it wraps."""
    wrapped = _sparks_fail_on_stop(function)
    wrapped.__wrapped__ = function
    return wrapped


def install() -> None:
    """Puts this in the place of pyspark's serializer, in this process and those forked from it."""
    if pyspark.__version__ not in KNOWN_VERSIONS:
        print(
            f"rollcall: Spark {pyspark.__version__} is not one of {', '.join(KNOWN_VERSIONS)}: its own serializer is "
            f"used, which takes three times as long",
            file=sys.stderr,
            flush=True,
        )
        return
    worker.ApplyInPandasWithStateSerializer = LeanSerializer
    worker.wrap_grouped_map_pandas_udf_with_state = _wrap
    worker.fail_on_stopiteration = _fail_on_stop
