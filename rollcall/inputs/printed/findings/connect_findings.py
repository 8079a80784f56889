"""What the lines of a Kafka Connect worker show beside its rebalances.

Knows facts of one worker. Must not know how lines are worded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rollcall.history.words import duration
from rollcall.inputs.printed.groups.own_generations import learnt_of_others
from rollcall.inputs.printed.logged_facts import FactKind, LoggedFact, between_ms
from rollcall.inputs.printed.logged_rebalances import Finding, Rule, one_finding, suggested, trouble
from rollcall.inputs.printed.wording import how_often_within
from rollcall.inputs.tolerances import DELAY_OVER_WITHIN_MS

_OFFSET = re.compile(r"\boffset=(-?\d{1,19})").finditer
_DIFFERENT_TOPICS = (
    "two Connect clusters with different config topics share one group id",
    "the config topic was deleted and made again",
)


def _configs_behind(who: str, facts: Sequence[LoggedFact]) -> Iterator[Finding]:
    behind = [fact for fact in facts if fact.kind is FactKind.CONFIGS_BEHIND]
    if len(behind) < 2:
        return
    yield trouble(
        "worker_rejoins_in_a_loop",
        f"{who} forced itself to join again{how_often_within(behind)}: what it reads of its config topic does not "
        "reach the offset that its assignment names.",
        tuple(behind),
    )
    generations = {fact.generation_id for fact in facts if fact.kind is FactKind.JOINED}
    if len(generations) == 1:
        yield Finding(
            "generation_does_not_move",
            f"The generation stays {generations.pop()}: the group does not rebalance, only the worker joins again.",
            tuple(fact for fact in facts if fact.kind is FactKind.JOINED),
        )
    yield suggested(
        "different_config_topics",
        "It and the leader do not read the same config topic.",
        tuple(behind),
        *_DIFFERENT_TOPICS,
    )


def _leader_behind(who: str, facts: Sequence[LoggedFact]) -> Iterator[Finding]:
    behind = [fact for fact in facts if fact.kind is FactKind.LEADER_CONFIGS_BEHIND]
    if not behind:
        return
    offsets = {named[1] for fact in facts if fact.kind is FactKind.SYNC_REFUSED for named in _OFFSET(fact.partitions)}
    offset = f"offset {min(offsets)} of its config topic, which" if len(offsets) == 1 else "what"
    yield trouble(
        "leader_behind_configs",
        f"{who} leads the group and was to assign, but its own copy of the configs does not reach {offset} a "
        f"member has: it handed out nothing{how_often_within(behind)}, so that all join again.",
        tuple(behind),
    )
    if len(behind) > 1:
        yield suggested(
            "different_config_topics",
            f"What {who} reads of the config topic does not reach that offset.",
            tuple(behind),
            *_DIFFERENT_TOPICS,
            "it reads the config topic late, or not at all",
        )


def _work_held_back(who: str, facts: Sequence[LoggedFact]) -> Iterator[Finding]:
    """A Connect leader does not hand all work out at once."""
    fact = next((fact for fact in facts if fact.kind is FactKind.SYNCED and fact.length_ms), None)
    if fact is not None:
        yield suggested(
            "work_held_back",
            f"In generation {fact.generation_id} the leader put the next rebalance off for "
            f"{duration(fact.length_ms or 0)}: until then some connectors or tasks may run nowhere.",
            (fact,),
            "a worker that had them is gone, and the leader waits for it (scheduled.rebalance.max.delay.ms)",
            "it had just taken work from other workers, and waits before it takes more (Kafka 3.5 and newer)",
        )


def _asked_at_the_end(who: str, facts: Sequence[LoggedFact]) -> Iterator[Finding]:
    """On its own, when the delay that the leader had set ended."""
    put_off: LoggedFact | None = None
    for fact in facts:
        if fact.kind is FactKind.SYNCED:
            put_off = fact if fact.length_ms else None
        elif learnt_of_others(fact):
            put_off = None
        elif put_off is not None and fact.kind is FactKind.JOIN_SENT:
            late_ms = (between_ms(put_off, fact) or 0) - (put_off.length_ms or 0)
            if 0 <= late_ms <= DELAY_OVER_WITHIN_MS:
                yield suggested(
                    "delay_over",
                    f"{who} asked to join again on its own when that delay of {duration(put_off.length_ms or 0)} had "
                    "passed: all workers do so then, to hand out what had been held back.",
                    (put_off, fact),
                )
            put_off = None


CONNECT_RULES: Sequence[Rule] = (
    _configs_behind,
    _leader_behind,
    one_finding(
        "config_log_empty",
        lambda fact: fact.kind is FactKind.CONFIG_LOG_EMPTY,
        lambda who, _: f"{who} read its config topic to the end and found nothing in it.",
    ),
    _work_held_back,
    _asked_at_the_end,
)
