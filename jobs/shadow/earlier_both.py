"""A home of an earlier version, which followed a log and a topic on homes inside it: what it knew is taken over, once.

Must not know by which rule facts are merged.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Generic

import pyarrow as pa

from rollcall.inputs.following.both import APP_ID, UNKNOWN, BothKept, Kind
from rollcall.inputs.following.both import FOLDER as MERGED
from rollcall.inputs.following.following import read_state, state_path
from rollcall.inputs.following.merging_feed import Group, MergingState
from rollcall.inputs.following.printed_source import PrintedKept, find_printed
from rollcall.inputs.following.request_source import find_kept
from rollcall.inputs.following.topic_source import FOLDER as TOPIC_FOLDER
from rollcall.inputs.following.topic_source import find_topic
from rollcall.jobs.config import JobConfig
from rollcall.jobs.shadow.earlier_home import finish_earlier
from rollcall.jobs.shadow.earlier_topic import take_over
from rollcall.programs.log_lines import tell
from rollcall.schemas.effect_rows import EffectRow
from rollcall.schemas.tables import QUARANTINE
from rollcall.tables.appending import append_once, last_number
from rollcall.tables.home import Home
from rollcall.tables.home_tables import open_quarantine
from rollcall.tables.table_follower import TableFollower
from rollcall.tables.versions import is_table

_EARLIER_FOLDER = "both"


class _EarlierState(MergingState[Group], Generic[Group]):
    """The state of a merging that read the tables of the homes inside."""

    log_version: int = 0
    """The next version of the log's effects to read."""
    topic_version: int = 0
    """The next version of the topic's."""


def take_over_both(home: Home, kind: Kind, config: JobConfig) -> BothKept[Any, Any] | None:
    """The state that an earlier version has left, with the facts that it had not merged; None: there is none, or it was
    taken over. What could not be understood is copied to the home's quarantine. Raises HomeError: it failed.
    """
    if not home.of_log.path.is_dir() or state_path(home.path / MERGED, _number(home)).exists():
        return None
    log = find_printed(home.of_log) if kind.kept is PrintedKept else find_kept(home.of_log)
    finish_earlier(home.of_log, log)
    take_over(home.of_topic)
    if (home.of_topic.path / TOPIC_FOLDER).is_dir():
        shutil.copytree(home.of_topic.path / TOPIC_FOLDER, home.path / TOPIC_FOLDER, dirs_exist_ok=True)
    state = _EarlierState[kind.rule.state]  # type: ignore[name-defined]
    merging = read_state(home.path / _EARLIER_FOLDER, _number(home), state, UNKNOWN) or _EarlierState()
    quarantine = open_quarantine(home, config.versions_retention_minutes)
    versions = merging.log_version, merging.topic_version
    for is_topic, inside, version in zip((False, True), (home.of_log, home.of_topic), versions, strict=True):
        for rows in TableFollower(Path(inside.effects), [*EffectRow.__struct_fields__], from_version=version).poll():
            merging.waiting += [(is_topic, EffectRow(**row)) for row in rows.to_pylist()]
        copies = f"{APP_ID}-{inside.path.name}"
        copied = quarantine.transaction_version(copies) or 0
        unfit = TableFollower(Path(inside.quarantine), QUARANTINE.names, from_version=copied)
        if tables := list(unfit.poll()):
            append_once(quarantine, pa.concat_tables(tables), copies, unfit.next_version, has_upkeep=True)
    names = ", ".join(f"{home.shown}/{name}" for name in ("log", "topic", _EARLIER_FOLDER))
    tell(f"what an earlier version left in {names} is read this once: remove them when the shadow has started.")
    return BothKept(log, find_topic(home.of_topic), merging)


def _number(home: Home) -> int:
    """The last commit's of merged facts."""
    return (last_number(home.effects, APP_ID) or 0) if is_table(home.effects) else 0
