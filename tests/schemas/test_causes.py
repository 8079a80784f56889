"""The table of causes: every cause has its row, and what lists causes lists those of the table."""

from __future__ import annotations

import json
import re

import pytest

from rollcall.answers.views.members_removed import MEMBERS_REMOVED
from rollcall.history.sentences import Terms
from rollcall.history.words import filled
from rollcall.schemas.causes import CAUSES, EXPIRED, LEFT, REMOVING, CauseKind, EndCause, listed, name_of, row_of
from tests.offsets_topic.folded import NAMES as DUMPS
from tests.offsets_topic.folded import capture as topic
from tests.source_tree import ROOT
from tests.why.reading import CAPTURES, capture

LOGS = sorted(path.parent.name for path in CAPTURES.glob("*/requests.log.gz"))


def test_every_cause_has_a_row_and_every_row_a_cause() -> None:
    assert CAUSES.keys() == {*map(str, CauseKind), *map(str, EndCause)}
    assert set(listed()) == set(map(str, CauseKind))
    assert {key for key, row in CAUSES.items() if row.ends} <= set(map(str, EndCause))


def test_what_nobody_wants_and_removes_a_member_is_trouble_on_the_page_too() -> None:
    assert {*REMOVING} == {key for key, row in CAUSES.items() if row.is_trouble} & {*map(str, EndCause)}
    assert [kind for kind in REMOVING if f"'{kind}'" not in MEMBERS_REMOVED.sql] == []
    assert {CAUSES[end].ends for end in EXPIRED} == {"expired"}
    assert {CAUSES[end].ends for end in LEFT} == {"left"}


def test_every_cause_of_a_rebalance_has_a_colour_and_a_name_of_its_own() -> None:
    rows = [CAUSES[key] for key in listed()]
    assert len({row.colour for row in rows}) == len({row.name for row in rows}) == len(rows) >= 15
    assert all(re.fullmatch(r"#[0-9a-f]{6}", row.colour) for row in rows)


def test_every_sentence_can_be_reported_and_none_shows_a_key() -> None:
    for terms in (Terms("a"), Terms("a", 10_000, 5_000)):
        reported = [filled(text, terms._asdict()) for row in CAUSES.values() for text in (row.sentence, row.of_nobody)]
        assert len(set(reported)) == len(CAUSES) + 2
        assert [text for text in reported if "_" in text or "{" in text or "[" in text] == []


def test_the_page_of_views_lists_every_cause() -> None:
    section = (ROOT / "docs" / "views.md").read_text().partition("\n## Causes\n")[2]
    assert re.findall(r"^\| `(\w+)` \|", section.partition("\n## ")[0], re.MULTILINE) == list(map(str, CAUSES))


def test_a_cause_of_a_later_version_is_called_by_its_key() -> None:
    assert name_of("disk_full") == "disk full"
    assert row_of("disk_full") is CAUSES["unknown"]
    assert name_of(None) == "unknown"


@pytest.mark.parametrize("name", LOGS)
def test_a_log_infers_the_causes_that_the_table_says(name: str) -> None:
    reported = [row for rows in capture(name).values() for row in rows if row.effect == "rebalance_ended"]
    causes = [json.loads(row.detail or "{}")["cause"] for row in reported]
    assert len(causes) > 2
    assert {one["kind"] for one in causes if one["is_inferred"]} <= {
        k for k, r in CAUSES.items() if "log" in r.inferred_from
    }


@pytest.mark.parametrize("name", DUMPS)
def test_a_topic_infers_the_causes_that_the_table_says(name: str) -> None:
    causes = [cause for group_id in topic(name).reported for _, _, cause in topic(name).causes(group_id)]
    inferred = {str(cause.kind) for cause in causes if cause.is_inferred}
    assert inferred <= {key for key, row in CAUSES.items() if "topic" in row.inferred_from}
    assert len(causes) > 5
