"""A file in a folder of a table that sums up its history as of one version, so that nobody reads all of it again.

Upkeep renews the file; a reader continues from its version. Knows the file's name and how a new one replaces it. Must
not know what it sums up.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from rollcall.tables.unread import fault_of_parquet
from rollcall.tables.whole_file import replacing


class KeptFile(NamedTuple):
    """The one file of its folder, and how it is renewed."""

    folder: Path
    """Its name begins with an underscore, so that no reader or cleaner of the table takes its file for the table's."""

    def path(self, version: int) -> Path:
        """The file as of this version, there or not."""
        return self.folder / f"{version:020d}.parquet"

    def version(self, at_most: int | None = None) -> int | None:
        """The latest version of the file, at most `at_most`; None without a readable file."""
        early = (version for version in self._versions() if at_most is None or version <= at_most)
        return max((version for version in early if not fault_of_parquet(self.path(version))), default=None)

    @contextmanager
    def renewed(self, version: int) -> Iterator[Path]:
        """Where to write the file as of this version; afterwards it is in place, and the others are removed."""
        self.folder.mkdir(exist_ok=True)
        with replacing(self.path(version)) as beside:
            yield beside
        for other in self._versions():
            if other != version:
                self.path(other).unlink(missing_ok=True)

    def _versions(self) -> list[int]:
        return [int(path.stem) for path in self.folder.glob(f"{'[0-9]' * 20}.parquet")]
