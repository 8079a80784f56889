"""What a reader of a table leaves out because it cannot be read. Only that part is lost, and it is logged once. Knows
which failures are the file's own, and their messages. Must not know who reads, nor load pyarrow or deltalake.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Iterable
from pathlib import Path

log = logging.getLogger("rollcall.tables")

_REMEMBERED = 10_000
_said: OrderedDict[tuple[str, str], None] = OrderedDict()
_MAGIC = b"PAR1"
_REASON_CHARACTERS = 200


def left_out(table: str, what: str, reason: object) -> None:
    """Logs, once a process, what of a table is left out: a row by group and seq, a file by name, or a version."""
    if (table, what) in _said:
        return
    _said[table, what] = None
    if len(_said) > _REMEMBERED:
        _said.popitem(last=False)
    text = " ".join(ascii(str(reason))[1:-1].split())[:_REASON_CHARACTERS]
    log.warning("%s: %s cannot be read and is left out: %s", table, what, text)


def row_named(group_id: object, seq: object) -> str:
    """The name of a row in messages; a group id is a client's text and may be long."""
    return f"the row with seq {seq} of group {ascii(group_id)[:_REASON_CHARACTERS]}"


def lies_in_the_file(error: Exception) -> bool:
    """Whether the failure is the file's own, so that trying again does not help."""
    # pyarrow's errors for a file that is not Parquet are OSErrors without a number.
    return isinstance(error, ValueError | FileNotFoundError | MemoryError) or (
        isinstance(error, OSError) and error.errno is None
    )


def whole_files(table: str, paths: Iterable[Path]) -> list[Path]:
    """Those of a table's files that seem whole; the others are left out. Raises OSError: see fault_of_parquet."""
    faults = {path: fault_of_parquet(path) for path in paths}
    for path, fault in faults.items():
        if fault is not None:
            left_out(table, path.name, fault)
    return [path for path, fault in faults.items() if fault is None]


def fault_of_parquet(path: Path) -> str | None:
    """Why a file cannot be a whole Parquet file, by its beginning and end; None: it seems whole.

    Raises OSError: it cannot be opened just now.
    """
    try:
        with path.open("rb") as file:
            begins = file.read(len(_MAGIC))
            length = file.seek(0, 2)
            file.seek(max(length - len(_MAGIC), 0))
            ends = file.read()
    except FileNotFoundError:
        return "it is not there"
    return None if begins == ends == _MAGIC and length > 2 * len(_MAGIC) else "it is torn, or no Parquet file"
