"""The SQL box: the views' answers, bounded in rows and time, and nothing beyond the home."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from duck_sql.engine import ask
from page import queries
from page.history import History
from page.queries import QueryRefused
from tests.page.asking import Page, asked
from tests.page.homes import recorded

QUERIES = (
    "select group_id, count(*) as n from rebalances group by group_id order by group_id",
    "select client_id, session_timeout_ms from members order by client_id",
    "select effect, count(*) as n from effects group by effect order by effect",
    "select count(*) as n from quarantine",
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory.mktemp("home"), "d-kill")


@pytest.fixture(scope="module")
def client(home: Path) -> Iterator[TestClient]:
    with asked(home) as found:
        yield found


@pytest.mark.parametrize("query", QUERIES)
def test_an_answer_is_that_of_make_sql(client: TestClient, home: Path, query: str) -> None:
    expected = ask(home, query)
    shown = Page(client.get("/sql", params={"q": query}).text).tables["answer"]
    assert shown[0] == [column.name for column in expected.columns]
    assert shown[1:] == [[str(value) for value in row] for row in expected.rows]


@pytest.mark.parametrize(
    "query",
    [
        "drop table effects",
        "insert into effects select * from effects",
        "create table x as select 1",
        "select * from read_csv('/etc/passwd')",
        "select * from read_text('/etc/passwd')",
        "select * from '/etc/passwd'",
        "select * from glob('/*')",
        "select getenv('HOME')",
        "copy effects to '/tmp/x.csv'",
        "attach '/tmp/x.db'",
        "install httpfs",
        "load httpfs",
        "set memory_limit = '100GB'",
        "pragma database_list",
        "select * from raw_effects",
        "select * from all_groups",
        "select * from duckdb_settings()",
        "select * from nothing",
        "select 1; select 2",
    ],
)
def test_a_query_reaches_no_file_setting_or_network_and_writes_nothing(client: TestClient, query: str) -> None:
    answer = client.get("/sql", params={"q": query})
    assert answer.status_code == 200
    found = Page(answer.text)
    assert 'role="alert"' in answer.text
    assert "answer" not in found.tables
    assert client.get("/answer.csv", params={"q": query}).status_code == 400


def test_an_answer_is_cut_and_says_so(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "MOST_ROWS", 10)
    with asked(home) as client:
        answer = client.get("/sql", params={"q": "select group_id from effects"}).text
    assert len(Page(answer).tables["answer"]) == 11
    assert "the answer is cut at 10 rows" in answer


def test_a_query_that_takes_too_long_is_stopped(home: Path) -> None:
    history = History(home)
    history.refresh()
    endless = "select count(*) as n from effects a cross join effects b cross join effects c cross join effects d"
    with pytest.raises(QueryRefused, match=r"stopped after 0\.3 s"):
        queries.answer(history, endless, None, 0.3)
    assert queries.answer(history, "select 1 as a", None).rows == [(1,)]
    history.close()
