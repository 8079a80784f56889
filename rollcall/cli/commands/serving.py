"""The subcommands that serve and maintain: `rollcall run`, `demo`, `maintain`, `repartition`, `package` and `doctor`.

Knows their options. Must not import the code behind a subcommand before it is called.
"""

from __future__ import annotations

from pathlib import Path

import click

from rollcall.programs.command_line import conf_option, examples, home_option, named_as_typed, place_options
from rollcall.programs.extras import SPARK, check_installed


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
    "--page", metavar="HOST:PORT|0", default="", help="Address of the page, 0: no page (default: 127.0.0.1:8080)."
)
@click.option("--demo/--no-demo", default=True, help="Start the demo's consumers.")
@click.option("--demo-seconds", metavar="SECONDS", default="", help="Stop after this many seconds.")
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
    check_installed(SPARK)  # Only its children import it.
    from rollcall.cli.run.choices import RunOptions
    from rollcall.cli.run.command import run_everything

    options = RunOptions(home, conf, listen, topics, upstream, metrics, demo, demo_seconds, page)
    with named_as_typed(options._asdict()):
        return run_everything(options)


@click.command(epilog=examples("rollcall demo", "rollcall demo --listen 127.0.0.1:8090 --no-browser"))
@click.option(
    *("--listen", "--page", "listen"),
    metavar="HOST:PORT",
    default="",
    help="Where the page is served (default: any free port of 127.0.0.1).",
)
@click.option("--browser/--no-browser", default=True, help="Open the browser, or only print the address.")
def demo(listen: str, browser: bool) -> None:
    """Show a recorded incident in a browser.

    It needs no Java and no cluster.
    """
    from rollcall.cli.demo import show_demo

    show_demo(listen or "127.0.0.1:0", opens_browser=browser)


@click.command(epilog=examples("rollcall maintain", "rollcall maintain --home s3a://bucket/rollcall"))
@home_option
@conf_option
def maintain(home: str, conf: Path | None) -> None:
    """Compact small files and remove expired rows. The home has no job running, or is a cluster's."""
    check_installed(SPARK)
    from rollcall.jobs.config import load_config
    from rollcall.jobs.maintain import maintain as tend
    from rollcall.tables.home import Home

    for line in tend(Home(home), load_config(conf)):
        print(f"rollcall: {line}")


@click.command(epilog=examples("rollcall repartition --partitions 48 --home s3a://bucket/rollcall"))
@click.option("--partitions", metavar="N", type=int, required=True, help="How many; about the cores of the executors.")
@home_option
def repartition(partitions: int, home: str) -> None:
    """Move a stopped home to another number of partitions."""
    check_installed(SPARK)
    from rollcall.jobs.repartition import repartition as move
    from rollcall.tables.home import Home

    print(f"rollcall: {move(Home(home), partitions)}")


@click.command(epilog=examples("rollcall package"))
@click.argument("target", metavar="[FILE]", default="")
def package(target: str) -> None:
    """Pack the project for spark-submit's --py-files. FILE is dist/rollcall.zip unless another is named."""
    from rollcall.jobs.package import TARGET, pack

    print(f"rollcall: {pack(Path(target) if target else TARGET)} is for spark-submit --py-files.")


@click.command(epilog=examples("rollcall doctor", "rollcall doctor kafka://broker:9092 --conf conf/mine.conf"))
@click.argument("cluster", metavar="[CLUSTER]", default="")
@home_option
@conf_option
def doctor(cluster: str, home: str, conf: Path | None) -> int:
    """Check what this machine lacks, and say what to do.

    CLUSTER is kafka://host:port: whether it answers, and whether this user may follow it.
    """
    from rollcall.cli.doctor import answer_doctor, kafka_settings
    from rollcall.tables.home import Home

    return answer_doctor(Home(home), kafka_settings(cluster, conf))
