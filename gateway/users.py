"""The users file by hand: `python -m gateway.users FILE add NAME`, `... remove NAME`, `... list`.

The password is asked for, or read as one line where standard input is no terminal. Exit status 2 for what the person
in front of it can put right. Knows the command line; the file is `gateway.security.credentials`'.
"""

from __future__ import annotations

import argparse
import getpass
import sys
from pathlib import Path

from gateway.security.credentials import check_name, read_users, write_user
from programs.errors import ConfigError


def main(arguments: list[str] | None = None) -> int:
    """Exit status: see above."""
    parser = argparse.ArgumentParser(prog="gateway.users", description="Keeps the file of users and salted hashes.")
    parser.add_argument("file", type=Path)
    actions = parser.add_subparsers(dest="action", required=True)
    for action, what in (("add", "add a user, or give it another password"), ("remove", "remove a user")):
        actions.add_parser(action, help=what).add_argument("name")
    actions.add_parser("list", help="the users' names, one a line")
    parsed = parser.parse_args(arguments)
    try:
        if parsed.action == "list":
            print(*sorted({name for name, _ in read_users(parsed.file)}), sep="\n")
            return 0
        check_name(parsed.name)
        write_user(parsed.file, parsed.name, _password() if parsed.action == "add" else None)
        return 0
    except ConfigError as error:
        print(f"rollcall: {error}", file=sys.stderr)
    except OSError as error:
        print(f"rollcall: {parsed.file}: {error.strerror}", file=sys.stderr)
    return 2


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
