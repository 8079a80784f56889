"""What the machine lacks is reported in one sentence with exit status 2, and never as a stack trace."""

from __future__ import annotations

import ast
import os
import re
import sys
from pathlib import Path

import pytest

from rollcall.programs.preflight import (
    CHECKS,
    Missing,
    check_java,
    check_python,
    find_java,
    is_network_missing,
    java_major,
    main,
    run_online,
)
from tests.source_tree import ROOT

BEFORE_SET_UP = [
    *(ROOT / "rollcall" / "programs" / f"{name}.py" for name in ("preflight", "errors", "running", "visible")),
    ROOT / "rollcall" / "__init__.py",
    ROOT / "rollcall" / "programs" / "__init__.py",
]
PRINTED_BY_17 = 'openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime Environment (build 17.0.15+6)'


def fake_java(folder: Path, prints: str, status: int = 0) -> Path:
    """A program `java` in the folder that prints the text on standard error, as Java does, and exits."""
    java = folder / "java"
    folder.mkdir(parents=True, exist_ok=True)
    java.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{prints}\nEND\nexit {status}\n")
    java.chmod(0o755)
    return java


@pytest.mark.parametrize("version", [(3, 11), (3, 12), (3, 14)])
def test_python_3_11_and_newer_will_do(version: tuple[int, int]) -> None:
    check_python(version)


@pytest.mark.parametrize("version", [(3, 6), (3, 10)])
def test_an_older_python_is_named_with_the_version_that_is_needed(version: tuple[int, int]) -> None:
    with pytest.raises(Missing, match=rf"^Python 3\.{version[1]} is too old: install Python 3\.11 or newer\.$"):
        check_python(version)


def test_a_python_that_cannot_make_environments_learns_which_package_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "ensurepip", None)
    with pytest.raises(Missing, match=r"^this Python has no ensurepip: install it \(Debian's package is python3-venv"):
        check_python((3, 11))


@pytest.mark.parametrize("path", BEFORE_SET_UP, ids=lambda path: path.stem)
def test_an_old_python_can_still_read_the_script(path: Path) -> None:
    tree = ast.parse(path.read_text(), feature_version=(3, 6))
    assert not any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in ast.walk(tree))


@pytest.mark.parametrize(
    ("printed", "major"),
    [
        (PRINTED_BY_17, 17),
        ('java version "1.8.0_412"', 8),
        ('openjdk version "21" 2023-09-19', 21),
        ('Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "25-ea" 2025-09-16', 25),
        ("The operation couldn't be completed. Unable to locate a Java Runtime.", 0),
        ("", 0),
    ],
)
def test_the_major_version_of_java_is_read_from_what_it_prints(printed: str, major: int) -> None:
    assert java_major(printed) == major


def test_java_home_goes_before_the_path(tmp_path: Path) -> None:
    home, other = fake_java(tmp_path / "home" / "bin", PRINTED_BY_17), fake_java(tmp_path / "other", "")
    assert find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": str(other.parent)}) == str(home)
    assert find_java({"JAVA_HOME": "", "PATH": str(other.parent)}) == str(other)


@pytest.mark.parametrize(
    ("prints", "status", "said"),
    [
        ('openjdk version "11.0.2" 2019-01-15', 0, "is Java 11, which is too old: install Java 17 or newer."),
        ('java version "1.8.0_412"', 0, "is Java 8, which is too old: install Java 17 or newer."),
        ("Unable to locate a Java Runtime.", 1, "did not tell its version: install Java 17 or newer."),
        (PRINTED_BY_17, 1, "did not tell its version: install Java 17 or newer."),
    ],
)
def test_a_java_that_will_not_do_is_named_with_its_version(tmp_path: Path, prints: str, status: int, said: str) -> None:
    java = fake_java(tmp_path, prints, status)
    with pytest.raises(Missing) as refused:
        check_java({"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"})
    assert str(refused.value) == f"{java} {said}"


def test_a_java_that_does_not_start_is_named(tmp_path: Path) -> None:
    java = tmp_path / "java"
    java.write_text("#!/no/such/interpreter\n")
    java.chmod(0o755)
    with pytest.raises(Missing, match=rf"^{re.escape(str(java))} does not start \(.*\): install Java 17 or newer\.$"):
        check_java({"PATH": str(tmp_path)})


def test_java_17_will_do(tmp_path: Path) -> None:
    fake_java(tmp_path, PRINTED_BY_17)
    check_java({"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"})


@pytest.mark.parametrize(
    "output",
    [
        "WARNING: Retrying (Retry(total=4)) after connection broken by 'NewConnectionError('Failed to establish')'",
        "NameResolutionError: Failed to resolve 'registry.example'",
        "ConnectTimeoutError(<connection>, 'Connection to registry.example timed out.')",
        "\tHost registry.example not found. url=a.jar",
        "java.net.UnknownHostException: registry.example",
        "Server access error: java.net.ConnectException: Connection refused (url=a.jar)",
    ],
)
def test_a_missing_network_is_recognised_in_the_words_of_the_package_tools(output: str) -> None:
    assert is_network_missing(output)


def test_a_version_that_does_not_exist_is_no_missing_network() -> None:
    assert not is_network_missing("ERROR: No matching distribution found for pyspark==99.0")


def program(*prints: str, status: int = 0) -> list[str]:
    """A command that prints the lines and exits with the status."""
    return [sys.executable, "-c", f"print({chr(10).join(prints)!r}); raise SystemExit({status})"]


def test_a_command_that_succeeds_is_quiet_but_for_what_it_does(capsys: pytest.CaptureFixture[str]) -> None:
    run_online("Fetching a thing", program("chatter"))
    assert capsys.readouterr().out == "Fetching a thing ...\n"


def test_a_command_that_fails_otherwise_shows_its_last_words_alone() -> None:
    with pytest.raises(Missing) as missing:
        run_online("Fetching a thing", program(*(f"line {n}." for n in range(40)), status=1))
    assert "line 39." in str(missing.value)
    assert "line 25." in str(missing.value)
    assert "line 24." not in str(missing.value)


def test_the_checks_end_with_0_when_nothing_is_missing() -> None:
    assert main(list(CHECKS)) == 0


@pytest.mark.parametrize(
    ("arguments", "environ", "said"),
    [
        (["java"], {}, "Java was not found: install Java 17 or newer and put it on the PATH or let JAVA_HOME name it."),
        (
            ["java"],
            {"JAVA_HOME": "/no/java/here"},
            "JAVA_HOME is /no/java/here, which has no bin/java: let it name a Java 17 or newer, or unset it.",
        ),
        (["cobol"], {}, "no check is named cobol: there are python and java."),
        (
            ["run", "Fetching", "it", "--", *program("NameResolutionError", "Traceback", status=1)],
            {},
            "Fetching it: no package registry could be reached; connect to a network and try again.",
        ),
    ],
)
def test_the_script_says_one_sentence_and_ends_with_2(
    arguments: list[str],
    environ: dict[str, str],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    for name, value in {"PATH": "", **environ}.items():
        monkeypatch.setenv(name, value)
    assert main(arguments) == 2
    assert capsys.readouterr().err == f"rollcall: {said}\n"
