"""`rollcall run`, `maintain`, `repartition` and `package`: what serves clients, and what looks after that.

Knows the words of each. Must not know what is done, nor import what does it before it is asked for.
"""

from __future__ import annotations

from pathlib import Path

import click

from programs.command_line import conf_option, examples, home_option, place_options


@click.command(
    epilog=examples(
        "rollcall run",
        "rollcall run --no-demo --topics clicks:12,views:4 --listen 127.0.0.1:9192",
        "rollcall run --conf conf/mine.conf --demo-seconds 60",
    )
)
@home_option
@conf_option
@place_options
@click.option(
    "--page", metavar="HOST:PORT|0", default="", help="Where the page is served, 0: nowhere; 127.0.0.1:8080 else."
)
@click.option("--demo/--no-demo", default=True, help="With the demo's consumers, or without.")
@click.option("--demo-seconds", metavar="SECONDS", default="", help="End by itself after so long.")
def run(
    home: str,
    conf: Path | None,
    listen: str,
    topics: str,
    upstream: str,
    metrics: str,
    page: str,
    demo: bool,
    demo_seconds: str,
) -> int:
    """Run coordinator, gateway and demo fleet until Ctrl-C."""
    from jobs.run.choices import Asked
    from jobs.run.command import run_everything

    return run_everything(Asked(home, conf, listen, topics, upstream, metrics, demo, demo_seconds, page))


@click.command(epilog=examples("rollcall maintain", "rollcall maintain --home s3a://bucket/rollcall"))
@home_option
@conf_option
def maintain(home: str, conf: Path | None) -> None:
    """Put small files together and remove what is old. The home has no job running, or is a cluster's."""
    from jobs.config import load_config
    from jobs.home import Home
    from jobs.maintain import maintain as tend

    for line in tend(Home(home), load_config(conf)):
        print(f"rollcall: {line}")


@click.command(epilog=examples("rollcall repartition --partitions 48 --home s3a://bucket/rollcall"))
@click.option("--partitions", metavar="N", type=int, required=True, help="How many; about the cores of the executors.")
@home_option
def repartition(partitions: int, home: str) -> None:
    """Move a stopped home to another number of partitions."""
    from jobs.home import Home
    from jobs.repartition import repartition as move

    print(f"rollcall: {move(Home(home), partitions)}")


@click.command(epilog=examples("rollcall package"))
@click.argument("target", metavar="[FILE]", default="")
def package(target: str) -> None:
    """Pack the project for spark-submit's --py-files. FILE is dist/rollcall.zip unless another is named."""
    from jobs.package import TARGET, pack

    print(f"rollcall: {pack(Path(target) if target else TARGET)} is for spark-submit --py-files.")
