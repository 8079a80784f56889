"""The page's server ends what it has begun, and shows what is true when it is asked."""

from __future__ import annotations

import queue
import threading
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from page import live
from page.history import History
from page.serving import PageServer
from page.settings import settings_of
from tests.page.asking import asked
from tests.views.histories import two_members
from tests.views.story import write_effects


def test_a_stream_of_events_is_whole_when_the_server_stops(tmp_path: Path) -> None:
    write_effects(tmp_path, {"two": two_members().rows})
    server = PageServer(tmp_path, "a home", settings_of("127.0.0.1:0", {}))
    addresses: queue.Queue[str] = queue.Queue()
    serving = threading.Thread(target=server.run, args=(addresses.put,))
    serving.start()
    try:
        with urllib.request.urlopen(f"{addresses.get(timeout=30)}events", timeout=30) as stream:
            assert stream.readline() == b"retry: 2000\n"
            server.stop()
            # Raises IncompleteRead of a stream that is broken off.
            stream.read()
    finally:
        server.stop()
        serving.join(30)
    assert not serving.is_alive()


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
    monkeypatch.setattr("page.history.time.monotonic", lambda: clock[0])
    write_effects(tmp_path, {"first": two_members().rows})
    history = History(tmp_path)
    history.refresh()
    history.make_lists()
    lists, _ = history._kept
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
    monkeypatch.setattr("page.history._RECENT_AT_MOST", 60)
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
