"""A log replayed by Spark, if it is too large for one machine: a batch job with the functions of the process pool.

Tasks read the log's sections. A shuffle brings each group's requests, sorted, to one task, which follows the group.
Spark writes the results to the home's Delta tables. The effects are written last, in one commit: with them the replay
is complete. Every worker must see the log under its path. Must not know a line's text, a rule of the protocol or how
answers are compared.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, groupby, islice
from operator import itemgetter
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from rich.console import Console

from rollcall.coordinator_udfs.group_udf import typed_effects
from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.inputs.quarantined import quarantine_row
from rollcall.inputs.request_log.entries import Entry, decode, encode
from rollcall.inputs.request_log.group_following import follow
from rollcall.inputs.request_log.group_rows import ComparedRows
from rollcall.inputs.request_log.lines.files import LogFile
from rollcall.inputs.request_log.lines.reading import Placed, SectionReading, each_once
from rollcall.inputs.request_log.lines.sections import Section, sections_in
from rollcall.inputs.request_log.lines.silences import Silences
from rollcall.inputs.request_log.log_ends import lag_of
from rollcall.inputs.request_log.parity import Parity
from rollcall.inputs.request_log.recorded import Quarantined, Tally
from rollcall.inputs.request_log.survey import Survey, Surveying, is_looked_at
from rollcall.inputs.request_log.topic_metadata import TopicMetadata
from rollcall.jobs.config import JobConfig
from rollcall.jobs.log_config import replay_config
from rollcall.jobs.stream.writers.cluster_writer import open_table
from rollcall.schemas.effect_rows import texts_of
from rollcall.schemas.tables import EFFECTS, FETCHES, LOG_ENDS, QUARANTINE, REQUESTS, Table
from rollcall.shown.replay_report import Replayed
from rollcall.tables import in_spark
from rollcall.tables.home import Home
from rollcall.tables.lag.rows import LagRows
from rollcall.tables.lag_rows import ends_table, fetches_table
from rollcall.tables.properties import table_properties
from rollcall.tables.request_table import request_line

REQUEST, LOOKED_AT, UNFIT, SECTION = "request", "looked_at", "unfit", "section"
"""Kinds of rows from a section."""
FACTS, ROWS, FOLLOWED = "facts", "rows", "followed"
"""Kinds of rows from groups."""
_PLACE = ("order_ms", "file_number", "section", "place")
_READ = "kind string, group_id string, order_ms long, file_number int, section int, place long, mark long, api string, "
_READ += "version int, data binary"
_OF_GROUPS = "kind string, text string, data binary"
_ROWS_AT_ONCE = 2_000
_TASKS_A_CORE = 4
"""Groups differ in size, and small tasks share the work more evenly."""
_encoder = msgspec.json.Encoder()


def replay_on_spark(
    spark: SparkSession,
    home: Home,
    files: Sequence[LogFile],
    given: Mapping[str, str],
    zone: ZoneInfo,
    console: Console,
) -> Replayed:
    """Writes a log's history into a home's tables. given: broker settings that the user knows.

    files: the log's, in the order of their first timestamps.
    """
    started = time.monotonic()
    sections = list(sections_in(files, zone))
    tasks = spark.sparkContext.defaultParallelism * _TASKS_A_CORE
    rows = [(section.number, pickle.dumps(section)) for section in sections]
    given_rows = spark.createDataFrame(rows, "number int, section binary").repartition(len(sections), "number")
    read = given_rows.mapInArrow(partial(_read_sections, zone), _READ).persist(StorageLevel.DISK_ONLY)
    followed: DataFrame | None = None
    try:
        with console.status(f"reading {len(sections)} sections"):
            tally, silences, topics, floors = _added_up(read)
            in_order = _in_order(spark, read, floors)
            survey = _survey(in_order, silences, tally, topics)
        config = replay_config(survey.settings(given))
        work = partial(_follow_groups, spark.sparkContext.broadcast(survey), config.group)
        # Each group's requests are in one task, in order of their lines.
        of_groups = in_order.where(F.col("kind") == REQUEST).repartition(tasks, "group_id")
        followed = of_groups.sortWithinPartitions("group_id", *_PLACE).mapInArrow(work, _OF_GROUPS)
        followed = followed.persist(StorageLevel.DISK_ONLY)
        with console.status("following groups"):
            parity = Parity()
            for row in followed.where(F.col("kind") == FOLLOWED).select("data").toLocalIterator():
                of_task, compared = pickle.loads(row.data)
                tally.add(of_task)
                parity.add(compared)
        if tally.of_lag:
            with console.status("reading what the log tells of lag"):
                _write_lag(spark, home, config, lag_of(files, zone, survey.topic_names))
        with console.status("writing the tables"):
            _write(spark, home, config, read, followed)
    finally:
        read.unpersist()
        if followed is not None:
            followed.unpersist()
    return Replayed(tally, parity, survey.inferred(given), time.monotonic() - started)


# ------------------------------------------------------------ reading


def _read_sections(zone: ZoneInfo, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for section in map(pickle.loads, batch["section"].to_pylist()):
            yield from _batches(_read_section(section, zone), _READ_SCHEMA)


def _read_section(section: Section, zone: ZoneInfo) -> Iterator[tuple[object, ...]]:
    unfit: list[Quarantined] = []
    reading = SectionReading(section, zone, unfit.append)
    of_section = (section.file_number, section.number)
    for place, placed in enumerate(reading):
        logged = placed.logged
        row = (logged.group_id, placed.order_ms, *of_section, place, placed.text_mark, *encode(logged))
        yield REQUEST, *row
        if is_looked_at(logged):
            yield LOOKED_AT, *row
    for line in unfit:
        yield UNFIT, None, None, *of_section, line.line, None, None, None, _encoder.encode(quarantine_row(line))
    found = pickle.dumps((reading.tally, reading.silences, reading.topics))
    yield SECTION, None, None, *of_section, -1, None, None, None, found


def _added_up(read: DataFrame) -> tuple[Tally, Silences, TopicMetadata, list[tuple[int, int]]]:
    """The tally of all lines, the silences of brokers, what lines show of topics, and for each section its
    file's latest time before.
    """
    tally, silences, topics = Tally(), Silences(), TopicMetadata()
    floors: list[tuple[int, int]] = []
    latest: dict[int, int] = {}
    rows = read.where(F.col("kind") == SECTION).select("section", "file_number", "data").orderBy("section")
    for section, file_number, data in rows.collect():
        of_section, silent, shown = pickle.loads(data)
        tally.add(of_section)
        silences.add(silent)
        topics.add(shown)
        floors.append((section, latest.get(file_number, 0)))
        latest[file_number] = max(latest.get(file_number, 0), of_section.last_at_ms or 0)
    return tally, silences, topics, floors


def _in_order(spark: SparkSession, read: DataFrame, floors: list[tuple[int, int]]) -> DataFrame:
    """The requests, with an order_ms that never falls within a file."""
    above = F.broadcast(spark.createDataFrame(floors, "section int, floor_ms long"))
    rising = read.join(above, "section").withColumn("order_ms", F.greatest("order_ms", "floor_ms"))
    return rising.select("kind", "group_id", *_PLACE, "mark", "api", "version", "data")


def _survey(in_order: DataFrame, silences: Silences, tally: Tally, topics: TopicMetadata) -> Survey:
    surveying = Surveying(topics)
    rows = in_order.where(F.col("kind") == LOOKED_AT).orderBy(*_PLACE)
    local = rows.select("order_ms", "mark", "api", "version", "data").toLocalIterator(prefetchPartitions=True)
    placed = (Placed(decode(Entry(row.api, row.version, bytes(row.data))), row.order_ms, row.mark) for row in local)
    for entry in each_once(placed, Tally()):
        surveying.note(entry)
    return surveying.found(silences, tally.last_at_ms or 0)


# ------------------------------------------------------------ following


def _groups(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, Iterator[Placed]]]:
    names = ("group_id", "order_ms", "mark", "api", "version", "data")
    rows = chain.from_iterable(zip(*(batch[name].to_pylist() for name in names), strict=True) for batch in batches)
    for group_id, of_group in groupby(rows, itemgetter(0)):
        yield group_id, (Placed(decode(Entry(*row[3:])), row[1], row[2]) for row in of_group)


def _follow_groups(found: object, config: GroupConfig, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from _batches(_followed(found.value, config, batches), _OF_GROUPS_SCHEMA)  # type: ignore[attr-defined]


def _followed(found: Survey, config: GroupConfig, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[object, ...]]:
    tally, parity = Tally(), Parity()
    for group_id, placed in _groups(batches):
        rows = ComparedRows(parity)
        for _ in follow(each_once(placed, tally), found, config, tally, {group_id: rows}.__getitem__):
            yield from _taken_out(group_id, rows)
        rows.close()
        yield from _taken_out(group_id, rows)
    yield FOLLOWED, None, pickle.dumps((tally, parity))


def _taken_out(group_id: str, rows: ComparedRows) -> Iterator[tuple[object, ...]]:
    for text in texts_of(group_id, rows.facts):
        yield FACTS, text, None
    for request in rows.requests:
        yield ROWS, request_line(request, group_id).decode(), None
    rows.facts.clear()
    rows.requests.clear()


def _batches(rows: Iterable[tuple[object, ...]], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    left = iter(rows)
    while held := list(islice(left, _ROWS_AT_ONCE)):
        columns = zip(zip(*held, strict=True), schema, strict=True)
        yield pa.record_batch([pa.array(column, each.type) for column, each in columns], schema)


# ------------------------------------------------------------ writing


def _write(spark: SparkSession, home: Home, config: JobConfig, read: DataFrame, followed: DataFrame) -> None:
    for table in (REQUESTS, QUARANTINE, EFFECTS):
        open_table(spark, home.place_of(table), table, table_properties(config.versions_retention_minutes))
    unfit = read.where(F.col("kind") == UNFIT).orderBy(*_PLACE[1:])
    lines = unfit.select(F.from_json(F.col("data").cast("string"), QUARANTINE.ddl).alias("row"))
    _overwrite(lines.select("row.*"), home.quarantine)
    rows = followed.where(F.col("kind") == ROWS).select(F.from_json("text", REQUESTS.ddl).alias("row"))
    _overwrite(rows.select("row.*"), home.requests)
    facts = followed.where(F.col("kind") == FACTS).select(F.col("text").alias("effects"))
    _overwrite(typed_effects(facts), home.effects)


def _write_lag(spark: SparkSession, home: Home, config: JobConfig, lag: Iterable[LagRows]) -> None:
    """Writes log ends and fetches, in the driver, since their lines must be read in the order of the whole log."""
    written = set[str]()

    def append(place: str, table: Table, rows: pa.Table) -> None:
        if not rows.num_rows:
            return
        if place not in written:
            open_table(spark, place, table, table_properties(config.versions_retention_minutes))
        mode = "append" if place in written else "overwrite"
        written.add(place)
        spark.createDataFrame(rows).write.format(in_spark.FORMAT).mode(mode).option("mergeSchema", True).save(place)

    for rows in lag:
        append(home.log_ends, LOG_ENDS, ends_table(rows.ends, None, None))
        append(home.fetches, FETCHES, fetches_table(rows.fetches))


def _overwrite(rows: DataFrame, place: str) -> None:
    """Also removes the rows that a stopped replay left."""
    rows.write.format(in_spark.FORMAT).mode("overwrite").save(place)


_ARROW = {"string": pa.string(), "long": pa.int64(), "int": pa.int32(), "binary": pa.binary()}


_READ_SCHEMA, _OF_GROUPS_SCHEMA = (
    pa.schema([(name, _ARROW[kind]) for name, kind in (column.split() for column in ddl.split(", "))])
    for ddl in (_READ, _OF_GROUPS)
)
