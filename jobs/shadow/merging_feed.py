"""Makes one history of two homes that grow, of a request log and of the topic of the same cluster: each fact once.

The effects of both are followed as they are committed, decided group by group once both have told all up to a moment,
and appended to the home around them. Before rows are appended, what is undecided and how far both were read is written
to a file beside the table, under the number that the commit will carry: so the table's last commit says from which
state to go on. Knows the homes and that file; must not know by which rule facts are merged, nor Spark.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from jobs.both_inputs import BothMerged, NamesOf, after_the_logs, with_names
from jobs.config import JobConfig
from jobs.home import Home, HomeError
from jobs.shadow.log_progress import Known
from jobs.stream.home_tables import open_effects, open_quarantine
from jobs.stream.writers.driver_writer import with_days
from offsets_topic.beside_log.facts import COMMITS, MEMBERSHIP, Fact
from offsets_topic.beside_log.merging import Merging
from schemas.tables import EFFECTS, QUARANTINE
from tables.appending import append_once
from tables.table_follower import TableFollower
from tables.whole_file import write_whole

FOLDER = "both"
APP_ID = "rollcall-both"
FORGOTTEN_AFTER_MS = 3_600_000
"""How long after it has gone a group's state is kept."""
_COMMITS_SHARE = 0.1
"""How much of the time may go into commits: where they are slow, there are fewer of them."""
_KEEP_EVERY_S = 30.0
"""How often the place in the homes is kept while nothing is decided."""
_WAITING = "waiting"
_TOLD = [name for name in EFFECTS.names if name not in EFFECTS.partition_by]
_BOTH_TELL = pa.array(sorted(MEMBERSHIP | COMMITS), pa.string())
_OF_MEMBERS = pa.array(sorted(MEMBERSHIP), pa.string())
_Key = tuple[str, bool, int, int]
"""A fact that waits: its group, whether it is the topic's, at_ms and seq."""


class Kept(msgspec.Struct):
    """What is kept of a merging."""

    log_version: int = 0
    """The next version of its effects that is read."""
    topic_version: int = 0
    """Likewise."""
    groups: dict[str, Merging] = {}
    waiting: bytes = b""
    """Rows of effects that are not decided, as an Arrow stream; `waiting` says whether they are the topic's."""
    found: BothMerged = msgspec.field(default_factory=BothMerged)


class MergingFeed:
    """Appends to a home what the homes within it tell. `step` is one look at them.

    names: gives topic names by id, for facts of the log. clock: seconds. Raises HomeError: the kept state cannot be
    read.
    """

    def __init__(
        self, home: Home, config: JobConfig, names: NamesOf, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.home = home
        self._names = names
        self._hold_ms = config.log_hold_ms
        self._topic_until_ms = -1
        self._clock = clock
        self._effects = open_effects(home, config)
        self._quarantine = open_quarantine(home, config)
        self.commits = self._effects.transaction_version(APP_ID) or 0
        (home.path / FOLDER).mkdir(exist_ok=True)
        self._kept = self._load()
        self._waiting = _rows_of(self._kept.waiting)
        self._log = TableFollower(Path(home.of_log.effects), _TOLD, from_version=self._kept.log_version)
        self._topic = TableFollower(Path(home.of_topic.effects), _TOLD, from_version=self._kept.topic_version)
        self._decided: list[pa.Table] = []
        self._unfit = [self._unfit_of(each) for each in (home.of_log, home.of_topic)]
        self._commit_at = self._kept_at = 0.0

    @property
    def found(self) -> BothMerged:
        """What became of the facts of both."""
        return self._kept.found

    def step(self, log: Known, topic_until_ms: int | None) -> int:
        """Takes what both homes have new, and commits what is decided by now; returns how many facts were committed.

        log, topic_until_ms: up to when each has told all; found out before, for what was told by then is read here.
        topic_until_ms: None if that is not known; a group's own records come in order.
        """
        took = self._take_effects()
        self._topic_until_ms = max(self._topic_until_ms, topic_until_ms or -1)
        for group_id, merging in list(self._kept.groups.items()):
            topic_ms = max(self._topic_until_ms, merging.heard_ms) - self._hold_ms
            self._settle(group_id, min(log.of(group_id), topic_ms))
        now = self._clock()
        self._copy_unfit()
        if self._decided and now >= self._commit_at:
            return self._commit()
        if took and not self._decided and now - self._kept_at > _KEEP_EVERY_S:
            self._keep(self.commits)
        return 0

    def close(self) -> int:
        """Commits what is decided; returns how many facts that were."""
        return self._commit() if self._decided else 0

    # ------------------------------------------------------------ what comes in

    def _take_effects(self) -> bool:
        facts: dict[str, tuple[list[Fact], list[Fact]]] = {}
        took = False
        for is_topic, each in enumerate((self._log, self._topic)):
            for told in each.poll():
                took = True
                self._take(told if is_topic else with_names(told, self._names), bool(is_topic), facts)
        for group_id, (of_log, of_topic) in facts.items():
            self._kept.groups.setdefault(group_id, Merging()).take(of_log, of_topic)
        return took

    def _take(self, told: pa.Table, is_topic: bool, facts: dict[str, tuple[list[Fact], list[Fact]]]) -> None:
        """Facts that both may tell wait, as far as they can be left out; all others are decided."""
        both_tell = pc.is_in(told["effect"], _BOTH_TELL)
        waits = both_tell if is_topic else pc.is_in(told["effect"], _OF_MEMBERS)
        self._decide(told.filter(pc.invert(waits)), is_topic)
        for row in told.filter(both_tell).to_pylist():
            group_id = str(row["group_id"])
            fact = Fact(*(row[name] for name in Fact.__struct_fields__))
            facts.setdefault(group_id, ([], []))[is_topic].append(fact)
            if is_topic or fact.effect in MEMBERSHIP:
                self._waiting[group_id, is_topic, fact.at_ms, fact.seq] = row

    # ------------------------------------------------------------ what cannot be read

    def _unfit_of(self, home: Home) -> TableFollower:
        """What is new in a home's quarantine; how far it was copied stands in the commits of the copy."""
        copied = self._quarantine.transaction_version(_copies_of(home)) or 0
        return TableFollower(Path(home.quarantine), QUARANTINE.names, from_version=copied)

    def _copy_unfit(self) -> None:
        for each, unfit in zip((self.home.of_log, self.home.of_topic), self._unfit, strict=True):
            rows = list(unfit.poll())
            if rows:
                copied = pa.concat_tables(rows)
                append_once(self._quarantine, copied, _copies_of(each), unfit.next_version, has_upkeep=True)

    # ------------------------------------------------------------ what is decided

    def _settle(self, group_id: str, known_ms: int) -> None:
        merging = self._kept.groups[group_id]
        if merging.is_over and known_ms - merging.until_ms > FORGOTTEN_AFTER_MS:
            del self._kept.groups[group_id]
        if not merging.is_waiting:
            return
        settled = merging.settle(known_ms)
        for facts, is_topic in ((settled.log_kept, False), (settled.topic_kept, True)):
            rows = [self._waiting.pop((group_id, is_topic, fact.at_ms, fact.seq)) for fact in facts]
            self._decide(pa.Table.from_pylist(rows, _schema()), is_topic)
        for facts, is_topic in ((settled.log_left_out, False), (settled.topic_left_out, True)):
            for fact in facts:
                del self._waiting[group_id, is_topic, fact.at_ms, fact.seq]
        self.found.left_out += len(settled.log_left_out)
        self.found.note(group_id, settled.compared, settled.differences)

    def _decide(self, rows: pa.Table, is_topic: bool) -> None:
        if not rows.num_rows:
            return
        if is_topic:
            self.found.topic_facts += rows.num_rows
            rows = after_the_logs(rows)
        else:
            self.found.log_facts += rows.num_rows
        self._decided.append(rows)

    # ------------------------------------------------------------ what is kept

    def _commit(self) -> int:
        began = self._clock()
        number = self.commits + 1
        self._keep(number)
        rows = with_days(pa.concat_tables([_schema().empty_table(), *self._decided]))
        append_once(self._effects, rows, APP_ID, number, has_upkeep=True)
        self.commits = number
        self._decided.clear()
        for path in (self.home.path / FOLDER).glob("*.state"):
            if path != self._path(number):
                path.unlink()
        self._commit_at = began + (self._clock() - began) / _COMMITS_SHARE
        return rows.num_rows

    def _keep(self, commits: int) -> None:
        """Writes the state that goes with so many commits of the table."""
        self._kept.log_version, self._kept.topic_version = self._log.next_version, self._topic.next_version
        self._kept.waiting = _stream_of(self._waiting)
        write_whole(self._path(commits), msgspec.msgpack.encode(self._kept))
        self._kept_at = self._clock()

    def _load(self) -> Kept:
        path = self._path(self.commits)
        try:
            return msgspec.msgpack.decode(path.read_bytes(), type=Kept)
        except FileNotFoundError:
            if not self.commits:
                return Kept()
            raise HomeError(f"{path} is missing: without it nobody knows how far both inputs were merged.") from None
        except (OSError, msgspec.MsgspecError) as error:
            raise HomeError(f"{path} cannot be read: {error}.") from None

    def _path(self, commits: int) -> Path:
        return self.home.path / FOLDER / f"{commits:012d}.state"


def _copies_of(home: Home) -> str:
    return f"{APP_ID}-{Path(home.location).name}"


def _schema() -> pa.Schema:
    return pa.schema([EFFECTS.arrow.field(name) for name in _TOLD])


def _stream_of(waiting: Mapping[_Key, dict[str, Any]]) -> bytes:
    rows = pa.Table.from_pylist(list(waiting.values()), _schema())
    rows = rows.append_column(_WAITING, pa.array([key[1] for key in waiting], pa.bool_()))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_table(rows)
    return bytes(sink.getvalue())


def _rows_of(stream: bytes) -> dict[_Key, dict[str, Any]]:
    if not stream:
        return {}
    found: dict[_Key, dict[str, Any]] = {}
    for row in pa.ipc.open_stream(stream).read_all().to_pylist():
        is_topic = bool(row.pop(_WAITING))
        found[str(row["group_id"]), is_topic, int(row["at_ms"]), int(row["seq"])] = row
    return found
