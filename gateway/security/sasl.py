"""SaslHandshake and SaslAuthenticate: the mechanisms' tokens in Kafka's messages.

Addresses have their tokens checked in turn, so that those who guess passwords keep nobody else out.

Knows the two messages and who the caller becomes; must not know how a mechanism works.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from functools import partial
from typing import Any

from kio.schema.errors import ErrorCode

from gateway.exchange import Answer, Ask, Building, Endpoint, Later
from gateway.fair_threads import FairThreads
from gateway.security.credentials import Users
from gateway.security.mechanisms import AuthenticationError, Step, mechanism
from gateway.wire.shaping import entity_of

_THREADS = min(4, os.cpu_count() or 1)
_REFUSAL_S = 0.1
"""A refusal is sent so much later, so that guessing takes time."""


class Sasl:
    """Lets clients say who they are."""

    def __init__(self, users: Users, mechanisms: Sequence[str]) -> None:
        self._users = users
        self._mechanisms = mechanisms
        self._threads = FairThreads(_THREADS, "passwords")

    def endpoints(self) -> list[Endpoint]:
        return [
            Endpoint("SaslHandshake", 17, 1, 1, self._handshake, holds=True),
            Endpoint("SaslAuthenticate", 36, 0, 2, self._authenticate, holds=True),
        ]

    def _handshake(self, ask: Ask) -> Any:
        name = ask.message.mechanism
        values: dict[str, Any] = {"mechanisms": self._mechanisms}
        if ask.caller.is_known:
            values["error_code"] = ErrorCode.illegal_sasl_state
        elif name not in self._mechanisms:
            values["error_code"] = ErrorCode.unsupported_sasl_mechanism
        else:
            ask.caller.mechanism = mechanism(name, self._users)
        return entity_of(ask.codec.response_type, values)

    def _authenticate(self, ask: Ask) -> Answer:
        if ask.caller.mechanism is None:
            return self._refused(ask, ErrorCode.illegal_sasl_state, "SaslHandshake comes first, and once")
        return Later(asyncio.ensure_future(self._step(ask)), lambda done: self._answer(ask, done))

    async def _step(self, ask: Ask) -> Step:
        try:
            return await self._threads.run(ask.caller.host, partial(ask.caller.mechanism.step, ask.message.auth_bytes))
        except AuthenticationError:
            await asyncio.sleep(_REFUSAL_S)
            raise

    def _answer(self, ask: Ask, done: asyncio.Future[Step]) -> Building:
        response = self._response(ask, done)
        return Building(0, lambda: response)

    def _response(self, ask: Ask, done: asyncio.Future[Step]) -> Any:
        try:
            token, name = done.result()
        except AuthenticationError as error:
            return self._refused(ask, ErrorCode.sasl_authentication_failed, f"Authentication failed: {error}")
        if name is not None:
            ask.caller.principal = f"User:{name}"
            ask.caller.is_known = True
            ask.caller.mechanism = None
        return entity_of(ask.codec.response_type, {"auth_bytes": token})

    def _refused(self, ask: Ask, code: ErrorCode, why: str) -> Any:
        ask.caller.is_refused = True
        return entity_of(ask.codec.response_type, {"error_code": code, "error_message": why})
