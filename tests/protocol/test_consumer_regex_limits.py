"""What regular expressions may cost: how many a group takes, and that nothing is read or matched twice."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
import re2

from rollcall.coordinator_udfs.protocol.config import ExpressionLimits
from rollcall.coordinator_udfs.protocol.consumer import history, patterns, regex
from rollcall.schemas.consumer_effects import PatternsResolved, TargetAssigned
from rollcall.schemas.errors import Error
from tests.protocol.bench import Call
from tests.protocol.consumer_bench import ConsumerBench
from tests.protocol.rules import rule

TOPICS = {"t1": 1, "t2": 1, "u1": 1}


def refused(call: Call, says: str) -> bool:
    return call.error is Error.INVALID_REGULAR_EXPRESSION and says in call.response.error_message


@rule("Patterns: a group takes a number of different ones, Kafka any number")
def test_one_expression_too_many_is_refused_and_harms_nobody() -> None:
    bench = ConsumerBench(topics=TOPICS, expressions=ExpressionLimits(count=2))
    for client, pattern in (("m1", "t.*"), ("m2", "u.*")):
        assert bench.join_matching(client, pattern).error is Error.NONE
    assert refused(bench.join_matching("m3", "v.*"), "has 2 regular expressions already, at most 2 are taken")
    assert list(bench.consumer.members) == ["m1", "m2"]
    assert bench.join_matching("m3", "t.*").error is Error.NONE
    assert refused(bench.beat("m3", subscribed_topic_regex="v.*"), "at most 2")
    assert bench.beat("m2", subscribed_topic_regex="v.*").error is Error.NONE
    assert bench.consumer.patterns_in_use.keys() == {"t.*", "v.*"}


@rule("Patterns: one that costs too much to read or to match is refused")
@pytest.mark.parametrize(
    ("limits", "pattern", "says"),
    [
        (ExpressionLimits(max_bytes=10), "u" * 8, "would have 11 bytes, at most 10 are taken"),
        (ExpressionLimits(), r"\pL" * 11, "names 11 Unicode classes, at most 10 are taken"),
        (ExpressionLimits(), r"(?i)(\pL\pN?){60}x|t17", "pattern too large"),
        (ExpressionLimits(program_size=20), "abcdefgh", "instructions once compiled, at most 20 are taken"),
        (ExpressionLimits(topics_bytes=18), "v.*", "may stand for topics of 25 bytes together, at most 18 are taken"),
    ],
)
def test_what_costs_too_much_is_refused_by_the_name_of_its_limit(
    limits: ExpressionLimits, pattern: str, says: str
) -> None:
    bench = ConsumerBench(topics=TOPICS, expressions=limits)
    assert bench.join_matching("m1", "t.*").error is Error.NONE
    assert refused(bench.join_matching("m2", pattern), says)
    assert list(bench.consumer.members) == ["m1"]
    recorded = ConsumerBench(topics=TOPICS)
    assert recorded.join_matching("m1", "t.*").error is Error.NONE
    if not pattern.startswith(r"\pL"):
        assert recorded.join_matching("m2", pattern).error is Error.NONE


@pytest.fixture
def matched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The expressions that were held against topics, in order."""
    seen: list[str] = []

    def match(pattern: str, names: Iterable[str]) -> tuple[str, ...]:
        seen.append(pattern)
        return patterns.matching(pattern, names)

    monkeypatch.setattr(regex, "matching", match)
    return seen


@rule("Patterns: only what is new is matched, all of them where the topics are others")
def test_nothing_is_matched_again_that_did_not_change(matched: list[str]) -> None:
    bench = ConsumerBench(topics=TOPICS)
    bench.join_matching("m1", "t.*")
    bench.at(11_000).join_matching("m2", "u.*")
    assert matched == ["t.*", "u.*"]
    bench.at(22_000).join_matching("m3", "v.*")
    assert matched == ["t.*", "u.*", "v.*"]
    assert bench.consumer.patterns == {"t.*": ("t1", "t2"), "u.*": ("u1",), "v.*": ()}
    bench.set_topics(v1=1)
    bench.at(40_000).beat("m1")
    assert matched[3:] == ["t.*", "u.*", "v.*"]
    assert bench.consumer.patterns["v.*"] == ("v1",)


@rule("Patterns: a refresh finds the same topics without matching")
def test_a_refresh_of_the_same_topics_matches_nothing(matched: list[str]) -> None:
    bench = ConsumerBench(topics=TOPICS)
    bench.join_matching("m1", "t.*")
    for now_ms in range(40_000, 600_000, 40_000):
        bench.at(now_ms).beat("m1")
    bench.at(600_001).beat("m1")
    assert (len(bench.of(PatternsResolved)), matched) == (2, ["t.*"])


@rule("Patterns: one that cannot be read is compiled once, and its error is kept")
def test_what_cannot_be_read_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []

    def count(pattern: str, options: Any) -> Any:
        compiled.append(pattern)
        return compile_(pattern, options)

    compile_ = re2.compile
    monkeypatch.setattr(re2, "compile", count)
    bench = ConsumerBench(topics=TOPICS, expressions=ExpressionLimits())
    for client in ("m1", "m2", "m3"):
        assert refused(bench.join_matching(client, "never-read-before("), "missing )")
    assert compiled == ["never-read-before("]


@rule("Patterns and targets: facts that list much are several")
def test_no_fact_lists_more_than_a_megabyte() -> None:
    topics = {f"{'t' * 200}{number:04}": 8 for number in range(2_000)}
    bench = ConsumerBench(topics=topics, session_timeout_ms=600_000)
    for number in range(8):
        bench.at(number * 11_000).join_matching(f"m{number}", "." * (number + 1) + "*")
    last_ms = bench.of(PatternsResolved)[-1].at_ms
    facts = [fact.patterns for fact in bench.of(PatternsResolved) if fact.at_ms == last_ms]
    assert [len(fact) for fact in facts] == [3, 3, 2]
    assert {each.pattern: len(each.topics) for fact in facts for each in fact} == {
        "." * n + "*": 2_000 for n in range(1, 9)
    }
    targets = [sum(len(t.topic) for each in fact.targets for t in each.partitions) for fact in bench.of(TargetAssigned)]
    assert 800_000 < max(targets) < 1_048_576


@rule("Patterns and targets: short names count with what stands around them")
def test_a_target_of_many_short_names_is_several_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "FACT_BYTES", 10_000)
    names = [f"t{number}" for number in range(600)]
    bench = ConsumerBench(topics=dict.fromkeys(names, 1))
    for number in range(6):
        bench.join(f"m{number}", *names)
    bench.settle()
    sizes = [len(msgspec.json.encode(fact)) for fact in bench.of(TargetAssigned) if len(fact.targets) > 1]
    assert sizes
    assert max(sizes) < 2 * 10_000
