"""The pure core alone, driven from JSON lines in virtual time: for debugging a client, and for comparing with Kafka.

    python -m rollcall.coordinator_udfs.trace [--config key=value]... [--effects] < requests.jsonl > replies.jsonl

A line in: at_ms, request_id, api, api_version, client_id, client_host and the request's own fields, Kafka's names in
snake_case, bytes as base64; lines stand in order of time. `"bind": "m1"` on a JoinGroup, or on a ConsumerGroupHeartbeat
v0, gives the member id of its answer a name, and `$m1` can be used wherever that id could. `{"at_ms": 5000, "api":
"Tick"}` lets time pass. Topics have no ids here: where Kafka has TopicId a line has `topic`, the name. They change by
`{"at_ms": 5000, "api": "CreateTopics", "topics": {"t3": 4}}`, "CreatePartitions" alike, and "DeleteTopics" with a list
of names; these lines get no answer.
A line out: at_ms, request_id, api and the fields of the response; with --effects every other fact too, each with its
`effect` and `group_id`. Before a request every earlier deadline fires; a tie goes to the request; a timer of length
zero fires behind the request that started it; a Tick fires all up to and at its time; the end of input fires nothing.
A malformed line ends the run: its number on stderr, status 2.

Knows lines and virtual time; knows no rule of the protocol.
"""

from __future__ import annotations

import heapq
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import click
import msgspec

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.no_single_group import find_coordinator, list_config_resources, list_groups
from rollcall.coordinator_udfs.protocol.step import expire_due, next_deadline_ms, next_due_ms, step
from rollcall.programs.command_line import examples, run_command, set_option
from rollcall.programs.errors import UserError
from rollcall.programs.settings import from_texts, read_pairs
from rollcall.schemas.effects import Effect, Reply
from rollcall.schemas.fan_out import group_id_of, join, split
from rollcall.schemas.messages import (
    AnyRequest,
    FindCoordinatorRequest,
    GroupRequest,
    ListConfigResourcesRequest,
    ListGroupsRequest,
    Response,
)
from rollcall.schemas.wire_fields import RequestError, carried, parse_request

NODE_ID, HOST, PORT = 0, "localhost", 9092
_BOUND_BY = frozenset({"NONE", "MEMBER_ID_REQUIRED"})
_TOPIC_VERBS = ("CreateTopics", "CreatePartitions", "DeleteTopics")
_GIVES_ID = ("JoinGroup", "ConsumerGroupHeartbeat")

Line = dict[str, Any]


class TraceError(UserError):
    """A line that cannot be used; the text says why."""


class Trace:
    """Any number of groups in one virtual time. `feed` takes a line in and gives the lines out."""

    def __init__(self, config: GroupConfig, *, with_effects: bool = False) -> None:
        self.config = config
        self.with_effects = with_effects
        self.groups: dict[str, Group] = {}
        self.now_ms: int | None = None
        self._due: list[tuple[int, str]] = []
        self._bind: dict[str, str] = {}
        self._bound: dict[str, str] = {}

    def feed(self, line: Line) -> Iterator[Line]:
        """The lines out for one line in, in order. Raises TraceError, after what was due before it."""
        fields = dict(line)
        at_ms = fields.pop("at_ms", None)
        if not isinstance(at_ms, int) or isinstance(at_ms, bool) or not -(2**63) <= at_ms < 2**63:
            raise TraceError(f"at_ms: {at_ms!r} is not a whole number of milliseconds")
        if self.now_ms is not None and at_ms < self.now_ms:
            raise TraceError(f"at_ms: {at_ms} is before the line above it, {self.now_ms}")
        self.now_ms = at_ms
        if fields.get("api") == "Tick":
            yield from self._expire(at_ms)
            return
        yield from self._expire(at_ms - 1)
        if fields.get("api") in _TOPIC_VERBS:
            self.config = _config_after(fields["api"], fields.get("topics"), self.config)
            return
        name = fields.pop("bind", None)
        if name is not None and not (isinstance(name, str) and name):
            raise TraceError(f"bind: {name!r} is not a name")
        if name is not None and fields.get("api") not in _GIVES_ID:
            raise TraceError(f"bind: {name!r}: only the answer to a JoinGroup gives an id, not {fields.get('api')}")
        try:
            named = {key: self._resolve(value, key) for key, value in fields.items()} | {"received_at_ms": at_ms}
            request = parse_request(named)
        except RequestError as error:
            raise TraceError(str(error)) from None
        if name is not None:
            self._bind[request.request_id] = name
        yield from self._apply(request, fields["api"], at_ms)

    def _resolve(self, value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {"topic_id" if k == "topic" else k: self._resolve(v, k) for k, v in value.items()}
        if isinstance(value, list):
            return [self._resolve(v, key) for v in value]
        if key == "member_id" and isinstance(value, str) and value.startswith("$"):
            if value[1:] not in self._bound:
                raise TraceError(f"member_id: {value} is not bound to an id yet")
            return self._bound[value[1:]]
        return value

    def _expire(self, until_ms: int) -> Iterator[Line]:
        """Fires what is due up to and at until_ms, in order of time over all groups."""
        while self._due and self._due[0][0] <= until_ms:
            due_ms, group_id = heapq.heappop(self._due)
            group = self.groups.get(group_id)
            if group is None or next_deadline_ms(group) != due_ms:
                continue
            if next_due_ms(group, until_ms, self.config) == due_ms:
                yield from self._lines(group_id, expire_due(group, due_ms, self.config))
            self._come_back(group)

    def _come_back(self, group: Group) -> None:
        due_ms = next_deadline_ms(group)
        if not group.is_kept:
            self.groups.pop(group.group_id, None)
        elif due_ms is not None:
            heapq.heappush(self._due, (due_ms, group.group_id))

    def _apply(self, request: AnyRequest, api: str, at_ms: int) -> Iterator[Line]:
        groups = self.groups.values()
        response: Response
        if isinstance(request, ListGroupsRequest):
            known = [(g.group_id, g.protocol_type or "", g.shown_state, g.group_type) for g in groups]
            response = list_groups(known, request)
        elif isinstance(request, FindCoordinatorRequest):
            response = find_coordinator(request, NODE_ID, HOST, PORT)
        elif isinstance(request, ListConfigResourcesRequest):
            response = list_config_resources([group.group_id for group in groups if group.configs], request)
        else:
            parts = split(request)
            if parts == [request]:
                yield from self._step(request, at_ms)
                return
            responses: list[Response] = []
            for part in parts:
                yield from self._step(part, at_ms, responses)
            response = join(request, responses)
        yield self._reply(at_ms, request.request_id, api, request.api_version, response)

    def _step(self, request: GroupRequest, at_ms: int, collect: list[Response] | None = None) -> Iterator[Line]:
        group_id = group_id_of(request)
        group = self.groups.get(group_id) or Group(group_id)
        due_ms = next_deadline_ms(group)
        effects = step(group, request, at_ms, self.config)
        if collect is not None:
            collect += [effect.response for effect in effects if isinstance(effect, Reply)]
            effects = [effect for effect in effects if not isinstance(effect, Reply)]
        if due_ms is None or due_ms > at_ms:
            effects += expire_due(group, at_ms, self.config)
        if group.is_kept:
            self.groups[group_id] = group
        self._come_back(group)
        yield from self._lines(group_id, effects)

    def _lines(self, group_id: str, effects: Iterable[Effect]) -> Iterator[Line]:
        for effect in effects:
            if isinstance(effect, Reply):
                if effect.request_id in self._bind and effect.error_code in _BOUND_BY:
                    self._bound[self._bind[effect.request_id]] = effect.member_id
                yield self._reply(effect.at_ms, effect.request_id, effect.api, effect.api_version, effect.response)
            elif self.with_effects:
                fields = msgspec.to_builtins(effect)
                yield {"at_ms": fields.pop("at_ms"), "group_id": group_id, "effect": fields.pop("effect"), **fields}

    @staticmethod
    def _reply(at_ms: int, request_id: str, api: str, version: int, response: Response) -> Line:
        named = _by_topic_name(carried(response, version, in_tables=True))
        return {"at_ms": at_ms, "request_id": request_id, "api": api, **named}


def run(lines: Iterable[bytes], config: GroupConfig, *, with_effects: bool = False) -> Iterator[Line]:
    """All lines out for all lines in; blank lines are skipped. Raises TraceError with the line's number."""
    trace = Trace(config, with_effects=with_effects)
    decoder = msgspec.json.Decoder(dict[str, Any])
    for number, text in enumerate(lines, 1):
        if not text.strip():
            continue
        try:
            yield from trace.feed(decoder.decode(text))
        except (msgspec.DecodeError, TraceError, UnicodeDecodeError) as error:
            raise TraceError(f"line {number}: {error}") from None
        except RecursionError:
            raise TraceError(f"line {number}: is nested too deeply") from None


def config_from(pairs: Iterable[str]) -> GroupConfig:
    """Settings of both protocols from `key=value` words. Raises ConfigError."""
    return from_texts(GroupConfig, read_pairs(pairs, "--config "))


def _config_after(verb: str, named: Any, config: GroupConfig) -> GroupConfig:
    """The settings once a line has changed the topics. named: counts by topic, for DeleteTopics a list of names.

    Raises TraceError: another shape, a topic that exists already or is unknown, a count that is not larger.
    """
    topics = dict(config.topics or {})
    if verb == "DeleteTopics":
        if not isinstance(named, list) or not all(isinstance(topic, str) for topic in named):
            raise TraceError(f"topics: {named!r} is not a list of names")
        for topic in named:
            if topics.pop(topic, None) is None:
                raise TraceError(f"topics: there is no topic {topic!r} to delete")
        return replace(config, topics=topics)
    if not isinstance(named, dict):
        raise TraceError(f"topics: {named!r} does not give the number of partitions by topic")
    for topic, count in named.items():
        if (topic in topics) != (verb == "CreatePartitions"):
            raise TraceError(f"topics: {topic!r} {'exists already' if topic in topics else 'does not exist'}")
        least = topics.get(topic, 0) + 1
        if not isinstance(count, int) or isinstance(count, bool) or count < least:
            raise TraceError(f"topics: {topic!r}: {count!r} is not a number of partitions from {least} on")
        topics[topic] = count
    return replace(config, topics=topics, topics_version=config.topics_version + (verb == "CreateTopics"))


def _by_topic_name(value: Any) -> Any:
    """An answer's fields, at any depth, with the topic's name as `topic` in place of `topic_id`."""
    if isinstance(value, dict) and "topic_id" in value:
        ways = [value.pop(key, "") for key in ("topic_name", "name", "topic_id")]
        return {"topic": next(filter(None, ways), ""), **_by_topic_name(value)}
    if isinstance(value, dict):
        return {key: _by_topic_name(inner) for key, inner in value.items()}
    return [_by_topic_name(item) for item in value] if isinstance(value, list) else value


@click.command(
    epilog=examples(
        "rollcall trace < requests.jsonl", 'rollcall trace --effects --config "group.max.size=2" < requests.jsonl'
    )
)
@set_option("A broker setting, by Kafka's key", "--config", "--set")
@click.option("--effects", is_flag=True, help="Write every other fact too, not only the replies.")
def command(given: tuple[str, ...], effects: bool) -> None:
    """Answer requests from JSON lines in virtual time. Requests are read from standard input."""
    encoder = msgspec.json.Encoder()
    out = sys.stdout.buffer
    try:
        for line in run(sys.stdin.buffer, config_from(given), with_effects=effects):
            out.write(encoder.encode(line) + b"\n")
    finally:
        out.flush()


if __name__ == "__main__":
    sys.exit(run_command(command, "python -m rollcall.coordinator_udfs.trace"))
