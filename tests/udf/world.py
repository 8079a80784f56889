"""Clients that act at random and so write a log that fits itself: what a replay and the stream's tests are fed with.

Knows the stream's function and which request comes next; must not know what is right.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.coordinator_udfs.settings import Clock, StreamSettings
from rollcall.schemas.messages import GroupRequest
from tests.requests import consumer_beat, heartbeat, join, leave, sync
from tests.udf.stream import Effect, Stream, arrived

T = 1_700_000_000_000
Move = tuple[int, str, str, str]
"""After how many ms which client of which group does what, see `World.act`."""
SETTINGS = StreamSettings(
    group=GroupConfig(
        group_initial_rebalance_delay_ms=500, offsets_retention_check_interval_ms=40_000, topics={"t1": 4}
    ),
    clock=Clock.EVENT,
    remembered_request_ids=3,
)


def lived(moves: Iterable[Move]) -> World:
    """Clients that have acted like this."""
    world = World()
    for move in moves:
        world.act(move)
    return world


def in_order(effects: list[Effect]) -> list[Effect]:
    return sorted(effects, key=lambda e: (e["group_id"], e["at_ms"], e["seq"]))


@dataclass
class World:
    """Clients that act at random on a stream of single requests, and so write a log that fits itself."""

    stream: Stream = field(default_factory=lambda: Stream(SETTINGS))
    log: list[GroupRequest] = field(default_factory=list)
    now_ms: int = T
    ids: dict[tuple[str, str], str] = field(default_factory=dict)
    generations: dict[str, int] = field(default_factory=dict)
    epochs: dict[tuple[str, str], int] = field(default_factory=dict)
    """The epochs of the clients that speak the newer protocol, as last answered."""
    owned: dict[tuple[str, str], dict[str, list[int]]] = field(default_factory=dict)

    def act(self, move: Move) -> None:
        """After a gap, a client of a group joins, syncs, beats, leaves, comes twice or lets the log repeat a line.

        consume, depart: the same client by the newer protocol, under an id of its own, acknowledges all, or leaves.
        """
        gap_ms, group, client, action = move
        self.now_ms += gap_ms
        place = len([r for r in self.log if r.received_at_ms == self.now_ms])
        member = self.ids.get((group, client), "")
        generation = self.generations.get(group, 0)
        more: dict[str, Any] = {"request_seq": place, "client_id": client, "request_id": f"r{len(self.log)}"}
        match action:
            case "join":
                self._send(join(client, self.now_ms, group, member_id=member, **more))
            case "sync":
                ids = [m for (g, _), m in self.ids.items() if g == group]
                self._send(sync(member, generation, self.now_ms, group, assigned=ids, **more))
            case "beat":
                self._send(heartbeat(member, generation, self.now_ms, group, **more))
            case "leave":
                self._send(leave(member, self.now_ms, group, **more))
            case "consume":
                epoch, owned = self.epochs.get((group, client), 0), self.owned.get((group, client))
                self._send(consumer_beat(f"{client}-{client}", epoch, self.now_ms, group, owned=owned, **more))
            case "depart":
                self._send(consumer_beat(f"{client}-{client}", -1, self.now_ms, group, **more))
            case "again" if self.log:
                last = self.log[-1]
                self._send(type(last)(**{f: getattr(last, f) for f in last.__struct_fields__}))

    def _send(self, request: GroupRequest) -> None:
        self.log.append(request)
        effects = self.stream._run(0, arrived(request))
        self.stream.watermark_ms = max(self.stream.watermark_ms, request.received_at_ms)
        for effect in effects:
            if effect["effect"] == "reply" and effect["api"] == "ConsumerGroupHeartbeat":
                self._note_answer((effect["group_id"], effect["client_id"]), json.loads(effect["detail"])["response"])
            elif effect["effect"] == "member_joined":
                self.ids[effect["group_id"], effect["client_id"]] = effect["member_id"]
            if effect["effect"] == "join_phase_ended":
                self.generations[effect["group_id"]] = effect["generation_id"]

    def _note_answer(self, who: tuple[str, str], response: dict[str, Any]) -> None:
        if response["error_code"] != "NONE" or response["member_epoch"] < 0:
            self.epochs.pop(who, None)
            self.owned.pop(who, None)
            return
        self.epochs[who] = response["member_epoch"]
        if response["assignment"] is not None:
            self.owned[who] = {
                each["topic_name"]: each["partitions"] for each in response["assignment"]["topic_partitions"]
            }

    def effects(self) -> list[Effect]:
        self.stream._run(0, [])
        return in_order(self.stream.effects)
