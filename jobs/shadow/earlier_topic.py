"""A topic's home of an earlier version, whose query kept offsets and groups in its checkpoint: they are read, once.

Knows that checkpoint. Must not know a record.
"""

from __future__ import annotations

from pathlib import Path

from rollcall.inputs.following.following import NumberedState
from rollcall.inputs.following.group_documents import GroupDocuments
from rollcall.inputs.following.topic_source import APP_ID, FOLDER, TopicKept, find_topic
from rollcall.inputs.offsets_topic import TOPIC
from rollcall.inputs.offsets_topic.history.state import DocumentError, read_document
from rollcall.jobs.shadow.spark_once import run_once
from rollcall.jobs.stream.checkpoint import begun_batches, finished_batches, offsets_of, query_id
from rollcall.tables.appending import last_number
from rollcall.tables.home import Home
from rollcall.tables.home_tables import open_effects
from rollcall.tables.versions import is_table


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
    from rollcall.jobs.spark.home_session import home_session

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
