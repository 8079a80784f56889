"""A client's connection where most requests are the upstream's: they are passed on, their answers passed back in turn.

Requests go to the broker that the client believes to speak to, as they came. Answers come back as they are, but not
before everything that the client asked earlier has been answered; those that name brokers are rewritten first.

Knows order and bytes; knows no API but by its key.
"""

from __future__ import annotations

import asyncio

from gateway.connection import Connection, Slot
from gateway.service import Service
from gateway.upstream.apis import API_VERSIONS, FIND_COORDINATOR, is_passed_on, our_ranges
from gateway.upstream.brokers import Broker
from gateway.upstream.entrance import Entrance
from gateway.upstream.link import Link, Passed
from gateway.upstream.requests import asks_for_a_group, expects_no_answer
from gateway.upstream.rewriting import Rewriting
from gateway.wire.codec import Head, WireError, read_head

_OURS = frozenset(our_ranges())
_PASSED_ON = "(upstream)"
"""What such requests are counted as."""


class PassingConnection(Connection):
    """Answers the group APIs, passes on the others."""

    def __init__(self, service: Service, broker: Broker, entrance: Entrance, rewriting: Rewriting) -> None:
        super().__init__(service)
        self._broker = broker
        self._entrance = entrance
        self._rewriting = rewriting
        self._link: Link | None = None
        self._rewrites: set[asyncio.Task[bytes]] = set()

    # ------------------------------------------------------------ requests

    def _work(self) -> None:
        if self.caller.is_known:
            # What stands before authentication is never passed on, so that nobody unknown fills the memory.
            self._cutter.max_bytes = self._settings.upstream_request_max_bytes
        super()._work()

    def _may_take(self) -> bool:
        return super()._may_take() and not (self._link is not None and self._link.is_full)

    def _take(self, frame: bytes) -> None:
        head = read_head(frame)
        if self._is_ours(head, frame):
            if len(frame) > self._settings.request_max_bytes:
                raise WireError(f"a request of {len(frame)} bytes, {self._settings.request_max_bytes} at most")
            super()._take(frame)
        elif is_passed_on(head.api_key, head.api_version):
            self._pass_on(head, frame)
        else:
            raise WireError(f"API {head.api_key} v{head.api_version} is not passed on to the upstream")

    def _is_ours(self, head: Head, frame: bytes) -> bool:
        if head.api_key == API_VERSIONS:
            return not is_passed_on(API_VERSIONS, head.api_version)
        return not self.caller.is_known or (head.api_key in _OURS and not _is_transactional(head, frame))

    def _pass_on(self, head: Head, frame: bytes) -> None:
        if self._link is None:
            self._link = Link(self, self._broker.address, self._entrance)
        if expects_no_answer(head, frame):
            self._link.send(frame, None)
            return
        self._link.send(frame, Passed(self._line_up(_PASSED_ON), head, self._rewriting.is_for(head)))

    # ------------------------------------------------------------ answers, as the link brings them

    @property
    def is_full(self) -> bool:
        """Whether the client reads too slowly for more."""
        return self._is_write_paused

    def is_first(self, slot: Slot) -> bool:
        """Whether nothing stands before a request any more."""
        return bool(self._slots) and self._slots[0] is slot

    def write(self, part: bytes) -> None:
        """A part of the answer to the first request."""
        self._transport.write(part)

    def written(self, slot: Slot) -> None:
        """That answer is complete."""
        self._leave(slot)
        self._advance()
        self._work()

    def rewrite(self, passed: Passed, frame: bytes) -> None:
        """The answer to a request, without its length, to be rewritten first."""
        host = self._settings.host_for(self.caller.reached_at[0])
        task = asyncio.create_task(self._rewriting.rewritten(passed.head, frame, host))
        self._rewrites.add(task)
        task.add_done_callback(lambda done: self._rewritten(passed.slot, done))

    def _rewritten(self, slot: Slot, done: asyncio.Task[bytes]) -> None:
        self._rewrites.discard(done)
        if done.cancelled() or self._is_ended:
            return
        error = done.exception()
        if error is not None:
            self.lose(f"an answer cannot be rewritten: {error}")
            return
        self._fill(slot, done.result())
        self._work()

    def lose(self, why: str) -> None:
        """The broker is gone, or what it says makes no sense."""
        self._end("upstream", f"{self._broker.address}: {why}")

    def go_on(self) -> None:
        """The link takes more again."""
        self._work()

    def _advance(self) -> None:
        super()._advance()
        if self._link is not None:
            self._link.work()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._link is not None:
            self._link.work()

    def connection_lost(self, error: Exception | None) -> None:
        super().connection_lost(error)
        for task in self._rewrites:
            task.cancel()
        if self._link is not None:
            self._link.close()


def _is_transactional(head: Head, frame: bytes) -> bool:
    return head.api_key == FIND_COORDINATOR and not asks_for_a_group(head, frame)
