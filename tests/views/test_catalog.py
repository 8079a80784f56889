"""A view is added in one list: its order of registration and its section on the page follow from that."""

from __future__ import annotations

import pytest
from sqlglot import exp, parse_one

from rollcall.answers.views.catalog import VIEWS, reads_from, with_foundations
from rollcall.answers.views.view import GROUP_ID, View
from tests.views.page import page


def view(name: str, sql: str) -> View:
    return View(name=name, row=f"a row of {name}", rule="It is made up.", columns=(GROUP_ID,), sql=sql)


def test_every_view_is_listed_once() -> None:
    assert len({one.name for one in VIEWS}) == len(VIEWS)


def test_editors_know_a_views_sql_for_sql() -> None:
    assert [one.name for one in VIEWS if not one.sql.startswith("--sql\n")] == []


def test_a_view_comes_after_those_that_its_sql_reads_from() -> None:
    upper = view("upper", "WITH upper AS (SELECT * FROM middle JOIN lower USING (group_id)) SELECT * FROM upper")
    middle, lower = view("middle", "SELECT * FROM lower"), view("lower", "SELECT group_id FROM effects")
    assert with_foundations(["upper"], [upper, middle, lower]) == ("effects", "lower", "middle", "upper")


@pytest.mark.parametrize("one", VIEWS, ids=lambda one: one.name)
def test_what_a_view_reads_from_is_found_as_by_parsing_it(one: View) -> None:
    tree = parse_one(one.sql, read="spark")
    own = {table.alias for table in tree.find_all(exp.CTE)}
    assert reads_from(one) == {table.name for table in tree.find_all(exp.Table)} - own


def test_views_that_read_from_each_other_are_refused() -> None:
    with pytest.raises(ValueError, match="read from each other: chicken, egg"):
        with_foundations(["egg"], [view("egg", "SELECT * FROM chicken"), view("chicken", "SELECT * FROM egg")])


def test_a_view_that_is_added_has_its_section_on_the_page() -> None:
    shown = page([*VIEWS, view("added", "SELECT group_id FROM members")])
    assert "- [added](#added): a row of added\n" in shown
    assert "## added\n\nOne row is a row of added. It is made up.\n" in shown
