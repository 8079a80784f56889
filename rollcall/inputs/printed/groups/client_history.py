"""The rebalances that one client went through, from its own lines.

A client knows its own part: when it learnt that others rebalance, when it joined again, which generation it got, that
it polled too late. Who set off a rebalance that it only learnt of is not in its log. Knows one client's facts of one
group in order. Must not know how lines are worded.
"""

from __future__ import annotations

from dataclasses import replace

from rollcall.inputs.printed.absence import could_stand
from rollcall.inputs.printed.groups.holders import BACK_WITHIN_MS
from rollcall.inputs.printed.groups.leaders import members_of
from rollcall.inputs.printed.groups.own_membership import GOES_WITHIN_MS, OwnMembership
from rollcall.inputs.printed.groups.reasons import LEFT_WITHOUT_A_WORD, Reason, cause_in_words
from rollcall.inputs.printed.groups.session_findings import in_a_rebalance
from rollcall.inputs.printed.logged_facts import (
    AWAITS_APPLICATION,
    LEAVE_REFUSED,
    FactKind,
    LoggedFact,
    between_ms,
    says_that_it_is_no_member,
)
from rollcall.inputs.printed.logged_partitions import names_no_partition, partitions_in
from rollcall.inputs.printed.logged_rebalances import (
    Holder,
    LoggedRebalance,
    concluded,
    is_open,
    rebalance_of,
)
from rollcall.schemas.causes import Cause, CauseKind

LEFT = "left"
"""The outcome of a rebalance that a client set off by going: it sees no end of it."""
WAITED = "this client had asked to join and waited for others, whom its log does not name"
WAITED_ALONE = "this client alone joined: its coordinator waited for more members, or for some that did not join again"
NOT_BACK = "it had learnt of the rebalance and had not asked to join again"
WAITS_FOR_APPLICATION = "it waits for its application to give partitions up, and has not asked to join again"
OWN = (NOT_BACK, WAITS_FOR_APPLICATION)
"""Why a client itself kept the others waiting, though its lines may not name it."""
OUTLASTED = "the rebalance outlasted this client's own session timeout, so a member did not join again in time"
_LEARNT = (FactKind.GROUP_IS_REBALANCING, FactKind.REJOIN_WANTED)
_LEFT = (FactKind.POLL_TIMEOUT, FactKind.LEAVE_SENT)
"""Why a client may have left that does not say why."""
_JOINS = (FactKind.JOINED, FactKind.JOINED_AND_SYNCED)
_ENDS = (FactKind.SYNCED, FactKind.PARTITIONS_ADDED)
_BEGINS = (FactKind.CLIENT_STARTED, FactKind.MEMBER_ID_SET)
"""What a client prints only as it begins or comes back, before it asks to join."""
GIVEN_ID = "given member-id"
"""In the reason of a new member, which asks again with the id that it got."""
LONGEST_MS = 300_000
"""The longest that clients have a rebalance wait for them as shipped: max.poll.interval.ms."""


def learnt_of_others(fact: LoggedFact) -> bool:
    """Whether the client learnt that others rebalance."""
    return fact.kind is FactKind.GROUP_IS_REBALANCING or (
        fact.kind is FactKind.REJOIN_WANTED and "rebalancing" in fact.reason
    )


def _shows_that_it_lives(fact: LoggedFact) -> bool:
    """Whether a consumer that has left still held partitions: one that is closed or unsubscribed holds none."""
    if fact.kind is FactKind.COMMIT_REFUSED:
        return True
    return fact.kind in (FactKind.PARTITIONS_REVOKED, FactKind.PARTITIONS_LOST) and not names_no_partition(fact)


class OwnGenerations:
    """One client, of which lines are taken in their order. own: its membership, which has each line already."""

    def __init__(self, own: OwnMembership) -> None:
        self._own = own
        self._found: list[LoggedRebalance] = []
        self._unmoved = set[int | None]()
        """Generations of joins that left the generation as it was."""
        self.running: LoggedRebalance | None = None
        self.generation_id: int | None = None
        self.is_joined = False
        """Whether the running rebalance has its generation."""
        self.is_out = False
        """It left, or was removed, and has not joined since."""
        self.is_new = False
        """Its lines show that it begins: else the log may have begun later than it."""
        self.begins = False
        """Its lines say that it begins, and it has not joined since."""
        self.is_first = False
        """It joined the running rebalance as it began."""
        self.started: LoggedFact | None = None
        self.offsets_refused = False
        """Its part in its generation ended with that: it is a member, and has not joined since."""
        self.learnt: LoggedFact | None = None
        self.asked: LoggedFact | None = None
        """When it asked to join the running rebalance."""
        self.waits_since: LoggedFact | None = None
        """When it asked to join and was not refused since."""
        self.given_up: LoggedFact | None = None
        """When it gave its session up in a rebalance of which its log had nothing before."""
        self.left_ms: dict[FactKind, int] = {}
        """When the running rebalance had its first leave, by the kind of line."""
        self.left_as: set[str] = set()
        """The member ids that left in it."""
        self.is_of_others = False
        """It left the running rebalance, which others had begun."""
        self.latest: LoggedFact | None = None

    def take(self, fact: LoggedFact) -> None:
        """One line, in order."""
        is_found_first = self.latest is None and fact.kind is FactKind.COORDINATOR_FOUND
        self.begins = self.begins or fact.kind in _BEGINS or GIVEN_ID in fact.reason
        self.is_new = self.is_new or is_found_first or self.begins
        if fact.kind in (*_LEARNT, *_LEFT) and self._is_far_behind(fact):
            self.close()
        match fact.kind:
            case kind if kind in _LEARNT:
                self._learn(fact)
            case kind if kind in _LEFT and not self._own.stays:
                self._leave(fact)
                self._note_leave(fact)
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
                self.close()
            case FactKind.ASSIGNED_ALL if self._is_of_another(fact):
                running = self._show(fact)
                running.joined_at_ms = fact.at_ms
                running.facts.append(fact)
            case _:
                self._note(fact)
        if fact.kind in (FactKind.JOIN_REFUSED, FactKind.MEMBERSHIP_LOST) and not self.is_joined:
            self.waits_since = None
        self.offsets_refused |= fact.kind is FactKind.OFFSETS_REFUSED
        self.offsets_refused &= self._own.lost is None
        self.latest = fact

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
                self._stay()
            case FactKind.CLIENT_STATE if self.latest is not None and self.latest.state == fact.state:
                pass  # Where it has been.
            case _:
                if self.running is not None:
                    self.running.facts.append(fact)

    def rebalances(self) -> list[LoggedRebalance]:
        """Return them, in order, once all lines are taken.

        A client that joins again and again in one generation is not among them: its group does not rebalance.
        """
        self.close()
        return [one for one in self._found if one.generation_id is None or one.generation_id not in self._unmoved]

    def close(self) -> None:
        """The running rebalance is as far as the lines have it."""
        running = self.running
        if running is not None:
            running.held_by = running.held_by or self._holder(running)
            if self.is_first and is_open(running.cause) and members_of(running) == 1:
                running.cause = concluded(CauseKind.MEMBER_JOINED, self._own.member_id, self._own.client_id)
            if running.generation_id is not None and running.generation_id == running.from_generation_id:
                self._unmoved.add(running.generation_id)
            elif (
                self.is_joined
                or self.learnt is not None
                or self.given_up is not None
                or running.cause.kind is not CauseKind.UNKNOWN
                or running.outcome
            ):
                self._found.append(running)
            # Else it asked to join, and no answer is here: an attempt, and no rebalance that is known.
        self.running, self.learnt, self.asked, self.is_joined = None, None, None, False
        self.given_up = self.waits_since = None
        self.is_first = False
        self.left_ms, self.left_as, self.is_of_others = {}, set(), False

    def _open(self, fact: LoggedFact) -> LoggedRebalance:
        if self.running is None or self.is_joined or self._is_left():
            self.close()
            self.running = replace(rebalance_of(fact), began_at_ms=fact.at_ms)
            if self.generation_id is not None:
                self.running.from_generation_id = self.generation_id
                self.running.generation_id = self.generation_id + 1
        return self.running

    def _is_far_behind(self, fact: LoggedFact) -> bool:
        """Whether a line comes too late to be of the running rebalance, so that others must lie between."""
        if self.latest is not None and (between_ms(self.latest, fact) or 0) > LONGEST_MS:
            return True
        if not self._is_left() or self.running is None or fact.kind not in _LEFT:
            return False
        # Who leaves again, or as another member, had joined in between.
        since_ms = self.left_ms.get(fact.kind, fact.at_ms)
        is_again = since_ms is not None and fact.at_ms is not None and fact.at_ms - since_ms > GOES_WITHIN_MS
        return is_again or bool(fact.member_id and self.left_as - {fact.member_id})

    def _note_leave(self, fact: LoggedFact) -> None:
        if self.running is None or self.running.facts[-1] is not fact:
            return
        if fact.at_ms is not None:
            self.left_ms[fact.kind] = min(fact.at_ms, self.left_ms.get(fact.kind, fact.at_ms))
        self.left_as |= {fact.member_id} - {""}

    def _is_left(self) -> bool:
        return self.running is not None and self.running.outcome == LEFT

    def _learn(self, fact: LoggedFact) -> None:
        kind = cause_in_words(fact.reason)
        if (self.is_out and kind is None) or (self.generation_id is None and fact.state == "wait-metadata"):
            if self.running is not None:
                self.running.facts.append(fact)
            return
        running = self._open(fact)
        running.facts.append(fact)
        if kind is not None and self.learnt is None and running.cause.kind is CauseKind.UNKNOWN:
            running.cause = self._own.cause(Reason(kind, client_reason=fact.reason))
        elif learnt_of_others(fact):
            self.learnt = self.learnt or fact

    def _leave(self, fact: LoggedFact) -> None:
        if self._leaves_that_of_others(fact):
            return
        is_told = self.learnt is not None and not self._is_left()
        if self._own.knew_that_it_was_out:
            return  # Its coordinator had removed it before, so that its leave sets nothing off.
        if self._is_left() and self.running is not None:
            self.running.facts.append(fact)
            self.running.began_at_ms = fact.at_ms if fact.kind is FactKind.LEAVE_SENT else self.running.began_at_ms
            self.running.cause = self._now_own(self.running.cause)
            return
        self.close()
        running = self._open(fact)
        running.outcome, self.is_out = LEFT, True
        running.facts.append(fact)
        running.cause = self._own.cause(self._own.reason)
        running.cause.is_inferred |= is_told  # It may have joined in between, or not.

    def _stay(self) -> None:
        """Its leave was refused, so that the rebalance which it would have set off is none."""
        if self._is_left() and not self.is_of_others:
            self.running = None

    def _leaves_that_of_others(self, fact: LoggedFact) -> bool:
        """A leave while others' rebalance waits for it sets nothing off: it lets the others go on."""
        running = self.running
        if running is None or self.is_joined:
            return False
        if self.learnt is not None and not self._is_left() and could_stand(fact, FactKind.JOIN_SENT):
            running.held_by = self._held_others(self.learnt, fact) if self.asked is None else None
            running.outcome, self.is_out, self.is_of_others, self.learnt = LEFT, True, True, None
        if self.is_of_others:
            running.facts.append(fact)
        return self.is_of_others

    def _give_up(self, fact: LoggedFact) -> None:
        """By its own clock. A rebalance went on, if that was the coordinator's last answer; when it began is open."""
        self.is_out = True
        is_new = self.running is None or self.is_joined or self._is_left()
        if is_new and in_a_rebalance(fact):
            self._open(fact).began_at_ms = None
            self.given_up = fact
        if self.running is not None:
            self.running.facts.append(fact)

    def _beat(self, fact: LoggedFact) -> None:
        """A heartbeat has the generation that the member is in: of a rebalance that runs, the old one."""
        if fact.generation_id is None or fact.generation_id < 1:
            return  # It joins, or leaves.
        if self.generation_id is not None and fact.generation_id > self.generation_id:
            self._show(fact).facts.append(fact)
        if self.running is not None and not self.is_joined and self.running.generation_id is None:
            self.running.from_generation_id = fact.generation_id
            self.running.generation_id = fact.generation_id + 1
        self.generation_id = fact.generation_id

    def _lose_member_id(self, former_id: str) -> None:
        """Who leaves has no id any more: the rebalance is still by the one before."""
        running = self.running if former_id and self._is_left() and not self.is_of_others else None
        if running is not None and not running.cause.member_id:
            running.cause = self._now_own(running.cause, former_id)

    def _ask(self, fact: LoggedFact) -> None:
        """It asks to join. If it is the one that wants a rebalance, the rebalance begins now."""
        self._come_back()
        running = self._open(fact)
        running.facts.append(fact)
        is_own = running.cause.kind is not CauseKind.UNKNOWN or running.facts[0].reason.startswith("rebalance failed")
        if self.asked is None and self.learnt is None and is_own:
            running.began_at_ms = fact.at_ms
        if fact.kind is FactKind.CLIENT_STARTED:
            self.started = fact
        self.asked, self.waits_since = self.asked or fact, self.waits_since or fact

    def _come_back(self) -> None:
        """A client left without a word, still held partitions and joins again: that it polled too late fits best."""
        running = self.running
        if running is None or not self._is_left() or not running.cause.candidates:
            return
        others = any(fact.kind in (FactKind.COORDINATOR_FOUND, *_LEARNT) for fact in running.facts)
        if not others and any(map(_shows_that_it_lives, running.facts)):
            late = Reason(CauseKind.POLL_TIMEOUT, candidates=LEFT_WITHOUT_A_WORD)
            running.cause = self._own.cause(late)
            self._own.say_more(late)

    def _now_own(self, cause: Cause, member_id: str = "") -> Cause:
        """The same cause, with the ids that the client is known by now."""
        fits = tuple(one.kind for one in cause.candidates)
        return self._own.cause(Reason(cause.kind, member_id, client_reason=cause.client_reason or "", candidates=fits))

    def _join(self, fact: LoggedFact) -> None:
        is_known = self.is_joined and fact.generation_id is not None and fact.generation_id == self.generation_id
        if is_known and self.running is not None and self.running.ended_at_ms is None and self._joined_as(fact):
            self.running.facts.append(fact)
            return
        before = self._found[-1] if self._found else None
        if before is not None and fact.generation_id is not None and self._is_again(before, fact):
            # Its SyncGroup failed, and it joined the same generation once more.
            self._found.pop()
            more = () if self.running is None else self.running.facts
            self.running, self.is_joined, self.asked, self.learnt = before, True, None, None
            self.waits_since = None
            before.facts += [*more, fact]
            return
        is_new = self.is_out if self.generation_id is not None else self.is_new
        is_first = self.begins and self.generation_id is None and self.learnt is None
        comes_back = self.offsets_refused and self._joins_next(fact)
        running = self._show(fact)
        running.joined_at_ms = fact.at_ms
        running.facts.append(fact)
        if self.asked is not None and self.learnt is None and is_new:
            running.came.append((self.asked, fact))
        if self.started is not None and running.cause.kind is CauseKind.UNKNOWN:
            running.cause = concluded(CauseKind.MEMBER_JOINED, self._own.member_id, self._own.client_id)
        elif comes_back and self.learnt is None and running.cause.kind is CauseKind.UNKNOWN:
            running.cause = concluded(CauseKind.MEMBER_REJOINED, self._own.member_id, self._own.client_id)
        self.is_first, self.begins = is_first, False
        self.started, self.offsets_refused = None, False

    def _joins_next(self, fact: LoggedFact) -> bool:
        """Whether a line has the generation behind the client's own, which it joins as the member that it was."""
        return self.generation_id is not None and fact.generation_id == self.generation_id + 1 and not self.is_out

    def _show(self, fact: LoggedFact) -> LoggedRebalance:
        """The rebalance that led to a line's generation: the running one, or one of which the lines have no more."""
        if self.running is None or self.is_joined or self._is_left():
            self.close()
            self.running = replace(rebalance_of(fact), from_generation_id=self.generation_id)
        self.running.generation_id = fact.generation_id
        if not self._is_next(fact):
            self.running.from_generation_id = None
        self.generation_id, self.is_out, self.is_joined = fact.generation_id, False, True
        return self.running

    def _is_of_another(self, fact: LoggedFact) -> bool:
        """Whether a line names another generation than the latest one."""
        return fact.generation_id is not None and fact.generation_id != self.generation_id

    def _joined_as(self, fact: LoggedFact) -> bool:
        """Whether the same member says once more that it joined; kafka-python names its member id once."""
        facts = () if self.running is None else self.running.facts
        joined = next((one for one in facts if one.kind is FactKind.JOINED), None)
        return joined is not None and fact.member_id in ("", joined.member_id)

    @staticmethod
    def _is_again(before: LoggedRebalance, fact: LoggedFact) -> bool:
        return before.generation_id == fact.generation_id and not before.outcome

    def _is_next(self, fact: LoggedFact) -> bool:
        """Whether no generation lies between the client's and that of the line."""
        if self.generation_id is None or fact.generation_id is None:
            return True
        return 0 <= fact.generation_id - self.generation_id <= 1

    def _end(self, fact: LoggedFact) -> None:
        is_another = self._is_of_another(fact)
        if self.running is not None and self.is_joined and is_another:
            self.close()
        is_first = self.latest is None and fact.kind is FactKind.PARTITIONS_ADDED and bool(partitions_in(fact))
        running = self.running
        if is_first or (fact.kind is FactKind.SYNCED and is_another):
            running = self._show(fact)
        if running is None:
            return
        running.facts.append(fact)
        running.ended_at_ms = fact.at_ms
        running.outcome = "completed"
        self.close()

    def _holder(self, running: LoggedRebalance) -> Holder | None:
        """Others, if it had asked and waited; itself, if it had learnt of the rebalance and did not ask."""
        if running.joined_at_ms is not None and self.waits_since is not None and self.waits_since.at_ms is not None:
            waited_ms = running.joined_at_ms - self.waits_since.at_ms
            is_joined = any(fact.kind in _JOINS for fact in running.facts)
            is_near = is_joined or waited_ms <= LONGEST_MS
            if waited_ms >= BACK_WITHIN_MS and is_near and running.generation_id != 1:
                return Holder(waited_ms, "", not is_joined, WAITED_ALONE if members_of(running) == 1 else WAITED)
        if self.given_up is not None and self.asked is None:
            return Holder(None, "", True, OUTLASTED)
        out = next(filter(says_that_it_is_no_member, running.facts), self.latest)
        until = self.asked or (None if self.is_joined else out)
        if self.learnt is None or until is None:
            return None
        return self._held_others(self.learnt, until)

    def _held_others(self, learnt: LoggedFact, until: LoggedFact) -> Holder | None:
        length_ms = between_ms(learnt, until)
        if length_ms is None or not BACK_WITHIN_MS <= length_ms <= LONGEST_MS:
            return None
        who = self._own.instance_id or self._own.member_id or self._own.client_id
        if self.asked is None and until.state in AWAITS_APPLICATION:
            return Holder(length_ms, who, False, WAITS_FOR_APPLICATION)
        return Holder(length_ms, who, True, NOT_BACK) if could_stand(until, FactKind.JOIN_SENT) else None
