"""A dialect's file: ours have no problem, and what is wrong in one is named by the file and the wording."""

from __future__ import annotations

from pathlib import Path

import pytest

from rollcall.inputs.printed.checked_formats import problems
from rollcall.inputs.printed.dialects.catalog import DIALECTS, FOLDER

RUBY = (FOLDER / "ruby-kafka.toml").read_text()
JOINING = '[[wording]]\nfact = "join_sent"\ntext = "Joining group `{group_id}`"\n'
SAYS = 'says = { group_id = "orders" }\n'
LATER = '[[wording]]\nfact = "closed"\ntext = "Joined group {}"\n[[wording.sample]]\nline = "Joined group `a`"\n'


@pytest.mark.parametrize("name", [dialect.name for dialect in DIALECTS])
def test_ours_have_no_problem(name: str) -> None:
    assert [*problems(FOLDER / f"{name}.toml")] == []


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("title = ", "titel = ", "Object contains unknown field `titel`"),
        ("title = ", "opening = ", "Object missing required field `title`"),
        ("title = ", 'color = "red"\ntitle = ', "Object contains unknown field `color`"),
        ("title = ", "title == ", "Invalid value (at line 5, column 8)"),
        ("'(?:Joining", "'(?:Joining(", "[heading] cannot be used: missing ), unterminated subpattern"),
        ("[heading]", '[heading]\nreader = "rubi"', "No module named 'rollcall.inputs.printed.dialects.headings.rubi'"),
        ("[heading]", '[heading]\nbegin = "a"', "got an unexpected keyword argument 'begin'"),
        ('"join_sent"', '"join_send"', "wording 1 Invalid enum value 'join_send'"),
        ('"join_sent"', '"join_sent"\nsays = {}', "wording 1 Object contains unknown field `says`"),
        ("`{group_id}`", "`{grup_id}`", "wording 1 names unknown fields: grup_id."),
        ("`{group_id}`", "`{line_number}`", "wording 1 names unknown fields: line_number."),
        ('"Joining group', '"Asking group', 'wording 1 "Asking group `{group_id}`" does not read its sample: I, [2026'),
        (SAYS, "", "has a sample that says group_id = 'orders'"),
        (SAYS, SAYS + 'extra = "x"\n', "unknown field `extra`"),
        (JOINING, JOINING * 2, 'wording 1 "Joining group `{group_id}`" has no [[wording.sample]]'),
        (JOINING, JOINING * 2, 'wording 2 "Joining group `{group_id}`" is the text of wording 1'),
        (JOINING, JOINING + "[[wording.sample]]\n" + JOINING, "wording 1 Object missing required field `line`"),
        (JOINING, LATER.replace("Joined group {}", "Joining {}") + JOINING, "has a sample that wording 1 reads"),
        (JOINING, LATER.replace("`a`", "a") + JOINING, "in which the heading finds no message"),
        ("says", "line = 1\nsays", "Cannot overwrite a value"),
    ],
)
def test_a_problem_names_its_file_and_its_wording(old: str, new: str, problem: str, tmp_path: Path) -> None:
    assert old in RUBY
    path = tmp_path / "ruby-kafka.toml"
    path.write_text(RUBY.replace(old, new, 1))
    found = [*problems(path)]
    assert all(one.startswith("ruby-kafka.toml: ") for one in found)
    assert any(problem in one for one in found), found
