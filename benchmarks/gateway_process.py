"""A gateway as a process of its own, for benches: over the pure core, or over the tables of a home.

    python -m benchmarks.gateway_process [--home HOME] [--topics TOPICS]

Says `listening on host:port` once it is ready and `peak N` bytes when SIGTERM has ended it. Knows how a gateway is put
together; must not know what a bench measures.
"""

from __future__ import annotations

import asyncio
import resource
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from coordinator_udfs.protocol.config import GroupConfig
from coordinator_udfs.protocol.group import Group
from coordinator_udfs.protocol.step import step
from gateway.assembly import gateway_on, stand_alone
from gateway.backend import Figures, Known
from gateway.server import prepare_process
from gateway.settings import Settings
from listeners.addresses import Address, parse_address
from programs.command_line import run_command
from programs.settings import from_texts
from schemas.effects import Reply
from schemas.fan_out import group_id_of
from schemas.messages import GroupRequest, Response

CONFIG = from_texts(GroupConfig, {"group.initial.rebalance.delay.ms": "0"})
_ROOT = Path(__file__).parents[1]
_MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024


class CoreInProcess:
    """A backend that answers at once by the pure core. Nothing expires: a bench is over before it could."""

    gateway_id = "bench"

    def __init__(self) -> None:
        self._groups: dict[str, Group] = {}
        self._waiting: dict[str, asyncio.Future[Response]] = {}

    async def start(self) -> None:
        self._loop = asyncio.get_running_loop()

    async def close(self) -> None:
        self._waiting.clear()

    def groups(self) -> asyncio.Future[Iterable[Known]]:
        nobody: asyncio.Future[Iterable[Known]] = self._loop.create_future()
        nobody.set_result(())
        return nobody

    def figures(self) -> Figures:
        return Figures(parked=len(self._waiting))

    def configured_groups(self) -> Iterable[str]:
        return ()

    def submit(self, request: GroupRequest) -> asyncio.Future[Response]:
        answer = self._waiting[request.request_id] = self._loop.create_future()
        group_id = group_id_of(request)
        group = self._groups.setdefault(group_id, Group(group_id))
        for effect in step(group, request, request.received_at_ms, CONFIG):
            if isinstance(effect, Reply):
                self._waiting.pop(effect.request_id).set_result(effect.response)
        return answer


class Gateway:
    """A gateway that runs. peak_bytes: the most memory that it had, known once it has ended."""

    def __init__(self, process: subprocess.Popen[str], address: Address) -> None:
        self._process = process
        self.address = address
        self.peak_bytes = 0

    def stop(self) -> None:
        self._process.terminate()
        said, _ = self._process.communicate(timeout=30)
        self.peak_bytes = int(said.split()[-1])


@contextmanager
def running(home: Path | None = None, topics: str = "") -> Iterator[Gateway]:
    """A gateway from here to the end of the block, over a home's tables or over the core."""
    command = [sys.executable, "-m", "benchmarks.gateway_process", "--topics", topics]
    command += ["--home", str(home)] if home else []
    process = subprocess.Popen(command, cwd=_ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        gateway = Gateway(process, parse_address("listen", said.removeprefix("listening on ").strip()))
        yield gateway
        gateway.stop()
    finally:
        process.kill()
        process.wait()


async def serve(home: Path | None, topics: str = "") -> None:
    """Serves until SIGTERM."""
    settings = Settings.from_pairs({"gateway.listen": "127.0.0.1:0", "gateway.metrics.listen": "", "topics": topics})
    server = stand_alone(settings, CoreInProcess()) if home is None else gateway_on(home, settings)
    await server.start()
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    print(f"listening on {server.address}", flush=True)
    await stop.wait()
    await server.close()
    print(f"peak {_peak_bytes()}", flush=True)


@click.command()
@click.option("--home", type=click.Path(path_type=Path), help="Over its tables; over the pure core else.")
@click.option("--topics", default="", help="Topics with their partitions, as for the gateway.")
def command(home: Path | None, topics: str) -> None:
    """Serve until SIGTERM."""
    prepare_process()
    asyncio.run(serve(home, topics))


def _peak_bytes() -> int:
    """The most memory that this process had. Linux counts what its parent held before it for its own in ru_maxrss."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _MAXRSS_UNIT


if __name__ == "__main__":
    sys.exit(run_command(command, "python -m benchmarks.gateway_process"))
