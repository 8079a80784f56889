"""A gateway over the pure core as a process of its own, for as long as somebody needs it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile

from listeners.addresses import Address, parse_address
from tests.waiting import until

ROOT = Path(__file__).parents[2]


@contextmanager
def serving(settings: Mapping[str, object]) -> Iterator[Address]:
    """Its address. The settings are the gateway's and Kafka's; it listens where the system likes, unless they say."""
    every = {"gateway.listen": "127.0.0.1:0", "gateway.metrics.listen": "", **settings}
    words = [word for key, value in every.items() for word in ("--set", f"{key}={value}")]
    with NamedTemporaryFile() as said:
        process = subprocess.Popen([sys.executable, "-m", "tests.gateway.serve", *words], cwd=ROOT, stdout=said)

        def listening() -> str | None:
            assert process.poll() is None, f"it ended with {process.returncode}"
            line = Path(said.name).read_text()
            return line if line.endswith("\n") else None

        try:
            yield parse_address("listen", until(listening, "it listens").removeprefix("listening on ").strip())
        finally:
            process.terminate()
            process.wait()
