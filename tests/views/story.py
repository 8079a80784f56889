"""A group's history, made by what its clients send in virtual time: the facts that the stream's own function gives.

Each request is a batch of its own on the event clock, so the group goes through its stored state every time. Knows how
requests become rows (`rollcall.coordinator_udfs.group_turns`) and rows a table; must not know any view, nor Spark.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
from deltalake import write_deltalake

from rollcall.coordinator_udfs.group_turns import take_turns
from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.coordinator_udfs.settings import Clock, StreamSettings
from rollcall.coordinator_udfs.state_codec import StateRow
from rollcall.schemas.consumer_protocol import TopicPartition
from rollcall.schemas.effect_rows import EffectRow
from rollcall.schemas.messages import (
    DeleteGroupsRequest,
    MemberIdentity,
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    StreamRequest,
)
from rollcall.schemas.tables import EFFECTS
from tests import requests

DAY_MS = 86_400_000
EPOCH = datetime.date(1970, 1, 1)


@dataclass
class Story:
    """One group and its clients, each known by the client id it was first named by."""

    group_id: str = "orders"
    config: GroupConfig = field(default_factory=lambda: GroupConfig(group_initial_rebalance_delay_ms=0))
    rows: list[EffectRow] = field(default_factory=list)
    state: StateRow | None = None
    member_ids: dict[str, str] = field(default_factory=dict)
    generation_id: int = 0
    sent: int = 0

    # ------------------------------------------------------------ what clients do

    def join(
        self,
        at_ms: int,
        who: str,
        *,
        instance_id: str | None = None,
        topics: Sequence[str] = ("t",),
        owned: Sequence[str] = (),
        protocol: str = "range",
        again_as: str | None = None,
        **said: Any,
    ) -> None:
        """A client joins, with the second step where it is given an id; again_as: under this member id."""
        metadata = requests.subscription(*topics, owned=map(partition_of, owned), version=1)
        said = {"client_host": "/10.0.0.1", "protocols": {protocol: metadata}, **said}
        member_id = self.member_ids.get(who, "") if again_as is None else again_as
        rows = self.ask_to_join(at_ms, who, member_id, group_instance_id=instance_id, **said)
        if any(row.effect == "member_id_given" for row in rows):
            self.ask_to_join(at_ms, who, self.member_ids[who], **said)

    def ask_to_join(self, at_ms: int, who: str, member_id: str = "", **said: Any) -> list[EffectRow]:
        """A client sends one JoinGroup, and no second step."""
        fields: dict[str, Any] = {
            "request_id": f"{who} joins at {at_ms} as {member_id}",
            "api_version": 8,
            "rebalance_timeout_ms": 60_000,
            "member_id": member_id,
            "protocols": {"range": requests.subscription("t", version=1)},
        }
        rows = self.send(at_ms, requests.join(who, group=self.group_id, **(fields | said)))
        for row in rows:
            if row.effect in ("member_id_given", "member_joined") and row.member_id and row.client_id == who:
                self.member_ids[who] = row.member_id
        return rows

    def sync(self, at_ms: int, who: str, assignments: Mapping[str, Sequence[str] | bytes] | None = None) -> None:
        """A client sends SyncGroup; the leader's says who gets which partitions, as topic-partition or as bytes."""
        assigned = {
            self.member_ids[member]: given
            if isinstance(given, bytes)
            else requests.assignment(map(partition_of, given))
            for member, given in (assignments or {}).items()
        }
        named: dict[str, Any] = {"request_id": f"{who} syncs at {at_ms}", "client_id": who}
        member_id = self.member_ids[who]
        self.send(at_ms, requests.sync(member_id, self.generation_id, at_ms, self.group_id, assigned=assigned, **named))

    def heartbeat(self, at_ms: int, *whos: str) -> None:
        for who in whos:
            named: dict[str, Any] = {"request_id": f"{who} beats at {at_ms}", "client_id": who}
            member_id = self.member_ids[who]
            self.send(at_ms, requests.heartbeat(member_id, self.generation_id, at_ms, self.group_id, **named))

    def leave(self, at_ms: int, who: str, reason: str | None = None) -> None:
        identity = MemberIdentity(member_id=self.member_ids[who], reason=reason)
        named: dict[str, Any] = {"request_id": f"{who} leaves at {at_ms}", "client_id": who, "members": [identity]}
        self.send(at_ms, requests.leave("", at_ms, self.group_id, api_version=5, **named))

    def commit(self, at_ms: int, who: str, offsets: Mapping[str, int], *, generation_id: int | None = None) -> None:
        """generation_id -1: a consumer that assigns its own partitions."""
        generation_id = self.generation_id if generation_id is None else generation_id
        given = {partition_of(name): offset for name, offset in offsets.items()}
        request = requests.commit(
            self.member_ids.get(who, ""),
            generation_id,
            given,
            group=self.group_id,
            metadata=f"by {who}",
            request_id=f"{who} commits at {at_ms}",
            client_id=who,
        )
        self.send(at_ms, request)

    def delete_offsets(self, at_ms: int, *names: str) -> None:
        topics = [
            OffsetDeleteRequestTopic(
                name=topic, partitions=[OffsetDeleteRequestPartition(partition_index=p.partition) for p in parts]
            )
            for topic, parts in groupby(map(partition_of, names), lambda p: p.topic)
        ]
        request_id = f"an administrator deletes at {at_ms}"
        self.send(
            at_ms, OffsetDeleteRequest(request_id=request_id, api_version=0, group_id=self.group_id, topics=topics)
        )

    def delete(self, at_ms: int) -> None:
        """An administrator deletes the group."""
        request_id = f"an administrator deletes at {at_ms}"
        self.send(at_ms, DeleteGroupsRequest(request_id=request_id, api_version=2, groups_names=[self.group_id]))

    # ------------------------------------------------------------ what comes of it

    def send(self, at_ms: int, request: StreamRequest) -> list[EffectRow]:
        """The rows of a request, between what fell due before it and what is due at its moment.

        Requests are numbered, as a gateway does.
        """
        self.sent += 1
        request.received_at_ms, request.request_seq = at_ms, self.sent
        return self._turn(at_ms, [msgspec.json.encode(request).decode()]) + self.let_time_pass(at_ms)

    def let_time_pass(self, at_ms: int) -> list[EffectRow]:
        """Time passes: everything due up to and at at_ms happens. Returns its rows."""
        return self._turn(at_ms + 1, [])

    def _turn(self, at_ms: int, texts: list[str]) -> list[EffectRow]:
        settings = StreamSettings(group=self.config, clock=Clock.EVENT, watermark_delay_ms=0)
        outcome = take_turns(self.group_id, texts, self.state, at_ms, settings)
        assert all(row.effect != "quarantined" for row in outcome.rows), outcome.rows
        self.state = outcome.row
        self.rows += outcome.rows
        if self.state is not None:
            self.generation_id = self.state.generation_id
        return outcome.rows


def partition_of(name: str) -> TopicPartition:
    """`t-0` is partition 0 of topic t."""
    topic, _, partition = name.rpartition("-")
    return TopicPartition(topic, int(partition))


def one_member(group_id: str = "orders", partitions: Sequence[str] = ("t-0",), **joined: Any) -> Story:
    """A group whose only member a joined at 1000 ms and has these partitions from 1100 ms on."""
    story = Story(group_id)
    story.join(1000, "a", **joined)
    story.sync(1100, "a", {"a": list(partitions)})
    return story


def write_effects(home: Path, facts: Mapping[str, Iterable[EffectRow]]) -> None:
    """Appends every group's rows to the effects table of a home, in one commit."""
    partition_by = list(EFFECTS.partition_by)
    write_deltalake(str(home / EFFECTS.name), table_of(facts), mode="append", partition_by=partition_by)


def table_of(facts: Mapping[str, Iterable[EffectRow]]) -> pa.Table:
    """Every group's rows, as the effects table has them."""
    columns: dict[str, list[object]] = {name: [] for name in EFFECTS.names}
    for group_id, rows in facts.items():
        for row in rows:
            columns["group_id"].append(group_id)
            columns["at_date"].append(EPOCH + datetime.timedelta(days=(row.at_ms or 0) // DAY_MS))
            for name in EFFECTS.names:
                if name not in ("group_id", "at_date"):
                    columns[name].append(getattr(row, name))
    return pa.table(columns, schema=EFFECTS.arrow)
