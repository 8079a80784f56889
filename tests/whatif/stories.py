"""Small worlds of consumers that come and go, and what is inferred, recorded and played of them.

Knows how a world is lived and played again; must not know what is expected of it.
"""

from __future__ import annotations

from rollcall.answers.simulation.plan import ConsumerPlan, Schedule, Span, TopicChange
from rollcall.answers.simulation.world import World
from rollcall.answers.whatif.changes import BASELINE, Setting, trial_of
from rollcall.answers.whatif.fidelity import Fidelity, fidelity_of
from rollcall.answers.whatif.outcome import Outcome, ProcessFacts, measure
from rollcall.answers.whatif.play import play, silent_ends
from rollcall.answers.whatif.schedules import GroupSchedules
from tests.whatif.played import consumer, schedules_in, world


def setting(text: str) -> Setting:
    (only,) = trial_of([text]).settings
    return only


def recorded(played: World, found: GroupSchedules) -> Outcome:
    """What came of the world that the schedules were inferred from."""
    process_of = {member_id: schedule.name for schedule in found.processes for member_id in schedule.member_ids}
    known = ProcessFacts(process_of, silent_ends(found.processes, BASELINE))
    return measure((each.effect for each in played.record.effects), known, found.from_ms, found.until_ms)


def fidelity(*consumers: ConsumerPlan, changes: tuple[TopicChange, ...] = ()) -> Fidelity:
    played = world(*consumers, changes=changes)
    found = schedules_in(played)
    return fidelity_of(recorded(played, found), play(found, BASELINE))


ROLLING = [
    consumer("a", Schedule(0, close_ms=40_000)),
    consumer("a2", Schedule(43_000), host="/a", client_id="a"),
    consumer("b", Schedule(100, close_ms=60_000)),
    consumer("b2", Schedule(63_000), host="/b", client_id="b"),
    consumer("c", Schedule(200)),
]
KILLED = [consumer("a"), consumer("b", Schedule(150)), consumer("c", Schedule(200, kill_ms=40_000))]
STALLED = [consumer("a"), consumer("b", Schedule(150)), consumer("c", Schedule(200, pauses=(Span(40_000, 20_000),)))]
UNPOLLED = [consumer("a"), consumer("b", Schedule(150)), consumer("c", Schedule(200, slow=(Span(40_000, 30_000),)))]
