"""One of the scenarios that a real broker answered, played over the wire in real time, and what is answered otherwise.

Each step is sent at its time, on a connection that nobody else waits on, and after the answers that Kafka gave at once
to the steps before it. Groups get names of their own, so that many scenarios can be played at once. A slower peer is
given more time: all times are multiplied.

Knows the scenarios' form and the wire; must not know a rule of the protocol.
"""

from __future__ import annotations

import asyncio
import copy
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from rollcall.schemas.messages import APIS
from rollcall.schemas.wire_fields import carried
from rollcall.serve.gateway.wire.shaping import values_of
from rollcall.serve.listeners.addresses import Address
from tests.protocol.scenario import PROFILES, Playing, Scenario, Step, differences, is_timely, step_name
from tests.protocol.scenario_answers import Answer
from tests.wire_client import Client

AT_ONCE_MS = 75
"""An answer that comes within this time of its own request came at once; of another request, that one released it."""
TIMER_SLACK_MS = 150
_ID_PATIENCE_S = 20.0
_EXPECTED = (asyncio.CancelledError, TimeoutError, OSError, EOFError)
_SHORTEST_MS, _LONGEST_MS = (PROFILES["default"][f"group.{end}.session.timeout.ms"] for end in ("min", "max"))
_NO_FIELDS = ("at_ms", "api", "api_version", "client_id", "bind")
_NAMES_OF_GROUPS = ("group_id", "groups", "groups_names", "key", "coordinator_keys")


class Connections:
    """Idle connections to a peer; one that waits for an answer is nobody else's."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._idle: list[Client] = []

    async def call(self, api: str, version: int, client_id: str, values: dict[str, Any]) -> Any:
        client = self._idle.pop() if self._idle else await Client.connect(self.address)
        client.patience_s = None
        try:
            message = await client.call(api, version, client_id=client_id, **values)
        except BaseException:
            client.close()
            raise
        self._idle.append(client)
        return message

    def close(self) -> None:
        for client in self._idle:
            client.close()


class WirePlaying(Playing):
    """A scenario on its way over the wire."""

    def __init__(self, scenario: Scenario, connections: Connections, scale: float) -> None:
        super().__init__(scenario)
        self._connections = connections
        self._scale = scale
        self._tag = f"{scenario.name[:40]}-{uuid.uuid4().hex[:8]}-"
        self._ids: dict[str, asyncio.Future[str]] = {}
        self._sent_at_ms: dict[int, float] = {}
        self._replies: dict[int, tuple[dict[str, Any], str | None]] = {}

    async def play(self) -> dict[int, Answer]:
        """By the number of the step: what it was answered, and when."""
        self._loop = asyncio.get_running_loop()
        began = self._loop.time() + 0.02
        ready: list[asyncio.Event] = [asyncio.Event() for _ in self.scenario.steps]
        tasks = [
            asyncio.create_task(self._step(number, step, began, ready))
            for number, step in enumerate(self.scenario.steps, 1)
        ]
        await asyncio.wait(tasks, timeout=began + self.scenario.end_ms * self._scale / 1000 - self._loop.time())
        for task, step in zip(tasks, self.scenario.steps, strict=True):
            if "no_response" in step["answer"] or "lenient" in step:
                task.cancel()
        # A slow peer is still given time for what Kafka answered.
        await asyncio.wait(tasks, timeout=_ID_PATIENCE_S)
        for task in tasks:
            task.cancel()
        for outcome in await asyncio.gather(*tasks, return_exceptions=True):
            # A step may go unanswered, be cut off or lack an id; anything else is an error of our own.
            if isinstance(outcome, BaseException) and not isinstance(outcome, _EXPECTED):
                raise outcome
        return self._answered()

    def _answered(self) -> dict[int, Answer]:
        numbers = range(1, len(self.scenario.steps) + 1)
        return {number: self._answer(number, *self._replies.get(number, (None, None))) for number in numbers}

    async def _step(self, number: int, step: Step, began: float, ready: list[asyncio.Event]) -> None:
        try:
            await asyncio.sleep(max(0.0, began + step["request"]["at_ms"] * self._scale / 1000 - self._loop.time()))
            if number > 1:
                await ready[number - 2].wait()
            values = await self._values(self._slowed(step["request"]))
            if step["answer"].keys() & {"when", "no_response"} or "lenient" in step:
                ready[number - 1].set()
            await self._ask(number, step, values)
        finally:
            ready[number - 1].set()

    async def _ask(self, number: int, step: Step, values: dict[str, Any]) -> None:
        self._sent_at_ms[number] = self._now_ms()
        api, version = step["request"]["api"], step["request"]["api_version"]
        message = await self._connections.call(api, version, step["request"]["client_id"], values)
        answered_at_ms = self._now_ms()
        shape: Any = APIS[api].response
        reply = self._own_names({"api": api, **carried(shape(**values_of(message, shape)), version)})
        self._replies[number] = reply | {"at_ms": answered_at_ms}, self._fresh_id(step, reply)

    def _now_ms(self) -> float:
        return self._loop.time() * 1000

    def _slowed(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The request with longer timeouts and groups of its own."""
        slowed = {name: self._of_own_groups(value, name) for name, value in request.items()}
        if "session_timeout_ms" in request:
            slowed["session_timeout_ms"] = self._session_timeout_ms(request["session_timeout_ms"])
        if "rebalance_timeout_ms" in request:
            slowed["rebalance_timeout_ms"] = round(request["rebalance_timeout_ms"] * self._scale)
        return slowed

    def _of_own_groups(self, value: Any, name: str) -> Any:
        match value:
            case dict():
                return {key: self._of_own_groups(inner, key) for key, inner in value.items()}
            case list():
                return [self._of_own_groups(inner, name) for inner in value]
            case str() if value and name in _NAMES_OF_GROUPS:
                return self._tag + value
            case _:
                return value

    def _session_timeout_ms(self, timeout_ms: int) -> int:
        """Longer, but as allowed or forbidden as it was."""
        is_allowed = _SHORTEST_MS <= timeout_ms <= _LONGEST_MS
        return min(round(timeout_ms * self._scale), _LONGEST_MS) if is_allowed else timeout_ms

    def _own_names(self, value: Any) -> Any:
        """The groups by their names in the scenario, those of others left out of lists."""
        match value:
            case {"api": "ListGroups", "groups": groups, **rest}:
                ours = [group for group in groups if group["group_id"].startswith(self._tag)]
                return {"api": "ListGroups", **rest, "groups": self._own_names(ours)}
            case dict():
                return {name: self._own_names(inner) for name, inner in value.items()}
            case list():
                return [self._own_names(inner) for inner in value]
            case str() if value.startswith(self._tag):
                return value.removeprefix(self._tag)
            case _:
                return value

    async def _values(self, value: Any, key: str = "") -> Any:
        """The line's fields as they go on the wire: bytes as bytes, ids for their names once those are known."""
        if isinstance(value, dict):
            return {name: await self._values(inner, name) for name, inner in value.items() if name not in _NO_FIELDS}
        if isinstance(value, list):
            return [await self._values(inner, key) for inner in value]
        if key == "member_id" and isinstance(value, str) and value.startswith("$"):
            async with asyncio.timeout(_ID_PATIENCE_S * self._scale):
                return await asyncio.shield(self._id(value[1:]))
        return value

    def _id(self, name: str) -> asyncio.Future[str]:
        return self._ids.setdefault(name, self._loop.create_future())

    def bind(self, name: str, member_id: str) -> None:
        super().bind(name, member_id)
        if self._id(name).done():
            self._ids[name] = self._loop.create_future()
        self._id(name).set_result(member_id)

    def _when(self, number: int, reply: Mapping[str, Any]) -> int | list[int] | None:
        waited_ms = self._at_first_speed(reply["at_ms"] - self._sent_at_ms[number])
        if waited_ms < AT_ONCE_MS:
            return None
        sent_at_ms, last = max((at_ms, n) for n, at_ms in self._sent_at_ms.items() if at_ms <= reply["at_ms"])
        is_by_it = last != number and self._at_first_speed(reply["at_ms"] - sent_at_ms) < AT_ONCE_MS
        return last if is_by_it else [round(waited_ms)]

    def _at_first_speed(self, duration_ms: float) -> float:
        return duration_ms / self._scale


def otherwise(scenario: Scenario, answers: Mapping[int, Answer], with_times: bool) -> list[str]:
    """What is answered otherwise than Kafka did, one line a field; with_times: also when."""
    contents = copy.deepcopy(scenario)
    for step in contents.steps:
        step["answer"] = _reported_once(step["answer"])
        step["answer"].pop("when", None)
    given = {number: _reported_once(answer) for number, answer in answers.items()}
    found = differences(contents, {n: {k: v for k, v in a.items() if k != "when"} for n, a in given.items()})
    return found + list(_untimely(scenario, answers)) if with_times else found


def _reported_once(answer: Mapping[str, Any]) -> Answer:
    """The answer with each of its groups once; Kafka answers for a group as often as it is asked (decision 11)."""
    groups = answer.get("groups")
    if not isinstance(groups, list):
        return dict(answer)
    return {**answer, "groups": [group for place, group in enumerate(groups) if group not in groups[:place]]}


def _untimely(scenario: Scenario, answers: Mapping[int, Answer]) -> Iterator[str]:
    for number, step in enumerate(scenario.steps, 1):
        wanted, given = step["answer"].get("when"), answers[number].get("when")
        if "lenient" not in step and not is_timely(wanted, given, TIMER_SLACK_MS):
            yield f"{step_name(number, step)}: when: Kafka {wanted!r}, here {given!r}"
