"""The page's server ends what it has begun, and shows what is true when it is asked."""

from __future__ import annotations

import queue
import socket
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

from rollcall.serve.page import connections, live
from rollcall.serve.page.history import History, make_views
from rollcall.serve.page.serving import PageServer
from rollcall.serve.page.settings import settings_of
from tests.page.asking import asked
from tests.views.histories import two_members
from tests.views.story import write_effects
from tests.waiting import until


@pytest.fixture
def place(tmp_path: Path) -> Iterator[tuple[str, int]]:
    """Where a page is served, until the test ends."""
    write_effects(tmp_path, {"two": two_members().rows})
    with served(tmp_path) as (_, port):
        yield "127.0.0.1", port


@contextmanager
def served(home: Path) -> Iterator[tuple[PageServer, int]]:
    """A page and its port."""
    server = PageServer(home, "a home", settings_of("127.0.0.1:0", {}))
    addresses: queue.Queue[str] = queue.Queue()
    serving = threading.Thread(target=server.run, args=(addresses.put,))
    serving.start()
    try:
        port = urlsplit(addresses.get(timeout=30)).port
        assert port is not None
        yield server, port
    finally:
        server.stop()
        serving.join(30)
    assert not serving.is_alive()


def test_a_stream_of_events_is_whole_when_the_server_stops(tmp_path: Path) -> None:
    write_effects(tmp_path, {"two": two_members().rows})
    with (
        served(tmp_path) as (server, port),
        urllib.request.urlopen(f"http://127.0.0.1:{port}/events", timeout=30) as stream,
    ):
        assert stream.readline() == b"retry: 2000\n"
        server.stop()
        # Raises IncompleteRead of a stream that is broken off.
        stream.read()


def asked_at(place: tuple[str, int], path: str) -> socket.socket:
    """A connection whose request is sent."""
    browser = socket.create_connection(place, timeout=30)
    browser.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    return browser


def test_silent_connections_keep_nobody_out(place: tuple[str, int]) -> None:
    with ExitStack() as stack:
        for _ in range(connections.MOST + 10):
            stack.enter_context(socket.create_connection(place, timeout=30))
        with asked_at(place, "/health") as browser:
            assert browser.recv(100).startswith(b"HTTP/1.1 200 OK")


@pytest.mark.parametrize(
    "sent", [b"", b"GET / HTTP/1.1\r\nHost: loc", b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"]
)
def test_a_request_that_does_not_come_ends_its_connection(
    place: tuple[str, int], monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(connections, "REQUEST_S", 0.1)
    with socket.create_connection(place, timeout=30) as browser:
        browser.sendall(sent)
        while browser.recv(10_000):
            """An answer, where the request was whole."""


def test_an_answer_that_nobody_reads_ends_its_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "READ_S", 0.1)
    write_effects(tmp_path, {"two": two_members().rows})
    query = f"select {','.join([repr('x' * 400)] * 40)} from effects a cross join effects b cross join effects c"
    with served(tmp_path) as (server, port), asked_at(("127.0.0.1", port), f"/answer.csv?{urlencode({'q': query})}"):
        until(lambda: len(server.connections) == 1, "the request")
        until(lambda: len(server.connections) == 0, "its end")


def _status(place: tuple[str, int], path: str) -> bytes:
    with asked_at(place, path) as browser:
        return browser.recv(12)


def test_no_more_listen_than_may_however_quickly_they_come(
    place: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "MOST_LISTENERS", 3)
    with ExitStack() as stack:
        listeners = [stack.enter_context(asked_at(place, "/events")) for _ in range(10)]
        answers = [listener.recv(12) for listener in listeners]
        assert answers.count(b"HTTP/1.1 200") == 3
        assert answers.count(b"HTTP/1.1 503") == 7
    until(lambda: _status(place, "/events") == b"HTTP/1.1 200", "that those who have gone count no longer")


def test_a_page_that_nobody_looks_at_rests_and_shows_what_is_new_to_who_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "UNSEEN_EVERY_S", 1000.0)
    monkeypatch.setattr(live, "FRESH_S", 0.0)
    write_effects(tmp_path, {"first": two_members().rows})
    with asked(tmp_path) as client:
        write_effects(tmp_path, {"second": two_members().rows})
        assert ">second<" in client.get("/").text
        write_effects(tmp_path, {"third": two_members().rows})
        assert "third" in client.get("/answer.csv", params={"q": "select group_id from groups"}).text


def test_who_asks_does_not_wait_for_lists_that_are_being_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "UNSEEN_EVERY_S", 1000.0)
    monkeypatch.setattr(live, "FRESH_S", 0.0)
    is_being_made, may_go_on = threading.Event(), threading.Event()
    make = History._make

    def slow(*words: Any) -> None:
        is_being_made.set()
        assert may_go_on.wait(30)
        make(*words)

    write_effects(tmp_path, {"first": two_members().rows})
    with asked(tmp_path) as client:
        monkeypatch.setattr(History, "_make", slow)
        write_effects(tmp_path, {"second": two_members().rows})
        making = threading.Thread(target=client.get, args=("/",))
        making.start()
        try:
            assert is_being_made.wait(30)
            # What had come by then is there; only lists of all groups are still as they were.
            assert client.get("/group", params={"group": "second"}).status_code == 200
            assert ">first<" in client.get("/").text
        finally:
            may_go_on.set()
            making.join(30)
        monkeypatch.undo()
        monkeypatch.setattr(live, "FRESH_S", 0.0)
        assert ">second<" in client.get("/").text


def test_lists_that_are_made_later_are_news_to_who_has_seen_the_page_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [1000.0]
    monkeypatch.setattr("rollcall.serve.page.history.time.monotonic", lambda: clock[0])
    write_effects(tmp_path, {"first": two_members().rows})
    history = History(tmp_path)
    history.refresh()
    history.make_lists()
    lists, *_ = history._kept
    lists.rests_until = clock[0] + 1
    write_effects(tmp_path, {"second": two_members().rows})
    change = history.refresh(with_beats=False)
    assert change is not None
    assert change.groups == {"second"}
    before = history.seen
    assert len(history.all("SELECT group_id FROM all_groups")) == 1
    assert history.refresh(with_beats=False) is None
    clock[0] += 1
    change = history.refresh(with_beats=False)
    assert change is not None
    assert change.groups == {"second"}
    assert history.seen != before
    assert len(history.all("SELECT group_id FROM all_groups")) == 2
    history.close()


def test_facts_that_are_laid_out_anew_are_all_there_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rollcall.serve.page.history._RECENT_AT_MOST", 60)
    facts = two_members().rows
    write_effects(tmp_path, {"first": facts})
    history = History(tmp_path)
    history.refresh()
    history.make_lists()
    recent = []
    for name in ("second", "third", "fourth"):
        write_effects(tmp_path, {name: facts})
        history.refresh()
        recent.append(len(history.all("SELECT 1 FROM recent_effects")))
    found = history.all("SELECT group_id, count(*) AS n FROM raw_effects GROUP BY ALL ORDER BY ALL")
    assert [row["n"] for row in found] == [len(facts)] * 4
    assert recent == [len(facts), 0, len(facts)]
    history.close()


def test_two_readers_who_ask_at_the_same_moment_are_both_answered(tmp_path: Path) -> None:
    write_effects(tmp_path, {"first": two_members().rows})
    history = History(tmp_path)
    history.refresh()
    with history._cursor() as early, history._cursor() as late:
        for cursor in (early, late):
            cursor.begin()
        for cursor in (early, late):
            make_views(cursor, tmp_path, ["rebalances", "heartbeat_slack"], "true", is_narrow=True)
            assert cursor.execute("SELECT count(*) FROM rebalances").fetchall() == [(2,)]
