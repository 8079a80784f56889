"""`rollcall`: the project's one command; `rollcall --help` lists its subcommands.

    python -m jobs.rollcall ...          the same, without the installed command

Knows where each subcommand is declared. Must not import one before it is called, so that no subcommand waits for the
imports of another.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from programs.command_line import Commands, examples, run_command
from programs.version import VERSION

NAME = "rollcall"
PLACES = {
    "demo": "jobs.rollcall.serving:demo",
    "run": "jobs.rollcall.serving:run",
    "gateway": "gateway.__main__:command",
    "page": "page.__main__:command",
    "export": "exporter.__main__:command",
    "alerts": "alerts.__main__:command",
    "sql": "jobs.rollcall.asking:sql",
    "explain": "jobs.rollcall.asking:explain",
    "why": "jobs.rollcall.asking:why",
    "lag": "jobs.rollcall.asking:lag",
    "pictures": "jobs.rollcall.asking:pictures",
    "check": "jobs.rollcall.asking:check",
    "status": "jobs.rollcall.asking:status",
    "doctor": "jobs.rollcall.serving:doctor",
    "replay": "jobs.rollcall.logs:replay",
    "shadow": "jobs.rollcall.logs:shadow",
    "whatif": "jobs.rollcall.logs:whatif",
    "trace": "coordinator_udfs.trace:command",
    "maintain": "jobs.rollcall.serving:maintain",
    "repartition": "jobs.rollcall.serving:repartition",
    "package": "jobs.rollcall.serving:package",
}

command = Commands(
    name=NAME,
    places=PLACES,
    help="A Kafka consumer-group coordinator that forgets nothing.",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples("rollcall run", 'rollcall sql "select * from rebalances"', "rollcall why payments")
    + "\n\n\b\nThe shell completes commands and options after\n"
    + '  eval "$(_ROLLCALL_COMPLETE=bash_source rollcall)"    (zsh_source and fish_source for the others)',
)
click.version_option(VERSION, prog_name=NAME)(command)


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status: see `programs.running`."""
    return run_command(command, NAME, arguments)


if __name__ == "__main__":
    sys.exit(main())
