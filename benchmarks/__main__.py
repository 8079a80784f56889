"""`python -m benchmarks`: finds the benches, runs those asked for, and shows their figures.

Exit status: 0, also where a goal is missed; 1 if a bench failed to run; 2 for a name that no bench has.
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
from rich.table import Column, Table

import benchmarks
from benchmarks.figures import BenchFunction, Figure, is_bench, readable
from benchmarks.kept import Measured, keep, this_machine
from rollcall.programs.command_line import examples, format_option, run_command
from rollcall.programs.errors import UserError
from rollcall.programs.guardian import guard

NAME = "python -m benchmarks"
PREFIX = "bench_"


def layers() -> list[str]:
    """The names of the layers that have a module of benches."""
    found = (module.name for module in pkgutil.iter_modules(benchmarks.__path__))
    return sorted(name.removeprefix(PREFIX) for name in found if name.startswith(PREFIX))


def benches(names: Iterable[str]) -> dict[str, BenchFunction]:
    """The benches asked for by name, all of them for no name; modules of other layers stay unimported.

    Raises UserError: a name that neither a layer nor a bench's name begins with.
    """
    wanted = tuple(names)
    found: dict[str, BenchFunction] = {}
    for layer in layers():
        if not wanted or layer.startswith(tuple(name.partition(".")[0] for name in wanted)):
            module = importlib.import_module(f"{benchmarks.__name__}.{PREFIX}{layer}")
            found |= {f"{layer}.{name}": thing for name, thing in vars(module).items() if is_bench(thing)}
    for name in wanted:
        if not any(bench.startswith(name) for bench in found):
            raise UserError(f"{name}: is not a bench; the layers are {', '.join(layers())}")
    return {bench: f for bench, f in found.items() if not wanted or bench.startswith(wanted)}


def figures(name: str, function: BenchFunction) -> Iterator[Figure]:
    """The figures of one bench, each under its layer's name."""
    result = function()
    for figure in [result] if isinstance(result, Figure) else result:
        yield figure._replace(name=f"{name.partition('.')[0]}.{figure.name}")


def as_json(figure: Figure) -> str:
    """One line of JSON."""
    fields = {"name": figure.name, "value": figure.value, "unit": figure.unit}
    return json.dumps(fields | {"goal": str(figure.goal) if figure.goal else None, "holds": figure.holds})


def as_table(measured: Iterable[Figure]) -> Table:
    table = Table(
        Column("figure", no_wrap=True), Column("value", justify="right"), "unit", "goal", "", box=None, pad_edge=False
    )
    for figure in measured:
        verdict = {True: "[green]holds[/]", False: "[red]missed[/]", None: ""}[figure.holds]
        table.add_row(figure.name, readable(figure.value), figure.unit, str(figure.goal or ""), verdict)
    return table


@click.command(epilog=examples(NAME, f"{NAME} core --format json", f"{NAME} core --keep build/figures.jsonl"))
@click.argument("names", nargs=-1, metavar="[NAME]...")
@format_option(("table", "json"))
@click.option("--keep", "kept", type=click.Path(path_type=Path, dir_okay=False), help="Keep the figures in this file.")
def command(names: tuple[str, ...], form: str, kept: Path | None) -> int:
    """Measure the project, layer by layer: all of it, or a layer, a bench, or those that begin so."""
    measured: list[Measured] = []
    status = 0
    for name, function in benches(names).items():
        print(f"{name} ...", file=sys.stderr, flush=True)
        try:
            found = list(figures(name, function))
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
            status = 1
            continue
        if form == "json":
            print(*map(as_json, found), sep="\n", flush=True)
        measured += [Measured(name, figure, this_machine()) for figure in found]
    if form == "table":
        Console().print(as_table(each.figure for each in measured))
    if kept is not None:
        keep(kept, measured)
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
