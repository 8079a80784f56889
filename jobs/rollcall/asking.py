"""`rollcall sql`, `rollcall why` and `rollcall pictures`: what is asked of a home.

Knows the words of each question. Must not know how it is answered, nor import what answers it before it is asked.
"""

from __future__ import annotations

from pathlib import Path

import click

from programs.command_line import at_option, examples, format_option, home_option

PICTURES = "build/pictures"
_group = click.argument("group", metavar="GROUP")
_generation = click.option(
    "--generation", metavar="N", default="", help="The rebalance that led to this generation of the group."
)


@click.command(
    epilog=examples(
        'rollcall sql "select * from groups"',
        'rollcall sql --format csv --at "2026-03-01 03:12" "select * from members"',
    )
)
@click.argument("query", metavar="QUERY")
@format_option(("table", "json", "csv"))
@at_option("Everything as it was at a moment")
@click.option(
    "--engine", type=click.Choice(["duckdb", "spark"]), help="Ask this one alone; Spark is asked second else."
)
@home_option
def sql(query: str, form: str, at: str, engine: str | None, home: str) -> None:
    """Ask a home in SQL. `show tables` and `describe groups` say what there is."""
    from jobs.home import Home
    from jobs.sql import answer_query

    answer_query(Home(home), query, at, form, engine or "")


@click.command(
    epilog=examples(
        "rollcall why payments", "rollcall why payments --generation 7", "rollcall why -- -begins-with-a-dash"
    )
)
@_group
@_generation
@at_option("The rebalance at a moment")
@format_option(("text", "json"))
@home_option
def why(group: str, generation: str, at: str, form: str, home: str) -> None:
    """Explain a rebalance of a group. It is the latest one unless another is named."""
    from jobs.home import Home
    from jobs.why import answer

    answer(Home(home), group, generation, at, form)


@click.command(
    epilog=examples(
        'rollcall pictures payments --at "2026-03-01 03:12" --minutes 10',
        "rollcall pictures payments --generation 7",
        "rollcall pictures --whatif build/whatif.jsonl",
    )
)
@click.argument("group", metavar="GROUP", default="")
@_generation
@at_option("The middle of the time that is shown")
@click.option("--minutes", metavar="N", default="", help="How much time is shown; 30 else.")
@click.option("--whatif", metavar="FILE", default="", help="Draw the rows that `rollcall whatif` left instead.")
@click.option("--out", metavar="FOLDER", default=PICTURES, show_default=True, help="Where the files are put.")
@home_option
def pictures(group: str, generation: str, at: str, minutes: str, whatif: str, out: str, home: str) -> None:
    """Draw a group, one of its rebalances, or a sweep."""
    from jobs.home import Home
    from jobs.pictures import Asked, draw

    for file in draw(Home(home), Asked(group, generation, at, minutes, whatif), Path(out or PICTURES)):
        print(file)
