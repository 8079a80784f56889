"""A gateway over the pure core as a process of its own, for as long as somebody needs it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from rollcall.serve.listeners.addresses import Address, parse_address
from tests.child import Child

LISTENS = "listening on "


@contextmanager
def serving(settings: Mapping[str, object]) -> Iterator[Address]:
    """Its address. The settings are the gateway's and Kafka's; it listens where the system likes, unless they say."""
    every = {"gateway.listen": "127.0.0.1:0", "gateway.metrics.listen": "", **settings}
    words = [word for key, value in every.items() for word in ("--set", f"{key}={value}")]
    with TemporaryDirectory() as folder:
        process = Child([sys.executable, "-m", "tests.gateway.serve", *words], Path(folder), is_alone=False)
        try:
            yield parse_address("listen", process.read_until(LISTENS).removeprefix(LISTENS).strip())
        finally:
            process.terminate()
            sys.stderr.write(process.ended()[2])
