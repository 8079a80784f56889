"""A request log in; the lives of its groups, and what was recorded to come of them.

The requests are read once: each goes to its group's observer and to the pure core, whose effects are what is recorded.

Knows the importer, the replay and the observers; decides nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from coordinator_udfs.protocol.config import GroupConfig
from programs.settings import from_texts
from request_log.core_replay import Replay
from request_log.importer import LogImport
from request_log.recorded import OrderedRequest
from schemas.effects import Effect
from whatif.changes import BASELINE
from whatif.inferred_lives import lives_of, why_left_out
from whatif.lives import GroupLives
from whatif.observed_processes import GroupObserver
from whatif.outcome import Known, Outcome, is_counted, measure
from whatif.play import silent_ends


@dataclass(slots=True)
class Recording:
    """The lives in a log, and what came of them."""

    from_ms: int = 0
    until_ms: int = 0
    lives: dict[str, GroupLives] = field(default_factory=dict)
    """By group."""
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    """What was recorded, by group."""
    left_out: dict[str, str] = field(default_factory=dict)
    """The groups that are not played, with the reason."""
    moved: list[str] = field(default_factory=list)
    """The groups that had no coordinator for a while, which is not played."""


def recording_of(log: LogImport, broker: dict[str, str]) -> Recording:
    """Reads a whole log. broker: its settings by Kafka's keys, where they are known. Raises LogFileError."""
    observers: dict[str, GroupObserver] = {}
    effects: defaultdict[str, list[Effect]] = defaultdict(list)
    log.config = from_texts(GroupConfig, broker)
    replay = Replay(log.config)
    for group_id, effect in replay.run(_observed(log, observers)):
        if is_counted(effect):
            effects[group_id].append(effect)
    found = Recording(log.tally.first_at_ms or 0, log.tally.last_at_ms or 0)
    for group_id, observer in sorted(observers.items()):
        _settle(found, observer, effects[group_id], broker)
    return found


def _observed(requests: Iterable[OrderedRequest], observers: dict[str, GroupObserver]) -> Iterator[OrderedRequest]:
    for ordered in requests:
        observer = observers.get(ordered.group_id)
        if observer is None:
            observer = observers[ordered.group_id] = GroupObserver(ordered.group_id)
        observer.take(ordered)
        yield ordered


def _settle(found: Recording, observer: GroupObserver, effects: list[Effect], broker: dict[str, str]) -> None:
    group_id = observer.group_id
    group_lives = lives_of(observer, found.from_ms, found.until_ms, broker)
    if group_lives is None:
        found.left_out[group_id] = why_left_out(observer) or "nobody was seen to be a member"
        return
    process_of = {member_id: life.name for life in group_lives.processes for member_id in life.member_ids}
    known = Known(process_of, silent_ends(group_lives.processes, BASELINE))
    found.lives[group_id] = group_lives
    if observer.aways:
        found.moved.append(group_id)
    found.outcomes[group_id] = measure(effects, known, found.from_ms, found.until_ms)
