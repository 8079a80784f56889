"""Whatever a client names itself is shown as text: on pages, in pictures, in files."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from rollcall.serve.page.guard import HEADERS
from tests.page.asking import Page, asked
from tests.page.homes import HOSTILE, hostile
from tests.pictures.drawn import TAGS, drawn

UNSEEN = {"\u202e", "\x1b"}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with asked(hostile(tmp_path_factory.mktemp("home"))) as found:
        yield found


def paths(name: str) -> list[str]:
    return [
        "/",
        "/troubles",
        f"/group?group={quote(name)}&at=&topic={quote(name)}&partition=0",
        f"/rebalance?group={quote(name)}&generation=2",
        "/sql?q=select+*+from+members",
        f"/sql?q={quote(name)}",
        f"/group?group={quote(name)}x",
    ]


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_a_page_holds_no_tag_script_or_unseen_character_of_a_client(client: TestClient, name: str) -> None:
    for path in paths(name):
        if len(path) > 60_000:
            continue
        answer = client.get(path)
        assert answer.status_code in (200, 404)
        found = Page(answer.text)
        assert found.inline == []
        assert "<img" not in answer.text
        # The SQL box holds the very query that its user typed.
        assert path == f"/sql?q={quote(name)}" or not UNSEEN & set(found.text)
        assert "1337" not in found.text


def test_a_name_is_shown_as_it_is_spelt(client: TestClient) -> None:
    listed = [row[0] for row in Page(client.get("/").text).tables["groups"][1:]]
    assert "<script>alert(1)</script>" in listed
    assert "a\\u202egnp.exe" in listed
    assert "line\\nforged \\x1b[31mred" in listed
    assert any(text.endswith("... and 31800 more characters") for text in listed)


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_a_picture_holds_no_tag_of_a_client(client: TestClient, name: str) -> None:
    for picture in ("timeline", "ownership", "slack"):
        answer = client.get(f"/pictures/{picture}.svg", params={"group": name})
        assert {tag for tag, _ in drawn(answer.text)} <= TAGS
        assert not UNSEEN & set(answer.text)


def test_a_csv_file_holds_no_formula(client: TestClient) -> None:
    answer = client.get("/answer.csv", params={"q": "select group_id, member_count from groups"})
    assert answer.headers["content-disposition"].startswith("attachment")
    rows = list(csv.reader(io.StringIO(answer.text)))
    assert "'=cmd|' /C calc'!A0" in [row[0] for row in rows]
    assert not [value for row in rows for value in row if value.startswith(("=", "+", "-", "@"))]


def test_a_json_file_holds_the_names_themselves(client: TestClient) -> None:
    answer = client.get("/answer.json", params={"q": "select group_id from groups"})
    assert {json.loads(line)["group_id"] for line in answer.text.splitlines()} == set(HOSTILE)


def test_every_answer_says_what_may_be_loaded(client: TestClient) -> None:
    for path in ("/", "/static/page.css", "/strip.svg", "/nothing"):
        headers = client.get(path).headers
        assert {name: headers[name] for name in HEADERS} == HEADERS
    policy = HEADERS["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
