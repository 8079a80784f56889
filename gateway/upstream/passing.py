"""Takes a connection's requests where most are the upstream's: those are passed on, the group APIs' answered here.

Requests go to the broker that the client believes to speak to, as they came. Answers come back as they are, but not
before everything that the client asked earlier has been answered; those that name brokers are rewritten first.

Knows order and bytes; knows no API but by its key.
"""

from __future__ import annotations

import asyncio

from gateway.answer_queue import Slot
from gateway.answering import Answering
from gateway.settings import Settings
from gateway.taking import Client
from gateway.upstream.apis import API_VERSIONS, FIND_COORDINATOR, is_passed_on, our_ranges
from gateway.upstream.brokers import Broker
from gateway.upstream.entrance import Entrance
from gateway.upstream.link import Link, Passed
from gateway.upstream.request_facts import asks_for_a_group, expects_no_answer
from gateway.upstream.rewriting import Rewriting
from gateway.wire.codec import Head, WireError, read_head

_OURS = frozenset(our_ranges())
_READ_HERE = frozenset({API_VERSIONS, FIND_COORDINATOR})
_PASSED_ON = "(upstream)"
"""What such requests are counted as."""


class Passing:
    """A request taker with a link to one broker. ours: takes what is answered here."""

    def __init__(
        self,
        client: Client,
        ours: Answering,
        settings: Settings,
        broker: Broker,
        entrance: Entrance,
        rewriting: Rewriting,
    ) -> None:
        self._client = client
        self._ours = ours
        self._settings = settings
        self._broker = broker
        self._entrance = entrance
        self._rewriting = rewriting
        self._link: Link | None = None
        self._rewrite: asyncio.Task[bytes] | None = None
        self.rewritten_bytes = 0
        """How long the answer is that is being rewritten, 0: none is."""
        client.answers.when_advanced = self._advanced

    # ------------------------------------------------------------ requests

    @property
    def request_max_bytes(self) -> int:
        # Nothing is passed on before authentication, so long requests need not be read before it.
        known = self._client.caller.is_known
        return self._settings.upstream_request_max_bytes if known else self._ours.request_max_bytes

    @property
    def is_full(self) -> bool:
        return self._link is not None and self._link.is_full

    def take(self, frame: bytes) -> None:
        head = read_head(frame)
        if self._is_ours(head, frame):
            if len(frame) > self._ours.request_max_bytes:
                raise WireError(f"a request of {len(frame)} bytes, {self._ours.request_max_bytes} at most")
            self._ours.take(frame)
        elif is_passed_on(head.api_key, head.api_version):
            self._pass_on(head, frame)
        else:
            raise WireError(f"API {head.api_key} v{head.api_version} is not passed on to the upstream")

    def _is_ours(self, head: Head, frame: bytes) -> bool:
        if head.api_key in _READ_HERE and not is_passed_on(head.api_key, head.api_version):
            # A version that nobody knows: it is refused, or answered with those there are.
            return True
        if head.api_key == API_VERSIONS:
            return False
        return not self._client.caller.is_known or (head.api_key in _OURS and not _is_transactional(head, frame))

    def _pass_on(self, head: Head, frame: bytes) -> None:
        if self._link is None:
            self._link = Link(self, self._broker.address, self._entrance)
        if expects_no_answer(head, frame):
            self._link.send(frame, None)
            return
        # Its bytes are the link's to count, which has them.
        slot = self._client.answers.line_up(_PASSED_ON, 0)
        self._link.send(frame, Passed(slot, head, self._rewriting.is_for(head)))

    # ------------------------------------------------------------ answers, as the link brings them

    @property
    def is_client_full(self) -> bool:
        """Whether the client reads too slowly for more."""
        return self._client.is_write_paused

    def is_first(self, slot: Slot) -> bool:
        """Whether nothing stands before a request any more."""
        return self._client.answers.is_first(slot)

    def write(self, part: bytes) -> None:
        """A part of the answer to the first request."""
        self._client.write(part)

    def first_is_sent(self) -> None:
        """That answer is complete."""
        self._client.answers.first_is_sent()
        self._client.go_on()

    def rewrite(self, passed: Passed, frame: bytes) -> None:
        """The answer to a request, without its length, to be rewritten first."""
        caller = self._client.caller
        host = self._settings.host_for(caller.reached_at[0])
        self.rewritten_bytes = len(frame)
        self._rewrite = asyncio.create_task(self._rewriting.rewritten(passed.head, frame, host, caller))
        self._rewrite.add_done_callback(lambda done: self._rewritten(passed.slot, done))

    def _rewritten(self, slot: Slot, done: asyncio.Task[bytes]) -> None:
        self._rewrite, self.rewritten_bytes = None, 0
        if done.cancelled():
            return
        error = done.exception()
        if self._client.is_ended:
            return
        if error is not None:
            self.lose(f"an answer cannot be rewritten: {error}")
            return
        self._client.answers.fill(slot, done.result())
        self._client.go_on()

    def hold(self, held_bytes: int) -> None:
        """So many bytes of an answer that is to be rewritten are here."""
        self._client.hold_answer(held_bytes)

    def lose(self, why: str) -> None:
        """The broker is gone, or what it says makes no sense."""
        self._client.end("upstream", f"{self._broker.address}: {why}")

    def go_on(self) -> None:
        """The link takes more again."""
        self._client.go_on()

    def _advanced(self) -> None:
        if self._link is not None:
            self._link.work()

    # ------------------------------------------------------------ the client's connection

    def can_write(self) -> None:
        if self._link is not None:
            self._link.work()

    def lost(self) -> None:
        if self._rewrite is not None:
            self._rewrite.cancel()
        if self._link is not None:
            self._link.close()


def _is_transactional(head: Head, frame: bytes) -> bool:
    return head.api_key == FIND_COORDINATOR and not asks_for_a_group(head, frame)
