"""The parity page says what the tests say, and nothing of Kafka's checklist is forgotten."""

from __future__ import annotations

from tests.protocol.parity import HERE, PAGE, checklist, functions_of, page, proofs, proven_by

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


def test_a_mark_names_only_functions_of_the_checklist() -> None:
    assert set(PROVEN) - set(NAMES) == set()


def test_every_test_of_the_protocol_proves_a_rule_or_an_invariant() -> None:
    marked = {proof.test for proof in proofs()}
    unmarked = {
        f"{path.stem}.{name}"
        for path in HERE.glob("test_*.py")
        if not path.stem.startswith(("test_invariants", "test_parity"))
        for name, _ in functions_of(path)
    } - marked
    assert unmarked == {"test_scenarios.test_a_wrong_answer_would_be_noticed"}
