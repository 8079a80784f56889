"""The class data archive: made once for a Java and a set of JARs, made anew when they change, and never required."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from rollcall.jobs.spark import archive
from rollcall.jobs.spark.archive import archive_options, archive_path, make_archive
from rollcall.jobs.spark.jars import JAR_NAMES
from rollcall.jobs.spark.session import BRIEF, java_options
from rollcall.programs.preflight import Missing

Java = Callable[[str], dict[str, str]]


@pytest.fixture
def jars(tmp_path: Path) -> Path:
    folder = tmp_path / "jars"
    folder.mkdir()
    for name in JAR_NAMES:
        (folder / name).write_bytes(b"classes")
    return folder


@pytest.fixture
def java(tmp_path: Path) -> Java:
    """The environment of a Java of its own."""

    def install(version: str) -> dict[str, str]:
        home = tmp_path / f"jdk-{version}"
        (home / "bin").mkdir(parents=True)
        (home / "bin" / "java").touch(mode=0o755)
        (home / "release").write_text(f'JAVA_VERSION="{version}"')
        return {"JAVA_HOME": str(home)}

    return install


def test_another_java_or_another_jar_asks_for_another_archive(jars: Path, java: Java) -> None:
    first, other_java = java("17.0.15"), java("21.0.2")
    path = archive_path(first, jars)
    assert archive_path(other_java, jars) != path
    changed = jars / JAR_NAMES[0]
    os.utime(changed, ns=(0, changed.stat().st_mtime_ns + 1))
    assert archive_path(first, jars) != path


def test_an_archive_is_made_once_and_takes_the_place_of_the_last_one(
    jars: Path, java: Java, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    def write(what: str, command: list[str], environ: dict[str, str]) -> None:
        made.append(what)
        Path(command[-1]).write_bytes(b"archive")

    monkeypatch.setattr(archive, "run_online", write)
    environ = java("17.0.15")
    old = jars / "classes-0123456789abcdef.jsa"
    old.write_bytes(b"of another Java")
    make_archive(environ, jars)
    make_archive(environ, jars)
    assert len(made) == 1
    assert list(jars.glob("*.jsa")) == [archive_path(environ, jars)]


def test_an_archive_that_cannot_be_made_is_reported_in_a_sentence_and_leaves_nothing(
    jars: Path, java: Java, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(what: str, command: list[str], environ: dict[str, str]) -> None:
        Path(command[-1]).write_bytes(b"half")
        raise Missing(f"{what}: python failed; its last words were\n  No space left on device")

    monkeypatch.setattr(archive, "run_online", fail)
    make_archive(java("17.0.15"), jars)
    assert sorted(path.name for path in jars.iterdir()) == sorted(JAR_NAMES)
    said = capsys.readouterr().out
    assert said.startswith("rollcall: Spark's classes could not be kept ready (No space left on device)")
    assert said.count("\n") == 1


def test_a_session_uses_the_archive_where_there_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "classes.jsa"
    monkeypatch.setattr(archive, "archive_path", lambda: path)
    assert archive_options() == ""
    path.touch()
    assert archive_options().startswith(f"-XX:SharedArchiveFile={path} -Xshare:auto")
    assert archive_options() in java_options(is_brief=False)


def test_only_a_brief_session_compiles_soon_rather_than_well() -> None:
    assert BRIEF in java_options(is_brief=True)
    assert BRIEF not in java_options(is_brief=False)
