"""How a worker and its test talk: JSON lines out, words in. The same for every client library, the Java one too.

Out: {"event": "assignment", "partitions": ["t/0", ...]} whenever it changes, {"event": "committed" or "position",
"partition": "t/0", "offset": 5 or null}, {"event": "error", "what": "..."}.
In: `commit t/0 5`, `committed t/0`, `position t/0`, `subscribe t u` or `subscribe ^t.*`, `close`. The two clients that
speak the newer group protocol know `subscribe`, and a regular expression in the place of the topic.

Knows lines; knows no client library.
"""

from __future__ import annotations

import json
import queue
import sys
import threading
from collections.abc import Iterable
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
@click.option("--user")
@click.option("--password")
@click.option("--mechanism")
@click.option("--ca")
def _options(**told: Any) -> SimpleNamespace:
    return SimpleNamespace(**told)


def options() -> SimpleNamespace:
    """What a worker is told when it starts."""
    told: SimpleNamespace = _options(standalone_mode=False)
    return told


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


class Told:
    """Says what is assigned whenever it is not what was said last."""

    def __init__(self) -> None:
        self._last: list[str] | None = None

    def tell(self, partitions: Iterable[tuple[str, int]]) -> None:
        now = sorted(f"{topic}/{partition}" for topic, partition in partitions)
        if now != self._last:
            self._last = now
            say("assignment", partitions=now)


def place(text: str) -> tuple[str, int]:
    """`t/0` as topic and partition."""
    topic, _, partition = text.rpartition("/")
    return topic, int(partition)
