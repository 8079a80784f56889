"""A home with the history of a recorded topic, written without Spark: what the stream would have left there."""

from __future__ import annotations

from collections import defaultdict
from operator import attrgetter
from pathlib import Path

from deltalake import write_deltalake

from rollcall.inputs.offsets_topic.dumps.log_record import LogRecord
from rollcall.inputs.offsets_topic.history.state import History
from rollcall.inputs.offsets_topic.records.decoding import group_id_of
from rollcall.inputs.offsets_topic.turns import end, fold
from rollcall.schemas.effect_rows import texts_of
from rollcall.tables.home import Home
from rollcall.tables.home_tables import open_effects
from rollcall.tables.rows import typed_rows
from tests.offsets_topic.folded import CAPTURES, capture, read_dump

RAW_MAX_BYTES = 1_000


def home_of(folder: Path, name: str, file: str = "offsets-topic") -> Path:
    """Writes the effects of a capture's topic into a folder."""
    records: dict[str, list[LogRecord]] = defaultdict(list)
    for record in read_dump(CAPTURES / name / f"{file}.jsonl.gz"):
        records[str(group_id_of(record.key))].append(record)
    names = capture(name, file).names
    texts: list[str] = []
    for group, rows in records.items():
        history = History(group_id=group)
        reported = fold(history, sorted(rows, key=attrgetter("offset")), names, RAW_MAX_BYTES)
        texts += texts_of(group, [*reported, *end(history, names)])
    home = Home(folder)
    open_effects(home)
    write_deltalake(home.effects, typed_rows(texts), mode="append")
    return folder
