"""The parity page says what the tests say, and nothing of Kafka's checklist is forgotten."""

from __future__ import annotations

from tests.protocol.parity import PAGE, checklist, page, proofs, proven_by

NAMES = {name: item for item in checklist() for name in item.names}
PROVEN = proven_by(proofs())


def test_the_page_is_what_the_generator_writes() -> None:
    assert PAGE.read_text() == page(), "stale: run python -m tests.protocol.parity"


def test_the_checklist_is_whole() -> None:
    assert [item.number for item in checklist()] == list(range(1, 148))


def test_each_of_kafkas_tests_is_proven_or_does_not_apply_for_a_reason() -> None:
    reasons = {name: reason for item in checklist() for name, reason in item.reasons.items()}
    assert {name for name in NAMES if name not in PROVEN and not reasons.get(name)} == set()
    assert {name for name in reasons if name in PROVEN or name not in NAMES} == set()


def test_a_mark_names_only_tests_of_the_checklist() -> None:
    assert set(PROVEN) - set(NAMES) == set()


def test_every_test_of_a_rule_carries_its_mark() -> None:
    marked = {proof.test.partition(".")[0] for proof in proofs()}
    assert len(marked) >= 20
    assert all(proof.rule.text and proof.rule.topic for proof in proofs())
