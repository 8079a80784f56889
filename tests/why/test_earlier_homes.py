"""What an earlier version said of a home, this one says: every row of every view, and every rebalance explained."""

from __future__ import annotations

import html
import io
import json
import re
from collections import Counter
from typing import Any

import pytest

from rollcall.cli.sql import answer_query
from rollcall.cli.why import answer
from rollcall.programs.version import VERSION
from rollcall.tables.home import Home
from tests.page.asking import asked
from tests.streaming.earlier_homes import CLUSTERS, VERSIONS, WITH_CLUSTER, Earlier, unpacked

OLDEST = "0.2.0"
ALWAYS = {OLDEST, VERSION + WITH_CLUSTER}

CORRECTED = {f"{group} 3": f", {group}-2 also joined" for group in ("fares-svc", "seats-svc")}
"""What versions said wrongly, by group and generation: it joined as epoch 3 was over, and set the next one off."""

RENAMED = {"heard of last": "last seen", "its own words": "reason given", "told": "notified"}
SILENT = "sent no heartbeat within its session timeout"
NOT_RENEWED = "sent nothing that renews its session for its session timeout"
"""What is said instead if a request came meanwhile."""
REWORDED = (
    (r" \(concluded from what followed, not told\)", " (inferred)"),
    (r" \(of unknown length\)", ""),
    (
        r"it is open what set the rebalance off \((.*?), by (\S+) or (.*?), by \2\)",
        r"\2 set it off (inferred; \1 or \3)",
    ),
    ("was silent for its whole session timeout", SILENT),
    ("somebody consumed all the time", "at least one member consumed all the time"),
    ("single partitions had no owner", "some partitions had no owner"),
)
"""How a sentence of earlier versions is worded now."""


@pytest.fixture(
    scope="module",
    params=[name if name in ALWAYS else pytest.param(name, marks=pytest.mark.nightly) for name in VERSIONS + CLUSTERS],
)
def earlier(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Earlier:
    return unpacked(request.param, tmp_path_factory.mktemp("homes"))


def as_reported(rows: list[dict[str, Any]], columns: set[str]) -> list[str]:
    """Rows as texts in an order of their own, of these columns; nulls are left out."""
    reported = ({name: row[name] for name in sorted(columns & row.keys()) if row[name] is not None} for row in rows)
    return sorted(json.dumps(row) for row in reported)


def test_every_view_has_the_rows_that_the_version_answered(earlier: Earlier) -> None:
    for name, reported in earlier.reported.items():
        assert reported.views["rebalances"]
        for view, rows in reported.views.items():
            out = io.StringIO()
            answer_query(Home(earlier.home(name)), f"SELECT * FROM {view}", form="json", engine="duckdb", out=out)
            now = [json.loads(line) for line in out.getvalue().splitlines()]
            columns = {column for row in rows for column in row}
            assert as_reported(now, columns) == as_reported(rows, columns), (name, view)


def values_of(lines: list[dict[str, Any]], renamed: dict[str, str]) -> Counter[str]:
    """Lines of an explanation without their wording, which is not promised.

    A length of a standstill of which it is not known when it began is left out: it was none.
    """
    if "when it began is not known" in lines[0]["text"]:
        lines = [{"part": "stopped"} | {"about": "nobody"} if line["about"] == "nobody" else line for line in lines]
    kept = [{name: value for name, value in line.items() if name != "text" and value is not None} for line in lines]
    return Counter(
        json.dumps(line | {"about": renamed.get(line["about"], line["about"])}, sort_keys=True) for line in kept
    )


def in_words_of_now(sentence: str) -> str:
    for earlier, now in REWORDED:
        sentence = re.sub(earlier, now, sentence)
    return sentence


def test_every_rebalance_is_explained_as_the_version_explained_it(
    earlier: Earlier, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, reported in earlier.reported.items():
        assert reported.why
        for which, lines in reported.why.items():
            group, _, generation = which.rpartition(" ")
            answer(Home(earlier.home(name)), group, generation, "", "json")
            now = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
            is_consumer_group = ": epoch " in now[0]["text"]
            renamed = RENAMED | ({"rejoined": "given_up"} if is_consumer_group else {})
            assert values_of(lines, renamed) - values_of(now, {}) == Counter(), which
            assert [line["text"].replace(NOT_RENEWED, SILENT) for line in now if line["about"] == "sentence"] == [
                in_words_of_now(line["text"].replace(CORRECTED.get(which, ""), ""))
                for line in lines
                if line["about"] == "sentence"
            ]


@pytest.mark.nightly
def test_the_page_shows_every_group_and_every_rebalance(earlier: Earlier) -> None:
    for name, reported in earlier.reported.items():
        with asked(earlier.home(name)) as client:
            overview = client.get("/").text
            for row in reported.views["groups"]:
                assert html.escape(row["group_id"]) in overview
                assert client.get("/group", params={"group": row["group_id"]}).status_code == 200
            for which in reported.why:
                group, _, generation = which.rpartition(" ")
                shown = client.get("/rebalance", params={"group": group, "generation": generation})
                assert (shown.status_code, group in shown.text) == (200, True)


def test_homes_of_the_first_version_and_of_this_one_are_kept() -> None:
    assert {*VERSIONS, *CLUSTERS} >= {VERSION, *ALWAYS}
