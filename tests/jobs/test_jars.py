"""The Delta JARs are resolved once, are the ones that fit the installed packages, and a missing one is named."""

from __future__ import annotations

import hashlib
import zipfile
from importlib.metadata import version
from pathlib import Path

import pyspark
import pytest

from rollcall.jobs.spark import jars
from rollcall.jobs.spark.jars import (
    DELTA_COORDINATES,
    DELTA_JARS,
    JAR_NAMES,
    jar_paths,
    main,
    missing_jars,
    resolve,
    shipped_artifacts,
)
from rollcall.jobs.spark.session import spark_session
from rollcall.programs.preflight import Missing


def test_the_jars_are_of_the_installed_spark_and_delta() -> None:
    spark = ".".join(version("pyspark").split(".")[:2])
    assert f"io.delta:delta-spark_{spark}_2.13:{version('delta-spark')}" == DELTA_COORDINATES
    assert f"delta-spark_{spark}_2.13-{version('delta-spark')}.jar" in JAR_NAMES


def test_no_jar_is_one_that_spark_ships() -> None:
    shipped = shipped_artifacts(Path(pyspark.__file__).parent)
    assert {"spark-core_2.13", "hadoop-client-runtime", "jackson-databind"} <= set(shipped)
    assert not [name for name in JAR_NAMES if name.startswith(tuple(f"{artifact}-" for artifact in shipped))]


def test_the_resolved_jars_are_whole_and_hold_what_a_session_names() -> None:
    held = {name for path in jar_paths() for name in zipfile.ZipFile(path).namelist()}
    assert "io/delta/sql/DeltaSparkSessionExtension.class" in held
    assert "org/apache/spark/sql/delta/catalog/DeltaCatalog.class" in held


def test_the_resolved_jars_are_the_pinned_ones() -> None:
    held = {Path(path).name: hashlib.sha256(Path(path).read_bytes()).hexdigest() for path in jar_paths()}
    assert held == DELTA_JARS


def test_a_folder_without_the_jars_is_refused_with_what_to_run(tmp_path: Path) -> None:
    for name in JAR_NAMES[1:]:
        (tmp_path / name).touch()
    assert missing_jars(tmp_path) == [JAR_NAMES[0]]
    with pytest.raises(Missing) as missing:
        jar_paths(tmp_path)
    assert str(missing.value) == f"{tmp_path} does not hold {JAR_NAMES[0]}: run `make jars` once."


def test_a_session_fetches_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """`make shadow` of a request log needs no other command before it."""

    def fetched() -> None:
        raise Missing("asked for")

    monkeypatch.setattr(jars, "missing_jars", lambda *_: [*JAR_NAMES])
    monkeypatch.setattr(jars, "resolve", fetched)
    with pytest.raises(Missing, match="asked for"):
        spark_session("a session")


def test_without_java_the_program_says_so_in_one_sentence_even_when_the_jars_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert main() == 2
    said = capsys.readouterr().err
    assert said.startswith(f"rollcall: JAVA_HOME is {tmp_path}, which has no bin/java: ")
    assert len(said.splitlines()) == 1


def bring(names: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a resolution bring these files, named as Ivy names them, instead of asking a registry."""

    def resolved(what: str, command: list[str], environ: dict[str, str], *, is_said: bool) -> None:
        ivy = next(word.partition("=")[2] for word in command if word.startswith("spark.jars.ivy="))
        for name in names:
            jar = Path(ivy, "jars", f"org.example_{name}")
            jar.parent.mkdir(exist_ok=True)
            jar.write_text(name)

    monkeypatch.setattr(jars, "run_online", resolved)


def test_a_resolution_keeps_the_needed_jars_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "delta-spark_4.1_2.13-4.3.0.jar").touch()
    bring([*JAR_NAMES, "jackson-datatype-jdk8-2.13.5.jar"], monkeypatch)
    monkeypatch.setattr(jars, "DELTA_JARS", {name: hashlib.sha256(name.encode()).hexdigest() for name in JAR_NAMES})
    resolve(tmp_path)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {name: name for name in JAR_NAMES}


def test_a_resolution_that_brings_another_version_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bring([name.replace("0.6.0", "0.7.0") for name in JAR_NAMES], monkeypatch)
    monkeypatch.setattr(jars, "DELTA_JARS", dict.fromkeys(JAR_NAMES[-2:], "whichever"))
    with pytest.raises(Missing, match=r"did not bring unitycatalog-client-0\.6\.0\.jar: "):
        resolve(tmp_path)


def test_a_jar_that_is_not_the_pinned_file_is_refused_by_name_and_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bring(list(JAR_NAMES), monkeypatch)
    with pytest.raises(Missing, match=rf"^{JAR_NAMES[0]} is not the file that was pinned: its SHA-256 is "):
        resolve(tmp_path)
    assert list(tmp_path.iterdir()) == []
