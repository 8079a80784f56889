"""Homes of an earlier version that followed a topic, alone or with a log: what they knew is taken over, once.

A topic's home kept offsets and groups in its query's checkpoint. A home of both had a home inside it for each. Knows
that checkpoint. Must not know a record, or by which rule facts are merged.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Generic

import pyarrow as pa

from rollcall.inputs.following.both import APP_ID as MERGED_ID
from rollcall.inputs.following.both import FOLDER as MERGED
from rollcall.inputs.following.both import UNKNOWN, BothKept, Kind
from rollcall.inputs.following.following import NumberedState, read_state, state_path
from rollcall.inputs.following.group_documents import GroupDocuments
from rollcall.inputs.following.merging_feed import Group, MergingState
from rollcall.inputs.following.printed_source import PrintedKept, find_printed
from rollcall.inputs.following.request_source import find_kept
from rollcall.inputs.following.topic_source import APP_ID, FOLDER, TopicKept, find_topic
from rollcall.inputs.offsets_topic import TOPIC
from rollcall.inputs.offsets_topic.history.state import DocumentError, read_document
from rollcall.jobs.config import JobConfig
from rollcall.jobs.shadow.earlier_home import finish_earlier, run_once
from rollcall.jobs.stream.checkpoint import begun_batches, finished_batches, offsets_of, query_id
from rollcall.programs.log_lines import tell
from rollcall.schemas.effect_rows import EffectRow
from rollcall.schemas.tables import QUARANTINE
from rollcall.tables.appending import append_once, last_number
from rollcall.tables.home import Home
from rollcall.tables.home_tables import open_effects, open_quarantine
from rollcall.tables.table_follower import TableFollower
from rollcall.tables.versions import is_table

_EARLIER_FOLDER = "both"


def take_over(home: Home) -> None:
    """Lets Spark read what an earlier version knew, unless that is done. Raises HomeError: it failed."""
    if find_topic(home) is None and last_batch(home) is not None:
        run_once(home, "its groups in a checkpoint; Spark reads them", _read_all)


def last_batch(home: Home) -> int | None:
    """The last batch whose facts are in the home, whether Spark has noted its end or not; None: there was none."""
    checkpoint = Path(home.checkpoint)
    written = last_number(home.effects, query_id(checkpoint)) if is_table(home.effects) else None
    batches = [*finished_batches(checkpoint), *(one for one in begun_batches(checkpoint) if one == written)]
    return max(batches, default=None)


def _read_all(location: str) -> None:
    # Imported here: other homes need no Spark.
    from rollcall.jobs.spark.session import home_session

    home = Home(location)
    batch, checkpoint = last_batch(home), Path(home.checkpoint)
    assert batch is not None
    if batch not in finished_batches(checkpoint):
        # Spark reads the state of a batch only once it is noted as finished.
        (checkpoint / "commits" / str(batch)).write_text('v1\n{"nextBatchWatermarkMs":0}')
    spark = home_session(home, "rollcall shadow", {})
    # Spark makes what reads a state only for sessions with queries.
    spark.streams.active  # noqa: B018
    reader = spark.read.format("statestore").option("batchId", batch)
    rows = reader.load(home.checkpoint).selectExpr("key.group_id", "value.groupState.document").toArrow()
    spark.stop()
    groups, held = GroupDocuments(home.path / FOLDER, TopicKept().groups), []
    for group_id, document in zip(rows[0].to_pylist(), rows[1].to_pylist(), strict=True):
        groups.put(group_id, document)
        if is_held_back(document):
            held.append(group_id)
    topic = next(offset[TOPIC] for offset in offsets_of(checkpoint, batch) if TOPIC in offset)
    kept = TopicKept({int(partition): offset for partition, offset in topic.items()}, groups.store(), held)
    NumberedState[TopicKept](home.path / FOLDER, open_effects(home), APP_ID).keep(kept)


def is_held_back(document: str) -> bool:
    """Whether facts wait for other records of a request. One that cannot be read is found out with its next record."""
    try:
        return read_document(document).is_held_back
    except DocumentError:
        return False


class _EarlierState(MergingState[Group], Generic[Group]):
    """The state of a merging that read the tables of the homes inside."""

    log_version: int = 0
    """The next version of the log's effects to read."""
    topic_version: int = 0
    """The next version of the topic's."""


def take_over_both(home: Home, kind: Kind, config: JobConfig) -> BothKept[Any, Any] | None:
    """The state that an earlier version has left, with the facts that it had not merged; None: there is none, or it was
    taken over. What could not be understood is copied to the home's quarantine. Raises HomeError: it failed.
    """
    if not home.of_log.path.is_dir() or state_path(home.path / MERGED, _number(home)).exists():
        return None
    log = find_printed(home.of_log) if kind.kept is PrintedKept else find_kept(home.of_log)
    finish_earlier(home.of_log, log)
    take_over(home.of_topic)
    if (home.of_topic.path / FOLDER).is_dir():
        shutil.copytree(home.of_topic.path / FOLDER, home.path / FOLDER, dirs_exist_ok=True)
    state = _EarlierState[kind.rule.state]  # type: ignore[name-defined]
    merging = read_state(home.path / _EARLIER_FOLDER, _number(home), state, UNKNOWN) or _EarlierState()
    quarantine = open_quarantine(home, config.versions_retention_minutes)
    versions = merging.log_version, merging.topic_version
    for is_topic, inside, version in zip((False, True), (home.of_log, home.of_topic), versions, strict=True):
        for rows in TableFollower(Path(inside.effects), [*EffectRow.__struct_fields__], from_version=version).poll():
            merging.waiting += [(is_topic, EffectRow(**row)) for row in rows.to_pylist()]
        copies = f"{MERGED_ID}-{inside.path.name}"
        copied = quarantine.transaction_version(copies) or 0
        unfit = TableFollower(Path(inside.quarantine), QUARANTINE.names, from_version=copied)
        if tables := list(unfit.poll()):
            append_once(quarantine, pa.concat_tables(tables), copies, unfit.next_version, has_upkeep=True)
    names = ", ".join(f"{home.shown}/{name}" for name in ("log", "topic", _EARLIER_FOLDER))
    tell(f"what an earlier version left in {names} is read this once: remove them when the shadow has started.")
    return BothKept(log, find_topic(home.of_topic), merging)


def _number(home: Home) -> int:
    """The last commit's of merged facts."""
    return (last_number(home.effects, MERGED_ID) or 0) if is_table(home.effects) else 0
