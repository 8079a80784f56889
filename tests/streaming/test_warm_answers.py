"""A running job's Spark answers in SQL: to its owner alone, one after the other, within bounds, and not for ever."""

from __future__ import annotations

import io
import json
import socket
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs import warm_spark
from jobs.home import Home
from jobs.queries import QueryError
from jobs.spark import warm_answers
from jobs.spark.warm_answers import WarmAnswers, pool_settings
from jobs.sql import answer_query
from jobs.warm_spark import SOCKET_NAME, NoWarmSpark, address_in, ask_running
from tests.views.histories import two_members
from tests.views.story import write_effects

# Nothing that DuckDB is trusted with.
QUERY = "select client_id, sha2(client_id, 256) as hashed from members order by client_id"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    # Longer than a socket's own path may be.
    home = tmp_path / ("deep" * 20) / "home"
    write_effects(home, {"two": two_members().rows})
    return home


@pytest.fixture
def warm(spark: SparkSession, home: Path) -> Iterator[WarmAnswers]:
    warm = WarmAnswers(spark, Home(home))
    warm.start()
    yield warm
    warm.stop()


def asked(home: Path, query: str, form: str = "json", at: str | None = None) -> str:
    out, tables = io.StringIO(), list[Any]()
    ask_running(home, {"query": query, "at": at, "form": form}, out, lambda *table: tables.append(table))
    return out.getvalue() if form != "table" else json.dumps(tables)


def test_a_query_that_duckdb_is_not_trusted_with_is_answered_by_the_running_job(warm: WarmAnswers, home: Path) -> None:
    out, err = io.StringIO(), io.StringIO()
    assert answer_query(Home(home), QUERY, form="csv", out=out, err=err) == 0
    assert [line[:4] for line in out.getvalue().splitlines()] == ["clie", "a,ca", "b,3e"]
    assert err.getvalue() == "rollcall: not proven for DuckDB: sha2(); Spark answers, which takes longer\n"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_what_acts_on_a_terminal_is_written_out_for_one(warm: WarmAnswers, home: Path) -> None:
    query = "select concat('a', chr(27), '[2J') as a, sha2('', 256) as b"
    for out, expected in ((Terminal(), "a\\x1b[2J,"), (io.StringIO(), "a\x1b[2J,")):
        assert answer_query(Home(home), query, form="csv", out=out, err=io.StringIO()) == 0
        assert out.getvalue().splitlines()[1].startswith(expected)


def test_the_socket_is_its_owners_alone_and_gone_with_the_job(warm: WarmAnswers, home: Path) -> None:
    mode = (home / SOCKET_NAME).stat().st_mode
    assert stat.S_ISSOCK(mode)
    assert stat.S_IMODE(mode) == 0o600
    assert not list(home.glob(".sql-*"))
    warm.stop()
    assert not (home / SOCKET_NAME).exists()
    with pytest.raises(NoWarmSpark):
        asked(home, QUERY)


def test_every_form_and_a_moment(warm: WarmAnswers, home: Path) -> None:
    assert [json.loads(line)["client_id"] for line in asked(home, QUERY).splitlines()] == ["a", "b"]
    ((names, are_numbers, rows),) = json.loads(asked(home, QUERY, "table"))
    assert (names, are_numbers, len(rows)) == (["client_id", "hashed"], [False, False], 2)
    assert asked(home, "select count(*) as n from members", "csv", "1970-01-01 00:00:02") == "n\n1\n"


def test_what_spark_refuses_is_the_same_sentence(warm: WarmAnswers, home: Path) -> None:
    with pytest.raises(QueryError, match=r"^query: Division by zero.*\(line 1, position 8\)\.$"):
        asked(home, "select 1 / 0")


def test_several_at_once_are_answered_one_after_the_other(
    warm: WarmAnswers, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warm_spark, "TAKEN_S", 60.0)
    told: list[str] = []
    askers = [threading.Thread(target=lambda: told.append(asked(home, QUERY))) for _ in range(3)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()
    assert len(told) == 3
    assert len(set(told)) == 1


def test_what_takes_too_long_or_is_too_much_is_given_up_and_the_next_is_answered(
    warm: WarmAnswers, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warm_answers, "MOST_CHARACTERS", 100)
    with pytest.raises(NoWarmSpark, match="too long for it"):
        asked(home, "select * from effects")
    monkeypatch.undo()
    monkeypatch.setattr(warm_answers, "LONGEST_S", 0.5)
    with pytest.raises(NoWarmSpark, match="took too long"):
        asked(home, "select count(*) from range(100000000) a join range(10000) b on a.id % 7 = b.id % 7 + 1")
    monkeypatch.undo()
    assert asked(home, "select 1 as x", "csv") == "x\n1\n"


def test_what_is_no_question_ends_nothing(warm: WarmAnswers, home: Path) -> None:
    with pytest.raises(QueryError):
        ask_running(home, {"query": "drop table x", "at": None, "form": "csv"}, io.StringIO(), print)
    assert asked(home, "select 1 as x", "csv") == "x\n1\n"


def test_a_jobs_batches_come_before_questions() -> None:
    settings = pool_settings()
    assert settings["spark.scheduler.mode"] == "FAIR"
    assert Path(settings["spark.scheduler.allocation.file"].removeprefix("file://")).is_file()


def test_what_is_no_question_ends_no_answering(warm: WarmAnswers, home: Path) -> None:
    for nonsense in (b"{}\n", b"[]\n", b"7\n", b"not json\n"):
        with socket.socket(socket.AF_UNIX) as asking, address_in(home) as address:
            asking.connect(address)
            asking.sendall(nonsense)
            asking.settimeout(30)
            assert b"done" not in asking.recv(1000)
    assert asked(home, "select 1 as one", "csv").splitlines() == ["one", "1"]
