"""Files of rows for a home's tables: a process that writes only these needs no Delta, and so starts sooner.

Must not know what a row says.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

ROWS_A_FILE = 6_000


class RowFiles:
    """The files of one process, in order; a file's suffix is the name of its table."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.files: list[Path] = []

    def write(self, table: str, rows: pa.Table) -> None:
        """Writes rows to a file, if there are any."""
        if rows.num_rows:
            file = self._path.with_name(f"{self._path.name}-{len(self.files)}.{table}")
            with pa.OSFile(str(file), "wb") as out, pa.ipc.new_file(out, rows.schema) as writer:
                writer.write_table(rows)
            self.files.append(file)


def take_rows(file: Path) -> pa.Table:
    """Reads the rows of a file, and deletes it."""
    with pa.memory_map(str(file)) as source:
        rows = pa.ipc.open_file(source).read_all()
    file.unlink()
    return rows
