"""How a worker and its test talk: JSON lines out, words in. The same for every client library, the Java one too.

Out: {"event": "assignment", "partitions": ["t/0", ...]} whenever it changes, {"event": "committed" or "position",
"partition": "t/0", "offset": 5 or null}, {"event": "error", "what": "..."}; of a worker that commits what it has read,
as `--commit-ms` says, {"event": "progress", "sent_ms": 990, "at_ms": 1000, "offsets": {"t/0": 5}} once a commit is
acknowledged.
In: `commit t/0 5`, `committed t/0`, `position t/0`, `subscribe t u` or `subscribe ^t.*`, `close`. The two clients that
speak the newer group protocol know `subscribe`, and a regular expression in the place of the topic.

Knows lines; knows no client library.
"""

from __future__ import annotations

import json
import queue
import sys
import threading
import time
from collections.abc import Collection, Iterable, Mapping
from types import SimpleNamespace
from typing import Any

import click


@click.command()
@click.option("--bootstrap", required=True)
@click.option("--group", required=True)
@click.option("--topic", required=True)
@click.option("--client-id", required=True)
@click.option("--instance-id")
@click.option("--assignor", default="range")
@click.option("--session-ms", type=int, default=3000)
@click.option("--heartbeat-ms", type=int, default=300)
@click.option("--protocol", default="classic")
@click.option("--max-poll-ms", type=int, default=20_000)
@click.option("--commit-ms", type=int, default=0)
@click.option("--user")
@click.option("--password")
@click.option("--mechanism")
@click.option("--ca")
def _options(**given: Any) -> SimpleNamespace:
    return SimpleNamespace(**given)


def options() -> SimpleNamespace:
    """What a worker is given when it starts."""
    given: SimpleNamespace = _options(standalone_mode=False)
    return given


def usual_settings(given: SimpleNamespace) -> dict[str, Any]:
    """What kafka-python and aiokafka call by the same names, but for the assignor and the certificate."""
    settings = {
        "bootstrap_servers": given.bootstrap,
        "group_id": given.group,
        "client_id": given.client_id,
        "group_instance_id": given.instance_id,
        "session_timeout_ms": given.session_ms,
        "heartbeat_interval_ms": given.heartbeat_ms,
        "enable_auto_commit": False,
        "auto_offset_reset": "earliest",
    }
    if given.user:
        settings |= {
            "security_protocol": "SASL_SSL" if given.ca else "SASL_PLAINTEXT",
            "sasl_mechanism": given.mechanism,
            "sasl_plain_username": given.user,
            "sasl_plain_password": given.password,
        }
    return settings


def say(event: str, **fields: object) -> None:
    print(json.dumps({"event": event, **fields}), flush=True)


class Commands:
    """The words that came in; after the end of input, `close`."""

    def __init__(self) -> None:
        self._queue: queue.Queue[list[str]] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in sys.stdin:
            self._queue.put(line.split())
        self._queue.put(["close"])

    def next(self) -> list[str] | None:
        """The next one, None if there is none."""
        try:
            return self._queue.get_nowait()
        except queue.Empty:
            return None


class Reported:
    """Says what is assigned whenever it is not what was said last."""

    def __init__(self) -> None:
        self._last: list[str] | None = None

    def tell(self, partitions: Iterable[tuple[str, int]]) -> None:
        now = sorted(f"{topic}/{partition}" for topic, partition in partitions)
        if now != self._last:
            self._last = now
            say("assignment", partitions=now)


class Uncommitted:
    """What a worker has read and not committed yet. every_ms: how often it commits, 0: never."""

    def __init__(self, every_ms: int) -> None:
        self._every_s, self._next_s = every_ms / 1000, 0.0
        self._read: dict[tuple[str, int], int] = {}
        self._sent_ms = 0

    def read(self, topic: str, partition: int, offset: int) -> None:
        self._read[topic, partition] = offset + 1

    def due(self, held: Collection[tuple[str, int]]) -> dict[tuple[str, int], int]:
        """What is to be committed now, of the partitions that are held; it counts as committed."""
        if not self._every_s or not self._read or time.monotonic() < self._next_s:
            return {}
        self._next_s, self._sent_ms = time.monotonic() + self._every_s, int(time.time() * 1000)
        read, self._read = self._read, {}
        return {key: offset for key, offset in read.items() if key in held}

    def say_progress(self, offsets: Mapping[tuple[str, int], int]) -> None:
        named = {f"{topic}/{partition}": offset for (topic, partition), offset in offsets.items()}
        say("progress", sent_ms=self._sent_ms, at_ms=int(time.time() * 1000), offsets=named)


def place(text: str) -> tuple[str, int]:
    """`t/0` as topic and partition."""
    topic, _, partition = text.rpartition("/")
    return topic, int(partition)
