"""Lines as templates print them, and the one group that lines tell of, for tests."""

from __future__ import annotations

from typing import Any

from rollcall.inputs.printed.logged_rebalances import Finding, LoggedGroup
from rollcall.inputs.printed.reading import merged, read_lines
from rollcall.inputs.printed.story import groups_in
from rollcall.inputs.printed.templates import Template

MEMBER = "orders-1-6c1d0b29-57f7-4e52-9ffb-38d5ad112b53"
OTHER = "orders-1-a158e207-e872-41e3-80b1-c02269f0e790"
FILLED: dict[str, tuple[str, Any]] = {
    "": ("[range]", None),
    "number": ("3", None),
    "old_state": ("Stable", None),
    "group_id": ("orders", "orders"),
    "generation_id": ("12", 12),
    "partition": ("7", 7),
    "members": ("4", 4),
    "length_ms": ("45000", 45000),
    "member_id": (MEMBER, MEMBER),
    "other_member_id": (OTHER, OTHER),
    "member_ids": (f"{MEMBER}, {OTHER}", (MEMBER, OTHER)),
    "instance_id": ("Some(pod-1)", "pod-1"),
    "client_id": ("orders-1", "orders-1"),
    "client_host": ("/10.0.0.7", "10.0.0.7"),
    "client_reason": ("the consumer is being closed", "the consumer is being closed"),
    "reason": ("a reason", "a reason"),
    "group_type": ("consumer", "consumer"),
    "operation": ("heartbeat", "heartbeat"),
    "error": ("NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_REPLICAS"),
    "state": ("STABLE", "STABLE"),
    "to_state": ("consumer", "consumer"),
    "partitions": ("[orders-0]", "[orders-0]"),
    "broker_id": ("1", "1"),
}
UNCHECKED = ("", "number", "old_state", "reason", "error", "broker_id", "client_id")
"""Fields that are dropped, cut at a final dot, or stand in the heading too."""


def line_of(template: Template) -> str:
    """A line that the template prints."""
    pieces = [template.literals[0]]
    for name, literal in zip(template.names, template.literals[1:], strict=True):
        pieces += (FILLED[name][0], literal)
    return "".join(pieces)


def at(second: float) -> str:
    """The time this number of seconds after 03:12, as log4j prints it."""
    minute, of_minute = divmod(second, 60)
    return f"2026-03-01 03:{12 + int(minute):02}:{of_minute:06.3f}".replace(".", ",")


def java(second: float, text: str, client_id: str = "orders-1", kind: str = "Consumer") -> str:
    """A line of a Java client."""
    return f"{at(second)} INFO [{kind} clientId={client_id}, groupId=orders] {text}"


def broker(second: float, text: str, broker_id: int = 1) -> str:
    """A coordinator's line."""
    return f"[{at(second)}] INFO [GroupCoordinator {broker_id}]: {text} (kafka.coordinator.group.GroupCoordinator)"


def said_by(template: Template, text: str, *, by_client: bool = False) -> tuple[dict[str, Any], bool] | None:
    """What a message holds by the names of a template's fields, and whether that is certain."""
    found = template.read(text, by_client=by_client)
    return None if found is None else (template.named(found[0]), found[1])


def group_of(*lines: str) -> LoggedGroup:
    """The one group of a file with these lines."""
    (group,) = groups_in(merged([read_lines("app.log", lines)]))
    return group


def found(key: str, *lines: str) -> list[Finding]:
    """What is found under this key in the one group of these lines."""
    return [one for one in group_of(*lines).findings if one.finding == key]
