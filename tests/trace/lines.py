"""Lines for the trace and ways to run them: requests with everything a test does not care about filled in.

Knows the form of a line; must not know any rule of the protocol.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from rollcall.coordinator_udfs.trace import config_from, run
from tests.source_tree import ROOT

Line = dict[str, Any]


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def join(at_ms: int, request_id: str, **fields: Any) -> Line:
    """A JoinGroup v3 of group g, by which a client becomes a member at once; protocol type and bytes are opaque."""
    return {
        "at_ms": at_ms,
        "request_id": request_id,
        "api": "JoinGroup",
        "api_version": 3,
        "client_id": f"client-{request_id}",
        "client_host": "/10.0.0.1",
        "group_id": "g",
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 60_000,
        "member_id": "",
        "protocol_type": "connect",
        "protocols": [{"name": "p", "metadata": b64(b"m")}],
    } | fields


def sync(at_ms: int, request_id: str, member_id: str, **fields: Any) -> Line:
    return {
        "at_ms": at_ms,
        "request_id": request_id,
        "api": "SyncGroup",
        "api_version": 3,
        "group_id": "g",
        "generation_id": 1,
        "member_id": member_id,
        "assignments": [],
    } | fields


def heartbeat(at_ms: int, request_id: str, member_id: str, **fields: Any) -> Line:
    return {
        "at_ms": at_ms,
        "request_id": request_id,
        "api": "Heartbeat",
        "api_version": 3,
        "group_id": "g",
        "generation_id": 1,
        "member_id": member_id,
    } | fields


def ask(at_ms: int, request_id: str, api: str, version: int, **fields: Any) -> Line:
    return {"at_ms": at_ms, "request_id": request_id, "api": api, "api_version": version} | fields


def tick(at_ms: int) -> Line:
    return {"at_ms": at_ms, "api": "Tick"}


def text_of(lines: Iterable[Line | bytes]) -> bytes:
    """Lines as they stand in a file; bytes stand as they are."""
    return b"".join((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n" for line in lines)


def traced(*lines: Line | bytes, config: Iterable[str] = (), effects: bool = False) -> list[Line]:
    """What the trace answers, as read from its lines, without an initial delay unless a setting says otherwise."""
    settings = config_from(["group.initial.rebalance.delay.ms=0", *config])
    printed = run(text_of(lines).splitlines(keepends=True), settings, with_effects=effects)
    return [msgspec.json.decode(msgspec.json.encode(line)) for line in printed]


def by_id(lines: Iterable[Line]) -> dict[str, Line]:
    """The answers by request id."""
    return {line["request_id"]: line for line in lines if "effect" not in line}


class Run(NamedTuple):
    """How the command ended."""

    status: int
    lines: list[Line]
    errors: str


def command(stdin: bytes, *arguments: str) -> Run:
    """Runs the command line itself."""
    done = subprocess.run(
        [sys.executable, "-m", "rollcall.coordinator_udfs.trace", *arguments],
        input=stdin,
        capture_output=True,
        cwd=ROOT,
        timeout=60,
        check=False,
    )
    return Run(done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr.decode())
