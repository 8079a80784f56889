"""Every key that SQL, Python or a page reads of a fact is one that a class has, of the type that it has there.

What reads facts in Python reads their classes, so that mypy holds it to them; what a page reads of a view's row is held
to the view's columns, which are opened by the classes.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import get_args

import pytest
from jinja2 import nodes

from rollcall.answers.views.catalog import VIEWS
from rollcall.answers.views.details import opened
from rollcall.schemas.effect_names import EffectName
from rollcall.schemas.effect_rows import AnyFact
from rollcall.schemas.effects import (
    Assigned,
    JoinReceived,
    MemberJoined,
    OffsetsCommitted,
    RebalanceEnded,
    RebalanceStarted,
)
from rollcall.serve.page.app import templates
from tests.source_tree import ROOT, modules, source_files

KINDS = get_args(AnyFact)
FIELDS = {name for kind in KINDS for name in kind.__struct_fields__}
PATH = re.compile(r"(?:\w+\.)?detail(?:,\s*|->>?)'\$\.(\w+)")
"""How Spark and DuckDB take a field of a detail."""


def test_every_kind_of_fact_has_one_class() -> None:
    assert sorted(kind.__struct_config__.tag for kind in KINDS) == sorted(EffectName)


def test_a_detail_is_opened_with_the_types_of_its_class() -> None:
    assert opened("members_before cause", RebalanceStarted) == (
        "from_json(detail, 'members_before BIGINT, cause STRUCT<kind: STRING, member_id: STRING, client_id: STRING, "
        "client_host: STRING, group_instance_id: STRING, client_reason: STRING, is_inferred: BOOLEAN, "
        "candidates: ARRAY<STRUCT<kind: STRING, member_id: STRING, client_id: STRING>>>')"
    )
    assert opened("is_inferred offsets(topic partition)", OffsetsCommitted) == (
        "from_json(detail, 'is_inferred BOOLEAN, offsets ARRAY<STRUCT<topic: STRING, partition: INT>>')"
    )
    assert opened("partitions owned_partitions", Assigned, JoinReceived, of="turn.detail") == (
        "from_json(turn.detail, 'partitions ARRAY<STRUCT<topic: STRING, partitions: ARRAY<INT>>>, "
        "owned_partitions ARRAY<STRUCT<topic: STRING, partitions: ARRAY<INT>>>')"
    )
    assert "leader_epoch: INT, metadata: STRING, commit_timestamp_ms: BIGINT" in opened("offsets", OffsetsCommitted)


def test_a_field_that_no_class_has_is_refused() -> None:
    with pytest.raises(KeyError, match="slowest"):
        opened("cause slowest", RebalanceEnded, MemberJoined)


def test_details_are_opened_by_classes_alone() -> None:
    """Rows of tables are opened by `F.from_json`, with the table's own columns."""
    sources = {str(path.relative_to(ROOT)): path.read_text() for path in source_files()}
    assert sum("opened(" in text for text in sources.values()) > 8
    declares = [name for name, text in sources.items() if re.search(r"\b(?<!F\.)from_json\(|json_transform", text)]
    assert declares == ["rollcall/answers/views/details.py"]


def test_sql_names_fields_that_there_are() -> None:
    """What this program asks, in views, rules and what serves pages and metrics, and what users are shown."""
    shown = [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("notebooks/*"),
        *ROOT.glob("tests/engines/asked/*"),
        *source_files(),
    ]
    texts = [*(path.read_text() for path in shown if path.is_file()), *(view.sql for view in VIEWS)]
    named = [name for text in texts for name in PATH.findall(text)]
    assert {"cause", "response", "is_loaded", "offsets"} <= set(named) <= FIELDS


# ---------------------------------------------------------------- Python

READERS = {"rollcall.schemas.effect_rows", "rollcall.serve.gateway.tables.effects_table"}
"""What makes a fact, or a reply's response, of a detail: by the class. Everything else asks these."""


def decoders_of_details(source: str) -> Iterator[str]:
    for call in ast.walk(ast.parse(source)):
        if isinstance(call, ast.Call) and re.search(r"(decode|loads)$", ast.unparse(call.func)):
            yield from (text for text in map(ast.unparse, call.args) if "detail" in text)


def test_nobody_else_decodes_a_detail() -> None:
    found = {str(name) for name, path in modules().items() if any(decoders_of_details(path.read_text()))}
    assert found == READERS


# ---------------------------------------------------------------- pages

COLUMNS = {column.name for view in VIEWS for column in view.columns}
OF_PAGES = {
    # Rows that the page computes: see rollcall.serve.page.lists and rollcall.serve.page.details.
    *("troubles", "harm", "stood_share", "near_slack_ms", "near_timeout_ms", "near_client_id", "in_hour", "in_span"),
    *("latest_at", "latest_cause", "latest_generation_id", "tick_places", "tick_causes"),
    *("found", "total", "plural", "rule", "view", "at_ms", "until_ms", "link", "sentence", "lag_trend"),
    *("is_ongoing", "kind", "rebalance", "lags", "row", "opens", "closes"),
}
ROWS = {"row", "one", "member", "group", "kind"}
"""What the templates call a row of a view, or of what the page computes."""
OTHERS = {"row": {"cells", "member_id"}, "kind": {"name", "plural", "step"}}


@pytest.mark.parametrize(
    "name", [path.name for path in sorted((ROOT / "rollcall" / "serve" / "page" / "templates").glob("*.html"))]
)
def test_a_page_reads_columns_that_there_are(name: str) -> None:
    environment = templates().env
    tree = environment.parse((ROOT / "rollcall" / "serve" / "page" / "templates" / name).read_text())
    read = {
        (one.node.name, one.attr)
        for one in tree.find_all(nodes.Getattr)
        if isinstance(one.node, nodes.Name) and one.node.name in ROWS
    }
    assert {attr for row, attr in read if attr not in OTHERS.get(row, set())} <= COLUMNS | OF_PAGES
    assert bool(read) == (name in ("group.html", "group_row.html", "overview.html", "rebalance.html", "troubles.html"))
