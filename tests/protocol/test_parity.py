"""Nothing of Kafka's checklist is forgotten, and each test says which rule it proves."""

from __future__ import annotations

import pytest

from tests.protocol.parity import (
    CONSUMER_LIST,
    HERE,
    checklist,
    functions_of,
    is_of_consumers,
    page,
    proofs,
    proven_by,
)
from tests.protocol.scenario import FOLDER, scenario_files

LISTS = {"kafka_tests.txt": 147, CONSUMER_LIST: 123}
"""The checklists, with the number of their items."""


def proven(file: str) -> dict[str, list[str]]:
    """The tests and scenarios by the names of those of Kafka's tests that are on this list."""
    tests = (proof for proof in proofs() if is_of_consumers(proof) == (file == CONSUMER_LIST))
    return proven_by(tests, checklist(file))


def names_of(file: str) -> set[str]:
    return {name for item in checklist(file) for name in item.names}


def test_the_page_has_a_row_for_each_proof() -> None:
    written = page()
    assert len(proofs()) + len(scenario_files()) > 500
    assert [proof.test for proof in proofs() if f"`{proof.test}`" not in written] == []


@pytest.mark.parametrize(("file", "count"), LISTS.items())
def test_the_checklist_is_whole(file: str, count: int) -> None:
    assert [item.number for item in checklist(file)] == list(range(1, count + 1))


@pytest.mark.parametrize("file", LISTS)
def test_each_of_kafkas_tests_is_proven_or_does_not_apply_for_a_reason(file: str) -> None:
    names, done = names_of(file), proven(file)
    reasons = {name: reason for item in checklist(file) for name, reason in item.reasons.items()}
    assert {name for name in names if name not in done and not reasons.get(name)} == set()
    assert {name for name in reasons if name in done or name not in names} == set()


@pytest.mark.parametrize("file", LISTS)
def test_a_scenario_that_stands_for_a_test_exists(file: str) -> None:
    recorded = {str(path.relative_to(FOLDER).with_suffix("")) for path in scenario_files()}
    assert {scenario for item in checklist(file) for scenario in item.scenarios.values()} <= recorded
    assert all(item.scenarios.keys() <= set(item.names) for item in checklist(file))


@pytest.mark.parametrize("file", LISTS)
def test_a_mark_names_only_functions_of_the_checklist(file: str) -> None:
    assert set(proven(file)) - names_of(file) == set()


def test_every_test_of_the_protocol_proves_a_rule_or_an_invariant() -> None:
    marked = {proof.test for proof in proofs()}
    unmarked = {
        f"{path.stem}.{name}"
        for path in HERE.glob("test_*.py")
        if not path.stem.startswith(("test_invariants", "test_parity"))
        for name, _ in functions_of(path)
    } - marked
    assert unmarked == set()
