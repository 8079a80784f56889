"""Hours of work, to see what grows: a job, a gateway and a page with a thousand groups whose members come and go.

    python -m benchmarks.soak --hours 2 --groups 1000 --out build/soak          `make soak HOURS=`

Old versions of the tables are kept for five minutes in place of an hour, and requests for an hour in place of a week:
in two hours all that is ever removed is removed. A sample a minute goes to samples.jsonl, and in the end a picture of
them beside it. Exit status 1: a figure ended above 1.2 times what it was after a sixth of the time, or a member that
lived was removed. Knows programs and the order of what is done; must not know what a member does.
"""

from __future__ import annotations

import asyncio
import json
import random
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import pyarrow.compute as pc
from deltalake import DeltaTable
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from benchmarks.bench_live import await_ready, serving
from benchmarks.figures import readable
from benchmarks.ports import free_port
from benchmarks.soak.groups import PARTITIONS, TOPIC, Lived, live
from benchmarks.soak.samples import Place, Watch
from benchmarks.soak.verdict import Compared, compared, picture
from jobs.home import Home
from jobs.run.servers import PageProcess
from listeners.addresses import Address
from pictures.svg import svg_of
from programs.command_line import examples, run_command
from programs.guardian import guard
from schemas.causes import EndCause
from schemas.effect_names import EffectName

NAME = "python -m benchmarks.soak"
EVERY_S = 60.0
END_PATIENCE_S = 60.0
SETTINGS = {
    "topics": f"{TOPIC}:{PARTITIONS}",
    "spark.coordinator.versions.retention.minutes": "5",
    "spark.coordinator.requests.retention.hours": "1",
}


@click.command(epilog=examples(f"{NAME} --hours 2"))
@click.option("--hours", type=click.FloatRange(min=0.05), default=2.0, show_default=True)
@click.option("--groups", type=click.IntRange(min=3), default=1000, show_default=True)
@click.option("--seed", default=1, show_default=True, help="Of who goes when.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("build/soak"), show_default=True)
def command(hours: float, groups: int, seed: int, out: Path) -> int:
    """Work for this time, and say what has grown."""
    shutil.rmtree(out / "home", ignore_errors=True)
    out.mkdir(parents=True, exist_ok=True)
    lived = Lived()
    with _working(out / "home") as (place, address):
        samples = asyncio.run(_soak(place, address, groups, hours * 3600, random.Random(seed), lived, out))
        expired = _expired(place.home)
    scene = picture(samples)
    (out / "soak.svg").write_text(svg_of(scene))
    found = compared(samples)
    Console().print(_table(found))
    missed = [each.name for each in found if each.holds is False]
    print(f"{readable(lived.beats)} heartbeats, {expired} members expired, told {lived.lost} times that they were none")
    if missed:
        print(f"rollcall: more than it was: {', '.join(missed)}", file=sys.stderr)
    return 1 if missed or expired or lived.lost else 0


async def _soak(
    place: Place, address: Address, groups: int, seconds: float, dice: random.Random, lived: Lived, out: Path
) -> list[dict[str, float]]:
    """The samples, which are written down as they are taken."""
    watch, samples, began = Watch(place, lived), list[dict[str, float]](), time.monotonic()
    members = asyncio.create_task(live(address, groups, dice, lived))
    progress = Progress(
        TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), console=Console(stderr=True)
    )
    with (out / "samples.jsonl").open("w") as written, progress:
        task = progress.add_task("soaking", total=seconds)
        for due in range(1, int(seconds / EVERY_S) + 1):
            await asyncio.wait([members], timeout=began + due * EVERY_S - time.monotonic())
            if members.done():
                members.result()
            sample = {"minutes": due * EVERY_S / 60, **await asyncio.to_thread(watch.sample)}
            samples.append(sample)
            written.write(json.dumps(sample) + "\n")
            written.flush()
            progress.update(task, completed=due * EVERY_S, description=f"batch {sample['batch']:.0f} ms")
    members.cancel()
    await asyncio.wait([members])
    return samples


@contextmanager
def _working(path: Path) -> Iterator[tuple[Place, Address]]:
    """A job, a gateway and a page on a new home. Raises RuntimeError: one did not start."""
    metrics = f"127.0.0.1:{free_port()}"
    with serving(path, {**SETTINGS, "spark.coordinator.metrics.listen": metrics}) as served:
        home = Home(path)
        page = PageProcess(home, "--listen", "127.0.0.1:0")
        try:
            await_ready(page)
            assert page.address is not None
            yield Place(home, served.job_pid, served.gateway_pid, page.pid, metrics, page.address), served.address
        finally:
            page.end(END_PATIENCE_S)


def _expired(home: Home) -> int:
    """How many members were removed that had not left."""
    facts = DeltaTable(home.effects).to_pyarrow_table(columns=["effect", "cause"])
    removed = facts.filter(pc.equal(facts["effect"], EffectName.MEMBER_REMOVED))
    return removed.num_rows - removed.filter(pc.equal(removed["cause"], EndCause.MEMBER_LEFT)).num_rows


def _table(found: list[Compared]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("figure", no_wrap=True)
    for heading in ("settled", "end", "times", ""):
        table.add_column(heading, justify="right")
    for each in found:
        verdict = {True: "[green]holds[/]", False: "[red]missed[/]", None: ""}[each.holds]
        table.add_row(each.name, readable(each.settled), readable(each.end), f"{each.times:.2f}", verdict)
    return table


if __name__ == "__main__":
    guard()
    sys.exit(run_command(command, NAME))
