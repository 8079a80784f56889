"""The command `rollcall`: what its help shows, how its words are read, and how a mistake in them is reported."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import pytest

from rollcall.__main__ import PLACES, command, main
from tests.command_run import ran
from tests.source_tree import ROOT

MAKEFILE = (ROOT / "Makefile").read_text()
HEAVY = ("pyspark", "pandas", "numpy", "pyarrow", "rich", "deltalake", "kio", "kafka")


def subcommand(name: str) -> click.Command:
    found = command.get_command(click.Context(command), name)
    assert found is not None
    return found


@contextmanager
def arguments_of(name: str, *words: str) -> Iterator[dict[str, object]]:
    """The arguments that a subcommand's body would get from these words."""
    with subcommand(name).make_context(name, list(words)) as context:
        yield context.params


# ---------------------------------------------------------------- help


def test_the_package_installs_the_command() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert scripts == {"rollcall": "rollcall.__main__:main"}


def test_alone_it_lists_every_subcommand_with_a_whole_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    listed = dict(
        re.findall(r"^  (\w+) +([A-Z].*)$", capsys.readouterr().out.partition("Start here:")[2], re.MULTILINE)
    )
    assert [*listed] == [*PLACES]
    assert all(sentence.endswith(".") and "..." not in sentence for sentence in listed.values())


@pytest.mark.parametrize("name", PLACES)
def test_help_shows_examples_that_are_understood_as_they_stand(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    shown = capsys.readouterr().out
    lines = shown.partition("For example:\n")[2].splitlines()
    examples = [line.strip() for line in lines if line.startswith("    rollcall ")]
    assert len(examples) >= 1
    for example in examples:
        program, subject, *words = shlex.split(example.partition(" < ")[0])
        assert (program, subject) == ("rollcall", name)
        with arguments_of(name, *words):
            pass


@pytest.mark.parametrize(
    ("words", "usual"),
    [(["help"], ["--help"]), (["help", "why"], ["why", "--help"]), (["version"], ["--version"])],
)
def test_help_and_version_are_words_too(words: list[str], usual: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    said = []
    for each in (words, usual):
        assert main(each) == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1] != ""


@pytest.mark.parametrize("name", ["status", "check"])
def test_a_home_is_named_by_a_word_or_by_an_option(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = []
    for words in ([str(tmp_path)], ["--home", str(tmp_path)]):
        assert main([name, *words]) == 2
        said.append(capsys.readouterr().err)
    assert said[0] == said[1]
    assert str(tmp_path) in said[0]


@pytest.mark.parametrize("name", PLACES)
def test_every_option_says_what_it_means(name: str) -> None:
    options = [each for each in subcommand(name).params if isinstance(each, click.Option)]
    assert all(option.help or option.name == "form" for option in options)


VARIABLES = {
    "ROLLCALL_HOME": "--home",
    "WHAT": "run|test|history",
    "Q": "QUERY",
    "LOG": "LOG",
    "FROM": "LOG",
    "CLUSTER": "CLUSTER",
    "GROUP": "GROUP",
    "DEMO": "--demo",
}


@pytest.mark.parametrize("name", [name for name in PLACES if name not in ("trace", "package")])
def test_options_are_named_as_the_makefiles_variables(name: str) -> None:
    (about,) = re.findall(rf"^{name}: .*?## (.*)$", MAKEFILE, re.MULTILINE)
    params = subcommand(name).params
    names = {opt for each in params for opt in each.opts}
    names |= {str(each.metavar).removesuffix("...").strip("[]") for each in params}
    for variable in re.findall(r"\b([A-Z][A-Z_]*)=", about):
        assert VARIABLES.get(variable, f"--{variable.lower().replace('_', '-')}") in names, variable


# ---------------------------------------------------------------- words


def test_nothing_heavy_is_imported_before_a_question_is_understood() -> None:
    program = (
        "import sys, rollcall.__main__ as rollcall, rollcall.cli.commands.asking as asking\n"
        "asking.sql.callback = lambda **words: print(words['query'], *sys.modules)\n"
        "rollcall.main(['sql', 'select 1'])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    said, *modules = done.stdout.removeprefix("select ").split()
    assert said == "1"
    assert {module.partition(".")[0] for module in modules}.isdisjoint(HEAVY)


def test_a_home_is_named_by_its_option_else_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for environment, words, home in (
        ("", [], ".rollcall"),
        ("/a", [], "/a"),
        ("/a", ["--home", "/b"], "/b"),
        ("/a", ["--home", ""], ".rollcall"),
    ):
        monkeypatch.setenv("ROLLCALL_HOME", environment)
        with arguments_of("why", *words, "g") as given:
            assert given["home"] == home


def test_what_a_log_command_is_given() -> None:
    words = ["--set", "a=1", "--set", "b=2", "--zone", "Asia/Kolkata", "--fresh", "--home", "h", "x.log"]
    with arguments_of("replay", *words) as given:
        by = {"engine": "processes", "processes": None}
        expected = {"logs": ("x.log",), "given": ("a=1", "b=2"), "zone": "Asia/Kolkata", "home": "h", "fresh": True}
        assert given == expected | by
    with arguments_of("replay", "x.log", "--engine", "spark", "--processes", "3") as given:
        assert (given["engine"], given["processes"]) == ("spark", 3)
    with arguments_of("whatif", "x.log", "--zone", "") as given:
        assert (given["zone"], given["form"], given["was"]) == ("UTC", "table", ())


def test_what_a_run_is_given() -> None:
    words = ["--conf", "my.conf", "--listen", "h:1", "--no-demo", "--demo-seconds", "-1"]
    with arguments_of("run", *words) as given:
        assert given["conf"] == Path("my.conf")
        assert (given["listen"], given["topics"], given["demo"], given["demo_seconds"]) == ("h:1", "", False, "-1")


@pytest.mark.parametrize("group", ["-g", "--help", "a b", "it's", 'a"b', "pay$HOME", "`x`", "a\nb", "%s{0}"])
def test_a_group_reaches_the_command_as_it_is_from_the_shell_and_from_make(group: str, tmp_path: Path) -> None:
    home = str(tmp_path / "none")
    spelt = f"GROUP={group.replace('$', '$$')}"
    recipe = [
        "make",
        "--no-print-directory",
        "-o",
        "jars",
        f"ROLLCALL={sys.executable} {ROOT}/tests/jobs/echo_words.py",
    ]
    made = subprocess.run([*recipe, "why", spelt], cwd=ROOT, capture_output=True, text=True, check=True)
    assert made.stdout == repr(["why", "--", group]) + "\n"
    with arguments_of("why", "--home", home, "--", group) as given:
        assert given["group"] == group


@pytest.mark.parametrize("given", ["LOG=server.log", "FROM=kafka://b:9092"])
def test_a_shadow_does_not_wait_for_sparks_classes(given: str) -> None:
    planned = subprocess.run(
        ["make", "--dry-run", "shadow", given], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "rollcall.jobs.spark.archive" not in planned.stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("slq", "select 1"), "rollcall: No such command 'slq'. Did you mean 'sql'? See rollcall --help."),
        (
            ("replay", "--frehs", "x"),
            "rollcall: No such option '--frehs'. Did you mean '--fresh'? See rollcall replay --help.",
        ),
        (("sql",), "rollcall: Missing argument 'QUERY'. See rollcall sql --help."),
        (("sql", "--format", "xml", "x"), "rollcall: --format xml: is not one of table, json, csv, csv-raw."),
        (("why", "a", "b"), "rollcall: Got unexpected extra argument (b). See rollcall why --help."),
        (("sql", "--at"), "rollcall: Option '--at' requires an argument. See rollcall sql --help."),
    ],
)
def test_a_word_that_cannot_be_understood_is_one_sentence(
    words: tuple[str, ...], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    shown = capsys.readouterr()
    assert shown.err.startswith(says)
    assert (shown.out, shown.err.count("\n")) == ("", 1)


# ---------------------------------------------------------------- the shell


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("rollcall wh", {"why", "whatif"}),
        ("rollcall sql --fo", {"--format"}),
        ("rollcall sql --format ", {"table", "json", "csv", "csv-raw"}),
        ("rollcall gateway --up", {"--upstream"}),
    ],
)
def test_the_shell_completes_commands_options_and_their_words(line: str, wanted: set[str]) -> None:
    words = line.split(" ")
    _, out, _ = ran(
        _ROLLCALL_COMPLETE="bash_complete", COMP_WORDS=line, COMP_CWORD=str(len(words) - 1), COMP_POINT=str(len(line))
    )
    assert {row.partition(",")[2] for row in out.splitlines()} == wanted


def test_the_shells_are_given_their_scripts() -> None:
    for shell in ("bash", "zsh", "fish"):
        assert "_ROLLCALL_COMPLETE" in ran(_ROLLCALL_COMPLETE=f"{shell}_source")[1]


def test_help_begins_with_what_a_newcomer_wants_and_fits_a_screen(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    make = subprocess.run(["make", "-s", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for text in (capsys.readouterr().out, make):
        first = re.findall(r"^  (\w[\w-]*)", text.partition("Start here")[2], re.MULTILINE)
        assert [name for name in first if name != "help"][:4] == ["explain", "demo", "run", "page"]
        assert [line for line in text.splitlines() if len(line) > 100] == []
