"""The view `group_configs`, and how a group goes by what was set for it before it was there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rollcall.coordinator_udfs.protocol.config import ConsumerConfig, GroupConfig
from rollcall.schemas.messages import (
    DELETE_CONFIG,
    SET,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
    IncrementallyAlteredConfig,
)
from tests.requests import consumer_beat
from tests.views.story import Story, write_effects
from tests.views.view_rows import rows_of

SESSION, INTERVAL = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"


def altered(story: Story, at_ms: int, *configs: tuple[str, int, str | None]) -> None:
    resource = IncrementalAlterConfigsResource(
        resource_name=story.group_id,
        configs=[IncrementallyAlteredConfig(name=n, config_operation=o, value=v) for n, o, v in configs],
    )
    request = IncrementalAlterConfigsRequest(
        request_id=f"at {at_ms}", api_version=1, client_id="cli", client_host="/10.0.0.9", resources=[resource]
    )
    story.send(at_ms, replace_principal(request, "User:anna"))


def replace_principal(request: IncrementalAlterConfigsRequest, principal: str) -> IncrementalAlterConfigsRequest:
    request.principal = principal
    return request


def test_who_set_what_from_when_to_when_and_the_sessions_that_came_of_it(tmp_path: Path) -> None:
    broad = ConsumerConfig(min_session_timeout_ms=1000, min_heartbeat_interval_ms=100)
    story = Story(config=replace(GroupConfig(topics={"t": 1}), consumer=broad))
    altered(story, 1000, (SESSION, SET, "8000"), (INTERVAL, SET, "1000"))
    assert story.state is not None
    story.send(2000, consumer_beat("m1", 0, 2000, "orders", topics=["t"]))
    altered(story, 3000, (SESSION, SET, "9000"), (INTERVAL, DELETE_CONFIG, None))
    story.let_time_pass(20_000)
    write_effects(tmp_path, {"orders": story.rows})
    reported = sorted(rows_of(tmp_path, "group_configs"), key=lambda row: (row["from_at"], row["name"]))
    assert [(r.name, r.was, r.value, r.from_at, r.to_at) for r in reported] == [
        (INTERVAL, None, "1000", 1000, 3000),
        (SESSION, None, "8000", 1000, 3000),
        (INTERVAL, "1000", None, 3000, None),
        (SESSION, "8000", "9000", 3000, None),
    ]
    assert {(r["client_id"], r["client_host"], r["principal"], r["is_inferred"]) for r in reported} == {
        ("cli", "/10.0.0.9", "User:anna", False)
    }
    (session,) = rows_of(tmp_path, "sessions")
    assert (session["session_timeout_ms"], session["end_cause"], session["ended_at"]) == (
        8000,
        "session_expired",
        10_000,
    )
