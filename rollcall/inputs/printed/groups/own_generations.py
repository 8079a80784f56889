"""The rebalances that one client went through, from its own lines.

A client knows its own part: when it learnt that others rebalance, when it joined again, which generation it got, that
it polled too late. Who set off a rebalance that it only learnt of is not in its log. Knows one client's facts of one
group in order. Must not know how lines are worded.
"""

from __future__ import annotations

import re
from dataclasses import replace

from rollcall.inputs.printed.absence import could_stand
from rollcall.inputs.printed.groups.leaders import members_of
from rollcall.inputs.printed.groups.own_membership import OwnMembership
from rollcall.inputs.printed.groups.own_part import LEFT, LONGEST_MS, OwnPart
from rollcall.inputs.printed.groups.reasons import Reason, cause_in_words
from rollcall.inputs.printed.logged_facts import LEAVE_REFUSED, LEAVES, FactKind, LoggedFact, between_ms, in_a_rebalance
from rollcall.inputs.printed.logged_partitions import names_no_partition, partitions_in
from rollcall.inputs.printed.logged_rebalances import LoggedRebalance, rebalance_of
from rollcall.inputs.tolerances import LEFT_WITHIN_MS
from rollcall.schemas.causes import LEFT_WITHOUT_A_WORD, Cause, CauseKind, left_without_a_word

_LEARNT = (FactKind.GROUP_IS_REBALANCING, FactKind.REJOIN_WANTED)
_ENDS = (FactKind.SYNCED, FactKind.PARTITIONS_ADDED)
_BEGINS = (FactKind.CLIENT_STARTED, FactKind.MEMBER_ID_SET)
"""What a client prints only as it begins or comes back, before it asks to join."""
_SNAPSHOTS = re.compile(r"(?<=has changed) from .*")
"""What Kafka's Java client prints behind the reason that it sends."""
GIVEN_ID = "given member-id"
"""In the reason of a new member, which asks again with the id that it got."""


def learnt_of_others(fact: LoggedFact) -> bool:
    """Whether the client learnt that others rebalance."""
    return fact.kind is FactKind.GROUP_IS_REBALANCING or (
        fact.kind is FactKind.REJOIN_WANTED and "rebalancing" in fact.reason
    )


class OwnGenerations:
    """One client, whose lines are taken in order. own: its membership, which has each line already."""

    def __init__(self, own: OwnMembership) -> None:
        self._own = own
        self._part: OwnPart | None = None
        """In the rebalance that runs."""
        self._found: list[LoggedRebalance] = []
        self._unmoved = set[int | None]()
        """Generations of joins that left the generation as it was."""
        self._generation_id: int | None = None
        self._is_ahead = False
        """It was given partitions since, and no line has its join: it may have a later generation."""
        self._is_out = False
        """It left, or was removed, and has not joined since."""
        self._is_new = False
        """Its lines show that it begins: otherwise the log may have begun later."""
        self._begins = False
        """Its lines say that it begins, and it has not joined since."""
        self._is_started = False
        """Its program began to consume, and it has not joined since."""
        self._offsets_refused = False
        """Its part in its generation ended with that: it is a member, and has not joined since."""
        self._latest: LoggedFact | None = None

    def rebalances(self) -> list[LoggedRebalance]:
        """Return them, in order, once all lines are taken.

        A client that joins again and again in one generation is not among them: its group does not rebalance.
        """
        self._close()
        return [one for one in self._found if one.generation_id is None or one.generation_id not in self._unmoved]

    def take(self, fact: LoggedFact) -> None:
        is_found_first = self._latest is None and fact.kind is FactKind.COORDINATOR_FOUND
        self._begins = self._begins or fact.kind in _BEGINS or GIVEN_ID in fact.reason
        self._is_new = self._is_new or is_found_first or self._begins
        if fact.kind in (*_LEARNT, *LEAVES) and self._is_far_behind(fact):
            self._close()
        match fact.kind:
            case kind if kind in _LEARNT:
                self._learn(fact)
            case kind if kind in LEAVES and not self._own.stays:
                self._leave(fact)
            case FactKind.CLIENT_STARTED | FactKind.JOIN_SENT:
                self._ask(fact)
            case FactKind.JOINED:
                self._join(fact)
            case FactKind.JOINED_AND_SYNCED:
                self._join(fact)
                self._end(fact)
            case kind if kind in _ENDS:
                self._end(fact)
            case FactKind.CONFIGS_BEHIND:
                self._close()
            case FactKind.ASSIGNED_ALL if self._is_of_another(fact):
                self._show(fact).one.joined_at_ms = fact.at_ms
                self._add(fact)
            case _:
                self._note(fact)
        part = self._part
        if fact.kind in (FactKind.JOIN_REFUSED, FactKind.MEMBERSHIP_LOST) and part is not None and not part.is_joined:
            part.waits_since = None
        self._offsets_refused |= fact.kind is FactKind.OFFSETS_REFUSED
        self._offsets_refused &= self._own.lost is None
        self._latest = fact

    def _note(self, fact: LoggedFact) -> None:
        """A line that neither begins nor ends a rebalance."""
        match fact.kind:
            case FactKind.SESSION_GIVEN_UP:
                self._give_up(fact)
            case FactKind.HEARTBEAT:
                self._beat(fact)
            case FactKind.MEMBER_ID_SET:
                self._lose_member_id(fact.other_member_id)
            case _ if fact.state == LEAVE_REFUSED:
                # The rebalance which it would have set off is none.
                is_own = self._part is not None and self._part.is_left and not self._part.is_of_others
                self._part = None if is_own else self._part
            case FactKind.CLIENT_STATE if self._latest is not None and self._latest.state == fact.state:
                pass  # Where it has been.
            case _:
                self._add(fact)

    # ------------------------------------------------------------ the rebalance that runs

    def _add(self, fact: LoggedFact) -> None:
        if self._part is not None:
            self._part.one.facts.append(fact)

    def _close(self) -> None:
        """The running rebalance is as far as the lines have it."""
        part, self._part = self._part, None
        if part is None:
            return
        one = part.one
        one.held_by = one.held_by or part.holder(self._own.name, self._latest)
        if part.is_first and one.cause.is_open and members_of(one) == 1:
            one.cause = self._own.inferred(CauseKind.MEMBER_JOINED)
        if one.generation_id is not None and one.generation_id == one.from_generation_id:
            self._unmoved.add(one.generation_id)
        elif part.is_known:
            self._found.append(one)

    def _open(self, fact: LoggedFact) -> OwnPart:
        if self._part is None or self._part.is_over:
            self._close()
            self._part = OwnPart(replace(rebalance_of(fact), began_at_ms=fact.at_ms))
            if self._generation_id is not None and not self._is_ahead:
                self._part.one.from_generation_id = self._generation_id
                self._part.one.generation_id = self._generation_id + 1
        return self._part

    def _show(self, fact: LoggedFact) -> OwnPart:
        """The rebalance that led to a line's generation: the running one, or one that the lines do not show."""
        if self._part is None or self._part.is_over:
            self._close()
            self._part = OwnPart(replace(rebalance_of(fact), from_generation_id=self._generation_id))
        self._part.one.generation_id = fact.generation_id
        before = self._generation_id
        if before is not None and fact.generation_id is not None and not 0 <= fact.generation_id - before <= 1:
            self._part.one.from_generation_id = None
            self._part.learnt = None  # It waited, or let others wait, in an earlier generation.
            self._part.waits_since = self._part.waits_since if self._is_out else None
        self._generation_id, self._is_out, self._part.is_joined = fact.generation_id, False, True
        self._is_ahead = False
        return self._part

    def _is_of_another(self, fact: LoggedFact) -> bool:
        return fact.generation_id is not None and fact.generation_id != self._generation_id

    def _is_far_behind(self, fact: LoggedFact) -> bool:
        """Whether a line comes too late to be of the running rebalance, so that others must lie between."""
        if self._latest is not None and (between_ms(self._latest, fact) or 0) > LONGEST_MS:
            return True
        if self._part is None or not self._part.is_left or fact.kind not in LEAVES:
            return False
        # Who leaves again, or as another member, had joined in between.
        left = self._part.left
        ids = {one.member_id for one in left.values()} - {"", fact.member_id}
        return (between_ms(left.get(fact.kind, fact), fact) or 0) > LEFT_WITHIN_MS or bool(fact.member_id and ids)

    # ------------------------------------------------------------ it learns, leaves and gives up

    def _learn(self, fact: LoggedFact) -> None:
        kind = cause_in_words(fact.reason)
        if (self._is_out and kind is None) or (self._generation_id is None and fact.state == "wait-metadata"):
            self._add(fact)
            return
        part = self._open(fact)
        part.one.facts.append(fact)
        if kind is not None and part.learnt is None and part.one.cause.kind is CauseKind.UNKNOWN:
            part.one.cause = self._own.cause(Reason(kind, client_reason=_SNAPSHOTS.sub("", fact.reason)))
        elif learnt_of_others(fact):
            part.learnt = part.learnt or fact

    def _leave(self, fact: LoggedFact) -> None:
        before = self._part
        if before is not None and self._leaves_that_of_others(before, fact):
            return
        if self._own.knew_that_it_was_out:
            return  # Its coordinator had removed it before, so that its leave sets nothing off.
        if before is not None and before.is_left:
            part = before
            part.one.began_at_ms = fact.at_ms if fact.kind is FactKind.LEAVE_SENT else part.one.began_at_ms
            part.one.cause = self._now_own(part.one.cause)
        else:
            self._close()
            part = self._open(fact)
            part.one.outcome, self._is_out = LEFT, True
            part.one.cause = self._own.cause(self._own.reason)
            # One that had learnt of a rebalance may have joined in between, or not; a log of warnings has no such line.
            had_learnt = before is not None and before.learnt is not None
            part.one.cause.is_inferred |= had_learnt or not could_stand(fact, *_LEARNT)
        part.leave(fact)

    def _leaves_that_of_others(self, part: OwnPart, fact: LoggedFact) -> bool:
        """A leave while others' rebalance waits for it sets nothing off: it lets the others continue."""
        if part.is_joined:
            return False
        if part.learnt is not None and not part.is_left and could_stand(fact, FactKind.JOIN_SENT):
            part.one.held_by = part.held_others(self._own.name, fact) if part.asked is None else None
            part.one.outcome, self._is_out, part.is_of_others, part.learnt = LEFT, True, True, None
        if part.is_of_others:
            part.leave(fact)
        return part.is_of_others

    def _give_up(self, fact: LoggedFact) -> None:
        """By its own clock. A rebalance was running if that was the coordinator's last answer; when it began is
        unknown.
        """
        self._is_out = True
        if (self._part is None or self._part.is_over) and in_a_rebalance(fact):
            part = self._open(fact)
            part.one.began_at_ms, part.given_up = None, fact
        self._add(fact)

    def _beat(self, fact: LoggedFact) -> None:
        """A heartbeat has the generation that the member is in: of a rebalance that runs, the old one."""
        if fact.generation_id is None or fact.generation_id < 1:
            return  # It joins, or leaves.
        if self._generation_id is not None and fact.generation_id > self._generation_id:
            self._show(fact).one.facts.append(fact)
        part = self._part
        if part is not None and not part.is_joined and part.one.generation_id is None:
            part.one.from_generation_id, part.one.generation_id = fact.generation_id, fact.generation_id + 1
        self._generation_id = fact.generation_id

    def _lose_member_id(self, former_id: str) -> None:
        """Who leaves has no id any more: the rebalance is still by the one before."""
        part = self._part
        if former_id and part is not None and part.is_left and not (part.is_of_others or part.one.cause.member_id):
            part.one.cause = self._now_own(part.one.cause, former_id)

    def _now_own(self, cause: Cause, member_id: str = "") -> Cause:
        """The same cause, with the ids that the client is known by now."""
        fits = tuple(one.kind for one in cause.candidates)
        return self._own.cause(Reason(cause.kind, member_id, client_reason=cause.client_reason or "", candidates=fits))

    # ------------------------------------------------------------ it joins

    def _ask(self, fact: LoggedFact) -> None:
        """It asks to join. If it is the one that wants a rebalance, the rebalance begins now."""
        self._come_back()
        part = self._open(fact)
        one = part.one
        one.facts.append(fact)
        is_own = one.cause.kind is not CauseKind.UNKNOWN or one.facts[0].reason.startswith("rebalance failed")
        if part.asked is None and part.learnt is None and is_own:
            one.began_at_ms = fact.at_ms
        self._is_started |= fact.kind is FactKind.CLIENT_STARTED
        part.asked, part.waits_since = part.asked or fact, part.waits_since or fact

    def _come_back(self) -> None:
        """A client left without a word, still held partitions and joins again: that it polled too late fits best."""
        if self._part is None or not self._part.is_left or not self._part.one.cause.candidates:
            return
        facts = self._part.one.facts
        others = any(fact.kind in (FactKind.COORDINATOR_FOUND, *_LEARNT) for fact in facts)
        # One that is closed or unsubscribed holds none.
        gives_up = (one for one in facts if one.kind in (FactKind.PARTITIONS_REVOKED, FactKind.PARTITIONS_LOST))
        held = any(one.kind is FactKind.COMMIT_REFUSED for one in facts) or not all(map(names_no_partition, gives_up))
        if not others and held:
            late = Reason(left_without_a_word(is_back=True), candidates=LEFT_WITHOUT_A_WORD)
            self._part.one.cause = self._own.cause(late)
            self._own.say_more(late)

    def _join(self, fact: LoggedFact) -> None:
        part, before = self._part, self._found[-1] if self._found else None
        if part is not None and self._is_said_again(part, fact):
            self._add(fact)
            return
        is_numbered = before is not None and fact.generation_id is not None
        if before is not None and is_numbered and before.generation_id == fact.generation_id and not before.outcome:
            # Its SyncGroup failed, and it joined the same generation once more.
            self._found.pop()
            before.facts += [*(() if part is None else part.one.facts), fact]
            self._part = OwnPart(before, is_joined=True)
            return
        is_new = self._is_out if self._generation_id is not None else self._is_new
        is_first = self._begins and self._generation_id is None and (part is None or part.learnt is None)
        is_next = self._generation_id is not None and fact.generation_id == self._generation_id + 1
        comes_back = self._offsets_refused and is_next and not self._is_out
        part = self._show(fact)
        one, part.is_first = part.one, is_first
        one.joined_at_ms = fact.at_ms
        one.facts.append(fact)
        if part.asked is not None and part.learnt is None and is_new:
            one.came.append((part.asked, fact))
        if self._is_started and one.cause.kind is CauseKind.UNKNOWN:
            one.cause = self._own.inferred(CauseKind.MEMBER_JOINED)
        elif comes_back and part.learnt is None and one.cause.kind is CauseKind.UNKNOWN:
            one.cause = self._own.inferred(CauseKind.MEMBER_REJOINED)
        self._begins = self._is_started = self._offsets_refused = False

    def _is_said_again(self, part: OwnPart, fact: LoggedFact) -> bool:
        """Whether the same member says once more that it joined; kafka-python names its member id once."""
        if not part.is_joined or part.one.ended_at_ms is not None or fact.generation_id is None:
            return False
        joined = next((one for one in part.one.facts if one.kind is FactKind.JOINED), None)
        is_same = joined is not None and fact.member_id in ("", joined.member_id)
        return is_same and fact.generation_id == self._generation_id

    def _end(self, fact: LoggedFact) -> None:
        is_another = self._is_of_another(fact)
        if self._part is not None and self._part.is_joined and is_another:
            self._close()
        is_first = self._latest is None and fact.kind is FactKind.PARTITIONS_ADDED and bool(partitions_in(fact))
        if is_first or (fact.kind is FactKind.SYNCED and is_another):
            self._show(fact)
        if self._part is None:
            return
        self._is_ahead = not self._part.is_joined
        one = self._part.one
        one.facts.append(fact)
        one.ended_at_ms, one.outcome = fact.at_ms, "completed"
        self._close()
