"""`rollcall`: the project's one command; `rollcall --help` lists its subcommands.

    python -m rollcall ...          the same, without the installed command

Knows where each subcommand is declared. Must not import one before it is called, so that no subcommand waits for the
imports of another.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from rollcall.programs.command_line import Commands, examples, run_command
from rollcall.programs.version import VERSION

NAME = "rollcall"
GROUPS = {
    "Start here": {
        "explain": "rollcall.cli.commands.asking:explain",
        "demo": "rollcall.cli.commands.serving:demo",
        "run": "rollcall.cli.commands.serving:run",
        "page": "rollcall.serve.page.__main__:command",
    },
    "Record a history": {
        "replay": "rollcall.cli.commands.logs:replay",
        "shadow": "rollcall.cli.commands.logs:shadow",
        "gateway": "rollcall.serve.gateway.__main__:command",
    },
    "Ask a history": {
        "why": "rollcall.cli.commands.asking:why",
        "lag": "rollcall.cli.commands.asking:lag",
        "sql": "rollcall.cli.commands.asking:sql",
        "pictures": "rollcall.cli.commands.asking:pictures",
        "whatif": "rollcall.cli.commands.logs:whatif",
    },
    "Watch it": {
        "status": "rollcall.cli.commands.asking:status",
        "alerts": "rollcall.serve.alerts.__main__:command",
        "export": "rollcall.serve.exporter.__main__:command",
    },
    "Upkeep": {
        "doctor": "rollcall.cli.commands.serving:doctor",
        "check": "rollcall.cli.commands.asking:check",
        "formats": "rollcall.cli.commands.asking:formats",
        "maintain": "rollcall.cli.commands.serving:maintain",
        "repartition": "rollcall.cli.commands.serving:repartition",
        "package": "rollcall.cli.commands.serving:package",
        "trace": "rollcall.coordinator_udfs.trace:command",
    },
}
PLACES = {name: place for places in GROUPS.values() for name, place in places.items()}

command = Commands(
    name=NAME,
    groups=GROUPS,
    help="Explain rebalances of Kafka consumer groups, and coordinate groups with their whole history.",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples("rollcall explain server.log", "rollcall demo", "rollcall why payments")
    + "\n\n\b\nThe shell completes commands and options after (zsh: zsh_source, fish: fish_source)\n"
    + '  eval "$(_ROLLCALL_COMPLETE=bash_source rollcall)"',
)
click.version_option(VERSION, prog_name=NAME)(command)


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status: see `rollcall.programs.running`."""
    return run_command(command, NAME, arguments)


if __name__ == "__main__":
    sys.exit(main())
