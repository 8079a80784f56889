"""The documents of a program's groups, in a file that grows by those that a commit has changed.

The program's state (`NumberedState`) says which file that is, and how much of it belongs to the state. What is behind
that was written for a commit that never came, and is written over. Once a file is mostly out of date, all documents go
into a new one. Knows lines of JSON. Must not know what is in a document.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from rollcall.tables.home import HomeError

SUFFIX = ".groups"
_MAY_BE_OLD_BYTES = 1_000_000
"""Up to so much a file may be out of date, however little is in it."""
_REMOVED = "null"
_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(tuple[str, msgspec.Raw])


class Stored(msgspec.Struct):
    """Where the documents of a state are."""

    file: int = 0
    size: int = 0
    """How many bytes of that file."""


class GroupDocuments:
    """Documents by group id, as they were stored. Raises HomeError: they cannot be read."""

    def __init__(self, folder: Path, stored: Stored) -> None:
        self._folder, self._stored = folder, stored
        self._changed: set[str] = set()
        self._documents: dict[str, str] = {}
        if stored.size:
            self._read()
        self._anew_from = self._size_to_begin_anew()

    def get(self, group_id: str) -> str | None:
        return self._documents.get(group_id)

    def put(self, group_id: str, document: str | None) -> None:
        """document: JSON in one line; None: nothing is remembered of the group."""
        if document is None:
            self._documents.pop(group_id, None)
        else:
            self._documents[group_id] = document
        self._changed.add(group_id)

    def store(self) -> Stored:
        """Writes what has changed since the last call."""
        if not self._changed:
            return self._stored
        self._folder.mkdir(exist_ok=True)
        changed = self._lines(self._changed)
        if self._stored.size + len(changed) < self._anew_from:
            self._stored = self._write(self._stored.file, self._stored.size, changed)
        else:
            self._stored = self._write(self._stored.file + 1, 0, self._lines(self._documents))
            self._anew_from = self._size_to_begin_anew()
        self._changed.clear()
        return self._stored

    def settle(self) -> None:
        """Removes files from before: the state that names the present one is committed."""
        for path in self._folder.glob(f"*{SUFFIX}"):
            if path != self._path(self._stored.file):
                path.unlink()

    def _read(self) -> None:
        path = self._path(self._stored.file)
        try:
            text = path.read_bytes()[: self._stored.size]
            if len(text) < self._stored.size:
                raise HomeError(f"{path} is cut short: without its end nobody knows the groups.")
            for line in text.splitlines():
                group_id, raw = _decoder.decode(line)
                document = bytes(raw).decode()
                self.put(group_id, None if document == _REMOVED else document)
        except (OSError, ValueError) as error:
            raise HomeError(f"{path} cannot be read: {error}.") from None
        self._changed.clear()

    def _write(self, file: int, at: int, lines: bytes) -> Stored:
        path = self._path(file)
        with path.open("r+b" if at else "wb") as opened:
            opened.seek(at)
            opened.truncate()
            opened.write(lines)
        return Stored(file, at + len(lines))

    def _lines(self, group_ids: set[str] | dict[str, str]) -> bytes:
        found = ((group_id, self._documents.get(group_id, _REMOVED)) for group_id in group_ids)
        return _encoder.encode_lines([(group_id, msgspec.Raw(document)) for group_id, document in found])

    def _size_to_begin_anew(self) -> int:
        return 2 * sum(map(len, self._documents.values())) + _MAY_BE_OLD_BYTES

    def _path(self, file: int) -> Path:
        return self._folder / f"{file:012d}{SUFFIX}"
