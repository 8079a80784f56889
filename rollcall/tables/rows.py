"""Rows of a table from lines of JSON, or from files with other columns. Must not know what a row means."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.json as pj

from rollcall.schemas.effect_rows import LINE, EffectRow, as_lines
from rollcall.schemas.tables import EFFECTS, Table

_BLOCK_BYTES = 4 << 20


def typed_rows(texts: Sequence[str]) -> pa.Table:
    return _typed([text.encode() for text in texts])


def effects_table(rows: list[EffectRow]) -> pa.Table:
    return _typed(as_lines(rows))


def _typed(pieces: Sequence[bytes]) -> pa.Table:
    return with_days(read_lines(pieces, LINE.arrow)) if pieces else EFFECTS.arrow.empty_table()


def read_lines(pieces: Sequence[bytes], schema: pa.Schema) -> pa.Table:
    """Lines of JSON, at least one, as rows; a piece is several lines with their ends."""
    # Arrow's reader accepts a line across two of its blocks, but not across three.
    longest = max((len(line) for text in pieces if len(text) > _BLOCK_BYTES for line in text.split(b"\n")), default=0)
    # In a pool of Arrow's threads, each keeps tens of megabytes for rows of five.
    blocks = pj.ReadOptions(block_size=max(_BLOCK_BYTES, longest + 1), use_threads=False)
    columns = pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error")
    return pj.read_json(pa.BufferReader(b"".join(pieces)), blocks, columns)


def with_days(rows: pa.Table, table: Table = EFFECTS) -> pa.Table:
    """Rows with all columns of their table: the day is that of UTC, and null where the moment is null."""
    # No arithmetic: Arrow takes a number of Python's only with pandas at hand, which takes long to load.
    days = rows["at_ms"].cast(pa.timestamp("ms")).cast(pa.date32(), safe=False)
    return rows.append_column("at_date", days).select(table.names)


def fitted(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """The same rows with exactly the columns of a schema; a missing column is null. A file may be older than a column,
    or written by another library.
    """
    columns = [
        rows[field.name].cast(field.type) if field.name in rows.column_names else pa.nulls(len(rows), field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)
