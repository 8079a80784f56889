"""The subcommands for recordings: `rollcall replay`, `rollcall shadow` and `rollcall whatif`.

Knows their options. Must not import the code behind a subcommand before it is called.
"""

from __future__ import annotations

from pathlib import Path

import click

from rollcall.programs.command_line import (
    conf_option,
    engine_installed,
    examples,
    format_option,
    home_option,
    log_argument,
    set_option,
    zone_option,
)
from rollcall.programs.errors import UserError
from rollcall.programs.extras import left_out

WHATIF_OUT = "build/whatif.jsonl"
_broker_settings = set_option("A broker setting that the log does not show")
_processes = click.option(
    "--processes", type=click.IntRange(1, 256), metavar="N", help="Number of processes (default: one per core)."
)


@click.command(
    epilog=examples(
        "rollcall replay kafka-request.log",
        "rollcall replay kafka-request.log offsets.txt",
        "rollcall replay server.log.1 server.log offsets.txt --zone Europe/Berlin",
        'rollcall replay logs/ --zone Asia/Kolkata --set "group.max.size=3" --home .rollcall-incident --fresh',
    )
)
@click.argument("logs", type=click.Path(path_type=str), metavar="LOG...", nargs=-1, required=True)
@_broker_settings
@zone_option
@home_option
@click.option("--fresh", is_flag=True, help="Replace the replay in the home.")
@click.option(
    "--engine",
    type=click.Choice(("processes", "spark")),
    callback=engine_installed,
    default="processes",
    show_default=True,
    help="Run in processes of this machine, or on Spark for logs too large for one machine.",
)
@_processes
def replay(
    logs: tuple[str, ...],
    given: tuple[str, ...],
    zone: str,
    home: str,
    fresh: bool,
    engine: str,
    processes: int | None,
) -> None:
    """Replay a request log, server.log or __consumer_offsets.

    LOG is a file, a .gz, a folder of them, or - for standard input. A request log and a dump of one cluster make one
    history, together with any server.log files. Spark replays a request log whose files every worker can read.
    """
    from rollcall.cli.replay import replay as run_replay
    from rollcall.programs.settings import read_words
    from rollcall.programs.terminal import Terminal
    from rollcall.tables.home import Home

    asked = (Home(home), [path for log in logs for path in _paths_of(log)], read_words(given), zone, Terminal())
    if engine == "spark":
        from rollcall.cli.replay_on_spark import replay_by_spark

        replay_by_spark(*asked, is_fresh=fresh)
    else:
        run_replay(*asked, is_fresh=fresh, processes=processes)


def _paths_of(log: str) -> list[Path]:
    """The paths in a text: one, which may contain blanks, or several with blanks between them."""
    words = log.split()
    return [Path(log)] if len(words) < 2 or Path(log).exists() else [Path(word) for word in words]


@click.command(
    epilog=examples(
        "rollcall shadow kafka://broker:9092",
        "rollcall shadow kafka://broker:9092 --conf conf/mine.conf --no-offsets",
        "rollcall shadow /var/log/kafka/server.log",
        "rollcall shadow /var/log/kafka/kafka-request.log",
        "rollcall shadow /var/log/kafka/server.log kafka://broker:9092",
        "rollcall shadow /var/log/kafka/kafka-request.log kafka://broker:9092",
    )
)
@log_argument
@click.argument("cluster", metavar="[CLUSTER]", default="")
@_broker_settings
@zone_option
@conf_option
@click.option("--offsets/--no-offsets", default=True, help="Follow the offsets that a cluster's groups commit.")
@home_option
def shadow(
    log: str, cluster: str, given: tuple[str, ...], zone: str, conf: Path | None, offsets: bool, home: str
) -> int:
    """Follow a cluster's groups, a broker's growing log, or both.

    LOG is a request log, a broker's server.log, or a cluster. CLUSTER is kafka://host:port,
    whose __consumer_offsets is read; with a log both make one history. A cluster's TLS and SASL are settings
    kafka.* of FILE.
    """
    from rollcall.programs.terminal import Terminal
    from rollcall.serve.listeners.addresses import CLUSTER_SCHEME
    from rollcall.tables.home import Home

    followed = [log, cluster] if cluster else [log]
    clusters = [one for one in followed if one.startswith(CLUSTER_SCHEME)]
    logs = [one for one in followed if one not in clusters]
    if len(clusters) > 1 or len(logs) > 1:
        raise UserError(
            f"{' '.join(followed)}: expected at most one log and one cluster, found {len(logs)} and {len(clusters)}."
        )
    of_the_broker = [word for text in given for word in text.split() if not word.startswith("groups.")]
    if not logs and (zone != "UTC" or of_the_broker):
        raise UserError(
            f"{clusters[0]}: --zone and --set of a broker are said of a request log, and this is a cluster: "
            "--set takes only groups.GROUP.KEY."
        )
    if not clusters and (conf or not offsets):
        raise UserError(f"{logs[0]}: --conf and --offsets are said of a cluster, kafka://host:port, and this is a log.")
    with left_out("pandas"):
        from rollcall.cli.shadow.command import FollowedInputs, follow
        from rollcall.programs.settings import read_words

        log, cluster = (next(iter(named), "") for named in (logs, clusters))
        asked = FollowedInputs(log, zone, read_words(given), cluster, conf, has_commits=offsets)
        return follow(Home(home), asked, Terminal())


@click.command(
    epilog=examples(
        'rollcall whatif kafka-request.log --set "static=true"',
        'rollcall whatif kafka-request.log --set "group.protocol=consumer"',
        'rollcall whatif kafka-request.log --set "session.timeout.ms=6000..60000/8" --format json',
    )
)
@log_argument
@set_option("What to change or, with several values, to sweep")
@click.option("--was", multiple=True, metavar="KEY=VALUE", help="A setting that the broker had; repeatable.")
@zone_option
@format_option(("table", "json"))
@click.option(
    "--out", metavar="FILE", default=WHATIF_OUT, show_default=True, help="File for the figures of every group."
)
def whatif(log: str, given: tuple[str, ...], was: tuple[str, ...], zone: str, form: str, out: str) -> None:
    """Play a log's groups again with other settings."""
    from rollcall.cli.whatif.command import WhatIfQuestion
    from rollcall.cli.whatif.command import whatif as run_whatif
    from rollcall.programs.settings import read_words
    from rollcall.programs.terminal import Terminal

    run_whatif(WhatIfQuestion(Path(log), given, read_words(was), zone, form, Path(out or WHATIF_OUT)), Terminal())
