"""The users file by hand: `python -m rollcall.serve.listeners.users FILE add NAME`, `... remove NAME`, `... list`.

The password is asked for, or read as one line if standard input is not a terminal. Knows the command line; the file is
`rollcall.serve.listeners.credentials`'.
"""

from __future__ import annotations

import getpass
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from rollcall.programs.command_line import examples, run_command
from rollcall.programs.errors import ConfigError, UserError
from rollcall.serve.listeners.credentials import check_name, read_users, write_user

NAME = "python -m rollcall.serve.listeners.users"


@click.group(epilog=examples(f"{NAME} conf/users add alice", f"{NAME} conf/users list"))
@click.argument("file", type=click.Path(path_type=Path))
@click.pass_context
def command(context: click.Context, file: Path) -> None:
    """Keep the file of users and salted hashes."""
    context.obj = file


@command.command()
@click.argument("name")
@click.pass_obj
def add(file: Path, name: str) -> None:
    """Add a user, or give it another password."""
    check_name(name)
    with _named(file):
        write_user(file, name, _password())


@command.command()
@click.argument("name")
@click.pass_obj
def remove(file: Path, name: str) -> None:
    with _named(file):
        write_user(file, name, None)


@command.command("list")
@click.pass_obj
def list_users(file: Path) -> None:
    """Print the users' names, one a line."""
    with _named(file):
        print(*sorted({name for name, _ in read_users(file)}), sep="\n")


@contextmanager
def _named(file: Path) -> Iterator[None]:
    """What the system says of the file becomes a UserError that names it."""
    try:
        yield
    except OSError as error:
        raise UserError(f"{file}: {error.strerror}") from None


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status: see `rollcall.programs.running`."""
    return run_command(command, NAME, arguments)


def _password() -> str:
    """Raises ConfigError: it is empty, or not the same twice."""
    if not sys.stdin.isatty():
        password = sys.stdin.readline().rstrip("\n")
    else:
        password = getpass.getpass("Password: ")
        if getpass.getpass("Again: ") != password:
            raise ConfigError("the two passwords are not the same")
    if not password:
        raise ConfigError("the password is empty")
    return password


if __name__ == "__main__":
    sys.exit(main())
