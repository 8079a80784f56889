"""SaslHandshake and SaslAuthenticate: the mechanisms' tokens in Kafka's messages.

Client addresses have their tokens checked in turn, so that one that guesses passwords does not delay the others.

Knows the two messages and the caller's principal; must not know how a mechanism works.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from functools import partial
from typing import Any

from kio.schema.errors import ErrorCode

from rollcall.serve.gateway.exchange import Answer, Ask, Building, Caller, Endpoint, Later
from rollcall.serve.gateway.fair_threads import FairThreads
from rollcall.serve.gateway.security.mechanisms import AuthenticationError, conversation
from rollcall.serve.listeners.credentials import Users

_THREADS = min(4, os.cpu_count() or 1)
_REFUSAL_S = 0.1
"""A refusal is delayed by this much, so that guessing takes time."""


class Sasl:
    def __init__(self, users: Users, mechanisms: Sequence[str]) -> None:
        self._users = users
        self._mechanisms = mechanisms
        self._threads = FairThreads(_THREADS, "passwords")

    def endpoints(self) -> list[Endpoint]:
        return [
            Endpoint("SaslHandshake", 17, 1, 1, self._handshake, holds=True),
            Endpoint("SaslAuthenticate", 36, 0, 2, self._authenticate, holds=True),
        ]

    def _handshake(self, ask: Ask) -> Answer:
        name = ask.message.mechanism
        values: dict[str, Any] = {"mechanisms": self._mechanisms}
        if ask.caller.is_known:
            values["error_code"] = ErrorCode.illegal_sasl_state
        elif name not in self._mechanisms:
            values["error_code"] = ErrorCode.unsupported_sasl_mechanism
        else:
            ask.caller.conversation = conversation(name, self._users)
        return values

    def _authenticate(self, ask: Ask) -> Answer:
        if ask.caller.conversation is None:
            return _refused(ask.caller, ErrorCode.illegal_sasl_state, "SaslHandshake comes first, and once")
        return Later(asyncio.ensure_future(self._answer(ask)), lambda done: Building(0, done.result))

    async def _answer(self, ask: Ask) -> dict[str, Any]:
        try:
            step = partial(ask.caller.conversation.send, ask.message.auth_bytes)
            token, name = await self._threads.run(ask.caller.host, step)
        except AuthenticationError as error:
            await asyncio.sleep(_REFUSAL_S)
            return _refused(ask.caller, ErrorCode.sasl_authentication_failed, f"Authentication failed: {error}")
        if name is not None:
            ask.caller.principal = f"User:{name}"
            ask.caller.is_known = True
            ask.caller.conversation = None
        return {"auth_bytes": token}


def _refused(caller: Caller, code: ErrorCode, why: str) -> dict[str, Any]:
    caller.is_refused = True
    return {"error_code": code, "error_message": why}
