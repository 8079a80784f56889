"""Every field of a fact that SQL opens is one that a kind of fact has, of the type that it has there.

What reads facts in Python reads their classes, so that mypy holds it to them.
"""

from __future__ import annotations

import re
from typing import get_args

import pytest

from schemas.effect_names import EffectName
from schemas.effect_rows import AnyFact
from schemas.effects import Assigned, JoinReceived, MemberJoined, OffsetsCommitted, RebalanceEnded, RebalanceStarted
from tests.source_tree import ROOT
from views.catalog import VIEWS
from views.details import opened

KINDS = get_args(AnyFact)
FIELDS = {name for kind in KINDS for name in kind.__struct_fields__}
PATH = re.compile(r"get_json_object\(\s*(?:\w+\.)?detail,\s*'\$\.(\w+)")


def test_every_kind_of_fact_has_one_class() -> None:
    assert sorted(kind.__struct_config__.tag for kind in KINDS) == sorted(EffectName)


def test_a_detail_is_opened_with_the_types_of_its_class() -> None:
    assert opened("members_before cause", RebalanceStarted) == (
        "from_json(detail, 'members_before BIGINT, cause STRUCT<kind: STRING, member_id: STRING, client_id: STRING, "
        "client_host: STRING, group_instance_id: STRING, client_reason: STRING, is_inferred: BOOLEAN, "
        "candidates: ARRAY<STRUCT<kind: STRING, member_id: STRING, client_id: STRING>>>')"
    )
    assert opened("partitions owned_partitions", Assigned, JoinReceived, of="turn.detail") == (
        "from_json(turn.detail, 'partitions ARRAY<STRUCT<topic: STRING, partitions: ARRAY<INT>>>, "
        "owned_partitions ARRAY<STRUCT<topic: STRING, partitions: ARRAY<INT>>>')"
    )
    assert "leader_epoch: INT, metadata: STRING, commit_timestamp_ms: BIGINT" in opened("offsets", OffsetsCommitted)


def test_a_field_that_no_class_has_is_refused() -> None:
    with pytest.raises(KeyError, match="slowest"):
        opened("cause slowest", RebalanceEnded, MemberJoined)


def test_views_open_details_by_classes_alone() -> None:
    sources = {path.name: path.read_text() for path in (ROOT / "views").glob("*.py")}
    assert sum("opened(" in text for text in sources.values()) > 8
    assert [name for name, text in sources.items() if "from_json" in text] == ["details.py"]


def test_sql_that_users_are_shown_names_fields_that_there_are() -> None:
    shown = [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("notebooks/*"),
        *ROOT.glob("tests/engines/asked/*"),
    ]
    texts = [*(path.read_text() for path in shown if path.is_file()), *(view.sql for view in VIEWS)]
    named = [name for text in texts for name in PATH.findall(text)]
    assert {"cause", "response"} <= set(named) <= FIELDS
