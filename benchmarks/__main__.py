"""`python -m benchmarks`: finds the benches, runs those asked for, and shows their figures.

Exit status: 0, also where a goal is missed; 1 if a bench failed to run; 2 for a name that is no bench's.
Knows where benches are; must not know what any of them measures.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

import benchmarks
from benchmarks.figures import BenchFunction, Figure, is_bench, readable
from benchmarks.kept import Measured, keep
from benchmarks.machine import this_machine
from benchmarks.performance_page import page_of
from programs.command_line import examples, format_option, run_command
from programs.errors import UserError
from programs.guardian import guard

NAME = "python -m benchmarks"
PREFIX = "bench_"


def layers() -> list[str]:
    """The names of the layers that have a module of benches."""
    found = (module.name for module in pkgutil.iter_modules(benchmarks.__path__))
    return sorted(name.removeprefix(PREFIX) for name in found if name.startswith(PREFIX))


def benches(names: Iterable[str]) -> dict[str, BenchFunction]:
    """The benches asked for by name, all of them for no name; modules of other layers stay unimported.

    Raises LookupError: a name that is no layer, no bench and no beginning of a bench's name.
    """
    wanted = list(names)
    asked = {name.partition(".")[0] for name in wanted}
    all_layers = layers()
    found: dict[str, BenchFunction] = {}
    for layer in all_layers:
        if not wanted or any(layer.startswith(name) for name in asked):
            module = importlib.import_module(f"{benchmarks.__name__}.{PREFIX}{layer}")
            found |= {f"{layer}.{name}": thing for name, thing in vars(module).items() if is_bench(thing)}
    for name in wanted:
        if not any(bench.startswith(name) for bench in found):
            raise LookupError(f"{name}: is no bench; the layers are {', '.join(all_layers)}")
    return {bench: f for bench, f in found.items() if not wanted or any(bench.startswith(name) for name in wanted)}


def figures(name: str, function: BenchFunction) -> Iterator[Figure]:
    """The figures of one bench, each under its layer's name."""
    layer = name.partition(".")[0]
    result = function()
    for figure in [result] if isinstance(result, Figure) else result:
        yield figure._replace(name=f"{layer}.{figure.name}")


def as_json(figure: Figure) -> str:
    """One line of JSON."""
    goal = None if figure.goal is None else str(figure.goal)
    fields = {"name": figure.name, "value": figure.value, "unit": figure.unit, "goal": goal, "holds": figure.holds}
    return json.dumps(fields)


def as_table(measured: Iterable[Figure]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("figure", no_wrap=True)
    for heading, justify in (("value", "right"), ("unit", "left"), ("goal", "left"), ("", "left")):
        table.add_column(heading, justify=justify)  # type: ignore[arg-type]
    for figure in measured:
        verdict = {True: "[green]holds[/]", False: "[red]missed[/]", None: ""}[figure.holds]
        goal = "" if figure.goal is None else str(figure.goal)
        table.add_row(figure.name, readable(figure.value), figure.unit, goal, verdict)
    return table


@click.command(
    epilog=examples(
        f"{NAME}", f"{NAME} core --format json", f"{NAME} core --keep build/figures.jsonl --format markdown"
    )
)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@format_option(("table", "json", "markdown"))
@click.option(
    "--keep",
    "kept",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Keep the figures in a file, from which markdown makes the page, those of other benches included.",
)
def command(names: tuple[str, ...], form: str, kept: Path | None) -> int:
    """Measure the project, layer by layer: all of it, or a layer, a bench, or those that begin so."""
    try:
        chosen = benches(names)
    except LookupError as error:
        raise UserError(str(error.args[0])) from None
    measured: list[Measured] = []
    status = 0
    for name, function in chosen.items():
        print(f"{name} ...", file=sys.stderr, flush=True)
        try:
            found = []
            for figure in figures(name, function):
                found.append(figure)
                if form == "json":
                    print(as_json(figure), flush=True)
            machine = this_machine()
            measured += [Measured(name, figure, machine) for figure in found]
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
            status = 1
    if form == "table":
        Console().print(as_table(each.figure for each in measured))
    if kept is not None:
        measured = keep(kept, measured)
    if form == "markdown":
        print(page_of(measured), end="")
    return status


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benches named on the command line; see the module for the exit status."""
    guard()
    with tempfile.TemporaryDirectory(prefix="rollcall-bench-") as folder:
        if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
            # A user's process finds its modules compiled, from the second start on.
            os.environ["PYTHONPYCACHEPREFIX"] = folder
        return run_command(command, NAME, arguments)


if __name__ == "__main__":
    sys.exit(main())
