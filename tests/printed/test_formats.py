"""A dialect's file: ours have no problem, and what is wrong in one is named by the file and the wording."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from rollcall.inputs.printed.dialects.catalog import DIALECTS, FOLDER, own_folder
from rollcall.inputs.printed.dialects.checks import problems
from rollcall.inputs.printed.dialects.formats import dialect_in
from rollcall.inputs.printed.lines.wrappings import entries_in
from rollcall.programs.errors import UserError
from tests.source_tree import ROOT

RUBY = (FOLDER / "ruby-kafka.toml").read_text()
JOINING = '[[wording]]\nfact = "join_sent"\ntext = "Joining group `{group_id}`"\n'
SAYS = 'says = { group_id = "orders" }\n'
LATER = '[[wording]]\nfact = "closed"\ntext = "Joined group {}"\n[[wording.sample]]\nline = "Joined group `a`"\n'


@pytest.mark.parametrize("name", [dialect.name for dialect in DIALECTS])
def test_ours_have_no_problem(name: str) -> None:
    assert [*problems(FOLDER / f"{name}.toml", DIALECTS)] == []


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("title = ", "titel = ", "Object contains unknown field `titel`"),
        ("title = ", "opening = ", "Object missing required field `title`"),
        ("title = ", 'color = "red"\ntitle = ', "Object contains unknown field `color`"),
        ("title = ", "title == ", "Invalid value (at line 5, column 8)"),
        ("title = ", 'level = "LOUD"\ntitle = ', "level = 'LOUD' is not a level."),
        ('" group `"', '""', "Expected `str` of length >= 1 - at `$.marks[0]`"),
        ("(?P<group_id>", "(?P<group>", "[heading] before names unknown fields: group."),
        ("'(?:Joining", "'(?:Joining(", "cannot be used: RE2 says missing ): (?:Joining("),
        ("[heading]", "[heading]\nends = 'a(?=b)'", "[heading] ends = 'a(?=b)' cannot be used: RE2 says invalid perl"),
        ("[heading]", "[heading]\nends = 'a\\Z'", "[heading] ends = 'a\\Z' cannot be used: RE2 says invalid escape"),
        ("[heading]", "[heading]\nends = '(a{999}){999}'", "cannot be used: RE2 says invalid repetition size"),
        ("[heading]", "[heading]\nends = 3", "Expected `str`, got `int` - at `$.heading.ends`"),
        ("[heading]", "[among_its_own]\nends = '('\n[heading]", "[among_its_own] ends = '(' cannot be used: RE2 says"),
        ("[heading]", '[heading]\nkeys = { group = "group" }', "[heading] keys names unknown fields: group."),
        ("[heading]", '[heading]\nreader = "rubi"', "[heading] reader = 'rubi': there is no such reader."),
        ("[heading]", '[heading]\nreader = "redpanda"', "[heading] reader = 'redpanda': there is no such reader."),
        ("[heading]", '[heading]\nreader = "go"', "[heading] before: the reader 'go' has no such key."),
        ("[heading]", '[heading]\nbegin = "a"', "Object contains unknown field `begin` - at `$.heading`"),
        ('"join_sent"', '"join_send"', "wording 1 Invalid enum value 'join_send'"),
        ('"join_sent"', '"join_sent"\nsays = {}', "wording 1 Object contains unknown field `says`"),
        ("`{group_id}`", "`{grup_id}`", "wording 1 names unknown fields: grup_id."),
        ("`{group_id}`", "`{line_number}`", "wording 1 names unknown fields: line_number."),
        ('"Joining group', '"Asking group', 'wording 1 "Asking group `{group_id}`" does not read its sample: I, [2026'),
        (SAYS, "", "has a sample that says group_id = 'orders' instead of None: I, [2026"),
        (SAYS, SAYS.replace("orders", "x"), "has a sample that says group_id = 'orders' instead of 'x': I, [2026"),
        (JOINING, JOINING + "sets = { members = true }\n", "Expected `int | null`, got `bool`: I, [2026"),
        ('"join_sent"', '"two_messages"', "wording 1 has fact = 'two_messages', which no program prints."),
        ("`{group_id}`", "{group_id}{member_id}", "wording 1 has no text between two fields."),
        (SAYS, SAYS + 'extra = "x"\n', "unknown field `extra`"),
        (JOINING, JOINING * 2, 'wording 1 "Joining group `{group_id}`" has no [[wording.sample]]'),
        (JOINING, JOINING * 2, 'wording 2 "Joining group `{group_id}`" is the text of wording 1'),
        (JOINING, JOINING + "[[wording.sample]]\n" + JOINING, "wording 1 Object missing required field `line`"),
        (JOINING, LATER.replace("Joined group {}", "Joining {}") + JOINING, "has a sample that wording 1 reads"),
        (JOINING, LATER.replace("`a`", "a") + JOINING, "has a sample without a mark: Joined group a."),
        (JOINING, LATER.replace("Joined group `a`", "a Kafka::b") + JOINING, "in which the heading finds no message"),
        ("says", "line = 1\nsays", "Cannot overwrite a value"),
    ],
)
def test_a_problem_names_its_file_and_its_wording(old: str, new: str, problem: str, tmp_path: Path) -> None:
    assert old in RUBY
    path = tmp_path / "ruby-kafka.toml"
    path.write_text(RUBY.replace(old, new, 1))
    found = [*problems(path, DIALECTS)]
    assert all(one.startswith("ruby-kafka.toml: ") for one in found)
    assert any(problem in one for one in found), found


def _folder(path: Path) -> None:
    path.mkdir()


@pytest.mark.parametrize(
    ("made", "problem"),
    [
        (_folder, "acme.toml: cannot be read: Is a directory."),
        (lambda path: path.symlink_to("nowhere"), "acme.toml: cannot be read: No such file or directory."),
        (lambda path: path.write_bytes(b"# caf\xe9"), "acme.toml: byte 5 is not UTF-8."),
        (lambda path: path.write_text(""), "acme.toml: Object missing required field `title`."),
        (lambda path: path.write_text("wording = 3"), "acme.toml: wording: Expected `array`, got `int`."),
        (lambda path: path.write_text("x = " + "[" * 10_000), "acme.toml: maximum recursion depth exceeded."),
    ],
)
def test_a_file_that_is_no_format_is_named(made: Callable[[Path], object], problem: str, tmp_path: Path) -> None:
    made(tmp_path / "acme.toml")
    assert [*problems(tmp_path / "acme.toml", DIALECTS)] == [problem]
    with pytest.raises(UserError, match=f"^{re.escape(problem)}$"):
        dialect_in(tmp_path / "acme.toml")


def test_a_user_without_a_home_has_no_formats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ROLLCALL_FORMATS")
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)
    assert own_folder() is None


@pytest.mark.parametrize("key", ["behind", "before", "ends"])
@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*$", "(a*)*b", "(?:a(?:.*b)?)"])
def test_no_line_makes_a_pattern_of_a_user_slow(key: str, pattern: str, tmp_path: Path) -> None:
    path = tmp_path / "acme.toml"
    behind = "" if key == "behind" else "behind = 'acme: '\n"
    path.write_text(f"title = 'a'\nexample = '{{}}'\nmarks = ['acme']\n[heading]\n{behind}{key} = '{pattern}'\n")
    hostile = "a" * 100_000
    for line in (f"acme: {hostile}!", f"{hostile}!acme: {hostile}!"):
        (entry,) = entries_in("", [(1, line)], lambda _: True)
        dialect_in(path).read(entry)


def test_a_sample_of_one_is_read_by_no_other(tmp_path: Path) -> None:
    path = tmp_path / "acme.toml"
    path.write_text(RUBY)
    found = [*problems(path, DIALECTS)]
    assert len(found) == RUBY.count("[[wording.sample]]")
    assert found[0].startswith(
        'acme.toml: wording 1 "Joining group `{group_id}`" has a sample that ruby-kafka reads: I, '
    )


OF_DOCS = (ROOT / "docs" / "explain.md").read_text().partition("```toml\n")[2].partition("```")[0]
LOG = "2026-03-01 03:12:00,417 INFO acme[a-1]: Thrown out of orders\nINFO acme[a-1]: Waits for 3 s\n"


def test_what_is_no_toml_is_named_by_its_line_though_samples_are_left_out(tmp_path: Path) -> None:
    wrong = OF_DOCS.replace('fact = "membership_lost"', 'fact == "membership_lost"')
    line = wrong[: wrong.index("fact ==")].count("\n") + 1
    (tmp_path / "acme.toml").write_text(wrong)
    with pytest.raises(UserError, match=rf"^acme.toml: Invalid value \(at line {line}, column 7\)\.$"):
        dialect_in(tmp_path / "acme.toml")


def explained(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    (folder / "app.log").write_text(LOG)
    command = [sys.executable, "-m", "rollcall", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_a_folder_of_the_user_s_adds_a_library_in_40_lines_without_code(tmp_path: Path) -> None:
    assert OF_DOCS.count("\n") <= 40
    (tmp_path / "acme.toml").write_text(OF_DOCS)
    (tmp_path / "a-library-with-a-long-name.toml").write_text(OF_DOCS.replace("acme", "ACME"))
    said = explained(tmp_path, "explain", str(tmp_path / "app.log"), "--formats", str(tmp_path)).stdout
    assert "acme's log, 2 lines, 1 about groups" in said
    assert "1 line of acme's log is not read: `Waits for ... s` 1" in said
    assert "orders: 0 rebalances" in said
    listed = explained(tmp_path, "formats", "--formats", str(tmp_path)).stdout
    assert f"acme                        acme's log, 2 wordings, {tmp_path}/acme.toml\n" in listed
    assert "a-library-with-a-long-name  ACME's log, 2 wordings" in listed


def test_what_no_format_reads_is_printed_as_one_to_be_filled_in(tmp_path: Path) -> None:
    (tmp_path / "acme.toml").write_text(OF_DOCS)
    said = explained(tmp_path, "explain", str(tmp_path / "app.log"), "--unknown", "--formats", str(tmp_path)).stdout
    assert tomllib.loads(said)["wording"] == [
        {"fact": "", "text": "Waits for {} s", "sample": [{"line": "", "says": {}}]}
    ]


def test_a_folder_with_a_mistake_is_refused_before_a_line_is_read(tmp_path: Path) -> None:
    (tmp_path / "acme.toml").write_text(OF_DOCS.replace("Thrown out of {", "Thrown {"))
    done = explained(tmp_path, "explain", str(tmp_path / "app.log"), "--formats", str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(
        'rollcall: acme.toml: wording 2 "Thrown {group_id}" has a sample that says group_id = '
    )


def test_a_format_that_reads_a_sample_of_ours_is_refused(tmp_path: Path) -> None:
    greedy = (
        OF_DOCS.replace('"acme"]', '"acme", "roup"]').replace("acme(?:", "(?:acme)?(?:").replace(")?: '", ")?(?:: )?'")
    )
    greedy += '[[wording]]\nfact = "closed"\ntext = "{}roup{}"\n'
    greedy += '[[wording.sample]]\nline = "a groupie"\nsays = {}\n'
    (tmp_path / "acme.toml").write_text(greedy)
    done = explained(tmp_path, "explain", str(tmp_path / "app.log"), "--formats", str(tmp_path))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert re.match(r'rollcall: \S+\.toml: wording \d+ ".*" has a sample that acme reads: ', done.stderr)


def test_a_folder_that_is_missing_is_named_as_it_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    none = tmp_path / "none"
    missing = explained(tmp_path, "formats", "--formats", str(none))
    assert (missing.returncode, missing.stderr) == (2, f"rollcall: --formats {none}: there is no such folder.\n")
    monkeypatch.setenv("ROLLCALL_FORMATS", str(none))
    missing = explained(tmp_path, "replay", str(tmp_path / "app.log"), "--home", str(tmp_path / "home"))
    assert missing.stderr == f"rollcall: ROLLCALL_FORMATS={none}: there is no such folder.\n"


@pytest.mark.parametrize("module", ["tests.golden.__main__", "tests.derived"])
def test_a_developer_s_own_formats_change_nothing_that_is_kept(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / ".config" / "rollcall" / "formats"
    own.mkdir(parents=True)
    (own / "acme.toml").write_text("no format")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("ROLLCALL_FORMATS")
    is_refused = [sys.executable, "-c", "import rollcall.inputs.printed.reading"]
    is_unread = [sys.executable, "-c", f"import {module}"]
    for command, status in ((is_refused, 1), (is_unread, 0)):
        assert subprocess.run(command, cwd=ROOT, stderr=subprocess.DEVNULL, check=False).returncode == status
