"""A copy on this machine's disk of a home's tables in an object store, for readers that know files alone.

A table's files never change once they are written. A commit is put into the copy's log once the files that it adds are
copied, so a reader of the copy sees the table as it was a moment ago. The job's status (`rollcall.tables.job_status`)
is derived from the commits of its checkpoint. The store is reached by pyarrow. S3 takes Amazon's own variables:
AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, AWS_ENDPOINT_URL for another store.

Knows Delta's log and how a store is opened; must not know what is in a row.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import re
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

import msgspec
import pyarrow as pa
from pyarrow.fs import FileInfo, FileSelector, FileSystem, FileType, S3FileSystem

from rollcall.programs.repeated import Repeated
from rollcall.schemas.tables import CHECKPOINT_FOLDER, EFFECTS, QUARANTINE, Table
from rollcall.tables.delta_log import LOG_FOLDER, AddedFile, DeltaLog, live_files
from rollcall.tables.home_location import cache_folder
from rollcall.tables.job_status import STATUS_FILE, JobStatus
from rollcall.tables.own_folder import own_folder
from rollcall.tables.whole_file import replacing, write_whole

LOOK_EVERY_S = 0.1
"""How often the next commit is looked for."""
LIST_EVERY_S = 10.0
"""How often a log is listed whole: for what was cleaned away, and for commits beyond a gap."""
STATUS_EVERY_S = 0.5
KEPT_S = 600.0
"""A file that the table no longer needs stays this long for its readers."""
_ANSWER_WITHIN_S = 20.0
_LOG_FILE = re.compile(r"\d{20}\.(json|checkpoint(\.\d{10}\.\d{10})?\.parquet)")
_STAGED = "_staged"
_S3 = ("s3", "s3a", "s3n")
log = logging.getLogger("rollcall.tables")


class StoreError(OSError):
    """A store that cannot be used; the text is one sentence that names it."""


class NoWayError(StoreError):
    """A store that at most Spark can reach from here."""


def opened(location: str) -> tuple[FileSystem, str]:
    """The store of a URL, and the path in it. Raises NoWayError."""
    scheme, _, path = location.rstrip("/").partition("://")
    try:
        if scheme in _S3:
            return S3FileSystem(**_s3_options()), path
        store, path = FileSystem.from_uri(location.rstrip("/"))
        return store, path
    except (OSError, ValueError, pa.ArrowException) as error:
        raise NoWayError(f"{location} cannot be read without Spark: {_line(error)}") from None


def _s3_options() -> dict[str, object]:
    environ = os.environ
    endpoint = environ.get("AWS_ENDPOINT_URL_S3") or environ.get("AWS_ENDPOINT_URL")
    region = environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION")
    options: dict[str, object] = {"connect_timeout": _ANSWER_WITHIN_S, "request_timeout": _ANSWER_WITHIN_S}
    return options | ({"endpoint_override": endpoint} if endpoint else {}) | ({"region": region} if region else {})


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


class TableCopy:
    """The copy of one table. For commits after the first look it has the files that each of them added, for
    followers."""

    def __init__(self, store: FileSystem, home: str, folder: Path, table: str) -> None:
        self._store, self._source, self._folder = store, f"{home}/{table}", folder / table
        self._log, self._staged = DeltaLog(self._folder), DeltaLog(self._folder / _STAGED)
        self._is_begun = False
        self._staged.folder.mkdir(parents=True, exist_ok=True)

    def refresh(self) -> None:
        """Lists the log and copies what is new. Raises OSError: the store refuses, or does not answer."""
        listed = self._store.get_file_info(FileSelector(f"{self._source}/{LOG_FOLDER}", allow_not_found=True))
        files = [info for info in listed if info.type == FileType.File and _LOG_FILE.fullmatch(info.base_name)]
        there = {info.base_name: info for info in files}
        known = self._known()
        if any(known[name] != (info.size, info.mtime_ns) for name, info in there.items() if name in known):
            # Made anew under the same name.
            shutil.rmtree(self._folder)
            self._staged.folder.mkdir(parents=True)
            known = {}
        new = sorted(name for name in there if name not in known)
        for name in new:
            self._stage(there[name])
        for name in known.keys() - there.keys():
            (self._staged.folder / name).unlink()
        live = live_files(self._staged).files if there else []
        for version in [int(name[:20]) for name in new if self._is_begun and name.endswith(".json")]:
            self._fetch_added(version)
        self._fetch(live)
        self._publish(new)
        for name in known.keys() - there.keys():
            (self._log.folder / name).unlink(missing_ok=True)
        self._forget(live)
        self._is_begun = True

    def follow(self) -> bool:
        """Copies the next commits; returns whether there was one. Costs one request if there is none. Raises
        OSError."""
        found, version = False, self._log.latest() + 1
        while (info := self._info(f"{self._source}/{LOG_FOLDER}/{self._log.commit_path(version).name}")) is not None:
            self._stage(info)
            self._fetch_added(version)
            self._publish([info.base_name])
            found, version = True, version + 1
        return found

    def _info(self, path: str) -> FileInfo | None:
        (info,) = self._store.get_file_info([path])
        return info if info.type == FileType.File else None

    def _known(self) -> dict[str, tuple[int, int]]:
        entries = filter(lambda entry: _LOG_FILE.fullmatch(entry.name), os.scandir(self._staged.folder))
        return {entry.name: (entry.stat().st_size, entry.stat().st_mtime_ns) for entry in entries}

    def _stage(self, info: FileInfo) -> None:
        path = self._staged.folder / info.base_name
        self._copy(info.path, path)
        os.utime(path, ns=(info.mtime_ns, info.mtime_ns))

    def _fetch(self, files: Iterable[AddedFile]) -> None:
        for file in files:
            path = self._log.path_of(file)
            if not path.exists():
                self._copy(f"{self._source}/{path.relative_to(self._folder)}", path)

    def _fetch_added(self, version: int) -> None:
        """The files that a commit adds; upkeep may have removed some since."""
        commit = self._staged.read(version)
        for file in [] if commit is None else commit.added:
            with suppress(FileNotFoundError):
                self._fetch([file])

    def _copy(self, source: str, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as beside, self._store.open_input_stream(source) as stream:
            beside.write_bytes(stream.read())

    def _publish(self, names: Sequence[str]) -> None:
        if names:
            self._log.folder.mkdir(exist_ok=True)
        for name in names:
            with suppress(FileExistsError):
                os.link(self._staged.folder / name, self._log.folder / name)

    def _forget(self, live: Iterable[AddedFile]) -> None:
        """Removes files some time after the table stopped needing them; a file beside each has that time."""
        kept = {self._log.path_of(file) for file in live}
        for path in self._folder.rglob("*.parquet"):
            is_in_log = LOG_FOLDER in PurePosixPath(path.relative_to(self._folder)).parts
            if path in kept or is_in_log:
                continue
            unneeded = path.with_suffix(".unneeded")
            if not unneeded.exists():
                unneeded.touch()
            elif time.time() - unneeded.stat().st_mtime > KEPT_S:
                path.unlink()
                unneeded.unlink()


class StoreCopy:
    """The copy of a home's tables in a folder."""

    def __init__(self, location: str, folder: Path, *, tables: Sequence[Table]) -> None:
        """Raises NoWayError."""
        self.location, self.folder = location, folder
        self._store, self._source = opened(location)
        self._tables = [TableCopy(self._store, self._source, folder, table.name) for table in tables]
        self._listed_s = time.monotonic()
        self._asked_s = self._last_batch_s = float("-inf")
        self._batch_id: int | None = None
        self.following = Repeated("store-copy", LOOK_EVERY_S, self._look, self._failed)
        """Copies new commits; a store that does not answer is asked again."""

    def refresh(self) -> None:
        """Copies the tables. Raises StoreError: the store refuses, does not answer, or has no such bucket."""
        try:
            bucket = PurePosixPath(self._source).parts[0]
            if self._store.get_file_info([bucket])[0].type == FileType.NotFound:
                raise FileNotFoundError(f"there is no {bucket}")
            for table in self._tables:
                table.refresh()
        except (OSError, pa.ArrowException) as error:
            raise StoreError(f"{self.location} cannot be read: {_line(error)}") from None

    def _failed(self, error: Exception) -> None:
        log.warning("%s: nothing new can be read just now: %s", self.location, _line(error))

    def _look(self) -> None:
        now_s = time.monotonic()
        if now_s - self._listed_s > LIST_EVERY_S:
            self.refresh()
            self._listed_s = now_s
        for table in self._tables:
            table.follow()
        if now_s - self._asked_s > STATUS_EVERY_S:
            self._report_job(now_s)
            self._asked_s = now_s
        if self.following.is_failing:
            log.warning("%s: its news are read again", self.location)

    def _report_job(self, now_s: float) -> None:
        """Writes the job's status if it has done a batch since the last look, with counts since the first look."""
        commits, known = f"{self._source}/{CHECKPOINT_FOLDER}/commits", self._batch_id
        if known is None or now_s - self._last_batch_s > LIST_EVERY_S:
            found = self._store.get_file_info(FileSelector(commits, allow_not_found=True))
            batches = {int(info.base_name): info for info in found if info.base_name.isdigit()}
            if not batches:
                return
            newest = max(batches)
            at_ms = batches[newest].mtime_ns // 1_000_000
        else:
            newest = known
            while self._store.get_file_info([f"{commits}/{newest + 1}"])[0].type == FileType.File:
                newest += 1
            at_ms = int((time.time() - (now_s - self._asked_s)) * 1000)
        if newest == known:
            return
        self._batch_id, self._last_batch_s = newest, now_s
        status = JobStatus(state="running", batch_id=newest, batch_at_ms=at_ms)
        write_whole(self.folder / STATUS_FILE, msgspec.json.encode(status))


@contextmanager
def kept_copy(location: str) -> Iterator[Path]:
    """The copy of a home that this user's programs share, refreshed; only one program refreshes it at a time.

    Raises StoreError: the store refuses, does not answer, or has no such bucket.
    """
    endpoint = str(_s3_options().get("endpoint_override", ""))
    folder = cache_folder() / hashlib.sha256(f"{endpoint} {location}".encode()).hexdigest()[:16]
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        StoreCopy(location, folder, tables=[EFFECTS, QUARANTINE]).refresh()
        yield folder


@contextmanager
def followed_copy(location: str, tables: Sequence[Table]) -> Iterator[Path]:
    """A copy of a home's tables that follows them while it is used. Raises StoreError: as StoreCopy.refresh."""
    with own_folder("rollcall-copy-") as folder:
        copy = StoreCopy(location, folder, tables=tables)
        copy.refresh()
        copy.following.start()
        try:
            yield folder
        finally:
            copy.following.stop(_ANSWER_WITHIN_S)
