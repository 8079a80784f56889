"""A home with the history of a recorded topic, written without Spark: what the stream would have left there."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from deltalake import write_deltalake

from jobs.config import JobConfig
from jobs.home import Home
from jobs.stream.home_tables import open_effects
from jobs.stream.writers.driver_writer import typed_rows
from offsets_topic.records.decoding import group_id_of
from offsets_topic.turns import NOTHING_FOLLOWS, Row, take_turn
from schemas.effect_rows import texts_of
from tests.offsets_topic.folded import CAPTURES, capture, read_dump

RAW_MAX_BYTES = 1_000


def home_of(folder: Path, name: str, file: str = "offsets-topic") -> Path:
    """Writes the effects of a capture's topic into a folder."""
    records: dict[str, list[Row]] = defaultdict(list)
    for record in read_dump(CAPTURES / name / f"{file}.jsonl.gz"):
        records[str(group_id_of(record.key))].append(Row(*record[:5]))
    names = capture(name, file).names
    texts = [
        text
        for group, rows in records.items()
        for text in texts_of(group, take_turn(group, [*rows, NOTHING_FOLLOWS], None, names, RAW_MAX_BYTES).rows)
    ]
    home = Home(folder)
    open_effects(home, JobConfig())
    write_deltalake(home.effects, typed_rows(texts), mode="append")
    return folder
