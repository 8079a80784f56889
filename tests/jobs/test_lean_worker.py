"""The lean worker beside pyspark's own code: the same bytes come out, and other functions stay with Spark."""

from __future__ import annotations

import importlib
import io
import json
import pickle
import socket
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pandas as pd
import pyarrow as pa
import pyspark
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark import cloudpickle
from pyspark.serializers import CPickleSerializer, write_int, write_long
from pyspark.sql import Row
from pyspark.sql.streaming.state import GroupState
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType
from pyspark.util import PythonEvalType

from rollcall.coordinator_udfs.group_udf import run_group
from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.coordinator_udfs.settings import Clock, StreamSettings
from rollcall.jobs.spark import lean_worker
from rollcall.jobs.spark.daemon import without_waits
from rollcall.schemas.tables import STATE
from tests.examples import examples
from tests.requests import heartbeat, join
from tests.udf.stream import arrived

worker: Any = importlib.import_module("pyspark.worker")
T = 1_700_000_000_000
_SPARK_TYPES = {"string": StringType(), "int": IntegerType(), "long": LongType()}
STATE_SCHEMA = StructType([StructField(column.name, _SPARK_TYPES[column.type]) for column in STATE.columns])
OUTPUT = StructType([StructField("effects", StringType())])
INFO = pa.struct(
    [
        ("properties", pa.string()),
        ("keyRowAsUnsafe", pa.binary()),
        ("object", pa.binary()),
        ("startOffset", pa.int32()),
        ("numRows", pa.int32()),
        ("isLastChunk", pa.bool_()),
    ]
)
COLUMNS = {Clock.PROCESSING: ("group_id", "request"), Clock.EVENT: ("group_id", "request", "received_at")}


@dataclass
class Given:
    """A group of a batch as the JVM hands it over. chunks: its rows, cut as the JVM may cut them."""

    key: str | None
    chunks: list[list[str | None]]
    value: tuple[Any, ...] | None = None
    timeout_ms: int = -1
    has_timed_out: bool = False


@dataclass
class Came:
    """What came back, as bytes and as the JVM reads them."""

    data: bytes
    texts: list[str] = field(default_factory=list)
    states: list[dict[str, Any]] = field(default_factory=list)


def batches_of(groups: list[Given], clock: Clock, now_ms: int, at_most: int) -> bytes:
    """The stream that the JVM writes: rows of several groups a batch, a batch ends inside a group too."""
    sink = io.BytesIO()
    rows: list[tuple[str | None, str | None]] = []
    infos: list[dict[str, Any]] = []
    received_at = now_ms * 1000
    schema = pa.schema([*((name, _TYPES[name]) for name in COLUMNS[clock]), ("__state", INFO)])
    with pa.ipc.new_stream(sink, schema) as writer:

        def flush() -> None:
            keys, texts = zip(*rows, strict=True)
            columns = {"group_id": keys, "request": texts, "received_at": [received_at] * len(rows)}
            arrays = [pa.array(columns[name], _TYPES[name]) for name in COLUMNS[clock]]
            filled = infos + [None] * (len(rows) - len(infos))
            writer.write_batch(pa.RecordBatch.from_arrays([*arrays, pa.array(filled, INFO)], schema=schema))
            rows.clear()
            infos.clear()

        for number, group in enumerate(groups):
            for place, chunk in enumerate(group.chunks):
                if len(rows) + len(chunk) > at_most and rows:
                    flush()
                infos.append(
                    {
                        "properties": properties_of(group, clock, now_ms),
                        "keyRowAsUnsafe": f"key {number}".encode(),
                        "object": None if group.value is None else pickle.dumps(Row(*STATE.names)(*group.value)),
                        "startOffset": len(rows),
                        "numRows": len(chunk),
                        "isLastChunk": place == len(group.chunks) - 1,
                    }
                )
                rows.extend((group.key, text) for text in chunk)
                if place < len(group.chunks) - 1:
                    flush()
        if rows:
            flush()
    return sink.getvalue()


_TYPES = {"group_id": pa.string(), "request": pa.string(), "received_at": pa.timestamp("us", "UTC")}


def properties_of(group: Given, clock: Clock, now_ms: int) -> str:
    is_live = clock is Clock.PROCESSING
    return json.dumps(
        {
            "optionalValue": None,
            "batchProcessingTimeMs": now_ms,
            "eventTimeWatermarkMs": -1 if is_live else now_ms,
            "timeoutConf": "ProcessingTimeTimeout" if is_live else "EventTimeTimeout",
            "hasTimedOut": group.has_timed_out,
            "watermarkPresent": not is_live,
            "defined": group.value is not None,
            "updated": False,
            "removed": False,
            "timeoutTimestamp": group.timeout_ms,
        }
    )


def through(function: Callable[..., Any], clock: Clock, data: bytes, conf: dict[str, str]) -> Came:
    """A task of this process's worker: the function is read as a task reads it, then the stream goes through it."""
    offsets = [1 + 1 + len(COLUMNS[clock]), 1, 0, *range(len(COLUMNS[clock]))]
    asked = io.BytesIO()
    write_int(1, asked)
    write_int(len(offsets), asked)
    for offset in offsets:
        write_int(offset, asked)
        asked.write(b"\0")
    write_int(1, asked)
    command = cloudpickle.dumps((function, OUTPUT))
    write_int(len(command), asked)
    asked.write(command)
    write_long(0, asked)
    asked.seek(0)
    eval_conf = worker.EvalConf()
    eval_conf._conf = {"state_value_schema": STATE_SCHEMA.json()}
    runner_conf = worker.RunnerConf()
    runner_conf._conf = {"spark.sql.session.timeZone": "UTC", **conf}
    mapped, _, reads, writes = worker.read_udfs(
        CPickleSerializer(), asked, PythonEvalType.SQL_GROUPED_MAP_PANDAS_UDF_WITH_STATE, runner_conf, eval_conf
    )
    out = io.BytesIO()
    writes.dump_stream(mapped(0, reads.load_stream(io.BytesIO(data))), out)
    return opened(out.getvalue())


def opened(data: bytes) -> Came:
    """The bytes as the JVM reads them: -6, for an Arrow stream begins; then counts, texts and states in each batch."""
    came = Came(data)
    if not data:
        return came
    assert data[:4] == (-6).to_bytes(4, "big", signed=True)
    for batch in pa.ipc.open_stream(data[4:]):
        counts, texts, states = (column.to_pylist() for column in batch.columns)
        came.texts += [row["effects"] for row in texts[: counts[0]["dataCount"]]]
        came.states += states[: counts[0]["stateCount"]]
    return came


def both(function: Callable[..., Any], clock: Clock, data: bytes, most_records: int = 10_000) -> tuple[Came, Came]:
    """What comes of the same input through pyspark's code, and through the lean worker."""
    conf = {"spark.sql.execution.arrow.maxRecordsPerBatch": str(most_records)}
    sparks = through(function, clock, data, conf)
    with pytest.MonkeyPatch.context() as patch:
        for name in lean_worker.REPLACED:
            patch.setattr(worker, name, getattr(worker, name))
        lean_worker.install()
        return sparks, through(function, clock, data, conf)


REQUESTS = st.one_of(
    st.builds(lambda name: join(name, T, "g"), st.sampled_from("abc")),
    st.builds(lambda name, generation: heartbeat(name, generation, T, "g"), st.sampled_from("abc"), st.integers(-1, 3)),
)
TEXTS = st.one_of(
    REQUESTS.map(lambda request: arrived(request)[0].text),
    st.text(max_size=5),
    st.sampled_from(["{}", "null", '{"api":"JoinGroup"}', "ü \u0000 \U0001f9ea", "x" * 300_000]),
)
CHUNKS = st.lists(st.lists(TEXTS, min_size=1, max_size=4), min_size=1, max_size=3)
MOVES = st.lists(
    st.lists(st.tuples(st.sampled_from("abcdefg"), CHUNKS), max_size=7, unique_by=lambda m: m[0]), max_size=4
)


@pytest.mark.parametrize("clock", list(Clock))
@given(moves=MOVES, at_most=st.integers(1, 12), most_records=st.sampled_from([-1, 1, 3, 10_000]), junk=st.booleans())
@examples(20, 100)
def test_the_same_bytes_come_out_over_several_batches_with_states_and_timeouts(
    clock: Clock, moves: list[Any], at_most: int, most_records: int, junk: bool
) -> None:
    config = StreamSettings(group=GroupConfig(group_initial_rebalance_delay_ms=500), clock=clock)
    function = partial(run_group, config)
    stored: dict[str, tuple[tuple[Any, ...] | None, int]] = {}
    now_ms = T
    for move in [*moves, [], []]:
        groups = [Given(key, chunks, *stored.get(key, (None, -1))) for key, chunks in move]
        named = {group.key for group in groups}
        due = [(key, value, at) for key, (value, at) in stored.items() if key not in named and 0 <= at <= now_ms]
        groups += [Given(key, [[None]], value, at, has_timed_out=True) for key, value, at in due]
        data = batches_of(groups, clock, now_ms, at_most)
        sparks, lean = both(function, clock, data, most_records)
        assert lean.data == sparks.data
        assert len(lean.states) == len(groups)
        stored |= kept(groups, lean.states)
        if junk and stored:
            key = min(stored)
            stored[key] = (("Stable", 1, None, None, None, 0, None, None, "{broken"), stored[key][1])
        now_ms += 20_000


def kept(groups: list[Given], states: list[dict[str, Any]]) -> dict[str, tuple[tuple[Any, ...] | None, int]]:
    found: dict[str, tuple[tuple[Any, ...] | None, int]] = {}
    for group, state in zip(groups, states, strict=True):
        properties = json.loads(state["properties"])
        value = pickle.loads(state["object"]) if state["object"] else None
        found[str(group.key)] = (None if value is None else tuple(value), properties["timeoutTimestamp"])
    return {key: each for key, each in found.items() if each[0] is not None}


def test_rows_that_are_fit_for_no_group_come_out_the_same() -> None:
    refused: list[str | None] = [
        json.dumps({"reason": "why", "request": f"{n}", "received_at_ms": n}) for n in range(3)
    ]
    for clock in Clock:
        data = batches_of([Given(None, [refused[:2], refused[2:]])], clock, T, 2)
        sparks, lean = both(partial(run_group, StreamSettings(clock=clock)), clock, data)
        assert lean.data == sparks.data
        assert lean.texts == sorted(lean.texts)
        assert len(lean.texts) == 3


def test_the_coordinators_function_is_served_without_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("rollcall.coordinator_udfs.group_udf._frame")
    data = batches_of([Given("a", [[arrived(join("a", T))[0].text]])], Clock.PROCESSING, T, 2)
    with pytest.raises(NameError):
        through(partial(run_group, StreamSettings()), Clock.PROCESSING, data, {})
    for name in lean_worker.REPLACED:
        monkeypatch.setattr(worker, name, getattr(worker, name))
    lean_worker.install()
    assert len(through(partial(run_group, StreamSettings()), Clock.PROCESSING, data, {}).texts) == 1


def test_no_group_at_all_gives_nothing() -> None:
    data = batches_of([], Clock.PROCESSING, T, 5)
    sparks, lean = both(partial(run_group, StreamSettings()), Clock.PROCESSING, data)
    assert lean.data == sparks.data == b""


def counted(key: tuple[str], frames: Iterator[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
    """Another function that a user may give to Spark."""
    for frame in frames:
        yield pd.DataFrame({"effects": [f"{key[0]} {list(frame.columns)} {len(frame)}"]})


def stops(key: tuple[str], frames: Iterator[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
    raise StopIteration("on its own")


def test_another_function_is_served_by_sparks_own_code_also_after_the_coordinators() -> None:
    data = batches_of([Given("a", [["x", "y"], ["z"]])], Clock.PROCESSING, T, 2)
    own = partial(run_group, StreamSettings())
    for function in (counted, own, counted, partial(counted)):
        sparks, lean = both(function, Clock.PROCESSING, data)
        assert lean.data == sparks.data
    assert lean.texts == ["a ['group_id', 'request'] 2", "a ['group_id', 'request'] 1"]
    with pytest.raises(Exception, match="on its own"):
        both(stops, Clock.PROCESSING, data)


def test_an_error_of_the_function_reaches_spark() -> None:
    """A state that is not a tuple of the declared columns."""
    group = Given("a", [[arrived(join("a", T))[0].text]])
    data = batches_of([group], Clock.PROCESSING, T, 2).replace(b'"defined": false', b'"defined": true ')
    with pytest.raises(TypeError):
        both(partial(run_group, StreamSettings()), Clock.PROCESSING, data)


def test_another_version_of_spark_keeps_its_own_code_and_a_word_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pyspark, "__version__", "4.3.0")
    before = worker.ApplyInPandasWithStateSerializer
    lean_worker.install()
    assert worker.ApplyInPandasWithStateSerializer is before
    assert "rollcall: Spark 4.3.0 is not one of 4.2.0: its own serializer is used" in capsys.readouterr().err


# ---------------------------------------------------------------- the daemon of the workers


@pytest.mark.skipif(sys.platform != "linux", reason="TCP_QUICKACK is Linux's")
def test_neither_side_of_a_tasks_socket_waits_for_an_acknowledgement() -> None:
    options = (socket.TCP_QUICKACK, socket.TCP_NODELAY)
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as connection:
        for option in options:
            connection.setsockopt(socket.IPPROTO_TCP, option, 0)
        served = without_waits(lambda served, _: served, connection, True)
        assert [served.getsockopt(socket.IPPROTO_TCP, option) for option in options] == [1, 1]


def test_a_socket_of_a_file_is_served_as_it_is() -> None:
    connection, jvm = socket.socketpair()
    with connection, jvm:
        assert without_waits(lambda served, is_known: (served, is_known), connection, False) == (connection, False)
