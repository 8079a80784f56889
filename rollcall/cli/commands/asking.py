"""The subcommands that query a home: `rollcall sql`, `rollcall why`, `rollcall lag`, `rollcall pictures` and others.

Knows their options. Must not import the code behind a subcommand before it is called.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from rollcall.programs.command_line import (
    DEFAULT_HOME,
    OneOf,
    at_option,
    engine_installed,
    examples,
    format_option,
    formats_option,
    home_option,
    use_formats,
)
from rollcall.programs.errors import UserError

PICTURES = "build/pictures"
_group = click.argument("group", metavar="GROUP")
_generation = click.option(
    "--generation", metavar="N", default="", help="The rebalance that led to this generation of the group."
)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Switches garbage collection off: loading the libraries makes many objects, and all of them stay."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@click.command(
    epilog=examples(
        'rollcall sql "select * from groups"',
        'rollcall sql --format csv --at "2026-03-01 03:12" "select * from members"',
    )
)
@click.argument("query", metavar="QUERY")
@format_option(("table", "json", "csv", "csv-raw"))
@at_option("Show the state at this time")
@click.option(
    "--engine",
    type=click.Choice(["duckdb", "spark"]),
    callback=engine_installed,
    help="Engine to use (default: duckdb, for queries that it answers like Spark).",
)
@home_option
@_uncollected()
def sql(query: str, form: str, at: str, engine: str | None, home: str) -> None:
    """Ask a home in SQL. `show tables` and `describe groups` say what there is."""
    from rollcall.cli.sql import answer_query
    from rollcall.tables.home import Home

    answer_query(Home(home), query, at, form, engine or "")


@click.command(
    epilog=examples(
        "rollcall why payments", "rollcall why payments --generation 7", "rollcall why -- -begins-with-a-dash"
    )
)
@_group
@_generation
@at_option("The rebalance at this time")
@click.option("--evidence", is_flag=True, help="Show the line, or the request, of each fact.")
@format_option(("text", "json"))
@home_option
@_uncollected()
def why(group: str, generation: str, at: str, evidence: bool, form: str, home: str) -> None:
    """Explain a rebalance of a group (default: the latest)."""
    from rollcall.cli.why import answer
    from rollcall.tables.home import Home

    answer(Home(home), group, generation, at, form, shows_evidence=evidence)


@click.command(epilog=examples("rollcall lag payments", "rollcall lag --watch", "rollcall lag payments --format json"))
@click.argument("group", metavar="[GROUP]", default="")
@click.option("--watch", is_flag=True, help="Refresh every 5 s until Ctrl-C.")
@at_option("The lag at this time")
@format_option(("text", "json"))
@home_option
def lag(group: str, watch: bool, at: str, form: str, home: str) -> None:
    """Show how far behind groups are.

    Partition by partition: those of one group, or of all, the furthest behind first. LAG and LOST are records, TIME-LAG
    is the age of the oldest record to be read, TREND by how many records LAG grew in the last minute, KNOWN-AT when the
    log ended there, in UTC. CONSUMER-ID, HOST and CLIENT-ID name the owner. A dash means unknown.
    """
    from rollcall.cli.lag import answer_lag
    from rollcall.tables.home import Home

    answer_lag(Home(home), group, at, form, watches=watch)


@click.command(
    epilog=examples(
        'rollcall pictures payments --at "2026-03-01 03:12" --minutes 10',
        "rollcall pictures payments --generation 7",
        "rollcall pictures --whatif build/whatif.jsonl",
    )
)
@click.argument("group", metavar="GROUP", default="")
@_generation
@at_option("The middle of the time span")
@click.option("--minutes", metavar="N", default="", help="Length of the time span (default: 30).")
@click.option("--whatif", metavar="FILE", default="", help="Draw the rows that `rollcall whatif` left instead.")
@click.option("--out", metavar="FOLDER", default=PICTURES, show_default=True, help="Folder for the files.")
@home_option
def pictures(group: str, generation: str, at: str, minutes: str, whatif: str, out: str, home: str) -> None:
    """Draw a group, one of its rebalances, or a sweep."""
    from rollcall.cli.pictures import PictureOptions, draw
    from rollcall.tables.home import Home

    for file in draw(Home(home), PictureOptions(group, generation, at, minutes, whatif), Path(out or PICTURES)):
        print(file)


@click.command(epilog=examples("rollcall status", "rollcall status .rollcall-d-kill --format json"))
@click.argument("homes", metavar="[HOME]...", nargs=-1)
@click.option("--home", "named", metavar="FOLDER", multiple=True, help="The same as HOME.")
@format_option(("text", "json"))
def status(homes: tuple[str, ...], named: tuple[str, ...], form: str) -> None:
    """Show who works in a home and which groups are in trouble.

    HOME is one home or several (default: all in this folder).
    """
    from rollcall.cli.status import answer_status, homes_in
    from rollcall.tables.home import Home

    answer_status([Home(home) for home in (*homes, *named)] or homes_in(Path()), form)


@click.command(epilog=examples("rollcall check", "rollcall check .rollcall-d-kill --format json"))
@click.argument("home", metavar="[HOME]", envvar="ROLLCALL_HOME", default=DEFAULT_HOME)
@click.option("--home", "named", metavar="FOLDER", default="", help="The same as HOME.")
@click.option(
    "--engine",
    type=click.Choice(["duckdb", "spark"]),
    callback=engine_installed,
    help="Engine to use (default: duckdb).",
)
@format_option(("text", "json"))
@click.pass_context
@_uncollected()
def check(context: click.Context, home: str, named: str, engine: str | None, form: str) -> None:
    """Check the consistency of a home's rows.

    The exit status is 1 if a check fails. HOME is $ROLLCALL_HOME or .rollcall by default.
    """
    from rollcall.cli.check import answer_check
    from rollcall.tables.home import Home

    if answer_check(Home(named or home), form, engine or ""):
        context.exit(1)


@click.command(epilog=examples("rollcall formats list", "rollcall formats check --formats formats"))
@click.argument("what", metavar="[list|check]", type=OneOf(("list", "check")), default="list")
@formats_option
def formats(what: str, formats: str) -> None:
    """List the formats of printed logs, or check each sample.

    A format is a file of TOML that says how the lines of one program are recognised and what they say; docs/explain.md
    describes it.
    """
    use_formats(formats)
    from rollcall.cli.formats import check, listed

    print(*(listed() if what == "list" else check()), sep="\n")


@click.command(
    epilog=examples(
        "rollcall explain server.log",
        "rollcall explain kafka-request.log server.log offsets.txt",
        "rollcall explain server.log.2026-03-01-03 server.log app.log --evidence",
        "kubectl logs broker-0 | rollcall explain -",
        "kubectl logs -f broker-0 | rollcall explain --follow -",
        "rollcall explain app.log --formats formats",
    )
)
@click.argument("files", metavar="LOG...", nargs=-1, required=True)
@click.option("--group", metavar="GROUP", default="", help="Only this group.")
@click.option(
    "--since", metavar="MOMENT", default="", help="Ignore rebalances that ended before this time: 05:39, -1h or a date."
)
@click.option("--until", metavar="MOMENT", default="", help="Ignore rebalances that began after this time.")
@click.option(
    "--zone", metavar="ZONE", default="", help="Time zone of times printed without one, for example Asia/Kolkata."
)
@click.option("--evidence", is_flag=True, help="Show the lines behind each statement, by file and number.")
@click.option("--unknown", is_flag=True, help="Print only wordings that no format reads, as TOML to be filled in.")
@click.option("--follow", is_flag=True, help="Read standard input until it ends; print each rebalance as it ends.")
@formats_option
@format_option(("text", "json"))
def explain(
    files: tuple[str, ...],
    group: str,
    since: str,
    until: str,
    zone: str,
    evidence: bool,
    unknown: bool,
    follow: bool,
    formats: str,
    form: str,
) -> None:
    """Explain rebalances from what brokers and clients log.

    LOG is a server.log, an application's log, a kafka-request.log, a dump of __consumer_offsets, a .gz, a folder of
    them, or - for standard input. Nothing needs to be prepared, and no home is written. Times are
    those of the lines, in UTC where their zone is known. A moment without a date counts from the latest line.
    """
    options = {"--follow": follow, f"--format {form}": form != "text", f"--group {group}": group}
    options |= {f"--since {since}": since, f"--until {until}": until, "--evidence": evidence}
    other = next((name for name, is_given in options.items() if is_given), "")
    if unknown and other:
        raise UserError(f"--unknown prints TOML of whole files: it cannot be combined with {other}.")
    use_formats(formats)
    with _uncollected():
        from rollcall.cli.explain import Asked, explain_as_they_come
        from rollcall.cli.explain import explain as explain_files
        from rollcall.inputs.printed.lines.files import STANDARD_INPUT, arriving_lines
        from rollcall.inputs.request_log.lines.clock import zone_of
        from rollcall.programs.terminal import Terminal

    asked = Asked(group, since, until, evidence, unknown, zone_of(zone) if zone else None)
    console = Terminal(highlight=False)
    if not follow:
        explain_files(files, asked, form, console)
    elif files == (STANDARD_INPUT,):
        explain_as_they_come(arriving_lines(sys.stdin.fileno()), asked, form, console)
    else:
        raise UserError(f"{' '.join(files)}: --follow reads only standard input: use - as LOG.")
