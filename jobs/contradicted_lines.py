"""Which printed rebalances a recording of the same group contradicts: a client's text may have written their lines.

A generation only rises while its group exists. So a printed one is refused where the recording has the group in two
generations around it, and the printed one is not between these. Knows facts and shapes. Must not know files.
"""

from __future__ import annotations

from collections.abc import Sequence

from app_logs.logged_rebalances import LoggedGroup, LoggedRebalance
from jobs.recordings import GroupRecorded
from offsets_topic.beside_lines import NEAR_MS
from schemas.effects import GroupFound, RebalanceEnded, RebalanceStarted
from why.facts import Fact
from why.words import count

_Seen = tuple[int, int]
"""A moment (ms), and the generation that the recording has the group in at it."""


def without_contradicted(group: LoggedGroup, recorded: GroupRecorded) -> tuple[LoggedGroup, list[str]]:
    """Return a group of lines without what a recording contradicts, and sentences on what is left out."""
    seen = _seen(recorded)
    refused = [one for one in group.rebalances if _is_contradicted(one, seen)]
    if not refused:
        return group, []
    lines = {(fact.file, fact.line_number) for one in refused for fact in one.facts}
    left = LoggedGroup(
        group.group_id,
        group.group_type,
        [fact for fact in group.facts if (fact.file, fact.line_number) not in lines],
        [one for one in group.rebalances if one not in refused],
        [one for one in group.findings if not any((fact.file, fact.line_number) in lines for fact in one.facts)],
    )
    file, first = min(lines)
    return left, [
        f"What {count(len(lines), 'line')} of {file} from line {first} on say of {group.group_id}: by the recording "
        f"beside, generation {refused[0].generation_id} was not formed then. They are not believed."
    ]


def _seen(recorded: GroupRecorded) -> list[_Seen]:
    """Every moment at which a recording shows the generation, in order."""
    found = [one for fact in recorded.facts if (one := _generation_at(fact)) is not None]
    if found and recorded.until_ms > found[-1][0]:
        found.append((recorded.until_ms, found[-1][1]))
    return found


def _generation_at(fact: Fact) -> _Seen | None:
    match fact.content:
        case GroupFound() as found:
            return fact.at_ms, found.generation_id
        case RebalanceStarted() as started:
            return fact.at_ms, started.from_generation_id
        case RebalanceEnded() as ended:
            return fact.at_ms, ended.to_generation_id
        case _:
            return None


def _is_contradicted(one: LoggedRebalance, seen: Sequence[_Seen]) -> bool:
    times_ms = [ms for ms in (one.began_at_ms, one.joined_at_ms, one.ended_at_ms) if ms is not None]
    if not times_ms or one.generation_id is None:
        return False
    before = next((generation for at_ms, generation in reversed(seen) if at_ms < min(times_ms) - NEAR_MS), None)
    after = next((generation for at_ms, generation in seen if at_ms > max(times_ms) + NEAR_MS), None)
    if before is None or after is None or after < before:
        return False
    return not before <= one.generation_id <= after
