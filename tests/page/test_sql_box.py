"""The SQL box: the views' answers, bounded in rows and time, and nothing beyond the home."""

from __future__ import annotations

import asyncio
import os
import queue
import signal
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from html import unescape
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest
from starlette.testclient import TestClient

from rollcall.answers.sql.engine import ask
from rollcall.programs.child_python import module_command
from rollcall.serve.page import queries, sql_processes
from rollcall.serve.page.queries import QueryRefused
from rollcall.serve.page.serving import PageServer
from rollcall.serve.page.settings import settings_of
from rollcall.serve.page.sql_processes import MOST_RUNNING, MOST_WAITING, Busy, SqlProcesses
from tests.page.asking import Page, asked
from tests.page.homes import recorded
from tests.page.hostile_requests import MANY, TOO_COSTLY
from tests.waiting import until, until_true

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
    ("query", "says"),
    [
        ("drop table effects", "Only SELECT statements are allowed."),
        ("explain select 1", "Only SELECT statements are allowed."),
        ("select * from read_text('/etc/passwd')", "This needs Spark, because of "),
        ("select chr(65)", "This needs Spark, because of chr(): use rollcall sql --engine spark."),
        ("select * from nothing", "The table or view `nothing` cannot be found"),
        ("selec 1", 'syntax error at "selec" (line 1, column 1). Did you mean SELECT?'),
        ("select * form groups", 'syntax error at "groups" (line 1, column 15).'),
    ],
)
def test_what_is_refused_is_said_where_the_answer_would_be(client: TestClient, query: str, says: str) -> None:
    answer = client.get("/sql", params={"q": query})
    assert answer.status_code == 200
    found = Page(answer.text)
    assert 'role="alert"' in answer.text
    assert says in unescape(answer.text)
    assert "answer" not in found.tables
    assert client.get("/answer.csv", params={"q": query}).status_code == 400


def test_an_answer_is_cut_and_says_so(client: TestClient) -> None:
    answer = client.get("/sql", params={"q": f"select a.group_id {MANY}"}).text
    assert len(Page(answer).tables["answer"]) == queries.MOST_ROWS + 1
    assert f"the answer is cut at {queries.MOST_ROWS} rows" in answer


def test_an_answer_is_cut_before_it_has_more_than_its_most_cells(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "MOST_CELLS", 100)
    written = queries.answer(home, f"select 1, 2, 3 {MANY}", None, "json")
    assert (written.row_count, written.is_cut) == (33, True)


def test_an_answer_is_cut_before_it_is_longer_than_its_most_bytes(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "MOST_BYTES", 1000)
    written = queries.answer(home, "select effect, group_id from effects", None, "csv")
    assert 800 < len(written.body) <= 1000 + len(b"effect,group_id\n")
    assert written.is_cut
    assert written.body.count(b"\n") == written.row_count + 1
    with pytest.raises(QueryRefused, match="A row of the answer is longer than 1000 bytes"):
        queries.answer(home, "select lpad('x', 2000, 'y') as a", None, "csv")


def with_processes(home: Path, asking: Callable[[SqlProcesses], Awaitable[None]], longest_s: float = 30) -> None:
    """Runs what asks the processes, and ends them."""

    async def run() -> None:
        processes = SqlProcesses(home, longest_s)
        try:
            await asking(processes)
        finally:
            await processes.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    "query",
    [
        pytest.param(query, id=name, marks=() if name == "rows without end" else pytest.mark.nightly)
        for name, query in TOO_COSTLY.items()
    ],
)
def test_a_query_that_costs_too_much_ends_and_the_next_is_answered(home: Path, query: str) -> None:
    async def asking(processes: SqlProcesses) -> None:
        with pytest.raises(QueryRefused, match=r"columns, and|more memory than|stopped after 5 s|needs Spark"):
            await processes.answer(query, None, "html")
        processes._longest_s = 60
        assert (await processes.answer("select 1 as a", None, "csv")).body == b"a\n1\n"

    with_processes(home, asking, longest_s=5)


def test_a_slow_start_of_a_process_does_not_count_as_the_querys_time(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(gate := tmp_path / "gate")
    shell = ("sh", "-c", 'read _ <"$0"; exec "$@"', str(gate))
    monkeypatch.setattr(sql_processes, "module_command", lambda *words: [*shell, *module_command(*words)])

    async def asking(processes: SqlProcesses) -> None:
        asked = asyncio.ensure_future(processes.answer("select 1 as a", None, "csv"))
        await until_true(lambda: processes._processes)
        processes._longest_s = 60
        gate.write_bytes(b"\n")
        assert (await asked).body == b"a\n1\n"

    # A limit that holds during the start has passed by its end.
    with_processes(home, asking, longest_s=0)


def test_queries_wait_for_their_turn_and_too_many_are_asked_to_come_again(home: Path) -> None:
    most = MOST_RUNNING + MOST_WAITING
    # A new process seems to have used what whoever starts it has, which is no reason to end it.
    assert bytearray(600_000_000).count(0)

    async def asking(processes: SqlProcesses) -> None:
        all_asked = (processes.answer(f"select {n} as n", None, "csv") for n in range(most + 3))
        answers = await asyncio.gather(*all_asked, return_exceptions=True)
        written = [answer.body for answer in answers if isinstance(answer, queries.Written)]
        assert written == [f"n\n{n}\n".encode() for n in range(most)]
        assert [type(answer) for answer in answers[most:]] == [Busy] * 3
        assert len(processes._processes) == MOST_RUNNING

    with_processes(home, asking)


def test_a_query_whose_client_has_gone_is_ended(home: Path) -> None:
    async def asking(processes: SqlProcesses) -> None:
        query = TOO_COSTLY["rows without end"]
        gone = [asyncio.ensure_future(processes.answer(query, None, "csv")) for _ in range(MOST_RUNNING)]
        await until_true(lambda: len(processes._processes) == MOST_RUNNING)
        running = list(processes._processes)
        for answer in gone:
            answer.cancel()
        await asyncio.gather(*gone, return_exceptions=True)
        ends = [await asyncio.wait_for(process.wait(), 30) for process in running]
        assert ends == [-signal.SIGKILL] * MOST_RUNNING
        assert (await processes.answer("select 1 as a", None, "csv")).row_count == 1

    with_processes(home, asking)


def test_the_page_ends_what_a_client_asked_that_has_gone(home: Path) -> None:
    server = PageServer(home, "a home", settings_of("127.0.0.1:0", {}))
    addresses: queue.Queue[str] = queue.Queue()
    serving = threading.Thread(target=server.run, args=(addresses.put,))
    serving.start()
    try:
        place = urlsplit(addresses.get(timeout=30))
        path = f"/answer.csv?{urlencode({'q': TOO_COSTLY['rows without end']})}"
        for _ in range(MOST_RUNNING + MOST_WAITING + 5):
            # Were they not ended, the last of them would be asked to come again.
            with socket.create_connection((place.hostname, place.port)) as client:
                client.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        until(lambda: _status(place.netloc, "/answer.csv?q=select+1+as+a") == 200, "an answer")
    finally:
        server.stop()
        serving.join(30)
    assert not serving.is_alive()


def _status(netloc: str, path: str) -> int:
    connection = HTTPConnection(netloc, timeout=30)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    finally:
        connection.close()
