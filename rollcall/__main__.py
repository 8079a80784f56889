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
GROUPS = {
    "Start here": {
        "explain": "jobs.rollcall.asking:explain",
        "demo": "jobs.rollcall.serving:demo",
        "run": "jobs.rollcall.serving:run",
        "page": "page.__main__:command",
    },
    "Record a history": {
        "replay": "jobs.rollcall.logs:replay",
        "shadow": "jobs.rollcall.logs:shadow",
        "gateway": "gateway.__main__:command",
    },
    "Ask a history": {
        "why": "jobs.rollcall.asking:why",
        "lag": "jobs.rollcall.asking:lag",
        "sql": "jobs.rollcall.asking:sql",
        "pictures": "jobs.rollcall.asking:pictures",
        "whatif": "jobs.rollcall.logs:whatif",
    },
    "Watch it": {
        "status": "jobs.rollcall.asking:status",
        "alerts": "alerts.__main__:command",
        "export": "exporter.__main__:command",
    },
    "Upkeep": {
        "doctor": "jobs.rollcall.serving:doctor",
        "check": "jobs.rollcall.asking:check",
        "maintain": "jobs.rollcall.serving:maintain",
        "repartition": "jobs.rollcall.serving:repartition",
        "package": "jobs.rollcall.serving:package",
        "trace": "coordinator_udfs.trace:command",
    },
}
PLACES = {name: place for places in GROUPS.values() for name, place in places.items()}

command = Commands(
    name=NAME,
    groups=GROUPS,
    help="A Kafka consumer-group coordinator that forgets nothing.",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples("rollcall explain server.log", "rollcall demo", "rollcall why payments")
    + "\n\n\b\nThe shell completes commands and options after (zsh: zsh_source, fish: fish_source)\n"
    + '  eval "$(_ROLLCALL_COMPLETE=bash_source rollcall)"',
)
click.version_option(VERSION, prog_name=NAME)(command)


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status: see `programs.running`."""
    return run_command(command, NAME, arguments)


if __name__ == "__main__":
    sys.exit(main())
