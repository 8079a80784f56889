"""What holds for each dialect: its lines are distinguished from others', and it has a row in the docs."""

from __future__ import annotations

import pytest

from rollcall.inputs.printed.dialects.catalog import DIALECTS
from rollcall.inputs.printed.dialects.dialect import Dialect
from rollcall.inputs.printed.reading import read_lines
from tests.source_tree import ROOT


def test_a_static_java_member_has_its_instance_id() -> None:
    printed = "INFO [Consumer instanceId=pod-1, clientId=orders-1, groupId=orders] (Re-)joining group"
    (fact,) = read_lines("app.log", [printed]).facts
    assert (fact.group_id, fact.client_id, fact.instance_id) == ("orders", "orders-1", "pod-1")


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda one: one.name)
def test_the_page_about_logs_has_a_row_for_it(dialect: Dialect) -> None:
    assert f"| {dialect.title} |" in (ROOT / "docs" / "explain.md").read_text()


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda one: one.name)
def test_other_lines_are_not_its(dialect: Dialect) -> None:
    assert read_lines("app.log", ["2026-03-01 03:12:00,417 INFO Started in 3 s", ""]).facts == []
    assert read_lines("app.log", [dialect.example.replace("{}", "nothing that it prints")]).facts == []
