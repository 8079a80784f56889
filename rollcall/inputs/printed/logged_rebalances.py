"""Shapes of what printed lines say of a group: its rebalances, who held them up, and what else was found.

Times are those of the lines, None where no line has one. Knows shapes; how they come about is in the histories.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cached_property, lru_cache, partial
from typing import NamedTuple, Protocol

from rollcall.history.sentences import NOTHING_KNOWN, Terms
from rollcall.inputs.printed.lines.entries import DATED, Clock
from rollcall.inputs.printed.logged_facts import FactKind, LoggedFact, gap_ms
from rollcall.schemas.causes import Cause, CauseCandidate, CauseKind
from rollcall.schemas.shown_effects import ShownEffect

CLASSIC = "classic"
"""Group type of the older protocol."""
NOT_NAMED = "group not named"
GROUP_NOT_NAMED = f"({NOT_NAMED})"
"""The group of lines that name none."""
UUID_LENGTH = 36
_WITH_UUID = re.compile(r"-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")

_SINCE = datetime(1970, 1, 1)
_HANDLE = re.compile(r"#consumer-\d{1,9}\Z")


def configured_id(client_id: str) -> str:
    """The client id that a broker has of a client: in its own log librdkafka adds a number."""
    return _HANDLE.sub("", client_id)


@lru_cache(maxsize=1_024)
def client_id_of(member_id: str) -> str:
    """The client or instance id that a classic member id begins with; empty if it does not end in a UUID."""
    return member_id[: -UUID_LENGTH - 1] if _WITH_UUID.search(member_id) else ""


def shortest_name(member_id: str, client_id: str = "") -> str:
    """The client id of a member, or the id that its member id begins with; the member id where neither is known."""
    return client_id or client_id_of(member_id) or member_id


def inferred(kind: CauseKind, member_id: str, client_id: str = "") -> Cause:
    """A cause by one member that only follows from lines. Its client id is known, or begins its member id."""
    client_id = client_id or client_id_of(member_id)
    return Cause(kind=kind, member_id=member_id, client_id=client_id, is_inferred=True)


def candidate(kind: CauseKind, member_id: str, client_id: str = "") -> CauseCandidate:
    """One of several causes that fit, by the same rule."""
    return CauseCandidate(kind=kind, member_id=member_id, client_id=client_id or client_id_of(member_id))


def moment_of(at_ms: int | None, clock: Clock, *, is_whole_seconds: bool) -> str | None:
    """Return a printed time in ISO 8601: `Z` if absolute, no date if its line has none."""
    if at_ms is None or clock is Clock.NONE:
        return None
    at = _SINCE + timedelta(milliseconds=at_ms)
    parts = "seconds" if is_whole_seconds else "milliseconds"
    if clock is Clock.TIME_OF_DAY:
        return at.time().isoformat(timespec=parts)
    return at.isoformat(timespec=parts) + ("Z" if clock is Clock.UTC else "")


class Source(StrEnum):
    """What tells of a rebalance, as sentences name it."""

    LINES = "these lines"
    REQUEST_LOG = "the request log"
    TOPIC = "the topic"
    TOPIC_AND_LINES = "the topic beside these lines"

    @property
    def does_not_say(self) -> str:
        """`These lines do not say`."""
        return f"{self[0].upper()}{self[1:]} {'do' if self is Source.LINES else 'does'} not say"


class Holder(NamedTuple):
    """Who kept a join phase waiting, and how long."""

    length_ms: int | None
    """None: for long, and the lines do not say how long."""
    member_id: str
    """Empty if it is open who."""
    is_inferred: bool
    why: str
    """A clause: what makes us say so."""
    candidates: tuple[str, ...] = ()
    """Member ids that fit, where it is open who."""
    client_id: str = ""
    """Where the member id does not begin with it."""


@dataclass
class LoggedRebalance:
    """One rebalance, as far as the lines have it."""

    group_id: str
    from_generation_id: int | None = None
    generation_id: int | None = None
    """The new generation or epoch."""
    began_at_ms: int | None = None
    joined_at_ms: int | None = None
    """When the join phase ended; for an epoch that only members show, when the first of them is seen in it."""
    ended_at_ms: int | None = None
    clock: Clock = Clock.NONE
    is_whole_seconds: bool = False
    """Its lines have no fractions of seconds."""
    outcome: str = ""
    """`completed`, `superseded`, `empty`; empty text: the lines do not have its end."""
    cause: Cause = field(default_factory=lambda: Cause(kind=CauseKind.UNKNOWN))
    members: int | None = None
    terms: Terms = NOTHING_KNOWN
    """What a recording has of who set it off, for the sentence of its cause."""
    held_by: Holder | None = None
    source: Source = Source.LINES
    facts: list[LoggedFact] = field(default_factory=list)
    """The lines that say all this, in order."""
    records: list[str] = field(default_factory=list)
    """The topic's records that do, as `__consumer_offsets-7@1234`."""
    came: list[tuple[LoggedFact, LoggedFact]] = field(default_factory=list)
    """Of clients that were no members before: where each asked to join, and where it had joined."""
    known_from_ms: int = 0
    """Of its facts: when its first line was printed, no earlier than the line before."""
    is_begun: bool = False
    """Whether its beginning is in the lines."""
    members_before: int | None = None
    members_after: int | None = None
    began_empty: bool = False
    """Whether lines show that the group had no member as it began."""
    follows_known: bool = False
    """Whether lines have the generation that it began in."""
    others: tuple[str, ...] = ()
    """Who was a member as it began, as far as lines name them, and had to join again."""

    @property
    def to_generation_id(self) -> int | None:
        """The generation that it leads to, or would have led to; None: no line has a number."""
        if self.generation_id is None and self.from_generation_id is not None:
            return self.from_generation_id + 1
        return self.generation_id

    def moment(self, at_ms: int | None) -> str | None:
        """Return one of its times as its lines have it."""
        return moment_of(at_ms, self.clock, is_whole_seconds=self.is_whole_seconds)

    @property
    def shown_by_ms(self) -> int | None:
        """When the first of its lines was printed that has a time."""
        return next((fact.at_ms for fact in self.facts if fact.at_ms is not None), None)

    @property
    def length_ms(self) -> int | None:
        """How long it took."""
        length_ms = gap_ms(self.began_at_ms, self.ended_at_ms)
        return None if length_ms is None else max(0, length_ms)

    @property
    def join_phase_ms(self) -> int | None:
        """How long its join phase took."""
        return gap_ms(self.began_at_ms, self.joined_at_ms)


def rebalance_of(fact: LoggedFact) -> LoggedRebalance:
    """A rebalance of the fact's group, with times as its line has them, and without anything else that is known yet."""
    return LoggedRebalance(fact.group_id, clock=fact.clock, is_whole_seconds=fact.is_whole_seconds)


class Finding(NamedTuple):
    """Something that a group's lines show, beside its rebalances."""

    finding: str
    """Its key, as `fenced`."""
    sentence: str
    facts: tuple[LoggedFact, ...]
    is_inferred: bool = False
    candidates: tuple[str, ...] = ()
    """Explanations that fit, where more than one does."""
    group_ids: tuple[str, ...] = ()
    """The groups that have it in common; empty: it is of one group."""
    is_trouble: bool = False
    """Whether nobody wants it: groups that have such come first."""

    @property
    def first(self) -> LoggedFact:
        """Its first line in time; of lines without a date, the first that has a time."""
        timed = [fact for fact in self.facts if fact.at_ms is not None]
        dated = [fact for fact in timed if fact.clock in DATED]
        return min(dated, key=lambda fact: fact.at_ms or 0) if dated else (timed or self.facts)[0]

    @property
    def moment(self) -> str | None:
        """The time of its first line."""
        return moment_of(self.first.at_ms, self.first.clock, is_whole_seconds=self.first.is_whole_seconds)


trouble = partial(Finding, is_trouble=True)
"""A finding that nobody wants."""


def suggested(
    finding: str, sentence: str, facts: tuple[LoggedFact, ...], *candidates: str, is_trouble: bool = False
) -> Finding:
    """A finding that only follows from lines, with the explanations that fit."""
    return Finding(finding, sentence, facts, is_inferred=True, candidates=candidates, is_trouble=is_trouble)


Rule = Callable[[str, Sequence[LoggedFact]], Iterator[Finding]]
"""Gets a client's name and its facts in order."""


def one_finding(
    finding: str,
    is_one: Callable[[LoggedFact], bool],
    sentence: Callable[[str, Sequence[LoggedFact]], str],
    *,
    is_trouble: bool = False,
) -> Rule:
    """Return the rule that finds all lines of a kind at once. sentence: of the client's name and these lines."""

    def rule(who: str, facts: Sequence[LoggedFact]) -> Iterator[Finding]:
        found = [fact for fact in facts if is_one(fact)]
        if found:
            yield Finding(finding, sentence(who, found), tuple(found), is_trouble=is_trouble)

    return rule


one_trouble = partial(one_finding, is_trouble=True)
"""Of what nobody wants."""


class WalkedLines(Protocol):
    """A group's lines, each taken once."""

    def effects(self, rests_on: Set[int], *, is_ongoing: bool) -> list[ShownEffect]:
        """Return their effects, in order. rests_on: the ids of the lines and rebalances that are believed."""


@dataclass
class LoggedGroup:
    """One group's lines, and what they say."""

    group_id: str
    group_type: str = CLASSIC
    facts: list[LoggedFact] = field(default_factory=list)
    rebalances: list[LoggedRebalance] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    ledger: WalkedLines | None = None
    """None: its lines could not be followed, or it is not of lines."""

    @property
    def has_epochs(self) -> bool:
        """Whether it is of a newer protocol (consumer, share, streams), so without generations and their ends."""
        return self.group_type != CLASSIC

    @cached_property
    def _places(self) -> Mapping[FactKind, Sequence[int]]:
        places: dict[FactKind, list[int]] = {}
        for place, fact in enumerate(self.facts):
            places.setdefault(fact.kind, []).append(place)
        return places

    def places_of(self, *kinds: FactKind) -> list[int]:
        """Return the places of its facts of these kinds, in order."""
        return sorted(place for kind in kinds for place in self._places.get(kind, ()))

    def facts_of(self, *kinds: FactKind) -> list[LoggedFact]:
        """Return its facts of these kinds, in order."""
        return [self.facts[place] for place in self.places_of(*kinds)]


def evidence_of(facts: Iterable[LoggedFact]) -> list[tuple[str, int]]:
    """The lines that facts stand in, each once, in order."""
    return list(dict.fromkeys((fact.file, fact.line_number) for fact in facts))
