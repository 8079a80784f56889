"""Errors name an option or argument as the command has it, also after make."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from rollcall.__main__ import command, main
from tests.source_tree import ROOT

KILLED = str(ROOT / "tests" / "printed" / "brokers" / "d-kill.log.gz")
NAME = re.compile(r"(?<![^\s(`])([A-Z][A-Z_]+)=")
OF_OTHERS = {"DEBUG", "KEY"}
"""Kafka-node's variable, and a placeholder."""
OPTION = re.compile(r"--[a-z][a-z-]*")


def options_of(name: str) -> set[str]:
    called = command.get_command(click.Context(command), name)
    assert called is not None
    return {option for param in called.params for option in (*param.opts, *param.secondary_opts)}


def named_in_source() -> Iterator[tuple[str, str]]:
    """The variables of make that a text of the product begins a mention with, each with its place."""
    for package in sorted({path.parent for path in ROOT.glob("*/__init__.py")} - {ROOT / "tests", ROOT / "benchmarks"}):
        for path in sorted(package.rglob("*.py")):
            tree = ast.parse(path.read_text())
            documented = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
            for node in ast.walk(tree):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented:
                    for name in NAME.findall(node.value):
                        yield name, f"{path.relative_to(ROOT)}:{node.lineno}"


def test_no_sentence_names_a_variable_of_make() -> None:
    assert not {(name, place) for name, place in named_in_source() if name not in OF_OTHERS}


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        (["why", "g", "--generation", "x"], "--generation x: is not a whole number."),
        (["why", "", "--home", "."], "GROUP names no group."),
        (["gateway", "--listen", "8099x"], "--listen 8099x: is not of the form host:port"),
        (["gateway", "--metrics", "q"], "--metrics q: is not of the form host:port"),
        (["run", "--no-demo", "--listen", "8099x"], "--listen 8099x: is not of the form host:port"),
        (["run", "--upstream", "q"], "--upstream q: is not of the form host:port"),
        (["run", "--topics", "x"], "--topics x: 'x' is not of the form topic:partitions"),
        (["gateway", "--topics", "t:4", "--upstream", "h:1"], "--topics: the upstream has the topics; only without "),
        (["why", "g", "--format", "xml"], "--format xml: is not one of text, json."),
        (["why", "g", "--at", "soon"], "--at soon: invalid time; expected "),
        (["explain", "no-such.log"], "no-such.log: there is no such file."),
        (["explain", KILLED, "--group", "g"], f"g: no such group in {KILLED}; "),
        (["explain", KILLED, "--zone", "Nowhere"], "--zone Nowhere: is not a time zone's name"),
        (["explain", KILLED, "--until", "soon"], "--until soon: invalid time; expected "),
        (["replay", "no-such.log"], "no-such.log: there is no such file or folder"),
        (["replay", "../no-such"], "rollcall: ../no-such: there is no such file or folder"),
        (["replay", "no-such", "nor-this"], "no-such: there is no such file or folder"),
        (["replay", KILLED, "--set", "a"], "--set a: is not of the form key=value"),
        (["whatif", KILLED], "--set names nothing to try, such as --set "),
        (["shadow", "kafka://h:1", "--zone", "Asia/Kolkata"], "kafka://h:1: --zone and --set of a broker are said of"),
        (["shadow", KILLED, "--no-offsets"], f"{KILLED}: --conf and --offsets are said of a cluster"),
        (["page", "--listen", "8099"], "--page 8099: is not of the form host:port"),
        (["page", "--listen", "0.0.0.0:80"], "--page 0.0.0.0:80: others reach it, so it needs gateway.users and "),
        (["demo", "--listen", "8099"], "--page 8099: is not of the form host:port"),
        (["export", "--listen", "8099"], "--listen 8099: is not of the form host:port"),
        (["run", "--page", "8099"], "--page 8099: is not of the form host:port"),
        (["pictures", "g", "--minutes", "long"], "--minutes long: is not a number."),
        (["sql", "select chr(65)"], "rollcall: query: this needs Spark, because of chr(): use --engine spark."),
        (["sql", "selec 1"], 'query: syntax error at "selec" (line 1, column 1). Did you mean SELECT? If Spark knows '),
    ],
)
def test_an_error_names_what_was_typed(
    typed: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "home"
    assert main(["replay", str(ROOT / "tests" / "captures" / "d-kill"), "--home", str(home)]) == 0
    capsys.readouterr()
    if typed[0] in ("why", "sql", "pictures", "page", "export"):
        typed = [*typed, "--home", str(home)] if "--home" not in typed else typed
    monkeypatch.chdir(tmp_path)
    status = main(typed)
    said = capsys.readouterr().err
    assert status == 2, said
    assert says in said, said
    assert not NAME.search(said), said
    assert {*OPTION.findall(said)} <= options_of(typed[0]), said
